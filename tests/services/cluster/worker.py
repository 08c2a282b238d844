"""A worker that speaks to the real cluster and state services as an executor does, and runs nothing."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

import grpc
import grpc.aio
from rocketconnect.cluster.v1 import cluster_service_pb2 as pb
from rocketconnect.cluster.v1.cluster_service_pb2_grpc import ClusterServiceStub
from rocketconnect.connector.v1 import connector_pb2
from rocketconnect.state.v1 import state_service_pb2 as state_pb
from rocketconnect.state.v1.state_service_pb2_grpc import StateServiceStub

from rocketconnect_kit.serving.status import decode


class PaperWorker:
    """Plans every connector into `max.tasks` tasks and says of each that it runs."""

    def __init__(self, worker_id: str, cluster: grpc.aio.Channel, state: grpc.aio.Channel) -> None:
        self.id = worker_id
        self.session = 0
        self.held: dict[tuple[str, int], pb.Assignment] = {}
        self.refused: list[state_pb.ReportTasksResponse.Refused] = []
        self._cluster = ClusterServiceStub(cluster)
        self._state = StateServiceStub(state)

    async def run(self) -> None:
        """Work until cancelled; survives the absence of either service."""
        await asyncio.gather(self._follow(), self._beat(), self._report())

    @asynccontextmanager
    async def running(self) -> AsyncIterator[asyncio.Task[None]]:
        """Work in the background during the block."""
        task = asyncio.create_task(self.run())
        try:
            yield task
        finally:
            task.cancel()
            await asyncio.wait([task])

    async def _follow(self) -> None:
        while True:
            with suppress(grpc.RpcError):
                await self._register()
                request = pb.WatchAssignmentsRequest(worker_id=self.id, session=self.session)
                async for answer in self._cluster.WatchAssignments(request):
                    await self._take(answer)
            await asyncio.sleep(0.1)

    async def _register(self) -> None:
        """Join, unless the session that there is still holds."""
        if self.session:
            try:
                await self._cluster.Heartbeat(pb.HeartbeatRequest(worker_id=self.id, session=self.session), timeout=2)
            except grpc.RpcError as error:
                if decode(error).reason != "WORKER_FENCED":
                    raise
                self.held.clear()
            else:
                return
        request = pb.RegisterWorkerRequest(worker_id=self.id, address="127.0.0.1:9", plugins=["p"], process="1")
        self.session = (await self._cluster.RegisterWorker(request, timeout=2)).session

    async def _beat(self) -> None:
        while True:
            with suppress(grpc.RpcError):
                if self.session:
                    await self._cluster.Heartbeat(pb.HeartbeatRequest(worker_id=self.id, session=self.session), timeout=1)
            await asyncio.sleep(0.3)

    async def _report(self) -> None:
        while True:
            with suppress(grpc.RpcError):
                reports = [self._report_of(one) for one in self.held.values()]
                answer = await self._state.ReportTasks(state_pb.ReportTasksRequest(worker_id=self.id, reports=reports), timeout=1)
                self.refused += answer.refused
            await asyncio.sleep(0.3)

    def _report_of(self, one: pb.Assignment) -> state_pb.TaskReport:
        state = connector_pb2.STATE_PAUSED if one.paused else connector_pb2.STATE_RUNNING
        return state_pb.TaskReport(
            connector_uid=one.connector_uid, task=one.task, generation=one.generation, epoch=one.epoch, state=state
        )

    async def _take(self, answer: pb.WatchAssignmentsResponse) -> None:
        if answer.snapshot:
            self.held.clear()
        for key in answer.removed:
            self.held.pop((key.connector_uid, key.task), None)
        for one in answer.assignments:
            if one.revoked:
                self.held.pop((one.connector_uid, one.task), None)
                await self._release(one)
            else:
                self.held[one.connector_uid, one.task] = one
                if one.unit == pb.UNIT_PLAN:
                    await self._plan(one)

    async def _release(self, one: pb.Assignment) -> None:
        key = pb.AssignmentKey(connector_uid=one.connector_uid, task=one.task)
        request = pb.ReleaseAssignmentRequest(worker_id=self.id, session=self.session, key=key, epoch=one.epoch)
        try:
            await self._cluster.ReleaseAssignment(request, timeout=2)
        except grpc.RpcError as error:
            # It was shown as revoked twice, and has been released already.
            if decode(error).reason != "FENCED":
                raise

    async def _plan(self, one: pb.Assignment) -> None:
        request = pb.ReportPlanRequest(
            worker_id=self.id,
            session=self.session,
            connector_uid=one.connector_uid,
            epoch=one.epoch,
            tasks=[pb.PlannedTask(config={"part": str(number)}) for number in range(int(one.config["max.tasks"]))],
        )
        await self._cluster.ReportPlan(request, timeout=2)


async def until(check: Callable[[], Awaitable[None]], seconds: float = 180.0) -> None:
    """Wait until an asynchronous check returns instead of asserting."""
    end = time.monotonic() + seconds
    while True:
        try:
            await check()
        except (AssertionError, grpc.RpcError):
            if time.monotonic() > end:
                raise
            await asyncio.sleep(0.1)
        else:
            return
