"""The host processes that run tasks: native ones, and one Spark driver for each Spark profile."""

import asyncio
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, Protocol

from rocketconnect_kit.logs import get_logger
from rocketconnect_sdk.spark.needs import NOTHING, SparkNeeds
from services.executor.contract.assignment import Assigned
from services.executor.contract.endpoints import Endpoints
from services.executor.contract.messages import (
    Begin,
    DirectTask,
    Event,
    LogLevels,
    Pulse,
    Renew,
    SignalAnswered,
    SignalTask,
    SparkFailed,
    SparkFetches,
    SparkReady,
    StartSpark,
    StartTask,
    TaskEnded,
    TaskPulse,
)
from services.executor.contract.metrics import TaskMetrics
from services.executor.contract.task import Kind, Outcome, State, TaskSpec
from services.executor.hosts.fresh import FreshHosts
from services.executor.hosts.placement import NATIVE, PLAIN, SPARK, Profile, profile_name, profile_of
from services.executor.hosts.process import HostProcess
from services.executor.hosts.room import UNLIMITED, Room
from services.executor.runtime.task.control import ENDED

HUNG_SECONDS = 30
"""A host that says nothing for so long is killed."""

START_SECONDS = 300
"""How long that is for one that has said nothing yet: many that start together on a small machine take their time."""

SPARK_IDLE_SECONDS = 60.0
"""How long a Spark driver is kept that nothing runs in, unless it is the one that is kept warm."""

_WARM_AGAIN_SECONDS = 10.0

_log = get_logger(__name__)


class Watcher(Protocol):
    """Who hears of the runs."""

    def on_pulse(self, pulse: TaskPulse) -> None:
        """What a run does now."""

    def on_ended(self, run: int, outcome: Outcome) -> None:
        """A run is over."""

    def on_lost(self, run: int, reason: str) -> None:
        """The process of a run is gone."""


@dataclass(frozen=True, slots=True)
class HostView:
    """A host, for people: its process id, its profile, its runs."""

    pid: int
    profile: str
    runs: Sequence[tuple[int, Assigned]]


@dataclass(slots=True, eq=False)
class _Host:
    process: HostProcess
    profile: Profile | None
    edition: int
    spoiled: bool = False
    runs: dict[int, Assigned] = field(default_factory=dict)
    idle_since: float = 0.0

    def relabel(self) -> None:
        self.process.label = ", ".join(map(_name, self.runs.values())) or profile_name(self.profile)
        self.process.tasks = {
            _name(each): {"connector": each.connector, "task": each.key.task, "epoch": each.epoch} for each in self.runs.values()
        }


class HostPool:
    """Puts runs into hosts. All methods are for the thread of the loop.

    Args:
        fresh: Where processes come from.
        endpoints: Told to every host.
        tasks_per_host: How many tasks share a native host, while there are few hosts.
        native_hosts: With so many native hosts, tasks share those that there are, whatever their number.
        spark_warm: Keep a Spark driver of the default profile ready.
        spark_classes: The folder with the archive of Spark's classes; empty: there is none.
        spark_profiles: The path of the file of Spark profiles; empty: there are none.
        needs: What a plugin of a name needs of Spark.
        engine: See profile_of.
        watcher: Hears of the runs.
        room: How much there may be at a time. A run that finds none waits, and begins when there is some.
    """

    def __init__(
        self,
        fresh: FreshHosts,
        endpoints: Endpoints,
        watcher: Watcher,
        *,
        tasks_per_host: int = 1,
        native_hosts: int = 32,
        spark_warm: bool = False,
        spark_classes: str = "",
        spark_profiles: str = "",
        needs: Callable[[str], SparkNeeds] = lambda _name: NOTHING,
        engine: Callable[[str, str], str] = lambda _name, asked: asked or SPARK,
        room: Room = UNLIMITED,
    ) -> None:
        self._fresh = fresh
        self._endpoints = endpoints
        self._tasks_per_host = tasks_per_host
        self._native_hosts = native_hosts
        self._watcher = watcher
        self._spark_warm = spark_warm
        self._spark_classes = spark_classes
        self._spark_profiles = spark_profiles
        self._needs = needs
        self._engine = engine
        self._room = room
        self._waiting: dict[int, Assigned] = {}
        self._warm_at = float("-inf")
        self._lease_until = 0.0
        self._levels = LogLevels([])
        self._hosts: list[_Host] = []
        self._ending: list[_Host] = []
        self._asked = 0
        self._answers: dict[int, tuple[int, asyncio.Future[SignalAnswered]]] = {}

    def start(self, run: int, assigned: Assigned) -> None:
        """Start a run in a host that has room, or in a new one; or let it wait for room in this executor."""
        profile = profile_of(assigned, self._spark_profiles, self._needs, self._engine)
        loop = asyncio.get_running_loop()
        if never := self._room.never(profile):
            loop.call_soon(self._watcher.on_ended, run, Outcome(clean=True, failed=True, permanent=True, error=never))
        elif lack := self._lack(profile):
            self._waiting[run] = assigned
            loop.call_soon(self._tell_waiting, run, lack)
        else:
            self._begin(run, assigned, profile)

    def _begin(self, run: int, assigned: Assigned, profile: Profile | None) -> None:
        try:
            host = self._host_for(profile)
        except (OSError, RuntimeError) as error:  # RuntimeError: no thread could be started
            # Told later, as the loss of a process always is: the caller is in the middle of something.
            reason = f"no host process could be started: {error}; give the executor more memory or processes"
            asyncio.get_running_loop().call_soon(self._watcher.on_lost, run, reason)
            return
        host.runs[run] = assigned
        host.relabel()
        host.process.send(_start_order(run, assigned))

    def direct(self, run: int, wish: Literal["stop", "pause", "resume", "fence"]) -> None:
        """Pass a wish on to a run."""
        if (waiting := self._waiting.get(run)) is not None:
            if wish in ("pause", "resume"):
                self._waiting[run] = replace(waiting, paused=wish == "pause")
                return
            del self._waiting[run]
            asyncio.get_running_loop().call_soon(self._watcher.on_ended, run, Outcome(clean=True, fenced=wish == "fence"))
        for host in self._holding(run):
            host.process.send(DirectTask(run, wish))

    async def signal(self, run: int, name: str, arguments: Mapping[str, str]) -> SignalAnswered:
        """Tell a running task something; its answer, also when its process ends instead. Cancel it to wait no longer."""
        self._asked += 1
        number = self._asked
        answer: asyncio.Future[SignalAnswered] = asyncio.get_running_loop().create_future()
        self._answers[number] = (run, answer)
        try:
            for host in self._holding(run):
                host.process.send(SignalTask(run, number, name, dict(arguments)))
                return await answer
            return SignalAnswered(number, trouble=ENDED)
        finally:
            del self._answers[number]

    def kill(self, run: int) -> None:
        """End the process of a run, and with it those that share it: they are lost, too."""
        for host in self._holding(run):
            host.process.kill(
                f"its process (pid {host.process.pid}) was ended, because {_name(host.runs[run])} did not stop in time"
            )

    def renew(self, until: float) -> None:
        """The lease ends at this time, by `boot_seconds`."""
        self._lease_until = until
        for host in self._hosts:
            host.process.send(Renew(until))

    def log_from(self, levels: LogLevels) -> None:
        """Have all hosts log from these levels on."""
        self._levels = levels
        for host in self._hosts:
            host.process.send(levels)

    def tick(self) -> None:
        """To be called once a second: ends hosts that hang or are of no more use, and keeps one warm."""
        now = time.monotonic()
        for host in list(self._hosts):
            if host.process.missed() > (limit := HUNG_SECONDS if host.process.has_spoken else START_SECONDS):
                why = f"hung: it said nothing for {limit} s, and was killed"
                host.process.kill(f"the host process (pid {host.process.pid}) {why}")
            elif not host.runs and not self._is_kept(host) and now - host.idle_since > SPARK_IDLE_SECONDS:
                self._end(host)
        self._begin_waiting()
        self.warm_up()

    def warm_up(self) -> None:
        """Start the Spark driver that is kept warm, if it is to be there and is not."""
        now = time.monotonic()
        if not self._spark_warm or now < self._warm_at or any(self._is_kept(host) for host in self._hosts):
            return
        if self._waiting or self._room.lack(0, self._drivers(), PLAIN):
            return
        self._warm_at = now + _WARM_AGAIN_SECONDS
        try:
            self._new_host(PLAIN)
        except OSError as error:
            _log.warning("no Spark driver could be started", cause=str(error))

    def describe(self) -> list[HostView]:
        """All hosts."""
        return [HostView(host.process.pid, profile_name(host.profile), list(host.runs.items())) for host in self._hosts]

    async def close(self) -> None:
        """End all hosts. Their tasks have ended, or are to end with them."""
        self._waiting.clear()
        for host in list(self._hosts):
            if host.runs:
                host.process.kill("the executor ends")
            else:
                self._end(host)
        for host in [*self._hosts, *self._ending]:
            await host.process.wait()

    def _begin_waiting(self) -> None:
        """Let those begin for whom there is room by now, in the order in which they came."""
        for run, assigned in list(self._waiting.items()):
            profile = profile_of(assigned, self._spark_profiles, self._needs, self._engine)
            if not (lack := self._lack(profile)):
                del self._waiting[run]
                self._begin(run, assigned, profile)
            elif profile is not NATIVE and not self._room.lack(self._tasks(), ()):
                # A driver that nothing runs in makes room for one that is wanted.
                idle = next((host for host in self._hosts if host.profile is not NATIVE and not host.runs), None)
                if idle is not None:
                    _log.info("a Spark driver makes room", host=idle.process.pid, cause=lack)
                    self._end(idle)

    def _lack(self, profile: Profile | None) -> str:
        """Why there is no room for one more run now; empty: there is."""
        there = any(host.profile == profile and self._is_usable(host) for host in self._hosts)
        return self._room.lack(self._tasks(), self._drivers(), None if there else profile)

    def _tasks(self) -> int:
        return sum(len(host.runs) for host in self._hosts)

    def _drivers(self) -> list[Profile]:
        return [host.profile for host in (*self._hosts, *self._ending) if host.profile is not None]

    def _tell_waiting(self, run: int, lack: str) -> None:
        if run in self._waiting:
            now = time.time()
            trace = f"{lack}; it begins when there is room: when others end, or with more workers that take them"
            self._watcher.on_pulse(
                TaskPulse(run, State.WAITING, trace, now, now, has_work=False, metrics=TaskMetrics(counted_since=now))
            )

    def _host_for(self, profile: Profile | None) -> _Host:
        hosts = [host for host in self._hosts if host.profile == profile and self._is_usable(host)]
        if profile is NATIVE and len(hosts) < self._native_hosts:
            hosts = [host for host in hosts if len(host.runs) < self._tasks_per_host]
        return min(hosts, key=lambda host: len(host.runs)) if hosts else self._new_host(profile)

    def _is_usable(self, host: _Host) -> bool:
        """Whether runs may begin in it: not in one that has loaded plugins of which there is another version now."""
        return not host.spoiled and host.edition == self._fresh.edition

    def _new_host(self, profile: Profile | None) -> _Host:
        host = _Host(self._fresh.take(lambda _event: None, lambda _reason: None), profile, self._fresh.edition)
        host.process.on_event = lambda event: self._on_event(host, event)
        host.process.on_exit = lambda reason: self._on_exit(host, reason)
        host.idle_since = time.monotonic()
        host.relabel()
        self._hosts.append(host)
        host.process.send(Begin(self._endpoints), Renew(self._lease_until), self._levels)
        if profile is not NATIVE:
            settings, name = dict(profile.settings), profile_name(profile)
            host.process.send(StartSpark(settings, self._spark_classes, profile.title, profile.jars, name))
        return host

    def _on_event(self, host: _Host, event: Event) -> None:
        match event:
            case Pulse():
                for pulse in event.tasks:
                    if pulse.run in host.runs:
                        self._watcher.on_pulse(pulse)
            case TaskEnded():
                self._on_ended(host, event)
            case SignalAnswered():
                self._on_answered(event)
            case SparkFetches():
                _log.info("fetching jars", what=event.title, done=event.done, of=event.total)
            case SparkReady():
                _log.info(
                    "Spark is ready", host=host.process.pid, profile=profile_name(host.profile), seconds=round(event.seconds, 2)
                )
            case SparkFailed():
                _log.error("Spark could not be started", profile=profile_name(host.profile), cause=event.error)
                # Its tasks end with that error; a process in which a start has failed can't start Spark again.
                host.spoiled = True
                if not host.runs:
                    self._discard(host, "its Spark driver could not be started")

    def _on_answered(self, answered: SignalAnswered) -> None:
        _, answer = self._answers.get(answered.number, (0, None))
        if answer is not None and not answer.done():
            answer.set_result(answered)

    def _give_up_asking(self, runs: Collection[int], why: str) -> None:
        for number, (run, _) in list(self._answers.items()):
            if run in runs:
                self._on_answered(SignalAnswered(number, trouble=why))

    def _on_ended(self, host: _Host, event: TaskEnded) -> None:
        if host.runs.pop(event.run, None) is None:
            return
        self._give_up_asking([event.run], ENDED)
        host.idle_since = time.monotonic()
        host.relabel()
        if (host.profile is NATIVE or host.spoiled) and not host.runs:
            # What a plugin leaves behind (threads, programs) ends with its last task.
            self._discard(host, "its tasks have ended")
        self._watcher.on_ended(event.run, event.outcome)
        self._begin_waiting()

    def _on_exit(self, host: _Host, reason: str) -> None:
        for hosts in (self._hosts, self._ending):
            if host in hosts:
                hosts.remove(host)
        lost, host.runs = host.runs, {}
        if lost:
            _log.warning("host process is gone", host=host.process.pid, tasks=sorted(map(_name, lost.values())), cause=reason)
        self._give_up_asking(lost, f"{reason}; whether the signal was carried out is not known")
        for run in lost:
            self._watcher.on_lost(run, reason)
        self._begin_waiting()

    def _discard(self, host: _Host, why: str) -> None:
        self._hosts.remove(host)
        self._ending.append(host)
        host.process.kill(why)

    def _end(self, host: _Host) -> None:
        self._hosts.remove(host)
        self._ending.append(host)
        host.process.close()

    def _is_kept(self, host: _Host) -> bool:
        return self._spark_warm and host.profile == PLAIN and self._is_usable(host)

    def _holding(self, run: int) -> Iterator[_Host]:
        return (host for host in list(self._hosts) if run in host.runs)


def _start_order(run: int, assigned: Assigned) -> StartTask:
    spec = TaskSpec(
        kind=Kind[assigned.type],
        connector=assigned.connector,
        connector_uid=assigned.key.connector_uid,
        revision=assigned.revision,
        generation=assigned.generation,
        task=assigned.key.task,
        epoch=assigned.epoch,
        tasks=int(assigned.task_config.get("tasks", "1")),
        config=assigned.config,
        task_config=assigned.task_config,
        settled=assigned.settled,
        secrets_rest=assigned.secrets_rest,
    )
    return StartTask(run, spec, assigned.paused)


def _name(assigned: Assigned) -> str:
    return f"{assigned.connector}/{assigned.key.task}"
