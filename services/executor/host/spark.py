"""The Spark driver of a host: one session, made once, watched for as long as the host lives."""

import os
import threading
import time
import traceback
from collections.abc import Mapping
from typing import TYPE_CHECKING

from services.executor.host.line import Line
from services.executor.host.output import flush_output
from services.executor.host.secrets import hide, resolve_values
from services.executor.messages import Exit, SparkFailed, SparkReady

if TYPE_CHECKING:
    import subprocess

    from pyspark.sql import SparkSession


class SparkDriver:
    """Makes the session of a profile when it is first wanted. Safe to use from any thread.

    Args:
        profile: The spark.* keys, references unresolved.
        line: Is told when the session is there.
    """

    def __init__(self, profile: Mapping[str, str], line: Line) -> None:
        self._profile = profile
        self._line = line
        self._lock = threading.Lock()
        self._session: SparkSession | None = None

    def warm_up(self) -> None:
        """Make the session in the background."""
        threading.Thread(target=self._try, name="spark start", daemon=True).start()

    def session(self) -> "SparkSession":
        """Return the session; the first call takes seconds.

        Raises:
            ConfigError: a reference in the profile stands for nothing.
        """
        with self._lock:
            if self._session is None:
                from services.executor.runtime.spark_session import make_session

                began = time.monotonic()
                self._session = make_session(resolve_values(self._profile))
                self._watch(self._session)
                self._line.send(SparkReady(time.monotonic() - began))
            return self._session

    def _try(self) -> None:
        try:
            self.session()
        except Exception:
            self._line.send(SparkFailed(hide(traceback.format_exc())))

    def _watch(self, session: "SparkSession") -> None:
        """Without its Java process a session is of no use and can't be made again in this process: then the host ends."""
        gateway = session.sparkContext._gateway  # noqa: SLF001 - the only place where pyspark keeps it
        process: subprocess.Popen[bytes] | None = getattr(gateway, "proc", None)
        if process is not None:
            threading.Thread(target=_end_with, args=(process,), name="spark watch", daemon=True).start()


def _end_with(process: "subprocess.Popen[bytes]") -> None:
    process.wait()
    flush_output()
    os._exit(Exit.SPARK_GONE)
