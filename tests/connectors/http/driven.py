"""Drives a task of the sink as the runtime does."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from connectors.http.sink import HttpSink
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import RecordRefused
from rocketconnect_sdk.options import parse
from rocketconnect_sdk.record import SinkBatch
from rocketconnect_sdk.schema import Schema
from rocketconnect_sdk.sink import QueuePosition, RecordSinkTask, SinkCommit

QUEUE = "orders/b/0"
TIME_MS = 1_767_225_600_000
"""The time of all records: 2026-01-01."""
SECRETS = {"${env:SECRET}": "geheim", "${env:WRONG}": "wrong"}


class Run:
    """A task that writes one queue."""

    def __init__(self, **options: str) -> None:
        sink = HttpSink()
        given = {key.replace("_", "."): value for key, value in options.items()}
        config = parse(sink.options, given)

        def known(text: str) -> str:
            for reference, secret in SECRETS.items():
                text = text.replace(reference, secret)
            return text

        config = config.replaced(known)
        self.context = TaskContext()
        self.task: RecordSinkTask = sink.open(config, {}, self.context)
        self.at = 0

    def write(
        self,
        values: Sequence[object],
        keys: Sequence[object] | None = None,
        headers: Sequence[Mapping[str, str]] | None = None,
        schema: Schema | None = None,
    ) -> dict[int, str]:
        """Writes a batch, and returns what was refused. After an error the same batch is to be written again."""
        end = self.at + len(values)
        offsets, times = range(self.at, end), [TIME_MS] * len(values)
        batch = SinkBatch(QUEUE, "orders", values, offsets, keys, times, headers or [{"h": "x"}] * len(values), schema)
        refused: dict[int, str] = {}
        try:
            receipts: Any = [self.task.writer().stage(batch, "part")]
        except RecordRefused as error:
            refused, receipts = dict(error.refused), [error.receipt]
        commit = SinkCommit("test", 0, 1, {QUEUE: QueuePosition(self.at)}, {QUEUE: QueuePosition(end)}, len(values), f"t{self.at}")
        try:
            self.task.commit(receipts, commit)
        except RecordRefused as error:
            refused |= error.refused
        self.at = end
        return refused


@contextmanager
def running(url: str, **options: str) -> Iterator[Run]:
    """A task that is started, and closed at the end."""
    run = Run(url=url, **options)
    try:
        run.task.start()
        yield run
    finally:
        run.task.close()
