"""The state service in the simulation: the real core; what it stores and whom it watches is mirrored."""

from dataclasses import replace
from functools import partial

from rocketconnect_kit.errors import Unavailable
from services.cluster.board import Update
from services.cluster.view import AssignmentView
from services.state import core
from services.state.core import AssignmentsTold, ConnectorsTold, Reported, States, Track
from services.state.model import Assignment, Connector, Key, Moment, Report, State, TargetState
from tests.simulation.actors.cluster import REPLICAS, ClusterServer, Stream
from tests.simulation.world import Process, Reply, Steps, World

NAME = "state"


class StateStore:
    """What is durable, by connector uid. Mirrors state/store.py: times of this service's clock are not stored."""

    def __init__(self) -> None:
        self.tracks: dict[str, Track] = {}

    def load(self) -> dict[str, Track]:
        return {
            uid: Track(
                connector=track.connector,
                holdings={task: replace(holding, at=None) for task, holding in track.holdings.items()},
                sightings={task: replace(seen, at=None, stuck_since=None) for task, seen in track.sightings.items()},
                planner=track.planner,
                planned_revision=track.planned_revision,
                next_line=track.next_line,
            )
            for uid, track in self.tracks.items()
        }


class StateServer(Process):
    """Mirrors state/keeper.Keeper and the watches of state/server.py."""

    def __init__(self, world: World, store: StateStore, lease: float) -> None:
        super().__init__(world, NAME)
        self._store = store
        self.states = States(lease, store.load())
        store.tracks = self.states.tracks
        self._stream: Stream | None = None
        self.spawn(self._follow_config())
        self.spawn(self._follow_cluster())

    def moment(self) -> Moment:
        return Moment(self.clock(), 1.7e9 + self.world.now)

    def handle(self, method: str, args: tuple[Report, ...], reply: Reply) -> None:
        reply(core.step(self.states, Reported(args), self.moment()).refused)

    def _follow_config(self) -> Steps:
        known = -1
        while True:
            try:
                news = yield self.world.network.call(self, "config", "watch", known)
            except Unavailable:
                news = None
            if news is not None:
                known, connectors = news
                told = tuple(Connector(c.uid, c.name, c.revision, TargetState(c.wanted), c.type) for c in connectors)
                core.step(self.states, ConnectorsTold(snapshot=True, connectors=told), self.moment())
            yield 0.3

    def _follow_cluster(self) -> Steps:
        turn = 0
        while True:
            server = self.world.processes.get(REPLICAS[turn])
            if not isinstance(server, ClusterServer):
                turn = (turn + 1) % len(REPLICAS)
            elif self._stream is None or not server.tells(self._stream):
                self._stream = Stream(self, None, 0, self._told)
                self.world.network.send(self, server, partial(server.watch, self._stream), reliable=True)
                turn = turn if server.term else (turn + 1) % len(REPLICAS)
            yield 0.5

    def _told(self, stream: Stream, update: Update) -> None:
        if stream is not self._stream:
            return
        told = tuple(_assignment(view) for view in update.assignments)
        event = AssignmentsTold(update.snapshot, told, tuple(Key(*key) for key in update.removed))
        core.step(self.states, event, self.moment())


def _assignment(view: AssignmentView) -> Assignment:
    return Assignment(
        Key(*view.key),
        view.worker,
        view.epoch,
        view.generation,
        view.revision,
        view.revoked,
        view.task_config,
        State(view.unowned.value) if view.unowned is not None else State.UNASSIGNED,
        view.reason,
        view.failures,
        view.settled,
    )
