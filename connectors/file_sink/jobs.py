"""What Spark writes into a directory of staged files, and what its errors mean."""

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from rocketconnect_sdk.errors import PermanentError, RecordError, RetriableError, SystemAway
from rocketconnect_sdk.files.trouble import FOR_NOW, understood
from rocketconnect_sdk.permissions.roots import writing

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

STAGED = {
    # Nobody looks before the job is over, so files need no second place, and no mark of success.
    "mapreduce.fileoutputcommitter.algorithm.version": "2",
    "mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",
}
"""Options of what Spark writes into a directory of staged files."""

_COUNT_SECONDS = 60.0
"""So long the driver waits, behind a job, for what its tasks have counted; it comes within milliseconds."""
_LOOK_SECONDS = 0.005
_NO_DIRECTORY = "Mkdirs failed to create"
_PROBE_BYTES = 1 << 16
_FOR_NOW = tuple(map(os.strerror, FOR_NOW))


def uri(directory: Path) -> str:
    """A local directory as Spark names it, whatever its default file system is."""
    return f"file://{directory.absolute()}"


def parts_of(directory: Path) -> list[Path]:
    """The files that a job has written, in the order of its partitions. Raises OSError."""
    return sorted(path for path in directory.iterdir() if path.name.startswith("part-"))


def check_all_there(directory: Path, parts: Sequence[Path], *, there: int, written: int, unit: str) -> None:
    """Invariant 5: a batch counts when all that was to be written is where the driver sees it.

    Args:
        directory: Where the parts are.
        parts: Those that the driver sees.
        there: What is in them.
        written: What was to be written.
        unit: Of both numbers.

    Raises:
        PermanentError: there is less, or more.
    """
    if there != written:
        msg = (
            f"{directory}: of {written} {unit} that Spark has written, the driver sees {there}, in {len(parts)} file(s); nothing "
            "of it was kept. With workers on other machines, filename must be in a file system that all workers and the driver "
            "share, at the same path. Set filename to such a path, or spark.profile to one with spark.master=local[*], and "
            "restart the task"
        )
        raise PermanentError(msg)


def rows_in(parts: Sequence[Path], form: str) -> int:
    """The rows of Parquet or ORC files, as their footers say. Raises OSError.

    Raises:
        PermanentError: a file is not whole.
    """
    return sum(_rows_of(part, form) for part in parts)


def _rows_of(part: Path, form: str) -> int:
    from pyarrow import orc, parquet

    try:
        rows: int = parquet.read_metadata(part).num_rows if form == "parquet" else orc.ORCFile(part).nrows
    except pa.ArrowInvalid as error:
        msg = f"{part}: is not whole: {error}; nothing of the batch was kept. Restart the task: it writes the batch again"
        raise PermanentError(msg) from error
    return rows


class CountedLines:
    """Lines that Spark's tasks count while they write them, without another look at the data.

    Args:
        lines: One column of text, "value"; nulls are empty lines.
    """

    def __init__(self, lines: "DataFrame") -> None:
        from pyspark.sql import Observation, functions

        self._seen = Observation()
        size = functions.sum(functions.octet_length("value"))
        self.frame = lines.observe(self._seen, (functions.coalesce(size, functions.lit(0)) + functions.count("*")).alias("size"))

    def size(self) -> int:
        """The bytes of all lines with their ends, once a job has written the frame.

        Raises:
            RetriableError: Spark does not say.
        """
        # Observation.get waits for ever when Spark has dropped the event that tells it (invariant 8), and getOrEmpty, which waits a
        # tenth of a second, fails when it was too short: https://github.com/apache/spark/pull/53138.
        java: Any = self._seen._jo  # noqa: SLF001
        told = java.future()
        until = time.monotonic() + _COUNT_SECONDS
        while not told.isCompleted():
            time.sleep(_LOOK_SECONDS)
            if time.monotonic() > until:
                msg = f"Spark did not say within {_COUNT_SECONDS:g} s how much its tasks have written"
                raise RetriableError(msg)
        return int(self._seen.get["size"])


@contextmanager
def staged_job(directory: Path) -> Iterator[None]:
    """A Spark job that writes staged files into a directory, beneath the folders where connectors may write.

    What it fails with becomes what the task does about it; other errors pass, and are tried again.

    Raises:
        OutsideRoots: connectors may not write there.
        SystemAway: there is no room, or nothing can be written.
        RecordError: a value cannot be written in this form.
    """
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]
    from pyspark.errors import PySparkException

    roots = writing()
    roots.check(directory)
    try:
        yield
    except (Py4JError, PySparkException) as error:
        text = str(error)
        if reason := next((reason for reason in _FOR_NOW if reason in text), None):
            msg = f"{directory}: {reason}; mend that, and it goes on by itself. Nothing of the batch was kept"
            raise SystemAway(msg, wait=1.0) from error
        if _NO_DIRECTORY in text:
            # Hadoop does not say why, but whoever makes one learns it.
            with understood(directory):
                directory.mkdir(parents=True, exist_ok=True)
                with TemporaryFile(dir=directory) as probe:
                    probe.write(bytes(_PROBE_BYTES))
        bad = next((line for line in text.splitlines() if "errors.RecordError" in line), None)
        if bad:
            msg = f"{directory}: {bad.partition('RecordError: ')[2].strip()}"
            raise RecordError(msg) from error
        raise
    # Spark opens files by their names: where it has written is looked at again before it counts.
    roots.check(directory)
