"""The cluster service in the simulation: the real core and board; what stands around them is mirrored."""

from rocketconnect_kit.errors import ServiceError, Unavailable
from services.cluster import core
from services.cluster.board import Board, Subscription
from services.cluster.coordinator import _BATCH
from services.cluster.events import ConnectorsChanged, Event, Tick
from services.cluster.model import Changes, Unit
from services.cluster.state import Policy, State
from services.cluster.tables import Tables
from services.cluster.view import view_of
from tests.simulation.checks import Checks
from tests.simulation.world import Process, Reply, Steps, World

NAME = "cluster"


class ClusterStore:
    """What is durable, and the term of the process that may write it. Mirrors cluster/store.py."""

    def __init__(self) -> None:
        self.tables = Tables()
        self.term = 0
        self.away_until = 0.0

    def load(self) -> Tables:
        tables = Tables()
        stored = self.tables
        tables.apply(
            Changes(
                dict(stored.workers),
                dict(stored.connectors),
                dict(stored.plans),
                dict(stored.units),
                dict(stored.generations),
                dict(stored.counters),
            )
        )
        return tables


class ClusterServer(Process):
    """Mirrors cluster/coordinator.Coordinator (one write under way, what gathers is taken together, reload after a failed write)
    and cluster/service.py (heartbeats answered from memory, streams that look at the session first)."""

    def __init__(self, world: World, store: ClusterStore, policy: Policy, checks: Checks) -> None:
        super().__init__(world, NAME)
        self._store = store
        self._policy = policy
        self._checks = checks
        store.term += 1
        self._term = store.term
        self._queue: list[tuple[Event, Reply | None]] = []
        self._streams: dict[tuple[Process, str | None, int], tuple[Subscription, Reply]] = {}
        self._writing = False
        self._wake_at = 0.0
        self.board = Board()
        self.state = State(store.load(), policy, self.clock())
        self.board.replace_all({key: view_of(self.state, key) for key in self.state.tables.units})
        world.note(f"cluster service starts, term {self._term}")
        self.spawn(self._follow_config())
        self._sleep()

    def handle(self, method: str, args: object, reply: Reply) -> None:
        match method, args:
            case "heartbeat", (str(worker), int(session)):
                try:
                    core.heartbeat(self.state, worker, session, self.clock())
                except ServiceError as error:
                    reply(error)
                else:
                    reply(self._policy.timing.lease)
            case "event", event:
                self._queue.append((event, reply))  # type: ignore[arg-type]
                self._pump()

    def watch(self, client: Process, worker: str | None, session: int, told: Reply) -> None:
        """Tell a client what a worker holds (None: everything), as long as both live and the session holds."""
        stream = client, worker, session
        if stream not in self._streams:
            self._streams[stream] = (self.board.subscribe(worker), told)
            self._tell(stream)

    def is_told(self, client: Process, worker: str | None, session: int) -> bool:
        """Whether the stream has not broken."""
        return (client, worker, session) in self._streams

    def _tell(self, stream: tuple[Process, str | None, int]) -> None:
        client, worker, session = stream
        subscription, told = self._streams[stream]
        try:
            if worker is not None:
                core.check_session(self.state, worker, session)
        except ServiceError:
            del self._streams[stream]
            self.board.unsubscribe(subscription)
            return
        update = subscription.take()
        if update is not None and client.alive:
            self.world.network.send(self, client, lambda: told(update), reliable=True)

    def _follow_config(self) -> Steps:
        known = -1
        while True:
            try:
                news = yield self.world.network.call(self, "config", "watch", known)
            except Unavailable:
                news = None
            if news is not None:
                known, connectors = news
                self._queue.append((ConnectorsChanged(snapshot=True, connectors=connectors), None))
                self._pump()
            yield 0.2

    def _sleep(self) -> None:
        self.after(max(0.01, self._wake_at - self.clock()), self._woken)

    def _woken(self) -> None:
        if not self._writing and self.clock() >= self._wake_at - 1e-6:
            self._queue.append((Tick(), None))
            self._pump()

    def _pump(self) -> None:
        if self._writing or not self._queue:
            return
        batch, self._queue = self._queue[:_BATCH], self._queue[_BATCH:]
        effects = core.step(self.state, [event for event, _ in batch], self.clock(), self.world.random)
        self._wake_at = effects.wake_at
        self._writing = True

        def write() -> None:
            if not self.point("cluster: before its write"):
                self.after(0.0, write)
                return
            if self._term != self._store.term:
                self.world.note(f"cluster service of term {self._term} is taken over and ends")
                self.kill()
                return
            if self.world.now < self._store.away_until:
                # The answer of the store is lost: it may have written.
                if self.world.random.random() < 0.3:
                    self._durable(effects.changes)
                self._writing = False
                for event, reply in batch:
                    if reply is not None:
                        reply(Unavailable("STORE_UNAVAILABLE", "the store is away"))
                    elif not isinstance(event, Tick):
                        self._queue.append((event, None))
                self._read_again()
                return
            self._durable(effects.changes)
            if self.point("cluster: between write and answer"):
                written()
            else:
                self.after(0.0, written)

        def written() -> None:
            self._writing = False
            self.board.publish(effects.views)
            for (_event, reply), answer in zip(batch, effects.replies, strict=True):
                if reply is not None:
                    reply(answer)
            for stream, (subscription, _) in list(self._streams.items()):
                if subscription.ready.is_set():
                    self._tell(stream)
            self._pump()
            if not self._writing:
                self._sleep()

        self.after(self.world.random.choice((0.001, 0.002, 0.01)), write)

    def _durable(self, changes: Changes) -> None:
        self._checks.assigned(self._store.tables, changes)
        self._store.tables.apply(changes)
        for key, unit in changes.units.items():
            self.world.note(f"   {key.connector_uid}/{key.task}: {_told(unit)}")

    def _read_again(self) -> None:
        """Mirrors Coordinator._load_again."""
        self._writing = True
        if self.world.now < self._store.away_until:
            self.after(0.2, self._read_again)
            return
        self.state = State(self._store.load(), self._policy, self.clock())
        self.board.replace_all({key: view_of(self.state, key) for key in self.state.tables.units})
        self._wake_at = 0.0
        self._writing = False
        self._pump()
        if not self._writing:
            self._sleep()


def _told(unit: Unit | None) -> str:
    if unit is None:
        return "gone"
    return f"{unit.worker or '-'} epoch {unit.epoch} generation {unit.generation}{' revoked' if unit.revoked else ''}"
