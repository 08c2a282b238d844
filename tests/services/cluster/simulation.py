"""A whole cluster in simulated time: the real core and board, and workers that behave as executors do, on a bad network.

Deterministic: a seed and a script give the same run, event by event.
"""

import heapq
from collections.abc import Callable
from dataclasses import dataclass, replace
from random import Random

from rocketconnect_kit.errors import ServiceError
from services.cluster import core
from services.cluster.board import Board, Subscription, Update
from services.cluster.events import ConnectorsChanged, Effects, Event, Register, Release, ReportPlan, Tick, WorkerGone
from services.cluster.model import PLAN, Changes, Connector, Key, Wanted
from services.cluster.state import Policy, State
from services.cluster.tables import Tables
from services.cluster.view import AssignmentView, view_of

POLICY = Policy()
LEASE = POLICY.timing.lease
SEND_DEADLINE = POLICY.timing.send_deadline


@dataclass
class Held:
    """A unit that a process runs. While `stopping` it may still write."""

    view: AssignmentView
    stopping: bool = False
    then: AssignmentView | None = None


class Process:
    """One life of an executor: it ends with kill, and all that it ran ends with it."""

    def __init__(self, worker: str) -> None:
        self.worker = worker
        self.alive = True
        self.session = 0
        self.lease_until = 0.0
        self.paused_until = 0.0
        self.cut_off_until = 0.0
        self.held: dict[Key, Held] = {}
        self.ended: dict[Key, int] = {}
        self.stream: Subscription | None = None
        self.stream_life = 0
        self.next_delivery = 0.0

    def may_write(self, key: Key, now: float) -> bool:
        """Whether bytes of this task may still arrive anywhere: the meaning of holding it validly."""
        return self.alive and key in self.held and now < self.lease_until + SEND_DEADLINE


class Simulation:
    """Time, the network, the service with its disk, and the processes."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.now = 0.0
        self._queue: list[tuple[float, int, Callable[[], None]]] = []
        self._count = 0
        self._disk: list[Changes] = []
        self._service_life = 0
        self.service_up = False
        self.processes: dict[str, Process] = {}
        self.wanted: dict[str, Connector] = {}
        self.failing: set[str] = set()
        self.log: list[str] = []
        self.given: list[tuple[float, Key, str]] = []
        self.start_service()

    # Time.

    def at(self, delay: float, action: Callable[[], None]) -> None:
        self._count += 1
        heapq.heappush(self._queue, (self.now + delay, self._count, action))

    def run(self, seconds: float) -> None:
        end = self.now + seconds
        while self._queue and self._queue[0][0] <= end:
            self.now, _, action = heapq.heappop(self._queue)
            action()
            self.check()
        self.now = end

    def check(self) -> None:
        """At no instant do two processes hold a task validly, nor tasks of two generations of a connector run side by side."""
        owners: dict[Key, str] = {}
        generations: dict[str, int] = {}
        for process in self.processes.values():
            for key, held in process.held.items():
                if key.task == PLAN or not process.may_write(key, self.now):
                    continue
                assert key not in owners, f"{self.now}: {key} held by {owners[key]} and {process.worker}\n" + self.story()
                owners[key] = process.worker
                generation = generations.setdefault(key.connector_uid, held.view.generation)
                assert generation == held.view.generation, f"{self.now}: generations mixed at {key}\n" + self.story()

    def story(self) -> str:
        return "\n".join(self.log[-60:])

    # The service.

    def start_service(self) -> None:
        tables = Tables()
        for changes in self._disk:
            tables.apply(changes)
        self.state = State(tables, POLICY, self.now)
        self.board = Board()
        self.board.publish({key: view_of(self.state, key) for key in tables.units})
        self.service_up = True
        self._service_life += 1
        self._note("service started")
        self.at(0.0, self._tick(self._service_life))
        self.at(0.3, self._config_snapshot(self._service_life))

    def kill_service(self) -> None:
        self.service_up = False
        self._service_life += 1
        for process in self.processes.values():
            process.stream = None
        self._note("service killed")

    def _tick(self, life: int) -> Callable[[], None]:
        def tick() -> None:
            if self._service_life == life:
                effects = self.step(Tick())
                self.at(max(0.05, effects.wake_at - self.now), tick)

        return tick

    def _config_snapshot(self, life: int) -> Callable[[], None]:
        def tell() -> None:
            if self._service_life == life:
                self.step(ConnectorsChanged(snapshot=True, connectors=tuple(self.wanted.values())))

        return tell

    def step(self, event: Event) -> Effects:
        effects = core.step(self.state, [event], self.now, self.random)
        if not isinstance(event, Tick):
            self._note(f"{event} -> {effects.replies!r}")
        for key, unit in effects.changes.units.items():
            self._note(f"   {key}: {unit}")
            if unit is not None and unit.is_held and not unit.revoked:
                self.given.append((self.now, key, unit.worker))
        self._disk.append(effects.changes)
        self.board.publish(effects.views)
        for process in self.processes.values():
            if process.stream is not None and process.stream.ready.is_set():
                self._deliver(process)
        return effects

    def _note(self, what: str) -> None:
        self.log.append(f"{self.now:9.3f} {what}")

    # The network: calls and their answers take time and may be lost.

    def call(self, process: Process, event: Callable[[], Event], then: Callable[[int | ServiceError], None]) -> None:
        def arrive() -> None:
            if self.service_up and self.reaches(process):
                [reply] = self.step(event()).replies
                self.at(self._delay(), lambda: then(reply) if self._is_there(process) else None)

        self.at(self._delay(), arrive)

    def reaches(self, process: Process) -> bool:
        return process.alive and self.now >= process.cut_off_until

    def _is_there(self, process: Process) -> bool:
        return self.reaches(process) and self.now >= process.paused_until

    def _delay(self) -> float:
        return self.random.choice([0.001, 0.005, 0.02, 0.3])

    # The workers.

    def start_worker(self, worker: str) -> None:
        self.kill_worker(worker)
        process = Process(worker)
        self.processes[worker] = process
        self._note(f"process of {worker} started")
        self._register(process)
        self.at(0.1, lambda: self._beat(process))

    def kill_worker(self, worker: str) -> None:
        process = self.processes.pop(worker, None)
        if process is not None:
            self._note(f"process of {worker} killed")
            process.alive = False
            if process.stream is not None:
                self.board.unsubscribe(process.stream)
                self._see_the_break(process)

    def _see_the_break(self, process: Process) -> None:
        """The service notices, now or later, that the process is gone; another one may have its id by then."""
        gone, life = WorkerGone(process.worker, process.session), self._service_life

        def noticed() -> None:
            if self._service_life == life:
                self.step(gone)

        if self.random.random() < 0.5:
            self.at(self.random.choice([0.05, 1.0, 3.0]), noticed)

    def pause_worker(self, worker: str, seconds: float) -> None:
        if worker in self.processes:
            self._note(f"{worker} is paused for {seconds}")
            self.processes[worker].paused_until = self.now + seconds

    def cut_off_worker(self, worker: str, seconds: float) -> None:
        if worker in self.processes:
            self._note(f"{worker} is cut off for {seconds}")
            process = self.processes[worker]
            process.cut_off_until = self.now + seconds
            process.stream = None

    def _register(self, process: Process) -> None:
        sent = self.now
        labels = {"zone": process.worker}

        def registered(reply: int | ServiceError) -> None:
            if isinstance(reply, int) and process.session == 0:
                process.session, process.lease_until = reply, sent + LEASE

        # Everything has ended before a worker registers.
        process.held.clear()
        process.session = 0
        process.stream = None
        self.call(process, lambda: Register(process.worker, "h:1", labels, frozenset({"p"})), registered)

    def _beat(self, process: Process) -> None:
        """What an executor does once a second: renew, reconnect its stream, register again when it has no session."""
        if not process.alive:
            return
        self.at(1.0, lambda: self._beat(process))
        if self.now < process.paused_until:
            return
        if process.session == 0:
            self._register(process)
            return
        sent, session = self.now, process.session

        def answered(fenced: bool) -> None:
            if not self._is_there(process) or process.session != session:
                return
            if fenced:
                self._note(f"{process.worker} learns that it is fenced")
                self._register(process)
            else:
                process.lease_until = max(process.lease_until, sent + LEASE)

        def arrive() -> None:
            if not (self.service_up and self.reaches(process)):
                return
            try:
                core.heartbeat(self.state, process.worker, session, self.now)
                fenced = False
            except ServiceError:
                fenced = True
            self.at(self._delay(), lambda: answered(fenced))

        self.at(self._delay(), arrive)
        if process.stream is None and self.reaches(process) and self.service_up:
            self._open_stream(process, session)

    def _open_stream(self, process: Process, session: int) -> None:
        try:
            core.check_session(self.state, process.worker, session)
        except ServiceError:
            return
        process.stream = self.board.subscribe(process.worker)
        process.stream_life += 1
        process.next_delivery = self.now
        self._deliver(process)

    def _deliver(self, process: Process) -> None:
        stream, session, life = process.stream, process.session, process.stream_life
        try:
            core.check_session(self.state, process.worker, session)
        except ServiceError:
            process.stream = None
            return
        update = stream.take() if stream is not None else None
        if update is None:
            return
        process.next_delivery = max(process.next_delivery, self.now) + self._delay()

        def arrive() -> None:
            if process.alive and self.now < process.paused_until:
                self.at(process.paused_until - self.now, arrive)
            elif process.stream is stream and process.stream_life == life and self.reaches(process):
                self._take(process, update)

        self.at(process.next_delivery - self.now, arrive)

    def _take(self, process: Process, update: Update) -> None:
        told = {view.key: view for view in update.assignments}
        gone = set(process.held) - set(told) if update.snapshot else set(update.removed)
        for key in gone:
            process.held.pop(key, None)
        for key, view in told.items():
            held = process.held.get(key)
            if held is not None and (view.revoked or view.epoch != held.view.epoch):
                self._stop(process, held, then=view)
            elif held is None and view.revoked:
                self._release(process, view)
            # A change that was under way may still show what this process has ended itself meanwhile: that epoch is over.
            elif held is None and view.epoch > process.ended.get(key, 0) and self.now < process.lease_until:
                self._start(process, view)

    def _start(self, process: Process, view: AssignmentView) -> None:
        held = Held(view)
        process.held[view.key] = held
        self._note(f"{process.worker} starts {view.key} under {view.epoch}")
        if view.key.task == PLAN:
            self.at(self.random.choice([0.1, 2.0]), lambda: self._report_plan(process, held))
        elif view.connector in self.failing:
            self.at(self.random.choice([0.1, 2.0]), lambda: self._fail(process, held))

    def _still(self, process: Process, held: Held) -> bool:
        return process.alive and process.held.get(held.view.key) is held

    def _stop(self, process: Process, held: Held, then: AssignmentView) -> None:
        """Stop what runs; then release what was taken back, under the epoch that was shown last, or start what came instead."""
        held.then = then
        if held.stopping:
            return
        held.stopping = True

        def stopped() -> None:
            if not self._still(process, held):
                return
            if self.now < process.paused_until:
                self.at(process.paused_until - self.now, stopped)
                return
            del process.held[held.view.key]
            self._note(f"{process.worker} has stopped {held.view.key}")
            process.ended[held.view.key] = held.view.epoch
            if held.then is not None and not held.then.revoked:
                self._start(process, held.then)
            else:
                self._release(process, held.then or held.view)

        self.at(self.random.choice([0.05, 1.5]), stopped)

    def _release(self, process: Process, view: AssignmentView, *, failed: bool = False, attempts: int = 30) -> None:
        """Release until the service has answered, whatever it says; the answer may be lost on the way."""
        session, answered = process.session, [False]
        process.ended[view.key] = view.epoch

        def done(_reply: int | ServiceError) -> None:
            answered[0] = True

        def again() -> None:
            if not answered[0] and process.alive and process.session == session and attempts:
                self._release(process, view, failed=failed, attempts=attempts - 1)

        self.call(process, lambda: Release(process.worker, session, view.key, view.epoch, failed), done)
        self.at(1.0, again)

    def _fail(self, process: Process, held: Held) -> None:
        if self._still(process, held) and not held.stopping and self.now >= process.paused_until:
            del process.held[held.view.key]
            self._release(process, held.view, failed=True)

    def _report_plan(self, process: Process, held: Held) -> None:
        if not self._still(process, held):
            return
        session, view = process.session, held.view
        tasks = tuple({"part": str(number)} for number in range(int(view.config["tasks"])))
        report = ReportPlan(process.worker, session, view.key.connector_uid, view.epoch, tasks)
        self.call(process, lambda: report, lambda _reply: None)
        self.at(1.0, lambda: self._report_plan(process, held))

    # The user.

    def configure(self, uid: str, change: Callable[[Connector], Connector] | None = None, *, tasks: int = 3) -> None:
        """Create a connector, or change it."""
        old = self.wanted.get(uid)
        config = {"connector.class": "p", "tasks": str(tasks)}
        if old is None:
            self.wanted[uid] = Connector(uid, uid, 1, config, Wanted.RUNNING, 1, 0)
        elif change is None:
            self.wanted[uid] = replace(old, revision=old.revision + 1, config=config)
        else:
            self.wanted[uid] = change(old)
        self._tell(ConnectorsChanged(snapshot=False, connectors=(self.wanted[uid],)))

    def delete(self, uid: str) -> None:
        if self.wanted.pop(uid, None) is not None:
            self._tell(ConnectorsChanged(snapshot=False, deleted=(uid,)))

    def _tell(self, event: ConnectorsChanged) -> None:
        if self.service_up:
            self.step(event)

    def running(self) -> dict[Key, str]:
        """Return who really runs each task."""
        return {
            key: process.worker
            for process in self.processes.values()
            for key in process.held
            if key.task != PLAN and self.now < process.lease_until
        }

    def expected(self) -> set[Key]:
        """Return the tasks that shall run."""
        return {
            Key(uid, task)
            for uid, connector in self.wanted.items()
            if connector.wanted is not Wanted.STOPPED
            for task in range(int(connector.config["tasks"]))
        }
