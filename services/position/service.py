"""The RPCs of the position service: check the request, let the store decide, convert."""

import asyncio
from collections.abc import Callable

from rocketconnect.position.v1 import position_service_pb2 as pb
from rocketconnect.position.v1.position_service_pb2_grpc import PositionServiceServicer

from rocketconnect_kit import pages
from rocketconnect_kit.interception import ServicerContext
from rocketconnect_kit.logs import get_logger
from services.position import wire
from services.position.directory import Directory
from services.position.store import PositionStore

_log = get_logger(__name__)


class PositionService(PositionServiceServicer):
    """See position_service.proto for what each RPC promises.

    OpenTask, CommitPositions and ConfirmEpochs need no other service (invariant 9).

    Args:
        store: the positions.
        directory: connectors by name.
        connected: whether the directory is up to date.
    """

    def __init__(self, store: PositionStore, directory: Directory, connected: Callable[[], bool]) -> None:
        self._store = store
        self._directory = directory
        self._connected = connected

    async def OpenTask(self, request: pb.OpenTaskRequest, context: ServicerContext) -> pb.OpenTaskResponse:
        """Raise the fence and return all positions."""
        fence = wire.fence(request.fence)
        opened = await asyncio.wrap_future(self._store.open_task(fence, max(0, request.revision)))
        _log.info(
            "task opened",
            uid=fence.connector_uid,
            task=fence.task,
            generation=fence.generation,
            revision=request.revision,
            epoch=fence.epoch,
            clean=opened.clean,
            wait_seconds=opened.wait / 1_000_000,
        )
        return wire.opened(opened)

    async def ConfirmEpochs(self, request: pb.ConfirmEpochsRequest, context: ServicerContext) -> pb.ConfirmEpochsResponse:
        """Let tasks run on while the cluster service is away."""
        by_connector, lease = wire.confirmed(request)
        answers = [asyncio.wrap_future(self._store.confirm(uid, fences, lease)) for uid, fences in by_connector.items()]
        fenced = [fence for answer in await asyncio.gather(*answers) for fence in answer]
        for fence in fenced:
            _log.info("not confirmed: fenced", uid=fence.connector_uid, task=fence.task, epoch=fence.epoch)
        return wire.fences(fenced)

    async def CommitPositions(self, request: pb.CommitPositionsRequest, context: ServicerContext) -> pb.CommitPositionsResponse:
        """Store positions under the fence."""
        fence, updates = wire.commit(request)
        await asyncio.wrap_future(self._store.commit(fence, updates, clean=request.clean))
        return pb.CommitPositionsResponse()

    async def ListPositions(self, request: pb.ListPositionsRequest, context: ServicerContext) -> pb.ListPositionsResponse:
        """Return a page of positions."""
        size = pages.page_size(request.page_size)
        uid = await self._directory.find(request.connector, connected=self._connected())
        scope = f"positions of {uid}"
        after = pages.decode_token(scope, request.page_token) or ""
        found = await asyncio.to_thread(self._store.page, uid, after, size + 1)
        return pb.ListPositionsResponse(
            positions=map(wire.position, found[:size]),
            next_page_token=pages.encode_token(scope, found[size - 1].partition) if len(found) > size else "",
        )

    async def AlterPositions(self, request: pb.AlterPositionsRequest, context: ServicerContext) -> pb.AlterPositionsResponse:
        """Move positions of a stopped connector."""
        offsets = wire.offsets(request.positions)
        uid = await self._directory.find_stopped(request.connector, connected=self._connected())
        positions = await asyncio.wrap_future(self._store.alter(uid, offsets))
        _log.info("positions altered", connector=request.connector, uid=uid, count=len(offsets))
        return pb.AlterPositionsResponse(positions=map(wire.position, positions))

    async def ResetPositions(self, request: pb.ResetPositionsRequest, context: ServicerContext) -> pb.ResetPositionsResponse:
        """Forget all positions of a stopped connector."""
        uid = await self._directory.find_stopped(request.connector, connected=self._connected())
        count = await asyncio.wrap_future(self._store.reset(uid))
        _log.info("positions reset", connector=request.connector, uid=uid, count=count)
        return pb.ResetPositionsResponse(count=count)

    async def ListPositionSnapshots(
        self, request: pb.ListPositionSnapshotsRequest, context: ServicerContext
    ) -> pb.ListPositionSnapshotsResponse:
        """Return the ends of revisions that are known."""
        uid = await self._directory.find(request.connector, connected=self._connected())
        opened, kept = await asyncio.to_thread(self._store.snapshots, uid)
        return pb.ListPositionSnapshotsResponse(snapshots=map(wire.snapshot, kept), open_revision=opened)

    async def RestorePositions(self, request: pb.RestorePositionsRequest, context: ServicerContext) -> pb.RestorePositionsResponse:
        """Move all positions of a stopped connector to where they were when a revision ended."""
        uid = await self._directory.find_stopped(request.connector, connected=self._connected())
        restoring = await asyncio.to_thread(self._store.restore, uid, request.revision)
        positions, forgotten = await asyncio.wrap_future(restoring)
        _log.info("positions restored", connector=request.connector, uid=uid, revision=request.revision, forgotten=len(forgotten))
        return pb.RestorePositionsResponse(positions=map(wire.position, positions), forgotten=forgotten)
