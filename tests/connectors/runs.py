"""Runs of tasks of record sinks, as the runtime drives them."""

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Generic, Self, TypeVar

from rocketconnect_sdk.context import TaskContext
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
        self.positions = dict(self.task.start())
        return self

    def commit_of(self, until: int, queue: str = QUEUE) -> SinkCommit:
        before = self.positions.get(queue, QueuePosition(0))
        token = f"{queue}:{before.place}-{until}".replace("/", "-")
        after = {queue: replace(before, until=until)}
        return SinkCommit(self.uid, self.number, self.epoch, {queue: before}, after, until - before.until, token)

    def batch(self, until: int, queue: str = QUEUE) -> SinkBatch:
        begin = self.positions.get(queue, QueuePosition(0)).until
        number = int(queue.rpartition("/")[2])
        offsets = list(range(begin, until))
        return SinkBatch(queue, queue.partition("/")[0], [row(number, offset) for offset in offsets], offsets, schema=ROW)

    def stage(self, batch: SinkBatch) -> Receipt:
        return self.task.writer().stage(batch, "part")

    def write(self, until: int, queue: str = QUEUE, batch: SinkBatch | None = None) -> None:
        commit = self.commit_of(until, queue)
        self.task.commit([self.stage(batch or self.batch(until, queue))], commit)
        self.positions |= commit.after

    def write_values(self, values: Sequence[object], schema: Schema | None) -> None:
        """Writes values behind what was written."""
        begin = self.positions.get(QUEUE, QueuePosition(0)).until
        until = begin + len(values)
        self.write(until, batch=SinkBatch(QUEUE, "orders", values, range(begin, until), schema=schema))


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
