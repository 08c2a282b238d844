"""Drives a task of the sink as the runtime does."""

from collections.abc import Sequence
from typing import Any, ClassVar

from connectors.solr.sink import SolrSink
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import RecordRefused
from rocketconnect_sdk.options import parse
from rocketconnect_sdk.record import SinkBatch
from rocketconnect_sdk.sink import QueuePosition, RecordSinkTask, SinkCommit

QUEUE = "orders/b/0"


class Run:
    """A task that writes one queue. All of them are closed behind each test."""

    opened: ClassVar[list["Run"]] = []

    def __init__(self, url: str, **options: str) -> None:
        sink = SolrSink()
        given = {"url": url, **{key.replace("_", "."): value for key, value in options.items()}}
        config = parse(sink.options, given).replaced(lambda text: "wrong" if text == "${env:SECRET}" else text)
        self.problems = list(sink.check(config))
        self.task: RecordSinkTask = sink.open(config, {}, TaskContext())
        self.opened.append(self)
        self.task.start()
        self.at = 0

    def write(self, values: Sequence[object], keys: Sequence[object] | None = None) -> dict[int, str]:
        """Writes a batch, and returns what was refused. After an error the same batch is to be written again."""
        end = self.at + len(values)
        batch = SinkBatch(QUEUE, "orders", values, range(self.at, end), keys)
        refused: dict[int, str] = {}
        try:
            receipts: Any = [self.task.writer().stage(batch, "part")]
        except RecordRefused as error:
            refused, receipts = error.refused, [error.receipt]
        commit = SinkCommit("test", 0, 1, {QUEUE: QueuePosition(self.at)}, {QUEUE: QueuePosition(end)}, len(values), f"t{self.at}")
        try:
            self.task.commit(receipts, commit)
        except RecordRefused as error:
            refused |= error.refused
        self.at = end
        return refused
