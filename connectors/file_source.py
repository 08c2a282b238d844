"""Lines of a file into a topic."""

from collections.abc import Mapping
from itertools import accumulate, count
from operator import add
from pathlib import Path
from typing import BinaryIO

from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.options import Config, Option
from rocketconnect_sdk.record import Offset, SourceBatch
from rocketconnect_sdk.schema import STRING
from rocketconnect_sdk.source import Plan, Source, SourceTask


class FileSource(Source):
    """Reads lines of a file and follows it as it grows."""

    name = "file_source"
    aliases = ("FileSource", "FileSourceConnector", "org.apache.rocketmq.connect.file.FileSourceConnector")
    options = (Option("filename", "The path of the file.", required=True),)

    def plan(self, config: Config, max_tasks: int) -> Plan:
        """One file is one task."""
        del config, max_tasks
        return Plan([{}])

    def open(self, config: Config, task: Mapping[str, str], context: TaskContext) -> "FileSourceTask":
        """The task."""
        del task
        return FileSourceTask(Path(config["filename"]), context)


class FileSourceTask(SourceTask):
    """Reads."""

    def __init__(self, path: Path, context: TaskContext) -> None:
        self._path = path
        self._context = context
        self._at = 0
        self._file: BinaryIO | None = None

    def start(self, positions: Mapping[str, Offset]) -> None:
        """Begins behind the stored offset."""
        self._at = positions.get(str(self._path), (0,))[0]

    def poll(self) -> SourceBatch | None:
        """Whole lines only."""
        if self._file is None:
            if not self._path.exists():
                return None
            self._file = self._path.open("rb")
        self._file.seek(self._at)
        data = self._file.read(self._context.batch_bytes)
        end = data.rfind(b"\n")
        if end < 0:
            return None
        parts = data[:end].split(b"\n")
        offsets = list(zip(map(add, accumulate(map(len, parts)), count(self._at + 1)), strict=False))
        self._at += end + 1
        return SourceBatch(str(self._path), data[:end].decode().split("\n"), offsets, schema=STRING, size=end + 1)

    @property
    def idle_seconds(self) -> float:
        """A look at the file is cheap."""
        return 0.01

    def close(self) -> None:
        """Closes the file."""
        if self._file:
            self._file.close()
