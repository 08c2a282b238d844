"""Runs of tasks, as the runtime drives them."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from connectors.object_store_sink import ObjectStoreSink
from connectors.object_store_sink.task import ObjectTask
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.options import parse
from rocketconnect_sdk.record import SinkBatch
from rocketconnect_sdk.schema import Schema
from rocketconnect_sdk.sink import QueuePosition, Receipt, SinkCommit
from tests.connectors.object_store_sink.prefix import ROW, row
from tests.connectors.stores import known

QUEUE = "orders/broker-a/0"
LOG = logging.getLogger("objects")


@dataclass
class Run:
    """One run of a task.

    Attributes:
        task: The task.
        positions: Where it is.
        epoch: Its epoch.
        number: Of the task in its plan.
    """

    task: ObjectTask
    positions: dict[str, QueuePosition]
    epoch: int
    number: int

    def start(self) -> "Run":
        self.positions = dict(self.task.start())
        return self

    def commit_of(self, until: int, queue: str = QUEUE) -> SinkCommit:
        before = self.positions.get(queue, QueuePosition(0))
        token = f"{queue}:{before.place}-{until}".replace("/", "-")
        after = {queue: replace(before, until=until)}
        return SinkCommit("uid", self.number, self.epoch, {queue: before}, after, until - before.until, token)

    def batch(self, until: int, queue: str = QUEUE) -> SinkBatch:
        begin = self.positions.get(queue, QueuePosition(0)).until
        return rows_of(range(begin, until), queue)

    def stage(self, batch: SinkBatch, part: str = "") -> Receipt:
        return self.task.writer().stage(batch, part or f"part-{batch.queue}-{batch.offsets[0]}")

    def write(self, until: int, queue: str = QUEUE, batch: SinkBatch | None = None) -> None:
        commit = self.commit_of(until, queue)
        self.task.commit([self.stage(batch or self.batch(until, queue))], commit)
        self.positions |= commit.after


def rows_of(offsets: Sequence[int], queue: str = QUEUE) -> SinkBatch:
    """Rows at these offsets."""
    number = int(queue.rpartition("/")[2])
    return SinkBatch(queue, queue.partition("/")[0], [row(number, offset) for offset in offsets], list(offsets), schema=ROW)


def records(values: Sequence[object], *, times: Sequence[int | None] | None = None, schema: Schema | None = None) -> SinkBatch:
    """Records from offset 0 on."""
    return SinkBatch(QUEUE, "orders", values, range(len(values)), timestamps_ms=times, schema=schema)


def opened(options: Mapping[str, str], *, epoch: int = 1, generation: int = 1, task: int = 0, uid: str = "uid") -> Run:
    """A task."""
    sink = ObjectStoreSink()
    context = TaskContext("orders", uid, task, generation, epoch, log=LOG)
    made = sink.open(known(parse(sink.options, options)), {}, context)
    return Run(made, {}, epoch, task)
