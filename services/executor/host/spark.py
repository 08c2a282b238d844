"""The Spark driver of a host: one session, made once, watched for as long as the host lives."""

import contextlib
import gc
import os
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from rocketconnect_kit.java.jars import jars_of, listed
from rocketconnect_sdk.errors import ConfigError, RetriableError
from rocketconnect_sdk.spark.needs import joined
from services.executor.contract.messages import Exit, SparkFailed, SparkFetches, SparkReady, StartSpark
from services.executor.contract.metrics import DriverUse
from services.executor.host.line import Line
from services.executor.host.output import flush_output
from services.executor.runtime.sink.spark.errors import spark_error_text
from services.executor.secrets.resolving import hide, resolve_values

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

START_SECONDS = 300.0
"""How long the start of Spark may take (invariant 8): with spark.jars.packages it downloads what it needs."""
_STARTING = "starting Spark"
_SWITCH_SECONDS = 0.0005
"""A batch asks Java some forty things and then waits for the interpreter: so long at most for each thread that computes."""
_GONE_SECONDS = 0.5
"""How long after its connections are cut the end of a Java process may be seen: the kernel closes them first."""
USE_SECONDS = 15.0
"""How often a driver is asked what it uses: as often as Prometheus asks."""


class SparkDriver:
    """Makes the session of a profile when it is first wanted. Safe to use from any thread.

    Args:
        order: What the session is to be; references in its settings are unresolved.
        line: Is told when the session is there.
        start_seconds: How long the start may take.
    """

    def __init__(self, order: StartSpark, line: Line, *, start_seconds: float = START_SECONDS) -> None:
        self._order = order
        self._line = line
        self._start_seconds = start_seconds
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._made = threading.Event()
        self._session: SparkSession | None = None
        self._error: BaseException | None = None
        self._reason = ""
        self._doing = _STARTING
        self._use: DriverUse | None = None

    @property
    def doing(self) -> str:
        """What it does until there is a session, for people."""
        return self._doing

    @property
    def use(self) -> DriverUse | None:
        """What it uses, as it said last; None: nothing is known."""
        return self._use

    def warm_up(self) -> None:
        """Make the session in the background, before anybody waits for it."""
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._hold, name="spark", daemon=True)
                self._thread.start()

    def session(self) -> "SparkSession":
        """Return the session; the first call takes seconds. Its first jobs have been run: they take seconds, too, whoever waits.

        A start that failed is not tried again here: pyspark keeps what is left of it in the process. A start that hangs ends the
        process with Exit.SPARK_LATE: nothing else ends what pyspark waits for.

        Raises:
            ConfigError: a reference in the profile stands for nothing.
            RetriableError: Spark could not be started.
        """
        self.warm_up()
        if not self._made.wait(self._start_seconds):
            flush_output()
            os._exit(Exit.SPARK_LATE)
        if self._session is not None:
            return self._session
        if isinstance(self._error, ConfigError):
            raise self._error
        msg = f"Spark could not be started: {self._reason}"
        raise RetriableError(msg)

    def end_if_gone(self) -> None:
        """End the process, when Java has ended, before the failure of a task is told: it is only what follows from that.

        Takes 0.5 s while Java runs.
        """
        process = _java_of(self._session) if self._session is not None else None
        if process is not None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                _end(process, _GONE_SECONDS)

    def _jars(self) -> Mapping[str, str]:
        """The setting that names the jars which sinks need, once they are here."""
        if not self._order.jars:
            return {}
        wanted = listed(self._order.title, Path(self._order.jars))

        def fetching(done: int, total: int) -> None:
            self._doing = f"{_STARTING}: fetching {self._order.title}, {done} of {total} jars are there"
            self._line.send(SparkFetches(self._order.title, done, total))

        folder = jars_of(wanted, fetching)
        return {"spark.jars": ",".join(sorted(str(jar) for jar in folder.glob("*.jar")))}

    def _watch(self, session: "SparkSession") -> None:
        """Asks what it uses, until Java ends or says something that is not understood: no task has anything of that."""
        from services.executor.runtime.sink.spark.use import DriverGauges

        process = _java_of(session)
        try:
            gauges = DriverGauges(session, self._order.name, process.pid if process is not None else None)
            while True:
                self._use = gauges.read()
                time.sleep(USE_SECONDS)
        except Exception as error:  # of py4j, whose connection ends with Java, or of a Spark whose gauges have other names
            self._use = None
            with contextlib.suppress(subprocess.TimeoutExpired):
                if process is not None:
                    process.wait(_GONE_SECONDS)
                    return
            sys.stderr.write(f"what the Spark driver uses is not told any more: {spark_error_text(error)}\n")

    def _hold(self) -> None:
        """Makes the session and stays until its Java process ends: the kernel ends that one with the thread that started it."""
        try:
            from services.executor.runtime.sink.spark.session import make_session, run_first_jobs

            sys.setswitchinterval(_SWITCH_SECONDS)
            began = time.monotonic()
            settings = joined(self._jars(), resolve_values(self._order.profile))
            fetches = ", which fetches spark.jars.packages" if "spark.jars.packages" in settings else ""
            self._doing = f"{_STARTING}: its Java process{fetches}"
            session = make_session(settings, Path(self._order.classes) if self._order.classes else None)
            self._doing = f"{_STARTING}: its first jobs"
            run_first_jobs(session)
            # What is there now stays: nobody need look through it again. See let_go_of_java.
            gc.collect()
            gc.freeze()
            self._session = session
            threading.Thread(target=self._watch, args=(session,), name="spark use", daemon=True).start()
            self._line.send(SparkReady(time.monotonic() - began))
        except BaseException as error:  # handed to whoever asked for the session
            self._error = error
            # Now: the text of an error of Java's is asked from Java, which ends with this thread.
            self._reason = spark_error_text(error)
            self._line.send(SparkFailed(hide(traceback.format_exc())))
            return
        finally:
            self._made.set()
        # Without its Java process a session is of no use and can't be made again in this process: then the host ends.
        process = _java_of(self._session)
        if process is None:
            threading.Event().wait()
        else:
            _end(process)


def _java_of(session: "SparkSession") -> "subprocess.Popen[bytes] | None":
    """None: Spark Connect, or a session of somebody else; nothing of ours to watch."""
    gateway = session.sparkContext._gateway  # noqa: SLF001 - the only place where pyspark keeps it
    return getattr(gateway, "proc", None)


def _end(process: subprocess.Popen[bytes], seconds: float | None = None) -> NoReturn:
    process.wait(seconds)
    flush_output()
    os._exit(Exit.SPARK_GONE)
