"""What Spark writes into a directory of staged files, and what its errors mean."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rocketconnect_sdk.errors import RecordError, SystemAway

STAGED = {
    # Nobody looks before the job is over, so files need no second place, and no mark of success.
    "mapreduce.fileoutputcommitter.algorithm.version": "2",
    "mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",
}
"""Options of what Spark writes into a directory of staged files."""

_FULL = ("No space left on device", "Disk quota exceeded", "File too large")


def uri(directory: Path) -> str:
    """A local directory as Spark names it, whatever its default file system is."""
    return f"file://{directory.absolute()}"


def parts_of(directory: Path) -> list[Path]:
    """The files that a job has written, in the order of its partitions. Raises OSError."""
    return sorted(path for path in directory.iterdir() if path.name.startswith("part-"))


@contextmanager
def job_trouble(target: Path) -> Iterator[None]:
    """Turns an error of a Spark job into what the task does about it; others pass, and are tried again.

    Raises:
        SystemAway: there is no room.
        RecordError: a value cannot be written in this form.
    """
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]
    from pyspark.errors import PySparkException

    try:
        yield
    except (Py4JError, PySparkException) as error:
        text = str(error)
        full = next((reason for reason in _FULL if reason in text), None)
        if full:
            msg = f"{target}: {full}; nothing of the batch was kept. Make room: it goes on by itself"
            raise SystemAway(msg, wait=1.0) from error
        bad = next((line for line in text.splitlines() if "errors.RecordError" in line), None)
        if bad:
            msg = f"{target}: {bad.partition('RecordError: ')[2].strip()}"
            raise RecordError(msg) from error
        raise
