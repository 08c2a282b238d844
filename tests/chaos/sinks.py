"""Where the load ends: files of lines, and tables of lakes, which other readers read than wrote them."""

import json
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from bench.measuring.lakes import Delta, Hudi, Iceberg, Lake
from tests.chaos.oracle import Reader, Verdict, parse

LAKES: Mapping[str, type[Lake]] = {"delta": Delta, "iceberg": Iceberg, "hudi": Hudi}
INTO_FILES: Mapping[str, Mapping[str, str]] = {
    "native": {"connector.class": "file_lines", "engine": "native"},
    "spark": {"connector.class": "file_sink", "engine": "spark"},
    "keyed": {"connector.class": "file_lines", "engine": "native", "format": "jsonlines"},
}
_TAIL_BYTES = 1 << 16
_COLUMNS = ("key", "number", "tick", "check")
_LOOK_SECONDS = 0.3
"""So often a table is looked at: each look reads its metadata."""


class Sink(ABC):
    """What a connector writes.

    Attributes:
        options: Of the connector, but for its topic.
        seen: By partition the highest tick of the lines that were seen.
        moved: When something was there that had not been there before, by the monotonic clock.
    """

    options: Mapping[str, str]

    def __init__(self) -> None:
        self.seen: dict[str, int] = {}
        self.moved = 0.0

    @property
    @abstractmethod
    def count(self) -> int:
        """Lines that are there."""

    @abstractmethod
    def look(self) -> None:
        """Takes note of the newest lines."""

    @abstractmethod
    def check(self, fed: dict[str, int]) -> Verdict:
        """Compares what is new. Only while nothing is under way."""

    def _saw(self, partition: str, tick: int) -> None:
        self.seen[partition] = max(tick, self.seen.get(partition, -1))


class File(Sink):
    """Lines of a file."""

    def __init__(self, options: Mapping[str, str], path: Path) -> None:
        super().__init__()
        self.options = {**options, "filename": str(path)}
        self._path = path
        self._reader = Reader(path)
        self._width = self._size = 0

    @property
    def count(self) -> int:
        """See Sink."""
        return self._size // self._width if self._width else 0

    def look(self) -> None:
        """See Sink."""
        with suppress(FileNotFoundError), self._path.open("rb") as file:
            size = file.seek(0, 2)
            if size != self._size:
                self._size, self.moved = size, time.monotonic()
            file.seek(max(0, size - _TAIL_BYTES))
            lines = file.read().split(b"\n")[1 if size > _TAIL_BYTES else 0 : -1]
            for text in lines:
                line = parse(text.decode(errors="replace"))
                if line is not None:
                    self._width = len(text) + 1
                    self._saw(line.partition, line.tick)

    def check(self, fed: dict[str, int]) -> Verdict:
        """See Sink."""
        return self._reader.check(fed)


class Table(Sink):
    """Rows of a table of a lake, which have no order: each time all of them are compared."""

    def __init__(self, lake: Lake, path: Path) -> None:
        super().__init__()
        path.mkdir()
        self._lake, self._name = lake, "lines"
        rows = {"value.converter": "json", "value.converter.schemas.enable": "false", "columns": ",".join(_COLUMNS)}
        self.options = {**self._lake.sink(self._name), **rows, "flush.interval": "1s"}
        self._path = path
        self._count = 0
        self._looked = 0.0

    @property
    def count(self) -> int:
        """See Sink."""
        return self._count

    def look(self) -> None:
        """See Sink."""
        now = time.monotonic()
        if now - self._looked < _LOOK_SECONDS:
            return
        self._looked = now
        count = self._lake.count(self._name)
        if count == self._count:
            return
        self._count, self.moved = count, now
        newest = self._lake.read(self._name).group_by("key").aggregate([("tick", "max")])
        for row in newest.to_pylist():
            self._saw(row["key"], int(row["tick_max"]))

    def check(self, fed: dict[str, int]) -> Verdict:
        """See Sink."""
        rows = self._lake.read(self._name).sort_by([("key", "ascending"), ("number", "ascending")])
        texts = (json.dumps({name: row[name] for name in _COLUMNS}) for row in rows.to_pylist())
        return Reader(self._path).compare(texts, fed)


def sink_of(wanted: Mapping[str, str] | str, path: Path) -> Sink:
    """A sink: into one of LAKES below the path, or with these options, into a file there."""
    return Table(LAKES[wanted](path), path) if isinstance(wanted, str) else File(wanted, path)
