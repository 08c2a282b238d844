"""A file of lines on this machine."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.systems import moved
from bench.systems.driving import sourcing
from bench.systems.system import Compared, Move
from connectors.file_source import FileSource
from connectors.logs.log_source import LogSource


@contextmanager
def compared(records: int) -> Iterator[list[Compared]]:
    """The sources of lines and of logs, until the end of the block."""
    with TemporaryDirectory(prefix="rocketconnect-lines-") as folder:
        path = Path(folder) / "orders.log"
        path.write_text("".join(f"{moved.text(number)}\n" for number in range(records)), encoding="utf-8")
        config = {"filename": str(path)}
        yield [
            Compared("file_source", "Python", lambda: sourcing(FileSource(), config, records), lambda: _lines(path)),
            Compared("log_source", "Python", lambda: sourcing(LogSource(), config, records), lambda: _lines(path)),
        ]


@contextmanager
def _lines(path: Path) -> Iterator[Move]:
    with path.open(encoding="utf-8") as file:
        yield lambda: [line.rstrip("\n") for line in file]
