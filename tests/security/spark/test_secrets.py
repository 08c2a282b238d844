"""What a connector tells Spark in secret is seen by nobody else on the machine."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

_START = """
from pathlib import Path
from services.executor.runtime.sink.spark.session import make_session
odd = {"spark.odd: =key\\nspark.more": "x"}
session = make_session({**odd, "spark.hadoop.x.secret": "canary-\\u00e4 =:#\\\\\\\\", "spark.master": "local[1]"})
assert session.sparkContext.getConf().get("spark.odd: =key\\nspark.more") == "x"
assert session.sparkContext.getConf().get("spark.more") is None
assert session.sparkContext.getConf().get("spark.hadoop.x.secret") == "canary-\\u00e4 =:#\\\\\\\\"
assert session.sparkContext.master == "local[1]"
assert session.conf.get("spark.sql.session.timeZone") == "UTC"
lines = []
for path in Path("/proc").glob("[0-9]*/cmdline"):
    try:
        lines.append(path.read_bytes())
    except (FileNotFoundError, ProcessLookupError):
        continue
assert any(b"org.apache.spark" in line for line in lines)
assert not [line for line in lines if b"spark.hadoop.x.secret" in line], "on a command line"
files = list(Path(session.conf.get("spark.local.dir")).parent.glob("*.properties"))
assert [file.stat().st_mode & 0o777 for file in files] == [0o600]
print("hidden")
"""


@pytest.mark.slow
def test_a_secret_for_spark_stands_on_no_command_line_and_reaches_spark_as_it_is() -> None:
    done = subprocess.run([sys.executable, "-"], input=_START, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("hidden\n")


_DEFAULTS = """
from services.executor.runtime.sink.spark.session import make_session
session = make_session({"spark.master": "local[1]", "spark.sql.shuffle.partitions": "3"})
print("kept", session.conf.get("spark.x.operator"), session.conf.get("spark.sql.shuffle.partitions"))
"""


@pytest.mark.slow
def test_the_defaults_of_the_machine_still_reach_spark_and_a_profile_wins_over_them(tmp_path: Path) -> None:
    (tmp_path / "spark-defaults.conf").write_text("spark.sql.shuffle.partitions 5\nspark.x.operator 7", encoding="utf-8")
    environment = {**os.environ, "SPARK_CONF_DIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-"], input=_DEFAULTS, capture_output=True, text=True, timeout=120, check=False, env=environment
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("kept 7 3\n")
