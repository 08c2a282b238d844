"""The RPCs of the cluster service: check the request, let it happen, convert."""

import asyncio
import json
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import suppress

from rocketconnect.cluster.v1 import cluster_service_pb2 as pb
from rocketconnect.cluster.v1.cluster_service_pb2_grpc import ClusterServiceServicer

from rocketconnect_kit import pages
from rocketconnect_kit.access.gate import check_worker
from rocketconnect_kit.errors import NotFound
from rocketconnect_kit.serving.interception import ServicerContext
from services.cluster import wire
from services.cluster.coordinator import Coordinator
from services.cluster.decisions import checks
from services.cluster.decisions.breaks import Breaks
from services.cluster.decisions.events import Deregister, Drain, Undrain
from services.cluster.decisions.leases import Timing
from services.cluster.model import PLAN, Key
from services.cluster.view import AssignmentView

_RECHECK_SECONDS = 1.0


class ClusterService(ClusterServiceServicer):
    """See cluster_service.proto for what each RPC promises. Errors of the domain pass through to the kit's interceptor."""

    def __init__(self, coordinator: Coordinator, timing: Timing) -> None:
        self._coordinator = coordinator
        self._timing = timing
        self._breaks = Breaks(coordinator)

    async def RegisterWorker(self, request: pb.RegisterWorkerRequest, context: ServicerContext) -> pb.RegisterWorkerResponse:
        """Give a worker a session."""
        check_worker(request.worker_id)
        event = wire.register(request)
        checks.check_register(event, self._timing.send_deadline)
        session = await self._coordinator.submit(event)
        lease, interval = wire.duration(self._timing.lease), wire.duration(self._timing.heartbeat_interval)
        return pb.RegisterWorkerResponse(session=session, lease=lease, heartbeat_interval=interval)

    async def OfferPlugins(self, request: pb.OfferPluginsRequest, context: ServicerContext) -> pb.OfferPluginsResponse:
        """Note what a worker offers now."""
        check_worker(request.worker_id)
        event = wire.offer(request)
        checks.check_offer(event)
        await self._coordinator.submit(event)
        return pb.OfferPluginsResponse()

    async def Heartbeat(self, request: pb.HeartbeatRequest, context: ServicerContext) -> pb.HeartbeatResponse:
        """Renew a lease; never waits for the store."""
        check_worker(request.worker_id)
        self._coordinator.heartbeat(request.worker_id, request.session)
        return pb.HeartbeatResponse(lease=wire.duration(self._timing.lease))

    async def DeregisterWorker(self, request: pb.DeregisterWorkerRequest, context: ServicerContext) -> pb.DeregisterWorkerResponse:
        """Let a worker leave."""
        check_worker(request.worker_id)
        await self._coordinator.submit(Deregister(request.worker_id, request.session))
        return pb.DeregisterWorkerResponse()

    async def ReleaseAssignment(
        self, request: pb.ReleaseAssignmentRequest, context: ServicerContext
    ) -> pb.ReleaseAssignmentResponse:
        """Take a unit back."""
        check_worker(request.worker_id)
        await self._coordinator.submit(wire.release(request))
        return pb.ReleaseAssignmentResponse()

    async def ReportPlan(self, request: pb.ReportPlanRequest, context: ServicerContext) -> pb.ReportPlanResponse:
        """Take a plan."""
        check_worker(request.worker_id)
        event = wire.report_plan(request)
        checks.check_report_plan(event)
        return pb.ReportPlanResponse(generation=await self._coordinator.submit(event))

    async def RequestPlan(self, request: pb.RequestPlanRequest, context: ServicerContext) -> pb.RequestPlanResponse:
        """Have a connector planned again."""
        check_worker(request.worker_id)
        await self._coordinator.submit(wire.request_plan(request))
        return pb.RequestPlanResponse()

    async def WatchAssignments(
        self, request: pb.WatchAssignmentsRequest, context: ServicerContext
    ) -> AsyncIterator[pb.WatchAssignmentsResponse]:
        """Tell a snapshot and then changes; ends with WORKER_FENCED when the session of the worker has ended."""
        worker_id = request.worker_id or None
        if worker_id is not None:
            check_worker(worker_id)
            self._coordinator.check_session(worker_id, request.session)
            self._breaks.connected(worker_id, request.session)
        subscription = self._coordinator.board.subscribe(worker_id)
        try:
            while True:
                with suppress(TimeoutError):  # Nothing new: look whether the session still holds.
                    async with asyncio.timeout(_RECHECK_SECONDS):
                        await subscription.ready.wait()
                if worker_id is not None:
                    # Before each answer: what a newer session of the worker holds is not for this one.
                    self._coordinator.check_session(worker_id, request.session)
                update = subscription.take()
                if update is not None:
                    yield wire.update(update)
        finally:
            self._coordinator.board.unsubscribe(subscription)
            if worker_id is not None:
                self._breaks.broke(worker_id, request.session)

    async def ListWorkers(self, request: pb.ListWorkersRequest, context: ServicerContext) -> pb.ListWorkersResponse:
        """Return a page of workers."""
        size = pages.page_size(request.page_size)
        after = pages.decode_token("workers", request.page_token) or ""
        found = sorted(id_ for id_ in self._coordinator.state.tables.workers if id_ > after)[: size + 1]
        workers = list(self._shown(found[:size]))
        token = pages.encode_token("workers", found[size - 1]) if len(found) > size else ""
        return pb.ListWorkersResponse(workers=workers, next_page_token=token)

    async def DrainWorker(self, request: pb.DrainWorkerRequest, context: ServicerContext) -> pb.DrainWorkerResponse:
        """Let a worker give its tasks away."""
        await self._coordinator.submit(Drain(request.worker_id, request.force))
        return pb.DrainWorkerResponse(worker=next(self._shown([request.worker_id]), None))

    async def UndrainWorker(self, request: pb.UndrainWorkerRequest, context: ServicerContext) -> pb.UndrainWorkerResponse:
        """Let a worker take work again."""
        await self._coordinator.submit(Undrain(request.worker_id))
        return pb.UndrainWorkerResponse(worker=next(self._shown([request.worker_id]), None))

    async def ListAssignments(self, request: pb.ListAssignmentsRequest, context: ServicerContext) -> pb.ListAssignmentsResponse:
        """Return a page of assignments."""
        size = pages.page_size(request.page_size)
        token = pages.decode_token("assignments", request.page_token)
        after = tuple(json.loads(token)) if token is not None else ("",)
        by_place = sorted((place, view) for view in self._coordinator.board.views.values() if (place := _place(view)) > after)
        found = by_place[: size + 1]
        return pb.ListAssignmentsResponse(
            assignments=[wire.assignment(view) for _, view in found[:size]],
            next_page_token=pages.encode_token("assignments", json.dumps(found[size - 1][0])) if len(found) > size else "",
            assignment_changes=self._coordinator.state.tables.assignment_changes,
        )

    async def GetAssignment(self, request: pb.GetAssignmentRequest, context: ServicerContext) -> pb.GetAssignmentResponse:
        """Return one assignment."""
        key = Key(request.key.connector_uid, request.key.task)
        view = self._coordinator.board.views.get(key)
        if view is None:
            msg = f"there is no task {key.task} of the connector with the uid {key.connector_uid[:128]!r}"
            raise NotFound("ASSIGNMENT_NOT_FOUND", msg, connector_uid=key.connector_uid[:128], task=str(key.task))
        return pb.GetAssignmentResponse(assignment=wire.assignment(view))

    def _shown(self, ids: Iterable[str]) -> Iterator[pb.Worker]:
        """Yield workers as they are now; those that are gone are left out."""
        state, now = self._coordinator.state, self._coordinator.now()
        held = Counter((view.worker, view.key.task == PLAN) for view in self._coordinator.board.views.values())
        since_1970 = time.time() - now
        for id_ in ids:
            row = state.tables.workers.get(id_)
            if row is None:
                continue
            until = state.leases.until(id_)
            lease_until = None if until is None else until + since_1970
            alive = state.leases.is_alive(id_, now)
            tasks, plannings = held[id_, False], held[id_, True]
            yield wire.worker(row, lease_until=lease_until, alive=alive, tasks=tasks, plannings=plannings)


def _place(view: AssignmentView) -> tuple[str, str, int]:
    """Return where an assignment stands in the list. The uid is in it because a deleted connector's name may be used again."""
    return view.connector, view.key.connector_uid, view.key.task
