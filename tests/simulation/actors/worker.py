"""An executor in the simulation: the real life cycle; membership, watch, releases and reports are mirrored."""

from collections.abc import Iterable
from contextlib import suppress
from functools import partial

from rocketconnect_kit.errors import ServiceError, Unavailable
from services.cluster.board import Update
from services.cluster.decisions.events import Deregister, Register, ReportPlan
from services.cluster.decisions.events import Release as ReleaseEvent
from services.cluster.model import Key as ClusterKey
from services.cluster.view import AssignmentView
from services.executor.contract.assignment import PLAN, Assigned, End, Key, PlanResult
from services.executor.worker.lease import WorkerLease
from services.executor.worker.lifecycle import Direct, Effect, Ended, Forget, Kill, Lifecycle, Policy, Release, Restarting, Start
from services.position.domain import Fence
from services.state.model import Key as StateKey
from services.state.model import Report, State
from tests.simulation.actors import cluster, position
from tests.simulation.actors.cluster import ClusterServer, Stream
from tests.simulation.actors.host import Host, Sides
from tests.simulation.actors.replicas import Replicas
from tests.simulation.checks import Checks
from tests.simulation.world import Future, Process, Steps, Thread, World

PLUGINS = frozenset({"source", "sink", "idle"})
LEASE = 5.0
_POLICY = Policy(stop=4.0)


class Worker(Process):
    """Mirrors executor/worker.Worker, membership.Membership, pool.HostPool and reports.Reports, each by the method named alike."""

    def __init__(self, world: World, name: str, sides: Sides, checks: Checks, worker_id: str = "") -> None:
        """`name` is the machine's; `worker_id`: the id of the worker, if it is not called like its machine."""
        super().__init__(world, name)
        self._id = worker_id or name
        self._sides = sides
        self._checks = checks
        self._lifecycle = Lifecycle(_POLICY, world.random)
        self._hosts: dict[int, Host] = {}
        self._plans: dict[int, Thread] = {}
        self._states: dict[Key, tuple[Assigned, State, int]] = {}
        self._cluster = Replicas(self, cluster.REPLICAS)
        self._positions = Replicas(self, position.REPLICAS)
        self._stream: Stream | None = None
        self.lease = WorkerLease()
        self.alone = False
        self._runs = 0
        self._leaving = False
        before = sides.machines.setdefault(name, [])
        self._process = f"{name}{len(before)}"
        self._ended_processes = frozenset(one._process for one in before if not one.alive and sides.keeps_files)
        before.append(self)
        self.session = 0
        self.on_death.append(self._end_hosts)
        self.spawn(self._be_member())
        self.spawn(self._keep_time())
        self.spawn(self._report())

    @property
    def hosts(self) -> list[Host]:
        return [host for host in self._hosts.values() if host.alive]

    def _end_hosts(self) -> None:
        # The parent-death signal, and the end of the pipe.
        for host in self.hosts:
            host.kill()

    # Membership.

    def _be_member(self) -> Steps:
        while True:
            yield from self._join()
            yield from self._hold()
            if self._leaving:
                return
            self.world.note(f"{self.name}: the session is over, everything is stopped")
            self.session = 0
            self._stream = None
            self._apply(self._lifecycle.fence_all(self.clock()))
            while self._lifecycle.alive:
                yield 0.05

    def _join(self) -> Steps:
        backoff = 0.1
        event = Register(self._id, "h:1", {}, PLUGINS, process=self._process, ended_processes=self._ended_processes)
        while True:
            sent = self.boot_clock()
            try:
                session = yield from self._cluster.call("event", event)
            except ServiceError:
                yield backoff * self.world.random.uniform(0.5, 1.0)
                backoff = min(backoff * 2, 2.0)
            else:
                self.session, self.alone = session, False
                self.lease.joined(sent, LEASE, 1.0)
                self._tell_renewed()
                return

    def _hold(self) -> Steps:
        while True:
            self._watch()
            yield self.lease.pause
            sent = self.boot_clock()
            others = Future()
            if self.lease.needs_others(sent):
                # With what the cluster service says next it starts with a snapshot.
                self.alone, self._stream = True, None
                self.spawn(self._stand_in(sent, others))
            else:
                others.set(None)
            over = yield from self._beat(sent)
            yield others
            if over or self.session == 0:
                return

    def _beat(self, sent: float) -> Steps:
        args = self._id, self.session
        try:
            seconds = yield from self._cluster.call("heartbeat", args, self.lease.patience(sent))
        except Unavailable:
            return False
        except ServiceError:
            return True
        self.alone = False
        self.lease.answered(sent, seconds)
        self._tell_renewed()
        return False

    def _stand_in(self, sent: float, done: Future) -> Steps:
        seconds = self.lease.seconds
        if (yield from self._confirm(seconds)):
            self.lease.confirmed(sent, seconds)
            self._tell_renewed()
        done.set(None)

    def _confirm(self, seconds: float) -> Steps:
        """Mirrors Worker._confirm."""
        held = self._lifecycle.held()
        if not held:
            return True
        fences = tuple(Fence(*one.key, one.generation, one.epoch) for one in held)
        try:
            fenced = yield from self._positions.call("confirm", (fences, int(seconds * 1e6)), seconds / 4)
        except Unavailable:
            return False
        keys = [Key(fence.connector_uid, fence.task) for fence in fenced]
        for key, fence in zip(keys, fenced, strict=True):
            self._apply(self._lifecycle.refuse(key, fence.epoch, self.clock()))
        while any(map(self._lifecycle.runs, keys)):
            yield 0.02
        self.world.note(f"{self.name}: {len(held) - len(fenced)} of {len(held)} tasks are confirmed")
        return True

    def _tell_renewed(self) -> None:
        for host in self.hosts:
            self.world.at(self.world.now + 0.001, partial(host.renew, self.lease.until), host)
            self._checks.one_owner(host)

    def _watch(self) -> None:
        if self.alone or not self.session:
            return
        server = self.world.processes.get(self._cluster.name)
        if isinstance(server, ClusterServer) and (self._stream is None or not server.tells(self._stream)):
            self._stream = Stream(self, self._id, self.session, self._on_assignments)
            self.world.network.send(self, server, partial(server.watch, self._stream), reliable=True)

    def _on_assignments(self, stream: Stream, update: Update) -> None:
        if stream is self._stream:
            assigned = [_assigned(view) for view in update.assignments]
            removed = [Key(*key) for key in update.removed]
            self._apply(self._lifecycle.assign(assigned, removed, self.clock(), snapshot=update.snapshot))

    # The life cycle.

    def _keep_time(self) -> Steps:
        while True:
            yield min(1.0, max(0.01, self._lifecycle.next_deadline - self.clock()))
            if self._lifecycle.next_deadline <= self.clock():
                self._apply(self._lifecycle.tick(self.clock()))

    def _apply(self, effects: Iterable[Effect]) -> None:
        for effect in effects:
            self._carry_out(effect)

    def _carry_out(self, effect: Effect) -> None:  # noqa: PLR0912 - one case for each effect
        match effect:
            case Start(run, assigned, restarts):
                self._states[assigned.key] = (assigned, State.STARTING, restarts)
                if assigned.key.task == PLAN:
                    self._plans[run] = self.spawn(self._plan(run, assigned))
                else:
                    self._start_host(run, assigned)
            case Direct(run) if run in self._plans:
                self._plans.pop(run).cancel()
                self.after(0.0, lambda: self._ended(run, End()))
            case Direct(run, wish):
                if run in self._hosts:
                    host = self._hosts[run]
                    self.world.at(self.world.now + 0.001, partial(host.direct, wish), host)
            case Kill(run):
                if run in self._hosts:
                    self._hosts[run].kill()
            case Restarting(assigned, restarts, _reason):
                self._states[assigned.key] = (assigned, State.RESTARTING, restarts)
            case Ended(assigned, end):
                self._states[assigned.key] = (assigned, State.FAILED if end.failed else State.STOPPED, 0)
            case Release(assigned, end):
                self.spawn(self._release(assigned, end))
            case Forget(key, epoch):
                if key in self._states and self._states[key][0].epoch == epoch:
                    del self._states[key]

    def _start_host(self, run: int, assigned: Assigned) -> None:
        self._runs += 1
        host = Host(self, f"{self.name}/{self._runs}", assigned, self._sides, self._checks)
        self._hosts[run] = host

        def died() -> None:
            # Seen by the executor at the end of the pipe.
            outcome = host.outcome
            self.after(0.002, lambda: self._ended(run, outcome) if outcome is not None else self._lost(run))

        host.on_death.append(died)
        host.begin()
        self.world.at(self.world.now + 0.001, partial(host.renew, self.lease.until), host)

    def _ended(self, run: int, end: End) -> None:
        self._hosts.pop(run, None)
        self._apply(self._lifecycle.ended(run, end, self.clock()))

    def _lost(self, run: int) -> None:
        self._hosts.pop(run, None)
        self._apply(self._lifecycle.lost(run, "the process died", self.clock()))

    def _plan(self, run: int, assigned: Assigned) -> Steps:
        yield self.world.random.choice((0.05, 0.3, 1.0))
        plan = PlanResult(self._sides.plan(assigned.connector, assigned.config))
        self._plans.pop(run, None)
        self._apply(self._lifecycle.ended(run, End(plan=plan), self.clock()))

    def _release(self, assigned: Assigned, end: End) -> Steps:
        session, backoff = self.session, 0.1
        key = ClusterKey(*assigned.key)
        event: ReportPlan | ReleaseEvent = (
            ReportPlan(self._id, session, key.connector_uid, assigned.epoch, end.plan.tasks)
            if end.plan is not None
            else ReleaseEvent(self._id, session, key, assigned.epoch, end.failed, end.permanent, end.opened_generation)
        )
        while session and session == self.session and self._lifecycle.is_wanted(assigned.key, assigned.epoch):
            try:
                yield from self._cluster.call("event", event)
            except Unavailable:
                yield backoff
                backoff = min(backoff * 2, 2.0)
            except ServiceError:
                return
            else:
                return

    def leave(self) -> None:
        """SIGTERM: stop everything clean, leave, and end."""
        self.spawn(self._drain())

    def _drain(self) -> Steps:
        self._leaving = True
        self._apply(self._lifecycle.drain(self.clock()))
        until = self.clock() + _POLICY.stop + 2 * _POLICY.fence + 1
        while self._lifecycle.alive and self.clock() < until:
            yield 0.05
        if not self._lifecycle.alive and self.session:
            session, self.session = self.session, 0
            with suppress(ServiceError):  # the lease ends by itself
                yield from self._cluster.call("event", Deregister(self._id, session), 2.0)
        self.kill()

    # Reports.

    def _report(self) -> Steps:
        while True:
            yield 1.0
            for host in self.hosts:
                known = self._states.get(host.assigned.key)
                if known is not None and known[0].epoch == host.assigned.epoch and host.is_running:
                    self._states[host.assigned.key] = (known[0], State.RUNNING, known[2])
            reports = tuple(self._said(*said) for said in self._states.values())
            if not reports:
                continue
            try:
                refused = yield self.world.network.call(self, "state", "report", reports)
            except Unavailable:
                continue
            for one in refused:
                self._apply(self._lifecycle.refuse(Key(*one.key), one.epoch, self.clock()))

    def _said(self, assigned: Assigned, state: State, restarts: int) -> Report:
        return Report(
            key=StateKey(*assigned.key),
            worker=self._id,
            generation=assigned.generation,
            epoch=assigned.epoch,
            state=state,
            trace="",
            since=None,
            last_progress=self.world.now,
            has_work=False,
            restarts=restarts,
            stall_after=None,
        )


def _assigned(view: AssignmentView) -> Assigned:
    """Mirrors executor/wire.assigned."""
    return Assigned(
        key=Key(*view.key),
        connector=view.connector,
        revision=view.revision,
        generation=view.generation,
        epoch=view.epoch,
        type=str(view.type),
        config=view.config,
        task_config=view.task_config,
        paused=view.paused,
        revoked=view.revoked,
        settled=view.settled,
    )
