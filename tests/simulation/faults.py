"""The faults of a run: what goes wrong, when, drawn from the seed."""

from dataclasses import replace
from enum import Enum, auto
from functools import partial
from random import Random
from typing import TYPE_CHECKING

from services.cluster.model import TargetState
from tests.simulation.actors import cluster, position, rocketmq, state, target
from tests.simulation.actors.host import Host
from tests.simulation.world import Process

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.simulation.run import Simulation


class Profile(Enum):
    """What goes wrong in a run.

    DEATHS: Processes die and stores are away, but nothing is stopped, cut off or slow.
    ISOLATION: Above all workers that do not reach the cluster service or anything for long, and leaders that are stopped.
    """

    MIXED = auto()
    DEATHS = auto()
    ISOLATION = auto()


POINTS = (
    "cluster: before its write",
    "cluster: between write and answer",
    "election: a renewal is under way",
    "position: before its write",
    "position: between write and answer",
    "broker: before it stores a send",
    "broker: between store and confirm",
    "target: before its commit",
    "target: between commit and answer",
    "task: before it opens",
    "source: between the look at the lease and the send",
    "sink: between the look at the lease and the commit",
)
"""Where a process can be caught, to die or to stop there."""

KINDS = (
    "kill worker",
    "pause worker",
    "suspend machine",
    "drain worker",
    "kill host",
    "kill service",
    "pause service",
    "cut",
    "isolate",
    "stop leader",
    "store outage",
    "restart connector",
    "configure idle",
    "delete idle",
    "stop idle",
    "fail idle",
    "heal idle",
)
"""What a script can say."""

SUSPENSIONS = (6, 9)
"""In seeds with these last digits machines are suspended; all others are what they were before there was such a thing."""


def restores(seed: int) -> bool:
    """Whether the store of the positions is put back from backups; all other seeds are what they were before that."""
    return seed % 30 == 17


_SERVICES = ("config", *position.REPLICAS, target.NAME, rocketmq.BROKER, state.NAME, *cluster.REPLICAS)
_SECONDS = (0.3, 1.0, 2.5, 4.0, 6.0, 8.0, 11.0)
_LONG_SECONDS = (4.0, 8.0, 14.0, 18.0)


class Faults:
    """Draws faults and lets them happen.

    Args:
        simulation: To whom.
        random: Draws them, apart from the world's own generator.
        seconds: When the last one has happened.
        most: So many at most.
        profile: Which kinds there are.
    """

    def __init__(self, simulation: "Simulation", random: Random, seconds: float, most: int, profile: Profile) -> None:
        self._simulation = simulation
        self._world = simulation.world
        self._random = random
        self._end = seconds
        self._only_deaths = profile is Profile.DEATHS
        kinds: list[tuple[int, Callable[[], None]]] = [
            (3, self._kill_worker),
            (3, self._kill_host),
            (2, self._drain_worker),
            (3, self._kill_service),
            (2, self._store_outage),
            (8, self._trap),
            (2, self._replan),
            (1, self._pause_connector),
            (1, self._restart_connector),
            (1, self._alter),
        ]
        if simulation.sides.map_changes:
            kinds += [(12, self._change_map), (4, self._resize)]
        if profile is not Profile.DEATHS:
            kinds += [
                (3, self._pause_worker),
                (3, self._pause_host),
                (3, self._pause_service),
                (4, self._cut),
                (2, self._bad_network),
            ]
        if profile is Profile.ISOLATION:
            kinds = [(1, action) for _, action in kinds] + [(9, self._isolate), (5, self._stop_leader), (5, self._replace_worker)]
        if simulation.world.seed % 10 in SUSPENSIONS and profile is not Profile.DEATHS:
            kinds += [(9, self._suspend_machine)]
        if restores(simulation.world.seed):
            kinds += [(7, self._put_back), (5, self._alter)]
        weighted = [action for weight, action in kinds for _ in range(weight)]
        for _ in range(random.randint(most // 2, most)):
            simulation.world.at(random.uniform(2.0, seconds), random.choice(weighted))

    def inject(self, kind: str) -> None:
        """Let a fault of one of the KINDS happen now."""
        getattr(self, f"_{kind.replace(' ', '_')}")()

    def end(self) -> None:
        """No more faults: what is stopped goes on, what is dead is started, what is cut off is connected."""
        world = self._world
        world.traps.clear()
        world.network.heal()
        self._simulation.cluster.away_until = self._simulation.positions.away_until = 0.0
        for process in list(world.processes.values()):
            process.resume()
        from tests.simulation.run import WORKERS

        for name in (*_SERVICES, *WORKERS):
            self._simulation.start(name)
        self._simulation.sides.failing.clear()
        given_up = {unit.key.connector_uid for unit in self._simulation.cluster.tables.units.values() if unit.given_up}
        for uid, connector in self._simulation.config.connectors.items():
            # After too many failures in a row a restart is what the user does.
            self._simulation.config.change(uid, wanted=TargetState.RUNNING, restarts=connector.restarts + (uid in given_up))
        world.note("no more faults")

    # A connector with idle tasks.

    def _idle_uid(self) -> str | None:
        return next((uid for uid in self._simulation.config.connectors if uid.startswith("idle-")), None)

    def _delete_idle(self) -> None:
        uid = self._idle_uid()
        if uid is not None:
            self._world.fault("delete connector", uid)
            self._simulation.config.delete(uid)

    def _configure_idle(self) -> None:
        """Create it, or give it another number of tasks, which may be none."""
        uid, tasks = self._idle_uid(), self._random.randint(0, 5)
        if uid is None:
            self._simulation.put_idle(tasks)
        else:
            self._want_tasks(uid, tasks)

    def _stop_idle(self) -> None:
        uid = self._idle_uid()
        if uid is not None:
            self._simulation.config.change(uid, wanted=TargetState.STOPPED)

    def _fail_idle(self) -> None:
        self._simulation.sides.failing.add("idle")

    def _heal_idle(self) -> None:
        self._simulation.sides.failing.clear()

    # Processes.

    def _worker(self) -> str:
        from tests.simulation.run import WORKERS

        return self._random.choice(WORKERS)

    def _process(self, name: str) -> Process | None:
        return self._world.processes.get(name)

    def _kill(self, name: str, kind: str, seconds: float | None = None) -> None:
        process = self._process(name)
        if process is not None:
            self._world.fault(kind, name)
            process.kill()
            self._start_later(name, seconds)

    def _start_later(self, name: str, seconds: float | None = None) -> None:
        """A supervisor, or Kubernetes, starts it again: soon or slowly."""
        self._world.at(self._world.now + (seconds or self._random.choice(_SECONDS)), partial(self._simulation.start, name))

    def _pause(self, process: Process | None, kind: str, seconds: float | None = None) -> None:
        if process is not None:
            seconds = seconds or self._random.choice(_SECONDS)
            self._world.fault(kind, f"{process.name} for {seconds} s")
            process.pause(seconds)

    def _kill_worker(self) -> None:
        self._kill(self._worker(), "kill worker")

    def _pause_worker(self) -> None:
        """The executor and all its hosts, or the executor alone."""
        worker = self._process(self._worker())
        seconds = self._random.choice(_SECONDS)
        if worker is None:
            return
        whole = self._random.random() < 0.7
        self._world.fault("pause worker" if whole else "pause executor only", f"{worker.name} for {seconds} s")
        if whole:
            self._pause_all(worker, seconds)
        else:
            worker.pause(seconds)

    def _pause_all(self, worker: Process, seconds: float) -> None:
        worker.pause(seconds)
        for host in worker.hosts:  # type: ignore[attr-defined]
            host.pause(seconds)

    def _suspend_machine(self) -> None:
        """The machine of a worker stands still, or that of a replica: at any time, or just when a task has sent or committed."""
        random, seconds = self._random, self._random.choice((*_SECONDS, 14.0))
        if self._simulation.profile is Profile.DEATHS:
            # What was in the sockets of a machine stands in the topic twice, as its successor has sent it too: here nothing may.
            return

        def suspend(process: Process) -> None:
            # Hosts of tasks are on the machine of their worker.
            machine = process.name.partition("/")[0]
            self._world.fault("suspend machine", f"{machine} for {seconds} s")
            self._world.suspend(machine, seconds)

        if random.random() < 0.5:
            # What the task does next is in the sockets of its machine then.
            point = random.choice(
                ("source: between the look at the lease and the send", "sink: between the look at the lease and the commit")
            )
            self._world.traps[point] = lambda process: self._world.at(self._world.now + 0.0004, partial(suspend, process))
            return
        names = [self._worker(), self._worker(), random.choice((*cluster.REPLICAS, *position.REPLICAS))]
        process = self._process(random.choice(names))
        if process is not None:
            suspend(process)

    def _drain_worker(self) -> None:
        worker = self._process(self._worker())
        if worker is not None:
            self._world.fault("drain worker", worker.name)
            worker.leave()  # type: ignore[attr-defined]
            worker.on_death.append(partial(self._start_later, worker.name))

    def _host(self) -> Process | None:
        hosts = [process for process in self._world.processes.values() if isinstance(process, Host)]
        return self._random.choice(hosts) if hosts else None

    def _kill_host(self) -> None:
        host = self._host()
        if host is not None:
            self._world.fault("kill host", host.name)
            host.kill()

    def _pause_host(self) -> None:
        self._pause(self._host(), "pause host")

    def _kill_service(self) -> None:
        name = self._random.choice(_SERVICES)
        self._kill(name, f"kill {name}")

    def _pause_service(self) -> None:
        name = self._random.choice(_SERVICES)
        self._pause(self._process(name), f"pause {name}")

    def _trap(self) -> None:
        """Catch the next process that comes to a point: kill it or stop it there."""
        point, kill, seconds = self._random.choice(POINTS), self._random.random() < 0.5, self._random.choice(_SECONDS)
        kill = kill or self._only_deaths

        def caught(process: Process) -> None:
            self._world.fault(f"{'kill' if kill else 'pause'} at {point}", f"{process.name} for {seconds} s")
            if not kill:
                process.pause(seconds)
                return
            process.kill()
            if not isinstance(process, Host):
                self._start_later(process.name)

        self._world.traps[point] = caught

    # Network and stores.

    def _cut(self) -> None:
        names = [*_SERVICES, "worker-0", "worker-1", "worker-2"]
        one, other = self._worker(), self._random.choice(names)
        seconds = self._random.choice(_SECONDS)
        if self._random.random() < 0.3:
            self._world.fault("cut off from all", f"{one} for {seconds} s")
            for name in names:
                self._world.network.cut(one, name, seconds)
        else:
            self._world.fault("cut", f"{one} from {other} for {seconds} s")
            self._world.network.cut(one, other, seconds)

    def _isolate(self) -> None:
        """A worker, or everybody, is without the cluster service for long; in some cases without the position service too."""
        world, random, seconds = self._world, self._random, self._random.choice(_LONG_SECONDS)
        names = [*cluster.REPLICAS, *(position.REPLICAS if random.random() < 0.3 else ())]
        if random.random() < 0.3:
            for name in names:
                self._kill(name, f"kill {name}", seconds)
            return
        worker = self._worker()
        world.fault("isolate", f"{worker} from {', '.join(names)} for {seconds} s")
        for name in names:
            world.network.cut(worker, name, seconds)

    def _stop_leader(self) -> None:
        """The leader of the cluster service is stopped until another one leads, which some worker does not reach."""
        random, worker, cut_seconds = self._random, self._worker(), self._random.choice(_LONG_SECONDS)
        seconds, alone = random.uniform(1.5, 6.0), random.random() < 0.5

        def stop(leader: Process) -> None:
            self._pause(leader, "pause leader", seconds)
            for name in (*cluster.REPLICAS, *(position.REPLICAS if alone else ())):
                if name != leader.name:
                    self._world.network.cut(worker, name, cut_seconds)

        if random.random() < 0.7:
            self._world.traps["election: a renewal is under way"] = stop
            return
        for name in cluster.REPLICAS:
            process = self._process(name)
            if isinstance(process, cluster.ClusterServer) and process.election.leads:
                stop(process)

    def _replace_worker(self) -> None:
        """A worker dies, comes back soon, and is then stopped."""
        name, random = self._worker(), self._random
        self._kill(name, "kill worker", random.choice((0.1, 0.5)))

        def stop() -> None:
            worker = self._process(name)
            if worker is not None:
                self._pause_all(worker, random.choice(_SECONDS))

        self._world.at(self._world.now + random.uniform(0.3, 4.0), stop)

    def _bad_network(self) -> None:
        network, seconds = self._world.network, self._random.choice(_SECONDS)
        self._world.fault("bad network", f"for {seconds} s")
        network.loss, network.twice, network.slow = 0.05, 0.1, 0.2

        def good() -> None:
            network.loss = network.twice = network.slow = 0.0

        self._world.at(self._world.now + seconds, good)

    def _store_outage(self) -> None:
        store = self._random.choice((self._simulation.cluster, self._simulation.positions))
        seconds = self._random.choice(_SECONDS)
        self._world.fault("store away", f"{type(store).__name__} for {seconds} s")
        store.away_until = self._world.now + seconds

    def _put_back(self) -> None:
        """A backup of the store of the positions is put back later, while the service is stopped."""
        store, world = self._simulation.positions, self._world
        backup, before = dict(store.ledgers), store.times_put_back

        def put_back() -> None:
            if store.times_put_back != before:
                # Nobody puts back what a store was that an older backup has taken the place of.
                return
            world.fault("positions put back", f"from {at:.1f} s")
            for name in position.REPLICAS:
                self._kill(name, f"kill {name}", 0.3)
            store.put_back(backup)
            self._simulation.checks.put_back(backup)

        at = world.now
        world.at(min(self._end - 0.1, at + self._random.choice(_LONG_SECONDS) / 2), put_back)

    # The user.

    def _uid(self) -> str:
        return self._random.choice(("sink", "source"))

    def _replan(self) -> None:
        self._want_tasks(self._uid(), self._random.choice((1, 2, 3)))

    def _resize(self) -> None:
        """The topic has another number of queues, with or without a new revision of the source."""
        queues = self._random.randint(1, rocketmq.MOST_QUEUES)
        self._world.fault("another number of queues", str(queues))
        self._simulation.broker.resize(queues)

    def _change_map(self) -> None:
        """The source dies, and goes on with another revision: other keys, and perhaps another number of queues."""
        connector = self._simulation.config.connectors["source"]
        hosts = [process for process in self._world.processes.values() if isinstance(process, Host)]
        for host in hosts:
            if host.assigned.key.connector_uid == "source" and self._random.random() < 0.8:
                self._world.fault("kill host", host.name)
                host.kill()
        if self._random.random() < 0.6:
            self._resize()
        salt = self._random.choice(("", "'", "''"))
        self._world.fault("other keys", salt)
        config = {**connector.config, "salt": salt}
        self._simulation.config.put(replace(connector, revision=connector.revision + 1, config=config))

    def _want_tasks(self, uid: str, tasks: int) -> None:
        connector = self._simulation.config.connectors[uid]
        self._world.fault("another number of tasks", f"{uid}: {tasks}")
        config = {**connector.config, "tasks": str(tasks)}
        self._simulation.config.put(replace(connector, revision=connector.revision + 1, config=config))

    def _pause_connector(self) -> None:
        self._want_for_a_while(TargetState.PAUSED)

    def _want_for_a_while(self, wanted: TargetState) -> None:
        uid = self._uid()
        self._world.fault(f"wanted {wanted}", uid)
        self._simulation.config.change(uid, wanted=wanted)
        resume = partial(self._simulation.config.change, uid, wanted=TargetState.RUNNING)
        self._world.at(self._world.now + self._random.choice(_SECONDS), resume)

    def _restart_connector(self) -> None:
        uid = self._uid()
        self._world.fault("restart connector", uid)
        self._simulation.config.change(uid, restarts=self._simulation.config.connectors[uid].restarts + 1)

    def _alter(self) -> None:
        """Stop the source, wait until it has stopped (for a while), move one of its positions, start it again."""
        config, world = self._simulation.config, self._world
        partition = self._random.choice(sorted(self._simulation.sides.produced))
        offset = f"[{self._random.randint(0, len(self._simulation.sides.produced[partition]))}]"
        world.fault("alter position", partition)
        config.change("source", wanted=TargetState.STOPPED)
        patience = min(self._end - 0.1, world.now + 6.0)

        def look() -> None:
            if any(key.connector_uid == "source" for key in self._simulation.cluster.tables.units) and world.now < patience:
                world.at(world.now + 0.2, look)
                return
            replica = self._process(self._random.choice(position.REPLICAS))
            if replica is not None and world.now < patience:
                replica.handle("alter", ("source", partition, offset), lambda _answer: None)
            world.at(world.now + 0.5, partial(config.change, "source", wanted=TargetState.RUNNING))

        world.at(world.now + 0.2, look)
