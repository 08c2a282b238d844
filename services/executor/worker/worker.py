"""The worker: brings what it runs in line with what the cluster assigns, for as long as it has a lease."""

import asyncio
import contextlib
import time
from collections.abc import Callable, Coroutine, Iterable, Sequence
from random import Random
from typing import TYPE_CHECKING, Any, Protocol

import grpc
from rocketconnect.cluster.v1 import cluster_service_pb2 as cluster
from rocketconnect.position.v1 import position_service_pb2 as position

from rocketconnect_kit.backoff import Backoff
from rocketconnect_kit.calls.watch import Watch
from rocketconnect_kit.logs import get_logger
from rocketconnect_kit.serving.status import PASSING, decode
from services.executor import wire
from services.executor.contract.assignment import PLAN, Assigned, End, Key
from services.executor.contract.messages import TaskPulse
from services.executor.contract.task import Outcome, State
from services.executor.hosts.pool import HostPool, Watcher
from services.executor.worker.defect import end_broken
from services.executor.worker.lifecycle import Direct, Effect, Ended, Forget, Kill, Lifecycle, Policy, Release, Restarting, Start
from services.executor.worker.lineage import Lineage
from services.executor.worker.membership import FENCED, Identity, Membership
from services.executor.worker.plan_requests import PlanRequests
from services.executor.worker.record_spans import export
from services.executor.worker.reports import Reports

if TYPE_CHECKING:
    from rocketconnect.cluster.v1.cluster_service_pb2_grpc import ClusterServiceAsyncStub
    from rocketconnect.position.v1.position_service_pb2_grpc import PositionServiceAsyncStub
    from rocketconnect.state.v1.state_service_pb2_grpc import StateServiceAsyncStub

_TICK_SECONDS = 1.0
_CALL_SECONDS = 5.0
_FIRST_PAUSE = 0.1
_LONGEST_PAUSE = 2.0
_PLAN_PAUSES = 1.0, 15.0
"""Between attempts to plan what waits for a system: first and longest, in seconds."""
_LAST_WORD_SECONDS = 1.0
"""How long a release waits for the last report of its unit to arrive: the state service may be away."""

_log = get_logger(__name__)


class Planner(Protocol):
    """Splits connectors into tasks."""

    async def plan(self, assigned: Assigned) -> End:
        """Return the plan, or why there is none. Cancelled when nobody wants it any more."""


class Worker:
    """Carries out what the life cycle decides. All methods are for the thread of the loop.

    Args:
        identity: Who this is.
        cluster_stub: The cluster service.
        position_stub: The position service, which stands in for it.
        state_stub: The state service.
        plugins: Gives the names of what is offered now.
        planner: Splits connectors into tasks.
        make_pool: Makes the pool of hosts, which tells this worker what they do.
        see: Called with all that runs say.
        policy: Times and limits of the life cycle.
        lineage: Is told of runs; None: nobody wants to know.
    """

    def __init__(
        self,
        identity: Identity,
        cluster_stub: "ClusterServiceAsyncStub",
        position_stub: "PositionServiceAsyncStub",
        state_stub: "StateServiceAsyncStub",
        plugins: Callable[[], Sequence[str]],
        planner: Planner,
        make_pool: Callable[[Watcher], HostPool],
        see: Callable[[Assigned, TaskPulse], None],
        policy: Policy,
        lineage: Lineage | None = None,
    ) -> None:
        self.identity = identity
        self._stub = cluster_stub
        self._positions = position_stub
        self._planner = planner
        self._see = see
        self._policy = policy
        self._lineage = lineage
        self._lifecycle = Lifecycle(policy, Random())  # noqa: S311 - spreads backoffs
        self.pool = make_pool(self)
        self._reports = Reports(
            identity.worker_id, lambda request: state_stub.ReportTasks(request, timeout=_CALL_SECONDS), self.on_refused
        )
        self._membership = Membership(cluster_stub, identity, plugins, self.pool.renew, self._confirm)
        self._plan_requests = PlanRequests(cluster_stub, identity.worker_id, self._session_of)
        self._due = asyncio.Event()
        self._changed = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        self._plans: dict[int, asyncio.Task[None]] = {}
        self._releases: set[asyncio.Task[None]] = set()
        self._leaving = False

    @property
    def is_member(self) -> bool:
        """Whether it has a session, and a lease that has not ended."""
        return self._membership.holds

    def restarts_of(self, run: int) -> int:
        """How often the unit of a run was started again."""
        return self._lifecycle.restarts_of(run)

    async def run(self) -> None:
        """Be a member of the cluster until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._keep_time(), name="worker clock")
            group.create_task(self._reports.run(), name="reports")
            group.create_task(self._plan_requests.run(), name="plan requests")
            while True:
                await self._membership.join()
                await self._hold()
                # Nothing of the session before may run in the next one.
                await self._idle.wait()
                if self._leaving:
                    return

    def run_of(self, connector: str, task: int) -> int | None:
        """The run of a task that runs here; None: it does not."""
        runs = (run for host in self.pool.describe() for run in host.runs)
        return next((run for run, assigned in runs if (assigned.connector, assigned.key.task) == (connector, task)), None)

    def offer_changed(self) -> None:
        """Other plugins may be offered now: if so, the cluster service is told. What runs goes on."""
        self._membership.offer_changed()

    async def drain(self) -> bool:
        """Stop everything clean and leave; return whether that worked. When it returns nothing runs, or it can't be ended."""
        self._leaving = True
        self._apply(self._lifecycle.drain(time.monotonic()))
        with contextlib.suppress(TimeoutError):  # what is left then is told below
            async with asyncio.timeout(self._policy.gone):
                await self._idle.wait()
        await self._last_words()
        if self._lifecycle.alive:
            # Who leaves has stopped everything. The lease ends by itself, and others go on then.
            _log.error("some tasks could not be ended; the worker does not leave before its lease ends")
            return False
        return await self._membership.leave()

    # What hosts say (pool.Watcher).

    def on_pulse(self, pulse: TaskPulse) -> None:
        """What a run does now."""
        assigned = self._lifecycle.assigned_to(pulse.run)
        if assigned is not None:
            self._reports.pulse(assigned, pulse)
            if self._lineage is not None:
                self._lineage.pulse(assigned, pulse)
            self._see(assigned, pulse)
            if pulse.asks_for_plan:
                self._plan_requests.add(assigned)
        for span in pulse.spans:
            export(span)

    def on_ended(self, run: int, outcome: Outcome) -> None:
        """A run is over."""
        end = End(
            failed=outcome.failed,
            permanent=outcome.permanent,
            fenced=outcome.fenced,
            error=outcome.error,
            opened_generation=outcome.opened_generation,
            anew=outcome.anew,
        )
        self._apply(self._lifecycle.ended(run, end, time.monotonic()))

    def on_lost(self, run: int, reason: str) -> None:
        """The process of a run is gone."""
        self._apply(self._lifecycle.lost(run, reason, time.monotonic()))

    def on_refused(self, key: Key, epoch: int) -> None:
        """A report was refused: somebody else owns the unit."""
        _log.warning(
            "a report was refused: the unit has another owner", connector_uid=key.connector_uid, task=key.task, epoch=epoch
        )
        self._apply(self._lifecycle.refuse(key, epoch, time.monotonic()))

    async def _hold(self) -> None:
        session = self._membership.session
        request = cluster.WatchAssignmentsRequest(worker_id=self.identity.worker_id, session=session)
        holding = asyncio.create_task(self._membership.hold(), name="lease")
        offering = asyncio.create_task(self._membership.keep_offer(), name="offer")
        try:
            while not holding.done():
                async with Watch("assignments", lambda: self._stub.WatchAssignments(request), self._on_assignments):
                    await _first_of(holding, self._membership.alone.wait())
                if self._membership.alone.is_set():
                    # With what it says next it starts with a snapshot.
                    await _first_of(holding, self._membership.heard.wait())
        finally:
            for task in (holding, offering):
                task.cancel()
            await asyncio.wait([holding, offering])
        if not holding.cancelled():
            _log.warning("the session is over, everything is stopped", session=session, cause=holding.result())
        self._apply(self._lifecycle.fence_all(time.monotonic()))

    async def _confirm(self, lease: float) -> bool:
        """Invariant 3: let the position service confirm every task for so many seconds; True: no other one runs here any more."""
        held = self._lifecycle.held()
        if not held:
            return True
        request = position.ConfirmEpochsRequest(fences=map(wire.fence, held), worker_id=self.identity.worker_id)
        request.lease.FromNanoseconds(int(lease * 1e9))
        try:
            answer = await self._positions.ConfirmEpochs(request, timeout=lease / 4)
        except grpc.RpcError as error:
            _log.debug("the position service can't be asked to confirm what runs", cause=decode(error).message)
            return False
        for fence in answer.fenced:
            _log.warning("a task has another owner", connector_uid=fence.connector_uid, task=fence.task, epoch=fence.epoch)
            self._apply(self._lifecycle.refuse(Key(fence.connector_uid, fence.task), fence.epoch, time.monotonic()))
        # The lease is one for all: it must not be longer while somebody else's task still runs.
        fenced = [Key(fence.connector_uid, fence.task) for fence in answer.fenced]
        while any(map(self._lifecycle.runs, fenced)):
            self._changed.clear()
            await self._changed.wait()
        return True

    def _session_of(self, assigned: Assigned) -> int:
        """The session in which an assignment is held; 0: it is not."""
        return self._membership.session if self._lifecycle.is_wanted(assigned.key, assigned.epoch) else 0

    def _on_assignments(self, message: cluster.WatchAssignmentsResponse) -> None:
        if self._membership.alone.is_set():
            # What was begun now would be unknown to the position service, which confirms the rest.
            return
        assigned = [wire.assigned(one) for one in message.assignments]
        removed = [Key(key.connector_uid, key.task) for key in message.removed]
        self._apply(self._lifecycle.assign(assigned, removed, time.monotonic(), snapshot=message.snapshot))

    async def _keep_time(self) -> None:
        next_tick = time.monotonic()
        while True:
            wait = min(self._lifecycle.next_deadline, next_tick) - time.monotonic()
            try:
                async with asyncio.timeout(max(0.0, wait)):
                    await self._due.wait()
            except TimeoutError:
                pass  # something is due
            now = time.monotonic()
            self._apply(self._lifecycle.tick(now))
            # Only now: carrying out the effects has set it, and this loop looks at the next deadline anyhow.
            self._due.clear()
            if now >= next_tick:
                self.pool.tick()
                next_tick = now + _TICK_SECONDS

    def _apply(self, effects: Iterable[Effect]) -> None:
        try:
            for effect in effects:
                self._carry_out(effect)
        except Exception as error:  # what is carried out by half can't be made good
            end_broken(error)
        (self._idle.clear if self._lifecycle.alive else self._idle.set)()
        self._due.set()
        self._changed.set()

    def _carry_out(self, effect: Effect) -> None:
        if self._lineage is not None:
            self._lineage.follow(effect)
        match effect:
            case Start(run, assigned, restarts):
                self._reports.started(assigned, restarts)
                if assigned.key.task == PLAN:
                    self._plans[run] = asyncio.create_task(self._plan(run, assigned), name=f"plan {assigned.connector}")
                else:
                    self.pool.start(run, assigned)
            case Direct(run) if run in self._plans:
                # The only wish for a planning is that it ends.
                self._plans.pop(run).cancel()
                asyncio.get_running_loop().call_soon(self.on_ended, run, Outcome(clean=True))
            case Direct(run, wish):
                self.pool.direct(run, wish)
            case Kill(run):
                self.pool.kill(run)
            case Restarting(assigned, restarts, reason, is_lost):
                self._reports.restarting(assigned, restarts, reason, is_lost=is_lost)
            case Ended(assigned, end):
                self._tell_end(assigned, end)
            case Release(assigned, end):
                release = asyncio.create_task(self._release(assigned, end), name=f"release {assigned.connector}")
                self._releases.add(release)
                release.add_done_callback(self._releases.discard)
            case Forget(key, epoch):
                self._reports.forget(key, epoch)

    def _tell_end(self, assigned: Assigned, end: End) -> None:
        if end.fenced:
            # Its new owner tells what it does.
            self._reports.forget(assigned.key, assigned.epoch)
        elif end.failed:
            self._reports.ended(assigned, State.FAILED, end.error)
        else:
            self._reports.ended(assigned, State.IDLE if assigned.key.task == PLAN else State.STOPPED, end.error)

    async def _plan(self, run: int, assigned: Assigned) -> None:
        backoff = Backoff(*_PLAN_PAUSES)
        try:
            while (end := await self._planner.plan(assigned)).away:
                self._reports.waiting(assigned, end.error)
                await asyncio.sleep(backoff.pause())
        except Exception as error:  # a planning that ends in any way has an end
            _log.exception("planning failed", connector=assigned.connector)
            end = End(failed=True, error=f"the connector could not be split into tasks: {type(error).__name__}: {error}")
        self._plans.pop(run, None)
        self._apply(self._lifecycle.ended(run, end, time.monotonic()))

    async def _release(self, assigned: Assigned, end: End) -> None:
        """Give a unit back, for as long as it is ours: tried until the cluster has taken note."""
        await self._last_words()
        session, backoff = self._membership.session, Backoff(_FIRST_PAUSE, _LONGEST_PAUSE)
        while session and session == self._membership.session and self._lifecycle.is_wanted(assigned.key, assigned.epoch):
            try:
                return await self._tell_cluster(session, assigned, end)
            except grpc.RpcError as error:
                cause = decode(error)
                if cause.reason in (FENCED, "FENCED"):
                    return None
                if end.plan is not None and cause.code not in PASSING:
                    # It would be refused for ever.
                    end = End(failed=True, permanent=True, error=f"the plan of the connector is refused: {cause.message}")
                    self._reports.ended(assigned, State.FAILED, end.error)
                    await self._last_words()
                    continue
                _log.warning("can't release a unit, trying on", connector=assigned.connector, cause=cause.message)
            await asyncio.sleep(backoff.pause())
        return None

    async def _tell_cluster(self, session: int, assigned: Assigned, end: End) -> None:
        key, epoch = assigned.key, assigned.epoch
        if end.plan is not None:
            report = cluster.ReportPlanRequest(
                worker_id=self.identity.worker_id, session=session, connector_uid=key.connector_uid, epoch=epoch
            )
            await self._stub.ReportPlan(wire.planned(end.plan, report), timeout=_CALL_SECONDS)
            return
        release = cluster.ReleaseAssignmentRequest(
            worker_id=self.identity.worker_id,
            session=session,
            key=cluster.AssignmentKey(connector_uid=key.connector_uid, task=key.task),
            epoch=epoch,
            failed=end.failed,
            permanent=end.permanent,
            opened_generation=end.opened_generation,
        )
        await self._stub.ReleaseAssignment(release, timeout=_CALL_SECONDS)

    async def _last_words(self) -> None:
        """What was said last shall be known before somebody else begins; but nobody waits long for the state service."""
        try:
            async with asyncio.timeout(_LAST_WORD_SECONDS):
                await self._reports.flush()
        except TimeoutError:
            _log.warning("the last report of a unit did not arrive in time")


async def _first_of(*awaited: "asyncio.Task[Any] | Coroutine[Any, Any, Any]") -> None:
    """Return when one of them is done. Tasks go on; coroutines end here."""
    given = {one for one in awaited if isinstance(one, asyncio.Task)}
    own = {asyncio.create_task(one) for one in awaited if not isinstance(one, asyncio.Task)}
    try:
        await asyncio.wait(given | own, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in own:
            task.cancel()
