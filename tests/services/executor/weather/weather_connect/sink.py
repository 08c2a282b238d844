"""A sink: lines with the version of what staged and of what committed them."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from rocketconnect_sdk import (
    Config,
    Option,
    Plan,
    QueuePosition,
    Receipt,
    RecordSink,
    RecordSinkTask,
    SinkBatch,
    SinkCommit,
    SinkWriter,
    TaskContext,
)

from . import __version__


class WeatherSink(RecordSink):
    """Appends each value as a line to a file."""

    name = "weather_sink"
    options = (Option("filename", "The path of the file.", required=True),)

    def plan(self, config: Config, max_tasks: int) -> Plan:
        return Plan([{}])

    def open(self, config: Config, task: Mapping[str, str], context: TaskContext) -> "WeatherTask":
        return WeatherTask(Path(config["filename"]))


class WeatherTask(RecordSinkTask):
    def __init__(self, file: Path) -> None:
        self._file = file

    def start(self) -> Mapping[str, QueuePosition]:
        return {}

    def writer(self) -> SinkWriter:
        return WeatherWriter()

    def commit(self, receipts: Sequence[Receipt], commit: SinkCommit) -> None:
        with self._file.open("a") as file:
            file.writelines(f"{line} committed {__version__}\n" for lines in receipts for line in lines)

    def close(self) -> None:
        pass


class WeatherWriter(SinkWriter):
    def stage(self, batch: SinkBatch, part: str) -> Receipt:
        return [f"{value} staged {__version__}" for value in batch.values]
