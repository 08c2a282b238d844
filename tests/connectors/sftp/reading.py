"""Runs of tasks that read files, as the runtime drives them."""

import logging
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from connectors.sftp.reading import FileSource
from connectors.sftp.task import FileTask
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.options import parse
from rocketconnect_sdk.polled import batches_of
from rocketconnect_sdk.record import Position

LOG = logging.getLogger("files")
SECONDS = 120


@dataclass
class Reading:
    """A task, and what came of it."""

    task: FileTask
    positions: dict[str, Position] = field(default_factory=dict)
    values: list[object] = field(default_factory=list)

    def poll(self) -> bool:
        """Whether something came."""
        given = batches_of(self.task.poll())
        for batch in given:
            self.values += batch.values
            self.positions[batch.partition] = Position(batch.end or batch.offsets[-1])
        return bool(given)

    def until(self, count: int) -> list[object]:
        """So many values, at least."""
        deadline = time.monotonic() + SECONDS
        while len(self.values) < count:
            assert time.monotonic() < deadline, f"there are {self.values}"
            if not self.poll():
                time.sleep(0.005)
        return self.values

    def to_end(self) -> list[object]:
        """All, of a task that ends."""
        deadline = time.monotonic() + SECONDS
        while not self.task.finished:
            assert time.monotonic() < deadline, f"it does not end with {self.values}"
            if not self.poll():
                self.task.committed(self.positions)
                time.sleep(0.005)
        return self.values


@contextmanager
def reading(
    source: FileSource, options: Mapping[str, str], positions: Mapping[str, Position] | None = None, *, batch: int = 10_000
) -> Iterator[Reading]:
    """A task that has started, until the end of the block."""
    # Where nothing else is said, a file is whole that is there.
    given = {"format": "text", "complete.when": "rename", "discover.interval": "0.1s", **options}
    task = source.open(parse(source.options, given), {"share": "0/1"}, TaskContext(batch_records=batch, log=LOG))
    try:
        task.start(positions or {})
        yield Reading(task, dict(positions or {}))
    finally:
        task.close()
