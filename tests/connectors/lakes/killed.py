"""What the runtime does with a source that is killed: rows are sent, positions are stored later."""

from collections.abc import Mapping
from typing import Any

from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.options import Config
from rocketconnect_sdk.polled import batches_of
from rocketconnect_sdk.record import Offset, Position
from rocketconnect_sdk.source import Source, SourceTask


class Topic:
    """Rows with ids; what is not behind the newest record of its partition is there already, and is not sent again.

    Args:
        source: Its poll.interval is 0, so that each poll looks.
        config: Of the source.
        share: Of the only task.
    """

    def __init__(self, source: Source, config: Config, share: Mapping[str, str]) -> None:
        self._opening = (source, config, share)
        self.sent: list[int] = []
        self._positions: dict[str, Position] = {}
        self._newest: dict[str, Offset] = {}
        self._unstored: list[tuple[str, Position]] = []
        self._task: SourceTask | None = None

    def read(self, records: int) -> int:
        """One poll; of what it gives nothing is stored yet. How many records it gave."""
        given = 0
        if self._task is None:
            source, config, share = self._opening
            self._task = source.open(config, share, TaskContext(batch_records=records))
            self._task.start(dict(self._positions))
        for batch in batches_of(self._task.poll()):
            values: list[Any] = list(batch.values)
            given += len(values)
            for offset, value in zip(batch.offsets, values, strict=True):
                if offset > self._newest.get(batch.partition, ()):
                    self._newest[batch.partition] = offset
                    self.sent.append(value["id"])
                self._unstored.append((batch.partition, Position(offset)))
            if batch.end:
                self._unstored.append((batch.partition, Position(tuple(batch.end))))
        return given

    def store(self, count: int) -> None:
        """Stores the first of the positions that are not stored yet."""
        self._positions.update(self._unstored[:count])
        del self._unstored[:count]

    def kill(self) -> None:
        """The next read is that of a new process."""
        if self._task is not None:
            self._task.close()
        self._task, self._unstored = None, []
