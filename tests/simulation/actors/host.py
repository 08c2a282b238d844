"""A host process of the executor with one task in it, and what every task needs."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from rocketconnect_kit.errors import ServiceError, Unavailable
from rocketconnect_sdk.errors import ConnectorError, PermanentError
from services.executor.contract.assignment import Assigned, End
from services.executor.runtime.positions.client import Fenced, PositionsMoved
from services.executor.runtime.positions.stored import Stored
from services.position import fencing
from services.position.domain import Fence, Opened, Position, Update
from tests.simulation.actors import position
from tests.simulation.checks import Checks
from tests.simulation.world import Future, Process, Steps

if TYPE_CHECKING:
    from tests.simulation.actors.worker import Worker

SEND_DEADLINE = 2.0
_DRIFT = 0.1
"""Seconds: more than what two clocks drift apart within a lease and the send deadline."""
COMMIT_SECONDS = 1.0

Wish = Literal["stop", "pause", "resume", "fence"]


class Stopped(Exception):
    """The task is to end."""


@dataclass
class Sides:
    """What tasks copy from and to.

    Attributes:
        produced: By source partition the keys of its records, whose offsets are 1, 2, ...
        exactly_once: The sink stores positions with the data; otherwise it is at least once.
        failing: The connectors whose idle tasks fail.
        map_changes: The topic's queues and the keys change. Where they do not, nobody asks for queues or stores the map.
        machines: By name: the processes of workers that were started there, and have left a file on its disk.
        keeps_files: Files last longer than processes.
    """

    produced: dict[str, list[bytes | None]] = field(default_factory=dict)
    exactly_once: bool = True
    failing: set[str] = field(default_factory=set)
    map_changes: bool = False
    machines: "dict[str, list[Worker]]" = field(default_factory=dict)
    keeps_files: bool = True

    def plan(self, connector: str, config: Mapping[str, str]) -> tuple[Mapping[str, str], ...]:
        """Split a connector into tasks: a source by its partitions, a sink by queues (which its tasks deal out themselves)."""
        tasks = int(config["tasks"])
        partitions = sorted(self.produced)
        if config["connector.class"] == "source":
            return tuple({"partitions": ",".join(partitions[task::tasks]), "tasks": str(tasks)} for task in range(tasks))
        return tuple({"tasks": str(tasks)} for _ in range(tasks))


class Host(Process):
    """Runs one task. Its clock is that of its executor, with which it dies."""

    def __init__(self, worker: "Worker", name: str, assigned: Assigned, sides: Sides, checks: Checks) -> None:
        super().__init__(worker.world, name)
        self.rate, self.zero, self.slept = worker.rate, worker.zero, worker.asleep()
        self.assigned = assigned
        self.worker_id = worker.name
        self.sides = sides
        self.fence = Fence(*assigned.key, assigned.generation, assigned.epoch)
        self.lease_until = 0.0
        self.stopping = False
        self.fenced = False
        self.paused = assigned.paused
        self.continues = assigned.config["on.isolation"] == "continue"
        self.has_begun = False
        self.is_settled = False
        """Mirrors source_start._wait: what older owners have sent is there, the cluster service has waited for it."""
        self.is_running = False
        self.outcome: End | None = None
        self.known: dict[str, str] = {}
        self._worker = worker
        self._checks = checks
        self._wake = Future()
        self._replica = worker.world.random.randrange(len(position.REPLICAS))
        self.on_death.append(lambda: checks.ended(self))

    def begin(self) -> None:
        """Start the task: a new process takes its time."""
        self.world.note(f"{self.name} starts {self.assigned.key} epoch {self.assigned.epoch}")
        self._checks.started(self)
        self.spawn(self._main())

    def may_write(self) -> bool:
        """See checks.Run."""
        leased = self.continues or self.boot_clock() < self._worker.lease.until + SEND_DEADLINE - _DRIFT
        return self.has_begun and self.alive and self._worker.alive and leased

    def renew(self, until: float) -> None:
        self.lease_until = max(self.lease_until, until)

    @property
    def has_lease(self) -> bool:
        return self.continues or self.boot_clock() < self.lease_until

    def direct(self, wish: Wish) -> None:
        """Mirrors task.TaskControl."""
        match wish:
            case "pause" | "resume":
                self.paused = wish == "pause"
            case "stop":
                self.stopping = True
            case "fence":
                self.stopping = self.fenced = True
        self.wake()

    def wake(self) -> None:
        self._wake.set(None)

    def wait(self, seconds: float) -> Steps:
        """Wait until something happens, at most so many seconds."""
        wake = self._wake = Future()
        self.after(seconds, lambda: wake.set(None))
        yield wake

    def sleep(self, seconds: float) -> Steps:
        """Mirrors queues.wait_until."""
        until = self.clock() + seconds
        while self.clock() < until:
            if self.stopping:
                raise Stopped
            yield from self.wait(until - self.clock())

    def _main(self) -> Steps:
        """Mirrors run._guarded."""
        from tests.simulation.actors.idle_task import IdleRun
        from tests.simulation.actors.sink_task import SinkRun
        from tests.simulation.actors.source_task import SourceRun

        yield self.world.random.choice((0.02, 0.1, 0.5))
        kinds: dict[str, type[SourceRun | SinkRun | IdleRun]] = {"source": SourceRun, "sink": SinkRun, "idle": IdleRun}
        try:
            yield from kinds[self.assigned.config["connector.class"]](self).run()
            self.outcome = End()
        except Stopped:
            self.outcome = End(fenced=self.fenced)
        except Fenced as error:
            self.outcome = End(fenced=True, error=str(error), opened_generation=error.opened_generation)
        except PermanentError as error:
            self.outcome = End(failed=True, permanent=True, error=str(error))
        except ConnectorError as error:
            self.outcome = End(failed=True, error=str(error))
        self.world.note(f"{self.name} has ended {self.assigned.key}: {self.outcome}")
        self.kill()

    # Calls that are tried again (mirrors attempts.Attempts.insist).

    def insist(self, server: str, method: str, args: object) -> Steps:
        backoff = 0.1
        while True:
            if self.stopping:
                raise Stopped
            try:
                return (yield self.world.network.call(self, server, method, args))
            except Unavailable:
                yield backoff * self.world.random.uniform(0.5, 1.0)
                backoff = min(backoff * 2, 2.0)

    def open(self, *, look: bool = False) -> Steps:
        """Mirrors positions.PositionClient.open, and its `look`."""
        if not self.point("task: before it opens"):
            yield 0.0
        while True:
            if self.stopping:
                raise Stopped
            try:
                opened: Opened = yield self.position_call("open", (self.fence, int(SEND_DEADLINE * 1e6)))
            except ServiceError as error:
                yield from self.refused(error)
            else:
                if not look:
                    self.known = {each.partition: each.offset for each in opened.positions}
                self.is_settled = self.assigned.settled and not self.continues
                return {each.partition: _stored(each) for each in opened.positions}, opened.incarnation, opened.wait / 1e6

    def wait_out(self, seconds: float) -> Steps:
        """Wait as long as an older owner may be confirmed; from then on this one may write."""
        yield from self.sleep(seconds)
        self.has_begun = True
        self._checks.one_owner(self)

    def store(self, positions: Mapping[str, Stored]) -> Steps:
        """Store positions before anything else happens (mirrors _store of source.start and sink.start)."""
        while True:
            if self.stopping:
                raise Stopped
            if self.has_lease:
                try:
                    yield self.commit(positions, clean=False)
                except ServiceError as error:
                    yield from self.refused(error)
                else:
                    self.stored(positions)
                    return
            else:
                yield 0.2

    def commit(self, positions: Mapping[str, Stored], *, clean: bool) -> Future:
        """Mirrors positions.PositionClient.commit."""
        updates = tuple(
            Update(partition, _text(one), one.incarnation, json.dumps(one.resume) if one.resume else "", self.expected(partition))
            for partition, one in positions.items()
        )
        return self.position_call("commit", (self.fence, updates, clean))

    def expected(self, partition: str) -> str:
        """What has to be stored for a commit to be let in."""
        return self.known.get(partition, fencing.NONE)

    def stored(self, positions: Mapping[str, Stored]) -> None:
        """These are stored now."""
        self.known.update({partition: _text(one) for partition, one in positions.items()})

    def position_call(self, method: str, args: object) -> Future:
        return self.world.network.call(self, position.REPLICAS[self._replica], method, args)

    def refused(self, error: ServiceError) -> Steps:
        """Raise what an error means (mirrors positions._meaning), or wait a little and go to the other replica."""
        if error.reason == "FENCED":
            raise Fenced(error.message, int(error.metadata["opened_generation"]))
        if error.reason == "POSITION_MISMATCH":
            raise PositionsMoved(error.message)
        self._replica = (self._replica + 1) % len(position.REPLICAS)
        yield 0.1


class Committer:
    """Mirrors positions.Committer: what is new is merged, one commit is under way at a time."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._waiting: dict[str, Stored] = {}
        self._under_way: dict[str, Stored] = {}
        self._call: Future | None = None
        self._not_before = 0.0
        self._trouble = False

    def put(self, positions: Mapping[str, Stored]) -> None:
        self._waiting.update(positions)

    def poll(self) -> Steps:
        if self._call is not None and self._call.done:
            yield from self._finish()
        if self._call is None and (self._under_way or self._waiting) and self._host.clock() >= self._not_before:
            self._begin(clean=False)

    def flush(self, seconds: float, *, clean: bool) -> Steps:
        """Store all there is; return whether that worked in time."""
        until, finished = self._host.clock() + seconds, False
        while True:
            if self._call is not None:
                yield from self._finish()
            if not self._under_way and not self._waiting and not self._trouble and (finished or not clean):
                return True
            if self._host.clock() >= until:
                return False
            self._begin(clean=clean)
            finished = not self._waiting

    def _begin(self, *, clean: bool) -> None:
        if not self._under_way:
            self._under_way, self._waiting = self._waiting, {}
        self._not_before = self._host.clock() + COMMIT_SECONDS
        self._call = self._host.commit(self._under_way, clean=clean and not self._waiting)
        self._call.then(self._host.wake)

    def _finish(self) -> Steps:
        call, self._call = self._call, None
        try:
            yield call
        except ServiceError as error:
            self._trouble = True
            yield from self._host.refused(error)
            return
        self._host.stored(self._under_way)
        self._under_way, self._trouble = {}, False


def _text(position: Stored) -> str:
    return json.dumps(position.offset, separators=(",", ":"))


def _stored(position: Position) -> Stored:
    return Stored(tuple(json.loads(position.offset or "[]")), position.incarnation, json.loads(position.resume or "{}"))
