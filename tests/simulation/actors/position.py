"""Replicas of the position service: the real rules over one durable store."""

import itertools
from collections.abc import Mapping

from rocketconnect_kit.errors import FailedPrecondition, ServiceError, Unavailable
from services.position import fencing
from services.position.domain import ConnectorRow, Effects, Fence, Ledger, Update
from services.position.sightings import Sightings
from tests.simulation.actors.cluster import WALL_CLOCK
from tests.simulation.actors.config import ConfigStore
from tests.simulation.checks import Checks
from tests.simulation.world import Process, Reply, World

REPLICAS = ("position-0", "position-1")


class PositionStore:
    """What is durable. Decisions are made on it within a transaction, so that replicas take turns."""

    def __init__(self) -> None:
        self.ledgers: dict[str, Ledger] = {}
        self.away_until = 0.0
        self.times_put_back = 0
        self.commits = 0
        self.confirmed = 0
        self.drawn = itertools.count(1)

    def put_back(self, backup: Mapping[str, Ledger]) -> None:
        """The store is as it was when the backup was made; ledgers are never changed in place."""
        self.ledgers = dict(backup)
        self.times_put_back += 1

    def ledger(self, uid: str) -> Ledger:
        return self.ledgers.get(uid) or Ledger(ConnectorRow(uid, 0, 0, carried_clean=True))


class PositionServer(Process):
    """Mirrors position/store.PositionStore and its writer, which answer when the transaction is on disk."""

    def __init__(self, world: World, name: str, store: PositionStore, config: ConfigStore, checks: Checks) -> None:
        super().__init__(world, name)
        self._store = store
        self._config = config
        self._checks = checks
        self._seen = Sightings(lambda: int(self.boot_clock() * 1e6), store.drawn.__next__)

    def handle(self, method: str, args: object, reply: Reply) -> None:
        def transact() -> None:
            if not self.point("position: before its write"):
                self.after(0.0, transact)
                return
            if self.world.now < self._store.away_until:
                if self.world.random.random() < 0.3:
                    self._answer(method, args)
                reply(Unavailable("STORE_UNAVAILABLE", "the store is away"))
                return
            answer = self._answer(method, args)
            if self.point("position: between write and answer"):
                reply(answer)
            else:
                self.after(0.0, lambda: reply(answer))

        self.after(0.001, transact)

    def _answer(self, method: str, args: object) -> object:
        try:
            match method, args:
                case "open", (Fence() as fence, int(send_deadline)):
                    return self._open(fence, send_deadline)
                case "commit", (Fence() as fence, tuple(updates), bool(clean)):
                    return self._commit(fence, updates, clean)
                case "confirm", (tuple(fences), int(lease)):
                    return self._confirm(fences, lease)
                case "alter", (str(uid), str(partition), str(offset)):
                    return self._alter(uid, partition, offset)
        except ServiceError as error:
            return error
        raise AssertionError(method)

    def _open(self, fence: Fence, send_deadline: int) -> object:
        before = self._store.ledger(fence.connector_uid)
        effects, opened = fencing.open_task(before, fence, self._seen, now=self._now(), send_deadline=send_deadline)
        self._write(fence.connector_uid, before, effects)
        self._checks.opened(fence)
        return opened

    def _commit(self, fence: Fence, updates: tuple[Update, ...], clean: bool) -> object:
        before = self._store.ledger(fence.connector_uid)
        effects = fencing.commit(before, fence, updates, self._seen, clean=clean, now=self._now())
        self._checks.committed(fence, before, fencing.apply(before, effects))
        self._write(fence.connector_uid, before, effects)
        self._store.commits += 1
        return None

    def _confirm(self, fences: tuple[Fence, ...], lease: int) -> tuple[Fence, ...]:
        """Mirrors service.PositionService.ConfirmEpochs."""
        all_fenced: list[Fence] = []
        for uid in dict.fromkeys(fence.connector_uid for fence in fences):
            before = self._store.ledger(uid)
            effects, fenced = fencing.confirm(before, [fence for fence in fences if fence.connector_uid == uid], lease, self._seen)
            self._write(uid, before, effects)
            all_fenced += fenced
        self._store.confirmed += len(fences) - len(all_fenced)
        return tuple(all_fenced)

    def _now(self) -> int:
        """The time of day in microseconds."""
        return int((WALL_CLOCK + self.world.now) * 1e6)

    def _alter(self, uid: str, partition: str, offset: str) -> object:
        if not self._config.is_stopped(uid):
            return FailedPrecondition("NOT_STOPPED", "stop it first", connector=uid)
        before = self._store.ledger(uid)
        self._write(uid, before, fencing.alter(before, {partition: (offset, "")}, self._now()))
        self._checks.altered(uid, self._store.ledger(uid).positions[partition])
        self.world.note(f"{uid}: the position of {partition} is set to {offset}")
        return None

    def _write(self, uid: str, before: Ledger, effects: Effects) -> None:
        self._store.ledgers[uid] = fencing.apply(before, effects)
