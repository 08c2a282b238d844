"""Runs of tasks of record sinks, batch by batch, as the runtime drives them."""

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Generic, Self, TypeVar

from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import RecordRefused
from rocketconnect_sdk.options import Config
from rocketconnect_sdk.record import SinkBatch
from rocketconnect_sdk.schema import Schema, Type, struct
from rocketconnect_sdk.sink import QueuePosition, Receipt, RecordSinkTask, SinkCommit

Task = TypeVar("Task", bound=RecordSinkTask)
QUEUE = "orders/broker-a/0"
LOG = logging.getLogger("runs")
ROW = struct(
    [("queue", Schema(Type.INT32)), ("offset", Schema(Type.INT64)), ("text", Schema(Type.STRING, optional=True))], name="row"
)


def row(queue: int, offset: int) -> dict[str, object]:
    """The row of ROW at an offset of a queue."""
    return {"queue": queue, "offset": offset, "text": None if offset % 7 == 0 else f"'ü', \\{offset}\n"}


@dataclass
class Run(Generic[Task]):
    """One run of a task.

    Attributes:
        task: The task.
        positions: Where it is.
        epoch: Its epoch.
        number: Of the task in its plan.
        uid: Of its connector.
    """

    task: Task
    positions: dict[str, QueuePosition]
    epoch: int
    number: int
    uid: str

    def start(self) -> Self:
        """Goes on where the target says."""
        self.positions = dict(self.task.start())
        return self

    def commit_of(self, until: int, queue: str = QUEUE) -> SinkCommit:
        """Of a batch of a queue up to an offset."""
        before = self.positions.get(queue, QueuePosition(0))
        token = f"{queue}:{before.place}-{until}".replace("/", "-")
        after = {queue: replace(before, until=until)}
        return SinkCommit(self.uid, self.number, self.epoch, {queue: before}, after, until - before.until, token)

    def batch(self, until: int, queue: str = QUEUE) -> SinkBatch:
        """The rows of a queue up to an offset."""
        begin = self.positions.get(queue, QueuePosition(0)).until
        number = int(queue.rpartition("/")[2])
        offsets = list(range(begin, until))
        return SinkBatch(queue, queue.partition("/")[0], [row(number, offset) for offset in offsets], offsets, schema=ROW)

    def stage(self, batch: SinkBatch) -> Receipt:
        """Stages a batch."""
        return self.task.writer().stage(batch, "part")

    def write(self, until: int, queue: str = QUEUE, batch: SinkBatch | None = None) -> None:
        """Writes a queue up to an offset: its rows, or a batch."""
        commit = self.commit_of(until, queue)
        self.task.commit([self.stage(batch or self.batch(until, queue))], commit)
        self.positions |= commit.after

    def of_values(self, values: Sequence[object], schema: Schema | None) -> SinkBatch:
        """Values behind what was written."""
        begin = self.positions.get(QUEUE, QueuePosition(0)).until
        return SinkBatch(QUEUE, "orders", values, range(begin, begin + len(values)), schema=schema)

    def write_values(self, values: Sequence[object], schema: Schema | None) -> None:
        """Writes values behind what was written."""
        batch = self.of_values(values, schema)
        self.write(batch.offsets[-1] + 1, batch=batch)

    def refused(self, values: Sequence[object], schema: Schema | None) -> dict[int, str]:
        """By index what is said of values that are refused; the others are written."""
        batch = self.of_values(values, schema)
        commit = self.commit_of(batch.offsets[-1] + 1)
        reasons: dict[int, str] = {}
        try:
            receipt = self.stage(batch)
        except RecordRefused as error:
            receipt, reasons = error.receipt, dict(error.refused)
        self.task.commit([receipt], commit)
        self.positions |= commit.after
        return reasons


def run_of(
    opens: Callable[[Config, Mapping[str, str], TaskContext], Task],
    config: Config,
    *,
    epoch: int = 1,
    generation: int = 1,
    task: int = 0,
    uid: str = "uid",
) -> Run[Task]:
    """A task that was just opened."""
    return Run(opens(config, {}, TaskContext("orders", uid, task, generation, epoch, log=LOG)), {}, epoch, task, uid)


def write_at_once(runs: Sequence[Run[Task]]) -> None:
    """Each of them writes five batches into the queue of its number, all at the same time: 25 records each."""
    failed: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for until in range(5, 30, 5):
                runs[number].write(until, f"orders/broker-a/{number}")
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(len(runs))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
