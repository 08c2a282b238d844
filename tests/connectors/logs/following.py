"""Drives a task of log_source as the runtime does, and keeps its positions."""

from collections.abc import Mapping
from typing import Any, ClassVar

from connectors.file_source.task import FileSourceTask
from connectors.logs.log_source import LogSource
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.options import parse
from rocketconnect_sdk.record import Position
from tests.connectors.polling import polled

_NOTHING: Mapping[str, Position] = {}


class Following:
    """A task on a clock that is moved by hand. All of them are closed behind each test."""

    opened: ClassVar[list["Following"]] = []

    def __init__(self, filename: object, positions: Mapping[str, Position] = _NOTHING, **options: str) -> None:
        self._filename, self._options = filename, options
        raw = {"filename": str(filename), **{key.replace("_", "."): value for key, value in options.items()}}
        source = LogSource()
        config = parse(source.options, raw)
        assert [problem for problem in source.check(config) if not problem.is_warning] == []
        self.now = 0.0
        self.task: FileSourceTask = source.open(config, source.plan(config, 1, {}).tasks[0], TaskContext(max_record_bytes=1000))
        self.task._clock = lambda: self.now
        self.opened.append(self)
        self.positions = dict(positions)
        self.headers: list[Mapping[str, str]] = []
        self.task.start(self.positions)

    def read(self, seconds: float = 1.0) -> list[Any]:
        """What came since the last call, so many seconds later."""
        self.now += seconds
        values: list[Any] = []
        for batch in polled(self.task):
            values += batch.values
            self.headers += batch.headers or []
            self.positions[batch.partition] = Position(batch.end or batch.offsets[-1], batch.resume or {})
        return values

    def again(self) -> "Following":
        """The next owner, from the positions."""
        self.task.close()
        return Following(self._filename, self.positions, **self._options)
