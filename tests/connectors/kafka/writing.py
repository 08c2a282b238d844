"""What the runtime does with kafka_sink: it stages batches, commits what is not refused, and begins again."""

from collections.abc import Mapping, Sequence
from typing import Any

from connectors.kafka.sink import KafkaSink
from rocketconnect_sdk import Config, TaskContext, parse
from rocketconnect_sdk.errors import RecordRefused
from rocketconnect_sdk.record import SinkBatch
from rocketconnect_sdk.sink import QueuePosition, SinkCommit
from rocketconnect_sdk.writes import WriteTask

QUEUE = "orders/b/0"


def parsed(config: Mapping[str, str]) -> Config:
    """The configuration of a sink."""
    return parse(KafkaSink.options, config)


class Run:
    """One run of one task.

    Args:
        config: Options of the sink.
        task: Its number.
        generation: Of its plan.
        epoch: Of its assignment.
    """

    def __init__(self, config: Config, task: int = 0, generation: int = 1, epoch: int = 1) -> None:
        self.task: WriteTask = KafkaSink().open(config, {}, TaskContext(task=task, generation=generation, epoch=epoch))
        self.positions: Mapping[str, QueuePosition] = {}

    def start(self) -> "Run":
        self.positions = dict(self.task.start())
        return self

    def write(
        self,
        values: Sequence[object],
        keys: Sequence[object] | None = None,
        headers: Sequence[Mapping[str, str]] | None = None,
        times: Sequence[int | None] | None = None,
        queue: str = QUEUE,
    ) -> dict[int, str]:
        """Writes the next records of a queue; why some were refused."""
        begin = self.positions.get(queue, QueuePosition(0)).until
        end = begin + len(values)
        batch = SinkBatch(queue, "orders", values, range(begin, end), keys, times, headers)
        after = {queue: QueuePosition(end)}
        commit = SinkCommit("test", 0, 1, {queue: QueuePosition(begin)}, after, len(values), f"{queue}:{begin}-{end}")
        refused: dict[int, str] = {}
        try:
            receipts: Any = [self.task.writer().stage(batch, "part")]
        except RecordRefused as error:
            refused, receipts = dict(error.refused), [error.receipt]
        while True:
            try:
                self.task.commit(receipts, commit)
            except RecordRefused as error:
                refused |= error.refused
                receipts = error.receipt
            else:
                self.positions = {**self.positions, **after}
                return refused

    def close(self) -> None:
        self.task.close()
