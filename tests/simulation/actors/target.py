"""A system that a sink writes to, which stores positions with the data in one transaction."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from rocketconnect_sdk.errors import PermanentError
from rocketconnect_sdk.sink import QueuePosition, SinkCommit
from services.executor.runtime.rocketmq.source_marks import SourceCoordinate
from tests.simulation.world import Process, Reply, World

NAME = "target"


@dataclass
class TargetStore:
    """What is durable: each queue's records in the order in which they became visible, positions, and who owns it."""

    records: list[tuple[str, SourceCoordinate]] = field(default_factory=list)
    positions: dict[str, QueuePosition] = field(default_factory=dict)
    generation: int = 0
    epochs: dict[int, int] = field(default_factory=dict)
    tokens: dict[int, str] = field(default_factory=dict)


class Target(Process):
    """Mirrors rocketconnect_sdk/files/manifest.py: `claim` at start, `mine` and `written` at each batch."""

    def __init__(self, world: World, store: TargetStore) -> None:
        super().__init__(world, NAME)
        self._store = store

    def handle(self, method: str, args: object, reply: Reply) -> None:
        def transact() -> None:
            if not self.point("target: before its commit"):
                self.after(0.0, transact)
                return
            match method, args:
                case "claim", (int(generation), int(task), int(epoch)):
                    answer: object = self._claim(generation, task, epoch)
                case "write", (int(generation), SinkCommit() as commit, list(records)):
                    answer = self._write(generation, commit, records)
                case "append", (int(_), SinkCommit(), list(records)):
                    self._store.records += records
                    answer = None
                case _:
                    raise AssertionError(method)
            if self.point("target: between commit and answer"):
                reply(answer)
            else:
                self.after(0.0, lambda: reply(answer))

        self.after(0.002, transact)

    def _claim(self, generation: int, task: int, epoch: int) -> Mapping[str, QueuePosition] | PermanentError:
        store = self._store
        same = generation == store.generation
        if (store.generation, store.epochs.get(task, 0) if same else 0) > (generation, epoch):
            return PermanentError("another owner writes there now")
        if not same:
            store.generation, store.epochs = generation, {}
        store.epochs[task] = epoch
        return dict(store.positions)

    def _write(self, generation: int, commit: SinkCommit, records: Sequence[tuple[str, SourceCoordinate]]) -> PermanentError | None:
        store = self._store
        if generation != store.generation or store.epochs.get(commit.task) != commit.epoch:
            return PermanentError("another owner writes there now")
        if store.tokens.get(commit.task) == commit.token:
            return None
        for queue, before in commit.before.items():
            stored = store.positions.get(queue)
            if stored is not None and (before.incarnation, before.until) < (stored.incarnation, stored.until):
                return PermanentError(f"the batch begins before what is there in {queue}")
        store.positions.update(commit.after)
        store.tokens[commit.task] = commit.token
        store.records += records
        return None
