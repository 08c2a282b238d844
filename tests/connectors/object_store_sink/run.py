"""Runs of tasks, as the runtime drives them."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from connectors.object_store_sink import ObjectStoreSink
from connectors.object_store_sink.task import ObjectTask
from connectors.sftp.sink import SftpSink
from rocketconnect_sdk.conformance import runs
from rocketconnect_sdk.conformance.runs import QUEUE, ROW
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.options import parse
from rocketconnect_sdk.record import SinkBatch
from rocketconnect_sdk.schema import Schema
from rocketconnect_sdk.sink import QueuePosition, Receipt
from tests.connectors.object_store_sink.prefix import row
from tests.connectors.stores import known

LOG = logging.getLogger("objects")


@dataclass
class Run(runs.Run[ObjectTask]):
    """One run of a task. See there."""

    def batch(self, until: int, queue: str = QUEUE) -> SinkBatch:
        begin = self.positions.get(queue, QueuePosition(0)).until
        return rows_of(range(begin, until), queue)

    def stage(self, batch: SinkBatch, part: str = "") -> Receipt:
        return self.task.writer().stage(batch, part or f"part-{batch.queue}-{batch.offsets[0]}")


def rows_of(offsets: Sequence[int], queue: str = QUEUE) -> SinkBatch:
    """Rows at these offsets."""
    number = int(queue.rpartition("/")[2])
    return SinkBatch(queue, queue.partition("/")[0], [row(number, offset) for offset in offsets], list(offsets), schema=ROW)


def records(values: Sequence[object], *, times: Sequence[int | None] | None = None, schema: Schema | None = None) -> SinkBatch:
    """Records from offset 0 on."""
    return SinkBatch(QUEUE, "orders", values, range(len(values)), timestamps_ms=times, schema=schema)


def sink_of(options: Mapping[str, str]) -> ObjectStoreSink:
    """The one that has such options."""
    return SftpSink() if "host" in options else ObjectStoreSink()


def opened(options: Mapping[str, str], *, epoch: int = 1, generation: int = 1, task: int = 0, uid: str = "uid") -> Run:
    """A task."""
    sink = sink_of(options)
    context = TaskContext("orders", uid, task, generation, epoch, log=LOG)
    made = sink.open(known(parse(sink.options, options)), {}, context)
    return Run(made, {}, epoch, task, uid)
