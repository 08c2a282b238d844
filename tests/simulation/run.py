"""One run of the simulation: a seed gives the world, the work and the faults; then all is quiet, and all must come right."""

from contextlib import ExitStack
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING

from services.cluster.model import Connector, TargetState
from services.cluster.state import Policy
from services.executor.contract.assignment import PLAN, Key
from tests.simulation.actors import cluster, position, rocketmq, state, target
from tests.simulation.actors.cluster import ClusterServer, ClusterStore
from tests.simulation.actors.config import ConfigServer, ConfigStore
from tests.simulation.actors.host import Sides
from tests.simulation.actors.position import PositionServer, PositionStore
from tests.simulation.actors.rocketmq import Broker, BrokerStore
from tests.simulation.actors.state import StateServer, StateStore
from tests.simulation.actors.target import Target, TargetStore
from tests.simulation.actors.worker import Worker
from tests.simulation.checks import Broken, Checks
from tests.simulation.faults import Faults, Profile, restores
from tests.simulation.world import World

if TYPE_CHECKING:
    from tests.simulation.mutations import Mutation

WORKERS = ("worker-0", "worker-1", "worker-2")
SOURCE, SINK, IDLE = "source", "sink", "idle"

FAULT_SECONDS = 18.0
"""For so long the run has work and faults."""
QUIET_SECONDS = 60.0
"""Liveness: so long after the last fault everything runs and everything is delivered, at the latest."""
RECORDS_PER_SECOND = 4.0
MAP_CHANGES = (4, 5, 8)
"""In seeds with these last digits the queue map changes; all others are what they were before there was such a thing."""


NO_FILES = (3, 8, 9)
"""In seeds with these last digits a worker's machine keeps no files: a worker can't prove that the process before has ended."""


@dataclass(frozen=True, slots=True)
class Result:
    """How a run went. `broken` is the invariant that did not hold, if one did not."""

    seed: int
    broken: str
    seconds: float
    recovery: float
    events: int
    records: int
    messages: int
    commits: int
    faults: dict[str, int]
    digest: str
    story: list[str]


class Simulation:
    """The whole system in one world."""

    def __init__(self, seed: int, idle: int = 0) -> None:
        """`idle`: with a connector of so many idle tasks."""
        self.world = World(seed)
        random = self.world.random
        self.policy = Policy()
        self.checks = Checks(self.world)
        self.config = ConfigStore()
        self.cluster = ClusterStore(self.world, self.checks)
        self.positions = PositionStore()
        self.states = StateStore()
        self.broker = BrokerStore()
        self.target = TargetStore()
        partitions = [f"p{number}" for number in range(random.choice((2, 3, 4)))]
        self.sides = Sides({name: [] for name in partitions}, exactly_once=random.random() < 0.75)
        self.recovered_at = 0.0
        self._keyed = random.random() < 0.5
        self.profile = random.choices(list(Profile), (55, 25, 20))[0]
        self.sides.map_changes = seed % 10 in MAP_CHANGES
        self.sides.keeps_files = seed % 10 not in NO_FILES
        if restores(seed):
            # A backup has forgotten fences, too: who was stopped all the while may be confirmed once more.
            self.profile = Profile.DEATHS
        if self.sides.map_changes:
            # What a producer that was stopped brings late stands in the queue of its map, where nothing says that it is late.
            self.profile = Profile.DEATHS
        for name in ("config", *position.REPLICAS, target.NAME, rocketmq.BROKER, state.NAME, *cluster.REPLICAS, *WORKERS):
            self.start(name)
        tasks = str(random.choice((1, 2, len(partitions))))
        isolation = "continue" if random.random() < 0.25 else "pause"
        self.config.put(_connector(SOURCE, 1, tasks, isolation))
        self.config.put(_connector(SINK, 2, str(random.choice((1, 2))), isolation))
        self._idle = 0
        if idle:
            self.put_idle(idle)
        self.world.at(0.5, self._produce)
        self.world.at(1.0, self._look)

    def put_idle(self, tasks: int) -> None:
        """Create another connector with idle tasks."""
        self._idle += 1
        self.config.put(_connector(IDLE, 1, str(tasks), "pause", uid=f"{IDLE}-{self._idle}"))

    def running(self) -> dict[Key, str]:
        """Return which worker runs each task, and may."""
        return {
            run.assigned.key: run.worker_id
            for run in self.checks.runs
            if run.may_write() and run.assigned.key.task != PLAN and run.is_running and not run.paused
        }

    def start(self, name: str) -> None:
        """Start a process, if it is not there."""
        world = self.world
        if name in world.processes:
            return
        if name == "config":
            ConfigServer(world, self.config)
        elif name in position.REPLICAS:
            PositionServer(world, name, self.positions, self.config, self.checks)
        elif name == target.NAME:
            Target(world, self.target)
        elif name == rocketmq.BROKER:
            Broker(world, self.broker)
        elif name == state.NAME:
            StateServer(world, self.states, self.policy.timing.lease)
            self.recovered_at = world.now
        elif name in cluster.REPLICAS:
            ClusterServer(world, name, self.cluster, self.policy)
        else:
            Worker(world, name, self.sides, self.checks)

    def _produce(self) -> None:
        """The source system gets records as long as the faults last."""
        if self.world.now > FAULT_SECONDS:
            return
        random = self.world.random
        partition = random.choice(sorted(self.sides.produced))
        keys = [random.choice((b"a", b"b", b"c", b"d", None)) if self._keyed else None for _ in range(random.choice((1, 2, 5)))]
        self.sides.produced[partition] += keys
        self.world.at(self.world.now + random.expovariate(RECORDS_PER_SECOND / 2.5), self._produce)

    def _look(self) -> None:
        """What people see is true."""
        server = self.world.processes.get(state.NAME)
        if isinstance(server, StateServer):
            if server.paused_until > self.world.now:
                self.recovered_at = server.paused_until
            else:
                self.checks.shown(server.states, server.moment(), self.recovered_at)
        self.world.at(self.world.now + 1.0, self._look)

    def is_done(self) -> bool:
        """Whether everything runs and everything is delivered."""
        return self.unfinished() == ""

    def unfinished(self) -> str:
        """What is not as it shall be; empty: nothing."""
        running = self.running()
        if gone := [key for key in running if key.connector_uid not in self.config.connectors]:
            return f"deleted and still there: {gone}"
        for uid, connector in self.config.connectors.items():
            wanted = {(uid, task) for task in range(int(connector.config["tasks"]))}
            if {tuple(key) for key in running if key.connector_uid == uid} != wanted:
                return f"of {uid} run {sorted(running)}, wanted are {sorted(wanted)}"
        try:
            self.judge()
        except Broken as error:
            return str(error)
        return ""

    def judge(self) -> None:
        """The end: raise what does not hold."""
        produced = {partition: len(keys) for partition, keys in self.sides.produced.items()}
        self.checks.delivered(SOURCE, produced, self.target.records, once=self.sides.exactly_once)
        # What a backup of a clean end does not know is sent again, and dropped by sinks.
        if self.profile is Profile.DEATHS and not self.checks.restored:
            self.checks.sent_once(self.broker.queues)


def _connector(name: str, kind: int, tasks: str, isolation: str, uid: str = "") -> Connector:
    config = {"connector.class": name, "tasks": tasks, "on.isolation": isolation}
    return Connector(uid or name, name, 1, config, TargetState.RUNNING, kind, 0)


def run(seed: int, mutation: "Mutation | None" = None, *, most_faults: int = 14) -> Result:
    """Run a seed, with a bug put into the product if one is given; never raises Broken."""
    with ExitStack() as stack:
        if mutation is not None:
            stack.enter_context(mutation.applied())
        simulation = Simulation(seed)
        world = simulation.world
        broken, recovery = "", 0.0
        try:
            random = Random(world.random.random())
            faults = Faults(simulation, random, FAULT_SECONDS, most_faults, simulation.profile)
            world.run(FAULT_SECONDS)
            faults.end()
            recovery = recover(simulation)
        except Broken as error:
            broken = str(error)
    return Result(
        seed=seed,
        broken=broken,
        seconds=world.now,
        recovery=recovery,
        events=world.events,
        records=sum(len(keys) for keys in simulation.sides.produced.values()),
        messages=sum(len(log) for log in simulation.broker.queues.values()),
        commits=simulation.positions.commits,
        faults=dict(world.faults),
        digest=world.digest(),
        story=world.story,
    )


def recover(simulation: Simulation) -> float:
    """Wait until all is well, and return the seconds that it took."""
    world = simulation.world
    began = world.now
    world.run(world.now + 1.0)
    while not simulation.is_done():
        if world.now >= began + QUIET_SECONDS:
            simulation.judge()
            raise simulation.checks.broken("everything runs again", simulation.unfinished())
        world.run(world.now + 0.5)
    recovery = world.now - began
    # What comes late must not spoil it.
    world.run(world.now + 3.0)
    simulation.judge()
    return recovery
