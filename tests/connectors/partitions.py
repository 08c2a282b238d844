"""What the runtime does with a source of partitions: it plans, sends, stores positions later, and loses tasks at any time."""

from contextlib import suppress
from typing import TYPE_CHECKING

from rocketconnect_sdk import Config, Offset, Position, SourceTask, SystemAway, TaskContext
from rocketconnect_sdk.conformance.source import stored
from rocketconnect_sdk.polled import batches_of
from rocketconnect_sdk.source import Source

if TYPE_CHECKING:
    from collections.abc import Mapping


class Runtime:
    """Sends what tasks read; what is not behind the newest record of its partition is there already.

    Args:
        source: The source.
        config: Its configuration.
        tasks: So many at most.
        records: In a batch.
    """

    def __init__(self, source: Source, config: Config, tasks: int = 2, records: int = 3) -> None:
        self._source = source
        self._config = config
        self._most = tasks
        self._context = TaskContext(batch_records=records, replan=self.forget)
        self._shares: list[Mapping[str, str]] = []
        self._tasks: list[SourceTask] = []
        self._newest: dict[str, Offset] = {}
        self._unstored: list[tuple[str, Position]] = []
        self.positions: dict[str, Position] = {}
        self.sent: dict[str, list[object]] = {}

    def read(self) -> int:
        """One poll of each task; how many records they gave. What is away is waited for, by another start."""
        given = 0
        with suppress(SystemAway):
            for task in self.tasks():
                for batch in batches_of(task.poll()):
                    given += len(batch)
                    for offset, value in zip(batch.offsets, batch.values, strict=True):
                        if offset > self._newest.get(batch.partition, ()):
                            self._newest[batch.partition] = offset
                            self.sent.setdefault(batch.partition, []).append(value)
                        if batch.resume is None:
                            self._unstored.append((batch.partition, Position(offset)))
                    if batch.end or batch.resume is not None:
                        end = batch.end or batch.offsets[-1]
                        self._unstored.append((batch.partition, stored(Position(end, batch.resume or {}))))
            return given
        self.kill()
        return given

    def store(self, count: int) -> None:
        """Stores the first of the positions that are not stored yet."""
        self.positions.update(self._unstored[:count])
        del self._unstored[:count]

    def kill(self) -> None:
        """The next read is that of other tasks."""
        for task in self._tasks:
            task.close()
        self._tasks, self._unstored = [], []

    def forget(self) -> None:
        """The next tasks are those of another plan."""
        self._shares = []

    def tasks(self) -> list[SourceTask]:
        """Those that run."""
        if not self._shares and self._tasks:
            # Tasks of another plan begin when those of this one have ended clean.
            self.store(len(self._unstored))
            self.kill()
        if not self._tasks:
            self._shares = self._shares or list(self._source.plan(self._config, self._most, self.positions).tasks)
            for share in self._shares:
                self._tasks.append(self._source.open(self._config, share, self._context))
                self._tasks[-1].start(dict(self.positions))
        return self._tasks

    @property
    def values(self) -> list[object]:
        """All that was sent, in the order of their texts."""
        return sorted((value for values in self.sent.values() for value in values), key=repr)
