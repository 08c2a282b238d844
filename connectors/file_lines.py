"""Lines into a file, without Spark or with it."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.options import Config, Option
from rocketconnect_sdk.record import SinkBatch
from rocketconnect_sdk.sink import QueuePosition, Receipt, RecordSink, RecordSinkTask, SinkCommit, SinkWriter


class FileLines(RecordSink):
    """Appends each value as a line to a file."""

    name = "file_lines"
    options = (Option("filename", "The path of the file.", required=True),)

    def open(self, config: Config, task: Mapping[str, str], context: TaskContext) -> "FileLinesTask":
        """The task."""
        del task, context
        return FileLinesTask(Path(config["filename"]))


class FileLinesTask(RecordSinkTask):
    """Appends."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def start(self) -> Mapping[str, QueuePosition]:
        """Stores no positions."""
        return {}

    def writer(self) -> SinkWriter:
        """Makes lines."""
        return LineWriter()

    def commit(self, receipts: Sequence[Receipt], commit: SinkCommit) -> None:
        """Appends and syncs."""
        del commit
        with self._path.open("ab") as file:
            for receipt in receipts:
                file.write(receipt)
            file.flush()
            os.fsync(file.fileno())

    def close(self) -> None:
        """Holds nothing."""


class LineWriter(SinkWriter):
    """Makes lines of values."""

    def stage(self, batch: SinkBatch, part: str) -> Receipt:
        """The lines as bytes."""
        del part
        return "".join(f"{value}\n" for value in batch.values).encode()
