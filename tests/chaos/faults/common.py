"""What can go wrong, each with how it begins and how it is healed."""

import signal
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random
from typing import Protocol, TypeVar

import psutil

from rocketconnect_cli.api import Api, ApiError, Exit, connector_path
from rocketconnect_cli.instance.topology import STORES
from rocketmq_remoting.client import Client
from rocketmq_remoting.errors import RetriableError, TopicNotFound
from tests.chaos.deployments import processes
from tests.chaos.deployments.fleet import BROKERS, SERVICES
from tests.chaos.disk import Disk
from tests.chaos.network import Network, Proxy
from tests.ended import ended

T = TypeVar("T")

LEASE_SECONDS = 7.0
"""A worker's lease and the send deadline after it, by default."""
TAKEN_OVER_SECONDS = LEASE_SECONDS + 8.0
"""By then another worker has surely begun, so that what a stopped one goes on with is late."""
_STOP_SECONDS = 300.0


class Deployment(Protocol):
    """What a fault needs of a deployment."""

    failpoints: Path

    def hold(self, name: str, seconds: float) -> None:
        """A process that dies is not started again before that time has passed."""

    def name_of(self, pid: int) -> str:
        """The name of the process with this id; empty: it is a child of one."""

    def look_after(self) -> None:
        """Start again what has died."""


class NoVictim(Exception):
    """There is nothing now that the fault could hit."""


class Fault(Protocol):
    """One fault, to be used once.

    Attributes:
        name: What is done.
        target: To what.
        seconds: How long it lasts.
    """

    name: str
    target: str
    seconds: float

    def aim(self) -> None:
        """Choose who is to be hit, which may take a while.

        Raises:
            NoVictim: there is nobody.
        """

    def inject(self) -> str:
        """Let it begin, at once; return who was hit.

        Raises:
            NoVictim: nobody was.
        """

    def heal(self) -> None:
        """End it; called again it does nothing."""


GROW = "grow"
RESTORED = "restored"
REORDERS = {GROW, RESTORED}
"""The faults after which records go to other queues: there are more, or it is forgotten by which queue map they went."""
AWAY_SECONDS = 60.0
GROUPS = {"executors": ("executor",), "control-plane": STORES, **{f"every-{service}": (service,) for service in STORES}}
"""All processes of these roles are hit at once."""


def _victims(target: str, random: Random) -> list[psutil.Process]:
    """All of a group, or one of a role."""
    found = [process for role in GROUPS.get(target, (target,)) for process in processes.find(role)]
    if not found:
        msg = f"no {target} runs"
        raise NoVictim(msg)
    return found if target in GROUPS else [random.choice(found)]


def _said(deployment: Deployment, process: psutil.Process, target: str) -> str:
    return deployment.name_of(process.pid) or f"{target} {process.pid}"


@dataclass(slots=True)
class Aimed:
    """At processes: one of a role or all of a group, and with `whole` at all that they have started, too."""

    deployment: Deployment
    random: Random
    target: str
    seconds: float
    whole: bool = False
    names: list[str] = field(default_factory=list)
    found: list[psutil.Process] = field(default_factory=list)

    def aim(self) -> None:
        """See Fault."""
        victims = _victims(self.target, self.random)
        self.names = [_said(self.deployment, victim, self.target) for victim in victims]
        self.found = [each for victim in victims for each in (processes.with_children(victim) if self.whole else [victim])]

    def send(self, number: signal.Signals) -> str:
        """A signal to all that still live; says who they are."""
        if not any(each.is_running() for each in self.found):
            msg = f"{', '.join(self.names)} has ended meanwhile"
            raise NoVictim(msg)
        processes.send(self.found, number)
        return ", ".join(self.names)


@dataclass(slots=True)
class Kill(Aimed):
    """SIGKILL; what is looked after comes back after that time."""

    name: str = "kill"

    def inject(self) -> str:
        """See Fault."""
        for name in self.names:
            self.deployment.hold(name, self.seconds)
        return self.send(signal.SIGKILL)

    def heal(self) -> None:
        """It is started again by those who look after it."""


@dataclass(slots=True)
class Terminate(Aimed):
    """SIGTERM: it closes in good order, which is waited for, and is started again."""

    name: str = "restart"

    def inject(self) -> str:
        """See Fault."""
        said = self.send(signal.SIGTERM)
        deadline = time.monotonic() + _STOP_SECONDS
        while not all(map(ended, self.found)):
            if time.monotonic() > deadline:
                msg = f"{said} did not end within {_STOP_SECONDS:g} s of SIGTERM"
                raise TimeoutError(msg)
            self.deployment.look_after()
            time.sleep(0.02)
        return said

    def heal(self) -> None:
        """It is started again by those who look after it."""


@dataclass(slots=True)
class Pause(Aimed):
    """SIGSTOP; SIGCONT heals."""

    name: str = "pause"

    def inject(self) -> str:
        """See Fault."""
        return self.send(signal.SIGSTOP)

    def heal(self) -> None:
        """Lets them go on."""
        processes.send(self.found, signal.SIGCONT)


def _worker_of(process: psutil.Process) -> list[psutil.Process]:
    """The executor that it is or belongs to with all that is below it; of others just the process."""
    for each in process.parents():
        if processes.role(each.cmdline()) == "executor":
            return processes.with_children(each)
    return [process]


@dataclass(slots=True)
class Failpoint:
    """The next process that comes by a failpoint is killed there, or stopped with its worker for longer than a lease."""

    deployment: Deployment
    target: str
    seconds: float
    number: signal.Signals
    name: str
    _stopped: list[psutil.Process] = field(default_factory=list)

    def aim(self) -> None:
        """Who comes by is hit."""

    def inject(self) -> str:
        """See Fault."""
        armed = self.deployment.failpoints / self.target
        before = set(armed.parent.glob(f"{self.target}.*"))
        armed.write_text(str(int(self.number)))
        deadline = time.monotonic() + 60
        while not (hit := set(armed.parent.glob(f"{self.target}.*")) - before):
            if time.monotonic() > deadline:
                armed.unlink(missing_ok=True)
                msg = f"nobody came by {self.target}"
                raise NoVictim(msg)
            self.deployment.look_after()
            time.sleep(0.01)
        pid = int(hit.pop().suffix[1:])
        if self.number is signal.SIGSTOP and psutil.pid_exists(pid):
            self._stopped = _worker_of(psutil.Process(pid))
            # The whole worker, or its lease would go on, and nobody else would take its tasks over.
            processes.send(self._stopped, signal.SIGSTOP)
        return f"{self.deployment.name_of(pid) or 'process'} {pid}"

    def heal(self) -> None:
        """Lets it go on, if it was only stopped."""
        processes.send(self._stopped, signal.SIGCONT)


@dataclass(slots=True)
class Cut:
    """Packets between an executor and others vanish."""

    random: Random
    network: Network
    target: str
    others: Sequence[str]
    seconds: float
    name: str = "cut"

    def aim(self) -> None:
        """It is known."""

    def inject(self) -> str:
        """See Fault."""
        hosts = sorted(name for name in self.network.addresses if name.startswith("executor"))
        chosen = hosts if self.target.startswith("executors") else [self.random.choice(hosts)]
        self.network.cut([(host, other) for host in chosen for other in self.others])
        return ", ".join(chosen)

    def heal(self) -> None:
        """Everything gets through again."""
        self.network.mend()


@dataclass(slots=True)
class Held:
    """What goes through a proxy gets stuck there, or is late by so much."""

    proxy: Proxy
    target: str
    seconds: float
    delay: float = 0.0
    name: str = "cut"

    def aim(self) -> None:
        """It is known."""

    def inject(self) -> str:
        """See Fault."""
        if self.delay:
            self.proxy.delay = self.delay
            return f"{self.delay * 1000:.0f} ms each way"
        self.proxy.hold()
        return "all connections"

    def heal(self) -> None:
        """As it was."""
        self.proxy.delay = 0.0
        self.proxy.release()


@dataclass(slots=True)
class Grow:
    """An executor is killed, and its sources go on with more queues: topics have more of them, and sources another revision.

    Args:
        executor: The kill.
        rest: Of the gateway.
        name_server: Of RocketMQ.
        topics: By the name of the source that sends to it.
        seconds: How long the executor is away.
    """

    executor: Kill
    rest: str
    name_server: str
    topics: Mapping[str, str]
    seconds: float
    name: str = GROW
    target: str = "queues"

    def aim(self) -> None:
        """See Fault."""
        self.executor.aim()

    def inject(self) -> str:
        """See Fault."""
        said, deployment = self.executor.inject(), self.executor.deployment
        with Client(self.name_server, timeout=10) as client, Api(self.rest) as api:
            for source, topic in self.topics.items():
                queues = insist(deployment, partial(self._grow, client, topic), _is_away)
                insist(deployment, partial(self._revise, api, source, queues), _is_away)
        return said

    def heal(self) -> None:
        """Topics keep what they have got."""

    def _grow(self, client: Client, topic: str) -> int:
        queues = len(client.queues(topic, fresh=True)) + self.executor.random.randint(1, 2)
        client.create_topic(topic, queues=queues)
        return queues

    def _revise(self, api: Api, source: str, queues: int) -> None:
        """Give a source a new revision, in which all but a limit is as before."""
        stored = api.request("GET", connector_path(source))["connector"]
        config = {**stored["config"], "batch.records": str(500 + queues)}
        # It is there already when an answer was lost.
        if config != stored["config"]:
            api.request("PUT", connector_path(source), body={"config": config})


def insist(deployment: Deployment, call: Callable[[], T], is_away: Callable[[Exception], bool], seconds: float = 60.0) -> T:
    """Calls until it goes well: whom it needs may be one that has just died, and is started again meanwhile.

    Raises what the call does, where that does not say that somebody is away, or says it for longer than `seconds`.
    """
    deadline = time.monotonic() + seconds
    while True:
        try:
            return call()
        except Exception as error:
            if not is_away(error) or time.monotonic() > deadline:
                raise
        deployment.look_after()
        time.sleep(0.2)


def _is_away(error: Exception) -> bool:
    """Whether the broker, or the executor that checks a configuration, is away."""
    if isinstance(error, ApiError):
        return error.exit_code in (Exit.UNAVAILABLE, Exit.TIMEOUT)
    return isinstance(error, RetriableError | TopicNotFound)


@dataclass(slots=True)
class Full:
    """A disk on which nothing more can be written, or hardly anything."""

    disk: Disk
    target: str
    seconds: float
    leave: float = 0.0
    name: str = "full"

    def aim(self) -> None:
        """It is known."""

    def inject(self) -> str:
        """See Fault."""
        self.disk.fill(self.leave)
        return str(self.disk.path.name)

    def heal(self) -> None:
        """There is room again."""
        self.disk.free()


Make = Callable[[Deployment, Random], Fault]


def _kill(target: str, longest: float, *, whole: bool = False) -> Make:
    name = "kill-all" if whole else "kill"
    return lambda deployment, random: Kill(deployment, random, target, random.uniform(0, longest), whole, name=name)


def _away(target: str) -> Make:
    return lambda deployment, random: Kill(deployment, random, target, AWAY_SECONDS, name="away")


def _pause(target: str, shortest: float, *, whole: bool = False) -> Make:
    name = "pause-all" if whole else "pause"
    return lambda deployment, random: Pause(deployment, random, target, shortest + random.uniform(0, 4), whole, name=name)


def _failpoint(point: str, number: signal.Signals) -> Make:
    name, seconds = ("failpoint", 0.0) if number is signal.SIGKILL else ("failpoint-stop", TAKEN_OVER_SECONDS)
    return lambda deployment, _random: Failpoint(deployment, point, seconds, number, name)


FLEET: dict[tuple[str, str], Make] = {
    ("executor", "kill"): _kill("executor", 12),
    ("executor", "kill-all"): _kill("executor", 12, whole=True),
    ("executors", "kill"): _kill("executors", 12),
    ("control-plane", "kill"): _kill("control-plane", 20),
    ("control-plane", "pause"): _pause("control-plane", LEASE_SECONDS),
    ("executor", "pause"): _pause("executor", LEASE_SECONDS),
    ("executor", "pause-all"): _pause("executor", LEASE_SECONDS, whole=True),
    **{(host, "kill"): _kill(host, 0) for host in ("native-host", "spark-driver", "spark-java")},
    **{(host, "pause"): _pause(host, LEASE_SECONDS) for host in ("native-host", "spark-driver", "spark-java")},
    **{(service, "kill"): _kill(service, 6) for service in (*STORES, "gateway")},
    **{(service, "pause"): _pause(service, 4) for service in (*STORES, "gateway")},
    **{(f"every-{service}", "away"): _away(f"every-{service}") for service in STORES},
    ("postgres", "kill"): _kill("postgres", 6),
    ("postgres", "pause"): _pause("postgres", 4, whole=True),
    ("broker", "kill"): _kill("broker", 6),
    ("broker", "pause"): _pause("broker", 4),
    ("broker", "restart"): lambda deployment, random: Terminate(deployment, random, "broker", 0.0),
    ("name-server", "kill"): _kill("name-server", 6),
    ("name-server", "pause"): _pause("name-server", 4),
    **{
        (point, "failpoint"): _failpoint(point, signal.SIGKILL)
        for point in (
            "source.before-send",
            "source.in-send",
            "source.after-send",
            "source.before-commit",
            "sink.before-append",
            "sink.before-manifest",
            "sink.after-manifest",
            "sink.before-position",
            "position.after-store",
            "cluster.after-store",
        )
    },
    **{
        (point, "failpoint-stop"): _failpoint(point, signal.SIGSTOP)
        for point in ("source.in-send", "source.after-send", "sink.before-manifest", "sink.before-position")
    },
}
"""By target and fault: what hits a fleet."""

UP: dict[tuple[str, str], Make] = {
    **{key: make for key, make in FLEET.items() if key[0] != "postgres"},
    ("up", "kill"): _kill("up", 3),
    ("up", "restart"): lambda deployment, random: Terminate(deployment, random, "up", 0.0),
}
"""What hits `rocketconnect up`, which looks after all but itself."""

CUTS = {
    "executor-services": (SERVICES,),
    "executor-broker": (BROKERS,),
    "executor-all": (SERVICES, BROKERS),
    "executors-services": (SERVICES,),
    "executors-broker": (BROKERS,),
}
"""Between one executor, or all executors, and whom."""


def over_network(network: Network, hosts: Proxy) -> dict[tuple[str, str], Make]:
    """What hits the network between executors and the rest: cuts shorter and longer than a lease, and delays."""

    def cut(target: str) -> Make:
        return lambda _deployment, random: Cut(random, network, target, CUTS[target], random.choice((2.0, 4.0, 10.0, 15.0)))

    def delay(_deployment: Deployment, random: Random) -> Fault:
        return Held(hosts, "executors-all", random.uniform(3, 8), random.choice((0.02, 0.1, 0.5)), "delay")

    return {**{(target, "cut"): cut(target) for target in CUTS}, ("executors-all", "delay"): delay}


def on_topics(rest: str, name_server: str, topics: Mapping[str, str]) -> dict[tuple[str, str], Make]:
    """What hits topics: they get more queues while executors are killed. `topics`: by the name of the source."""

    def grow(deployment: Deployment, random: Random) -> Fault:
        executor = Kill(deployment, random, "executor", random.uniform(0, 12), whole=True)
        return Grow(executor, rest, name_server, topics, executor.seconds)

    return {("queues", GROW): grow}


def over_database(database: Proxy) -> dict[tuple[str, str], Make]:
    """What hits the connections of the services to PostgreSQL."""

    def cut(_deployment: Deployment, random: Random) -> Fault:
        return Held(database, "services-postgres", random.uniform(2, 12))

    def delay(_deployment: Deployment, random: Random) -> Fault:
        return Held(database, "services-postgres", random.uniform(3, 8), random.choice((0.02, 0.1)), "delay")

    return {("services-postgres", "cut"): cut, ("services-postgres", "delay"): delay}


def on_disk(disks: Mapping[str, Disk]) -> dict[tuple[str, str], Make]:
    """What hits disks, by their names."""

    def full(target: str) -> Make:
        return lambda _deployment, random: Full(disks[target], target, random.uniform(2, 6))

    return {(target, "full"): full(target) for target in disks}


def on_store_of_broker(disk: Disk) -> dict[tuple[str, str], Make]:
    """What hits the disk of a broker: fuller than the share at which it refuses messages, which it looks at every ten seconds.

    Not to the last byte: a broker maps its files into memory, and ends up in pieces when there is nothing behind them.
    """
    return {("broker-disk", "full"): lambda _deployment, random: Full(disk, "broker-disk", random.uniform(12, 20), 0.04)}
