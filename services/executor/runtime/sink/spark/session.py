"""The Spark session of a profile."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import weakref
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from rocketconnect_kit.java.find import NO_PERF_DATA
from services.executor.runtime.sink.spark.class_archive import java_options

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyspark.sql import SparkSession

_DEFAULTS = {
    "spark.master": "local[*]",
    "spark.app.name": "rocketconnect",
    "spark.driver.memory": "1g",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "WARN",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    # Sinks commit on the driver, and files are read as they were staged: adaptive re-planning only costs time in small batches.
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    # A batch of less becomes rows of the plan, which come back without a job; a larger one goes to the tasks as Arrow.
    "spark.sql.execution.arrow.localRelationThreshold": "512k",
    # A batch is cut where it is handed over: once for each task.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "1000000",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "8",
    "spark.sql.parquet.compression.codec": "zstd",
    # A host that dies has nothing to clean up behind it, and waits for nothing.
    "spark.shutdown.timeout": "5s",
    "spark.cleaner.referenceTracking.blocking": "false",
}
_COMPILE_LATER = (
    # Each batch is planned anew, by code that is large and runs once a batch: the best compiler takes seconds for it that it never
    # gives back. It begins ten times later than by default, which loops over rows still reach within a batch.
    "-XX:+IgnoreUnrecognizedVMOptions",
    "-XX:Tier4InvocationThreshold=50000",
    "-XX:Tier4MinInvocationThreshold=6000",
    "-XX:Tier4CompileThreshold=150000",
    "-XX:Tier4BackEdgeThreshold=400000",
)
_FIRST_ROWS = 100_000
JAVA_OPTIONS = "spark.driver.extraJavaOptions"
_LOCAL_ONLY = ("spark.driver.host", "spark.driver.bindAddress")
_FIXED = {
    # One pool for each task, so that a large batch of one does not hold up the small ones of others.
    "spark.scheduler.mode": "FAIR",
    # A batch is staged once: a second attempt beside the first one would stage it twice.
    "spark.speculation": "false",
}


def make_session(profile: Mapping[str, str], classes: Path | None = None) -> SparkSession:
    """The session of a profile; takes seconds. One for a process.

    Its Java process ends with the calling thread: call it in one that lives as long as the session shall.

    Args:
        profile: spark.* keys, references resolved. They win over the defaults, but for the scheduler and speculation; options of
            Java's are added to ours, and the last one counts.
        classes: The folder with the archive of Spark's classes, if there is one: see class_archive.
    """
    # Spark's Java process reads these when it is started, and so do its Python workers.
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    # The short-lived Java that makes the command line of the other one.
    os.environ.setdefault("SPARK_LAUNCHER_OPTS", NO_PERF_DATA)
    from pyspark.sql import SparkSession

    scratch = tempfile.mkdtemp(prefix="rocketconnect-spark-")
    folders = (f"-Dderby.system.home={scratch}/derby", f"-Djava.io.tmpdir={scratch}")
    java = (NO_PERF_DATA, *_COMPILE_LATER, *java_options(classes), *folders)
    settings = {
        **_DEFAULTS,
        "spark.sql.warehouse.dir": f"{scratch}/warehouse",
        "spark.local.dir": f"{scratch}/local",
        **profile,
        **_FIXED,
        JAVA_OPTIONS: " ".join((*java, profile.get(JAVA_OPTIONS, ""))).strip(),
    }
    if settings["spark.master"].startswith("local"):
        # Otherwise Spark looks for an address of this machine that others could reach, and warns that it found one.
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    else:
        for key in _LOCAL_ONLY:
            if key not in profile:
                del settings[key]
    os.makedirs(f"{scratch}/local", exist_ok=True)  # noqa: PTH103
    properties = Path(scratch) / "spark.properties"
    _write_properties(properties, settings)
    with _tethered(scratch, properties):
        session = SparkSession.builder.getOrCreate()
    _quiet_about_large_tasks(session)
    weakref.finalize(session, shutil.rmtree, scratch, ignore_errors=True)
    return session


def _write_properties(path: Path, settings: Mapping[str, str]) -> None:
    """Writes settings where this user alone reads them: everybody on a machine sees the command line of Spark's Java process.

    Spark that is given a file leaves out the machine's defaults (spark-defaults.conf): they stand first, and what follows wins.
    """
    lines = (f"{_escaped(key)} {_escaped(value)}" for key, value in settings.items())
    path.touch(mode=0o600)
    path.write_text("\n".join((_defaults_of_machine(), *lines)), encoding="utf-8")


def _defaults_of_machine() -> str:
    """The text of the spark-defaults.conf that Spark would read, or none."""
    from pyspark.find_spark_home import _find_spark_home

    folder = os.environ.get("SPARK_CONF_DIR") or f"{_find_spark_home()}/conf"  # type: ignore[no-untyped-call]
    path = Path(folder) / "spark-defaults.conf"
    return path.read_text(encoding="utf-8") if path.exists() else ""


def _escaped(value: str) -> str:
    """A text as a file of Java's properties has it: every code unit by its number, so that none means anything to the file."""
    units = value.encode("utf-16-be").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))


def _quiet_about_large_tasks(session: SparkSession) -> None:
    """Batches go with their tasks on purpose: without this, each of them is worth a warning to Spark."""
    log4j = session.sparkContext._jvm.org.apache.logging.log4j  # type: ignore[union-attr]  # noqa: SLF001 - py4j tells no types
    result = getattr(log4j.core, "Filter$Result")
    text = ".*contains a task of very large size.*"
    log4j.LogManager.getContext(False).addFilter(
        log4j.core.filter.RegexFilter.createFilter(text, None, False, result.DENY, result.NEUTRAL)
    )


def run_first_jobs(session: SparkSession) -> None:
    """Runs what sinks run, once, on a few rows: Java loads and compiles it now, and not in somebody's first batch."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.table({"value": [f"{number:0100d}" for number in range(_FIRST_ROWS)]})
    with tempfile.TemporaryDirectory() as folder:
        session.createDataFrame(table.slice(0, 10)).select("value").collect()
        session.createDataFrame(table).select("value").toArrow()
        if not str(session.sparkContext.master).startswith("local"):
            # The others see no files of this machine.
            return
        pq_path, text_path = f"{folder}/first.parquet", f"{folder}/first.txt"
        pq.write_table(table, pq_path)
        session.read.schema("value string").parquet(pq_path).select("value").write.text(text_path)


_TETHER = """#!{python} -IS
# Starts Spark so that the kernel ends its Java process with the thread that started it, however that one ends.
import ctypes, os, signal, sys
ctypes.CDLL(None).prctl(1, signal.SIGKILL, 0, 0, 0)
if os.getppid() != {parent}:
    sys.exit("the process that started Spark is gone")
os.environ["SPARK_HOME"] = {home!r}
os.execv({submit!r}, [{submit!r}, "--properties-file", {properties!r}, *sys.argv[1:]])
"""


@contextmanager
def _tethered(scratch: str, properties: Path) -> Iterator[None]:
    """While the block runs, pyspark starts Java through a program of ours: it offers no other way to say how."""
    from pyspark.find_spark_home import _find_spark_home

    home = str(_find_spark_home())  # type: ignore[no-untyped-call]
    program = Path(scratch) / "start" / "bin" / "spark-submit"
    program.parent.mkdir(parents=True)
    text = _TETHER.format(
        python=sys.executable,
        parent=os.getpid(),
        home=home,
        submit=f"{home}/bin/spark-submit",
        properties=str(properties),
    )
    program.write_text(text, encoding="utf-8")
    program.chmod(0o700)
    before = os.environ.get("SPARK_HOME")
    os.environ["SPARK_HOME"] = str(program.parent.parent)
    try:
        yield
    finally:
        if before is None:
            del os.environ["SPARK_HOME"]
        else:
            os.environ["SPARK_HOME"] = before
