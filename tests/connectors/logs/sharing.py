"""Several tasks of one connector side by side, as a plan has them, with the positions that are stored of all of them."""

from collections.abc import Mapping
from typing import Any

from connectors.file_source.task import FileSourceTask
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.options import parse
from rocketconnect_sdk.record import Position
from rocketconnect_sdk.source import Source
from tests.connectors.polling import polled

_NOTHING: Mapping[str, Position] = {}


class Sharing:
    """So many tasks on one clock, which is moved by hand. A task knows of the others what is stored when it starts."""

    def __init__(
        self, source: Source, filename: object, tasks: int, positions: Mapping[str, Position] = _NOTHING, **options: str
    ) -> None:
        raw = {"filename": str(filename), **{key.replace("_", "."): value for key, value in options.items()}}
        self._source = source
        self._config = parse(source.options, raw)
        self._plan = source.plan(self._config, tasks, positions).tasks
        self.now = 0.0
        self.positions = dict(positions)
        self.tasks: list[FileSourceTask] = [self._started(number) for number in range(tasks)]

    def _started(self, number: int) -> FileSourceTask:
        task = self._source.open(self._config, self._plan[number], TaskContext(max_record_bytes=1000, batch_records=5))
        assert isinstance(task, FileSourceTask)
        task._clock = lambda: self.now
        task.start(self.positions)
        return task

    def read(self, seconds: float = 1.0, only: int | None = None) -> list[Any]:
        """What came since the last call, so many seconds later; `only`: of one task, while the others do nothing."""
        self.now += seconds
        return [value for number in range(len(self.tasks)) if only in (None, number) for value in self._read(number)]

    def _read(self, number: int) -> list[Any]:
        values: list[Any] = []
        for batch in polled(self.tasks[number]):
            values += batch.values
            self.positions[batch.partition] = Position(batch.end or batch.offsets[-1], batch.resume or {})
        return values

    def again(self, number: int) -> None:
        """The task has another owner."""
        self.tasks[number].close()
        self.tasks[number] = self._started(number)

    def close(self) -> None:
        """Ends all of them."""
        for task in self.tasks:
            task.close()
