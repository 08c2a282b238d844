"""Spark made ready on this machine: what lets its drivers start with half the work is made once, and cached for the user.

`python -m rocketconnect_cli.embedded.spark` does nothing else.
"""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from rich.console import Console

from rocketconnect_kit.java.find import find_java
from rocketconnect_kit.java.jars import cache_folder
from rocketconnect_kit.tethered import tethered

_FOLDER_VARIABLE = "ROCKETCONNECT_SPARK_CLASSES"
_LIMIT_SECONDS = 300.0
"""It takes some ten seconds, and far more on a machine that is busy."""


def spark_folder(environment: Mapping[str, str] = os.environ) -> Path:
    """Return the folder that executors are told as `spark_classes`, filled or not: that of the variable, or in the cache."""
    given = environment.get(_FOLDER_VARIABLE)
    return Path(given) if given else cache_folder(environment) / "spark-classes"


def prepare_spark(console: Console) -> Path:
    """Return that folder; it is filled first when it is empty.

    Where that fails, it says so: everything works without it.

    Raises:
        JavaMissing: its text says what to do.
    """
    folder = spark_folder()
    command = tethered([sys.executable, "-P", "-m", "services.executor.make_class_archive", str(folder)])
    # The same Java as executors have: it can only use what it has made itself.
    environment = {"JAVA_HOME": str(find_java().resolve().parent.parent), **os.environ}
    try:
        with console.status("Preparing Spark, once for this machine"):
            subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=_LIMIT_SECONDS)
    except subprocess.CalledProcessError as error:
        reason = str(error.stderr).strip().rpartition("\n")[2] or f"exit status {error.returncode}"
        console.print(f"Spark could not be prepared ({reason}); its drivers start more slowly.", style="yellow", markup=False)
    except subprocess.TimeoutExpired:
        reason = f"not within {_LIMIT_SECONDS:g} s"
        console.print(f"Spark could not be prepared ({reason}); its drivers start more slowly.", style="yellow", markup=False)
    return folder


if __name__ == "__main__":
    prepare_spark(Console(stderr=True, soft_wrap=True, highlight=False))
