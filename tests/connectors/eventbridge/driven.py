"""Drives a task of the sink as the runtime does."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from connectors.eventbridge.sink import EventBridgeSink
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import RecordRefused, SystemAway
from rocketconnect_sdk.options import parse
from rocketconnect_sdk.record import SinkBatch
from rocketconnect_sdk.sink import QueuePosition, RecordSinkTask, SinkCommit

QUEUE = "orders/b/0"
TIME_MS = 1_767_225_600_000
"""The time of all records: 2026-01-01."""


class Run:
    """A task that writes one queue."""

    def __init__(self, options: Mapping[str, str]) -> None:
        sink = EventBridgeSink()
        config = parse(sink.options, options).replaced(lambda text: text.replace("${env:SECRET}", "geheim"))
        self.context = TaskContext()
        self.task: RecordSinkTask = sink.open(config, {}, self.context)
        self.at = 0
        self.away: list[SystemAway] = []

    def write(self, values: Sequence[object], keys: Sequence[object] | None = None) -> dict[int, str]:
        """Writes a batch, as often as it takes, and returns what was refused."""
        end = self.at + len(values)
        offsets, times = range(self.at, end), [TIME_MS] * len(values)
        batch = SinkBatch(QUEUE, "orders", values, offsets, keys, times, [{"h": "x"}] * len(values))
        refused: dict[int, str] = {}
        try:
            receipts: Any = [self.task.writer().stage(batch, "part")]
        except RecordRefused as error:
            refused, receipts = dict(error.refused), [error.receipt]
        commit = SinkCommit("test", 0, 1, {QUEUE: QueuePosition(self.at)}, {QUEUE: QueuePosition(end)}, len(values), f"t{self.at}")
        while True:
            try:
                self.task.commit(receipts, commit)
                break
            except RecordRefused as error:
                refused |= error.refused
                receipts = error.receipt
            except SystemAway as error:
                self.away.append(error)
                self.context.stopping.wait(min(error.wait or 0, 2))
        self.at = end
        return refused


@contextmanager
def running(options: Mapping[str, str]) -> Iterator[Run]:
    """A task that is started, and closed at the end."""
    run = Run(options)
    try:
        run.task.start()
        yield run
    finally:
        run.task.close()
