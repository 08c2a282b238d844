"""The RPCs of the position service: check the request, let the store decide, convert."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from rocketconnect.executor.v1 import executor_service_pb2 as executor_pb2
from rocketconnect.position.v1 import position_service_pb2 as pb
from rocketconnect.position.v1.position_service_pb2_grpc import PositionServiceServicer

from rocketconnect_kit import pages
from rocketconnect_kit.access.gate import check_worker
from rocketconnect_kit.errors import FailedPrecondition, FieldProblem, PermissionDenied, Unavailable
from rocketconnect_kit.logs import get_logger
from rocketconnect_kit.serving.caller import caller
from rocketconnect_kit.serving.interception import ServicerContext
from services.position import checks, resets, wire
from services.position.directory import Directory, Entry
from services.position.domain import Change, Fence, Holder, Moved
from services.position.others import Others, Resolved
from services.position.snapshots import moves
from services.position.store import PositionStore

if TYPE_CHECKING:
    from rocketconnect.connector.v1 import connector_pb2

ENDING_SECONDS = 5.0
"""How long to wait for tasks that are just ending."""

_LOOK_SECONDS = 0.1
_TOLD = 100
_IN_HISTORY = 3
_LONGEST_AUTHOR = 128
_LONGEST_REASON = 1_000

_Moving = pb.AlterPositionsRequest | pb.ResetPositionsRequest | pb.RestorePositionsRequest | pb.ImportPositionsRequest

_log = get_logger(__name__)


class PositionService(PositionServiceServicer):
    """See position_service.proto for what each RPC promises.

    OpenTask, CommitPositions and ConfirmEpochs need no other service (invariant 9). Who opens a task is held against what the
    cluster service says, as long as that answers.

    Args:
        store: the positions.
        directory: connectors by name.
        connected: whether the directory is up to date.
        others: who is asked before positions are moved by hand.
    """

    def __init__(self, store: PositionStore, directory: Directory, connected: Callable[[], bool], others: Others) -> None:
        self._store = store
        self._directory = directory
        self._connected = connected
        self._others = others
        self._telling: set[asyncio.Task[None]] = set()
        """What is written in the background: asyncio itself holds no task."""

    async def OpenTask(self, request: pb.OpenTaskRequest, context: ServicerContext) -> pb.OpenTaskResponse:
        """Raise the fence and return all positions."""
        fence, revision, send_deadline = wire.opening(request)
        if worker := _known(request.worker_id):
            await self._check_holder(fence, worker)
        opening = self._store.open_task(fence, revision, send_deadline, keep_resume=request.keep_resume, worker=worker)
        opened = await asyncio.wrap_future(opening)
        _log.info(
            "task opened",
            uid=fence.connector_uid,
            task=fence.task,
            generation=fence.generation,
            revision=revision,
            epoch=fence.epoch,
            clean=opened.clean,
            wait_seconds=opened.wait / 1_000_000,
        )
        return wire.opened(opened)

    async def ConfirmEpochs(self, request: pb.ConfirmEpochsRequest, context: ServicerContext) -> pb.ConfirmEpochsResponse:
        """Let tasks run on while the cluster service is away."""
        by_connector, lease = wire.confirmed(request)
        worker = _known(request.worker_id)
        answers = [
            asyncio.wrap_future(self._store.confirm(uid, fences, lease, worker=worker)) for uid, fences in by_connector.items()
        ]
        fenced = [fence for answer in await asyncio.gather(*answers) for fence in answer]
        for fence in fenced:
            _log.info("not confirmed: fenced", uid=fence.connector_uid, task=fence.task, epoch=fence.epoch)
        return wire.fences(fenced)

    async def CommitPositions(self, request: pb.CommitPositionsRequest, context: ServicerContext) -> pb.CommitPositionsResponse:
        """Store positions under the fence."""
        fence, updates = wire.commit(request)
        committing = self._store.commit(fence, updates, clean=request.clean, worker=_known(request.worker_id))
        for group, changes in (await asyncio.wrap_future(committing)).items():
            # Invariant 9: a task does not wait for other services.
            by = resets.mover(group)
            _log.info("positions moved", uid=fence.connector_uid, by=by, count=len(changes))
            telling = asyncio.create_task(self._write(fence.connector_uid, by, changes, "moved"))
            self._telling.add(telling)
            telling.add_done_callback(self._telling.discard)
        return pb.CommitPositionsResponse()

    async def ListPositions(self, request: pb.ListPositionsRequest, context: ServicerContext) -> pb.ListPositionsResponse:
        """Return a page of positions."""
        size = pages.page_size(request.page_size)
        uid = request.connector_uid or (await self._directory.find(request.connector, connected=self._connected())).uid
        scope = f"positions of {uid}"
        after = pages.decode_token(scope, request.page_token) or ""
        found = await asyncio.to_thread(self._store.page, uid, after, size + 1)
        newest = await asyncio.to_thread(self._store.newest_revision, uid)
        return pb.ListPositionsResponse(
            newest_revision=newest,
            positions=map(wire.position, found[:size]),
            next_page_token=pages.encode_token(scope, found[size - 1].partition) if len(found) > size else "",
        )

    async def AlterPositions(self, request: pb.AlterPositionsRequest, context: ServicerContext) -> pb.AlterPositionsResponse:
        """Move positions of a stopped connector."""
        wanted: Mapping[str, tuple[str, str]] = wire.alteration(request)
        entry = await self._movable(request.connector, dry_run=request.dry_run)
        left_out: Sequence[connector_pb2.Problem] = ()
        if wanted and not request.unchecked:
            checks.refuse(await self._others.check(request.connector, entry.config, wanted))
        elif not wanted:
            resolved = await self._resolved(request, entry)
            wanted, left_out = resolved.positions, resolved.left_out
        if not request.dry_run:
            await self._all_ended(request.connector, entry, unchecked=request.unchecked)
        moved = await asyncio.wrap_future(self._store.alter(entry.uid, wanted, dry_run=request.dry_run))
        if not request.dry_run:
            await self._tell(request, context, entry, moved, "moved")
        return pb.AlterPositionsResponse(
            positions=map(wire.position, moved.positions),
            changes=wire.changes(moved),
            left_out=left_out,
            offset_alone=wire.offset_alone(entry, moved),
        )

    async def ResetPositions(self, request: pb.ResetPositionsRequest, context: ServicerContext) -> pb.ResetPositionsResponse:
        """Forget all positions of a stopped connector."""
        entry = await self._movable(request.connector, dry_run=request.dry_run)
        if not request.dry_run:
            await self._all_ended(request.connector, entry, unchecked=request.unchecked)
        moved = await asyncio.wrap_future(self._store.reset(entry.uid, dry_run=request.dry_run))
        if not request.dry_run:
            await self._tell(request, context, entry, moved, "reset")
        return pb.ResetPositionsResponse(count=moved.forgotten, changes=wire.changes(moved))

    async def ListPositionSnapshots(
        self, request: pb.ListPositionSnapshotsRequest, context: ServicerContext
    ) -> pb.ListPositionSnapshotsResponse:
        """Return a page of the ends of revisions that are known."""
        size = pages.page_size(request.page_size)
        uid = (await self._directory.find(request.connector, connected=self._connected())).uid
        scope = f"snapshots of {uid}"
        before = pages.decode_token(scope, request.page_token)
        opened, kept = await asyncio.to_thread(self._store.snapshots, uid)
        found = [each for each in kept if before is None or each.revision < int(before)]
        return pb.ListPositionSnapshotsResponse(
            snapshots=map(wire.snapshot, found[:size]),
            open_revision=opened,
            next_page_token=pages.encode_token(scope, str(found[size - 1].revision)) if len(found) > size else "",
        )

    async def RestorePositions(self, request: pb.RestorePositionsRequest, context: ServicerContext) -> pb.RestorePositionsResponse:
        """Move all positions of a stopped connector to where they were when a revision ended."""
        entry = await self._movable(request.connector, dry_run=False)
        await self._all_ended(request.connector, entry, unchecked=request.unchecked)
        restoring = await asyncio.to_thread(self._store.restore, entry.uid, request.revision)
        moved = await asyncio.wrap_future(restoring)
        await self._tell(request, context, entry, moved, f"restored to the end of revision {request.revision}")
        forgotten = [change.partition for change in moved.changes if change.after is None]
        return pb.RestorePositionsResponse(
            positions=map(wire.position, moved.positions),
            forgotten=forgotten,
            offset_alone=wire.offset_alone(entry, moved),
        )

    async def ImportPositions(self, request: pb.ImportPositionsRequest, context: ServicerContext) -> pb.ImportPositionsResponse:
        """Put back positions of a stopped connector."""
        wanted = wire.restoration(request)
        entry = await self._movable(request.connector, dry_run=request.dry_run)
        if request.connector_uid != entry.uid:
            fix = f"import what was exported of this connector; its uid is {entry.uid}"
            reason = f"are those of another connector than {request.connector!r}"
            checks.refuse([FieldProblem("connector_uid", request.connector_uid[:128], reason, fix)])
        if wanted and not request.unchecked:
            checks.refuse(await self._others.check(request.connector, entry.config, wanted))
        if not request.dry_run:
            await self._all_ended(request.connector, entry, unchecked=request.unchecked)
        moved = await asyncio.wrap_future(self._store.put_back(entry.uid, wanted, dry_run=request.dry_run))
        if not request.dry_run:
            await self._tell(request, context, entry, moved, "imported")
        return pb.ImportPositionsResponse(
            positions=map(wire.position, moved.positions),
            changes=wire.changes(moved),
            offset_alone=wire.offset_alone(entry, moved),
        )

    async def ForgetPositions(self, request: pb.ForgetPositionsRequest, context: ServicerContext) -> pb.ForgetPositionsResponse:
        """Forget deleted connectors for good."""
        uids = wire.forgotten(request)
        await asyncio.gather(*(asyncio.wrap_future(self._store.forget(uid)) for uid in uids))
        _log.info("deleted connectors forgotten", uids=uids)
        return pb.ForgetPositionsResponse()

    async def _check_holder(self, fence: Fence, worker: str) -> None:
        """Return if the worker holds the task under this fence, or nobody can say whether it does.

        Raises:
            PermissionDenied: NOT_ASSIGNED.
        """
        try:
            holder = await self._others.holder(fence.connector_uid, fence.task)
        except Unavailable as silence:
            # Invariant 9: while the cluster service is away tasks start again.
            told = {"uid": fence.connector_uid, "task": fence.task, "epoch": fence.epoch, "worker": worker}
            _log.warning("a task is opened, and nobody can say whether it is this worker's", **told, cause=silence.message)
            return
        if holder != Holder(worker, fence.generation, fence.epoch):
            message = (
                f"task {fence.task} of connector {fence.connector_uid}, generation {fence.generation}, epoch {fence.epoch}, is not "
                f"assigned to the worker {worker!r}; the cluster service says who opens it"
            )
            raise PermissionDenied("NOT_ASSIGNED", message, connector_uid=fence.connector_uid, task=str(fence.task))

    async def _movable(self, name: str, *, dry_run: bool) -> Entry:
        """Return the connector, which must be wanted STOPPED if something is to change."""
        find = self._directory.find if dry_run else self._directory.find_stopped
        return await find(name, connected=self._connected())

    async def _resolved(self, request: pb.AlterPositionsRequest, entry: Entry) -> Resolved:
        question = executor_pb2.ResolvePositionsRequest(
            name=request.connector, config=entry.config, edge=request.to, partitions=request.partitions
        )
        if request.HasField("to_time"):
            question.time.CopyFrom(request.to_time)
        known = await asyncio.to_thread(self._store.partitions, entry.uid)
        question.known.extend(partition for partition in known if moves(partition))
        resolved = await self._others.resolve(question)
        checks.refuse(resolved.problems)
        return resolved

    async def _all_ended(self, name: str, entry: Entry, *, unchecked: bool) -> None:
        """Return when no task of the connector is held by a worker, and it is still wanted STOPPED.

        The fence holds whatever happens after this: a task that opens before the change is shut out by it.

        Raises:
            FailedPrecondition: NOT_STOPPED.
            Unavailable: POSITIONS_NOT_CHECKED, CONFIG_UNAVAILABLE.
        """
        deadline = asyncio.get_running_loop().time() + ENDING_SECONDS
        while not unchecked and (owners := await self._others.owners(entry.uid)):
            if asyncio.get_running_loop().time() > deadline:
                shown = ", ".join(owners[:5]) + (", ..." if len(owners) > 5 else "")
                message = (
                    f"connector {name!r} is wanted STOPPED, but has not ended yet: {shown}; wait until it shows "
                    "STOPPED, then move its positions"
                )
                raise FailedPrecondition("NOT_STOPPED", message, connector=name)
            await asyncio.sleep(_LOOK_SECONDS)
        again = await self._directory.find_stopped(name, connected=self._connected())
        if again.uid != entry.uid:
            message = f"connector {name!r} was deleted and created again meanwhile; look at it, and try again"
            raise FailedPrecondition("NOT_STOPPED", message, connector=name)

    async def _tell(self, request: _Moving, context: ServicerContext, entry: Entry, moved: Moved, what: str) -> None:
        """Log who moved what, from where to where: here, and in the log of the connector."""
        by = caller(context).named(request.author)
        unasked = ", without asking whether they are possible" if request.unchecked else ""
        _log.info(f"positions {what}", connector=request.connector, uid=entry.uid, by=by, count=len(moved.changes))
        await self._write(entry.uid, by, moved.changes, what, unasked)

    async def _write(self, uid: str, by: str, changes: Sequence[Change], what: str, unasked: str = "") -> None:
        lines = [f"positions {what} by {by}{unasked}: {len(changes)} of them"]
        for change in changes[:_TOLD]:
            _log.info("position", uid=uid, partition=change.partition, before=change.before, after=change.after)
            lines.append(f"position of {change.partition}: {change.before or 'none'} -> {change.after or 'none'}")
        await self._others.tell(uid, by[:_LONGEST_AUTHOR], _short(what, changes), lines)


def _known(worker_id: str) -> str:
    """Return the id of the worker that calls; "": it is not known which one does.

    Raises:
        PermissionDenied: NOT_ALLOWED: it is another one.
    """
    return worker_id if check_worker(worker_id) else ""


def _short(what: str, changes: Sequence[Change]) -> str:
    """What was moved, as one reason in the history of the connector."""
    told = [f"{change.partition} {change.before or 'none'} -> {change.after or 'none'}" for change in changes[:_IN_HISTORY]]
    left = len(changes) - len(told)
    text = f"{what}: {', '.join([*told, *([f'and {left} more'] if left else [])]) or 'nothing'}"
    return "".join(character if character.isprintable() else "?" for character in text)[:_LONGEST_REASON]
