"""The cluster service in the simulation: the real core and board; what stands around them is mirrored."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from rocketconnect_kit.clock import bounded_floor
from rocketconnect_kit.errors import Aborted, ServiceError, Unavailable
from rocketconnect_kit.leader.election import not_leading
from services.cluster.board import Board, Subscription, Update
from services.cluster.coordinator import _BATCH
from services.cluster.decisions import core
from services.cluster.decisions.events import ConnectorsChanged, Effects, Event, Tick, WorkerGone
from services.cluster.model import Changes, Unit
from services.cluster.state import Policy, State
from services.cluster.tables import Tables
from services.cluster.view import view_of
from tests.simulation.actors.election import Election, Seat
from tests.simulation.checks import Checks
from tests.simulation.world import Process, Reply, Steps, World

REPLICAS = ("cluster-0", "cluster-1")

WALL_CLOCK = 1_800_000_000.0
"""What the clock on the wall says when the world begins, in seconds since 1970."""


@dataclass(eq=False)
class Stream:
    """A client that is told what a worker holds (None: everything), as long as it lives and the session holds."""

    client: Process
    worker: str | None
    session: int
    told: Callable[["Stream", Update], None]


class ClusterStore(Seat):
    """What is durable, and the row of the leader that may write it. Mirrors cluster/store.py."""

    def __init__(self, world: World, checks: Checks) -> None:
        super().__init__(world)
        self._checks = checks
        self.tables = Tables()

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

    def write(self, term: int, changes: Changes) -> None:
        self.require_term(term)
        self._checks.assigned(self.tables, changes)
        self.tables.apply(changes)
        for key, unit in changes.units.items():
            self._world.note(f"   {key.connector_uid}/{key.task}: {_told(unit)}")


class ClusterServer(Process):
    """A replica: who leads has a term, the others refuse. Mirrors cluster/server.py and kit/leader_only.py."""

    def __init__(self, world: World, name: str, store: ClusterStore, policy: Policy) -> None:
        super().__init__(world, name)
        self._store = store
        self._policy = policy
        self._term: Term | None = None
        world.note(f"{name} starts")
        self.election = Election(self, store, self._lead, self._end)

    def _lead(self, term: int) -> Steps:
        # The clock is asked when the store has answered: every worker that is known gets a full lease from then.
        tables = yield self._store.transact(self, self._store.load)
        self._term = Term(self, self._store, term, State(tables, self._policy, self.clock()), self._policy)

    def _end(self) -> None:
        term, self._term = self._term, None
        if term is not None:
            term.end()

    @property
    def term(self) -> "Term | None":
        """What it does as the leader. By the clock: who was stopped for a while must not answer from what it knew."""
        return self._term if self.election.leads else None

    def handle(self, method: str, args: object, reply: Reply) -> None:
        if self.term is None:
            reply(not_leading("cluster"))
        else:
            self.term.handle(method, args, reply)

    def watch(self, stream: Stream) -> None:
        if self.term is not None:
            self.term.watch(stream)

    def tells(self, stream: Stream) -> bool:
        """Whether the stream has not broken."""
        return self._term is not None and stream in self._term.streams


class Term:
    """What only a leader has. Mirrors cluster/coordinator.Coordinator (one write under way, what gathers is taken together, reload
    after a failed write), cluster/service.py (heartbeats answered from memory, streams that look at the session first) and
    cluster/breaks.Breaks."""

    def __init__(self, server: ClusterServer, store: ClusterStore, number: int, state: State, policy: Policy) -> None:
        self._server = server
        self._world = server.world
        self._store = store
        self._number = number
        self._policy = policy
        self._queue: list[tuple[Event, Reply | None]] = []
        self._writing: list[tuple[Event, Reply | None]] | None = None
        self._wake_at = 0.0
        self._over = False
        self.streams: dict[Stream, Subscription] = {}
        self.board = Board()
        self._have(state)
        self._threads = [server.spawn(self._follow_config())]
        self._sleep()

    def end(self) -> None:
        """Who waits is told that another one leads; streams break."""
        self._over = True
        for thread in self._threads:
            thread.cancel()
        for _, reply in (*self._queue, *(self._writing or ())):
            if reply is not None:
                reply(not_leading("cluster"))
        self.streams.clear()

    def handle(self, method: str, args: object, reply: Reply) -> None:
        match method, args:
            case "heartbeat", (str(worker), int(session)):
                try:
                    core.heartbeat(self.state, worker, session, self._server.clock())
                except ServiceError as error:
                    reply(error)
                else:
                    reply(self._policy.timing.lease)
            case "event", event:
                self._submit(event, reply)  # type: ignore[arg-type]

    def _submit(self, event: Event, reply: Reply | None) -> None:
        if not self._over:
            self._queue.append((event, reply))
            self._pump()

    # Streams.

    def watch(self, stream: Stream) -> None:
        self.streams[stream] = self.board.subscribe(stream.worker)
        stream.client.on_death.append(partial(self._broke, stream))
        self._tell(stream)

    def _tell(self, stream: Stream) -> None:
        try:
            if stream.worker is not None:
                core.check_session(self.state, stream.worker, stream.session)
        except ServiceError:
            self._close(stream)
            return
        update = self.streams[stream].take()
        if update is not None and stream.client.alive:
            self._world.network.send(self._server, stream.client, partial(stream.told, stream, update), reliable=True)

    def _close(self, stream: Stream) -> bool:
        subscription = self.streams.pop(stream, None)
        if subscription is not None:
            self.board.unsubscribe(subscription)
        return subscription is not None

    def _broke(self, stream: Stream) -> None:
        """The process at the other end is gone. Who looks at its address finds that out, unless the next one listens there."""
        random, worker = self._world.random, stream.worker
        if self._close(stream) and worker is not None and random.random() < 0.7:
            told_after = random.choice((0.0, 0.5, 2.0))
            self._server.after(random.choice((0.1, 0.1, 1.0, 3.0)), partial(self._judge, stream, worker, told_after))

    def _judge(self, stream: Stream, worker: str, told_after: float) -> None:
        if stream.client.name not in self._world.processes:
            self._server.after(told_after, lambda: self._submit(WorkerGone(worker, stream.session), None))

    # The coordinator.

    def _follow_config(self) -> Steps:
        known = -1
        while True:
            try:
                news = yield self._world.network.call(self._server, "config", "watch", known)
            except Unavailable:
                news = None
            if news is not None:
                known, connectors = news
                self._submit(ConnectorsChanged(snapshot=True, connectors=connectors), None)
            yield 0.25

    def _sleep(self) -> None:
        self._server.after(max(0.01, self._wake_at - self._server.clock()), self._woken)

    def _woken(self) -> None:
        if self._writing is None and self._server.clock() >= self._wake_at - 1e-6:
            self._submit(Tick(), None)

    def _pump(self) -> None:
        if self._writing is not None or not self._queue or self._over:
            return
        batch, self._queue = self._queue[:_BATCH], self._queue[_BATCH:]
        tables = self.state.tables
        tables.raise_floor(bounded_floor(WALL_CLOCK + self._world.now, tables.last_number)[0])
        effects = core.step(self.state, [event for event, _ in batch], self._server.clock(), self._world.random)
        self._wake_at = effects.wake_at
        self._writing = batch
        self._threads[1:] = [self._server.spawn(self._write(batch, effects))]

    def _write(self, batch: list[tuple[Event, Reply | None]], effects: Effects) -> Steps:
        if not self._server.point("cluster: before its write"):
            yield 0.0
        try:
            yield self._store.transact(self._server, partial(self._store.write, self._number, effects.changes))
        except Aborted:
            self._server.election.step_down()
            return
        except Unavailable as error:
            self._writing = []
            self._fail(batch, error)
            yield from self._load_again()
        else:
            if not self._server.point("cluster: between write and answer"):
                yield 0.0
            self._tell_all(batch, effects)
        self._writing = None
        self._pump()
        if self._writing is None:
            self._sleep()

    def _fail(self, batch: list[tuple[Event, Reply | None]], error: ServiceError) -> None:
        """Who waits asks again; what was only told is not told twice."""
        for event, reply in batch:
            if reply is not None:
                reply(error)
            elif not isinstance(event, Tick):
                self._queue.append((event, None))

    def _tell_all(self, batch: list[tuple[Event, Reply | None]], effects: Effects) -> None:
        self.board.publish(effects.views)
        for (_, reply), answer in zip(batch, effects.replies, strict=True):
            if reply is not None:
                reply(answer)
        for stream, subscription in list(self.streams.items()):
            if subscription.ready.is_set():
                self._tell(stream)

    def _load_again(self) -> Steps:
        while True:
            try:
                tables = yield self._store.transact(self._server, self._store.load)
            except Unavailable:
                yield 0.2
            else:
                self._have(State(tables, self._policy, self._server.clock()))
                return

    def _have(self, state: State) -> None:
        self.state = state
        self.board.replace_all({key: view_of(state, key) for key in state.tables.units})
        self._wake_at = 0.0


def _told(unit: Unit | None) -> str:
    if unit is None:
        return "gone"
    return f"{unit.worker or '-'} epoch {unit.epoch} generation {unit.generation}{' revoked' if unit.revoked else ''}"
