"""The rules of positions, pure: what is stored, what is asked -> what changes, or why not.

The fence (invariant 3)
    A connector has a highest generation, a task a highest epoch. OpenTask raises them, and is refused below either; the same
    epoch again is the same owner. A commit is let in only under exactly the generation and the epoch that opened its task
    last: so the first open of a new generation shuts out all tasks of the older ones, whichever numbers they have.
    Who opens a task in a newer generation has a higher epoch than everybody in the older ones had: epochs never go back for a
    source partition, whichever task it is dealt to.
    Altering or resetting positions shuts out every task until it is opened again, since what a task still under way knows of
    its positions is no longer so.

Confirmed (invariant 3, while the cluster service is away)
    A worker whose lease nobody else renews may go on for as long as each of its tasks is confirmed. For how long is remembered with
    the task, and who opens it with a newer epoch, or any task in a newer generation (which deals the partitions anew), has to wait
    for it, and for as long as what was sent at its end may be under way: the rest of the time is told to everybody who opens a
    task of the connector before it is over, which is simple and never too short.
    A task may be confirmed before it is opened, since it may be opened at any moment of its lease.
    No clock that can be set is asked, and none is shared: lengths are stored, each with an id that is new whenever the length is,
    and each replica counts from when it first saw the id (`sightings`). That is never before the worker asked, so the wait is
    never too short; a replica that knows nothing of it yet, as after a restart, waits for all of it. What is over is forgotten
    with the next open or commit.

Whose
    Where it is known which worker calls, an open is remembered as that worker's: the same epoch opens again, and commits, for it
    alone. Whether a newer epoch is a worker's own is not for the ledger to say (see `service`). Without a name nothing is held
    against anything: it is not known who calls, or it is somebody who may speak for every worker; and so what was opened
    without one is anybody's until it is opened again.

Clean
    True means: the topic holds nothing of the task's partitions beyond their positions, so nothing has to be looked for.
    Each task row holds whether its last owner ended so. It turns false with each open, also with the same epoch again (the
    first answer may have been lost, or the owner may have sent in between), and to what each commit says.
    Within a generation the partitions of a task are always the same, so the row of the task tells all about them. The first
    open of a task in a generation depends on who had its partitions before, and tasks are numbered anew: it is clean only if
    every task that was ever opened before this generation ended clean. Tasks that were never opened sent nothing. Once
    there was an unclean end, later generations stay unclean at their first open, since it is not known how many tasks a
    plan has, hence not whether all of them have looked; looking again from the lower bounds costs little. A reset starts as
    new: clean.

Incarnation
    Drawn by the service. A partition keeps its own; a new one gets the connector's. Altering raises that of the partition; a
    reset, and putting back what was exported, that of the connector above all that there were. Restoring a snapshot alters what
    has moved since, and raises that of the connector as a reset does when it forgets partitions.
    Each is above the one before and above `bounded_floor`, since the store itself may be one that was put back from a backup: what
    was drawn after the backup stands in topics and targets, and must not be drawn again. For the same reason a task may commit a
    higher one than is stored: every move by hand has shut out all tasks, so an owner that is let in knows a higher one only
    from a topic or a target that has seen it, or has drawn it to move a queue of its own, whose consumer group was reset.

Forgotten
    Of a connector that was deleted, and that nobody can adopt any more, one row stays: generation, highest epoch and incarnation,
    as if it were reset, and that it is forgotten. That row is why nothing is lost (invariants 1 and 3): no task is opened and none
    is confirmed, whichever generation it has, so neither an owner that was stopped all the while nor a configuration that was put
    back from a backup finds an empty ledger and begins anew. What a person resets or imports is no longer forgotten, and begins
    above all incarnations and epochs that there were.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from rocketconnect_kit.clock import bounded_floor
from rocketconnect_kit.errors import Aborted, FailedPrecondition, PermissionDenied
from services.position import snapshots
from services.position.domain import (
    Change,
    ConnectorRow,
    Effects,
    Fence,
    Ledger,
    Moved,
    Opened,
    Position,
    Snapshot,
    TaskRow,
    Update,
)
from services.position.sightings import Sightings

NONE = "none"

LONGEST_LEASE = 600_000_000
"""Microseconds: nobody is confirmed any longer, and no send deadline is longer."""

_OVER = -LONGEST_LEASE
"""Left of a lease when what was sent at its end is over as well, whatever the send deadline is."""


def open_task(
    ledger: Ledger,
    fence: Fence,
    seen: Sightings,
    revision: int = 0,
    now: int = 0,
    send_deadline: int = 0,
    *,
    keep_resume: bool = False,
    worker: str = "",
) -> tuple[Effects, Opened]:
    """Raise the fence of a task, whose plan is of a revision (0: not known). The ledger holds all tasks and positions.

    Who was confirmed is waited for until that is over, and for `send_deadline` microseconds more. `worker`: who is known to call.

    Raises:
        FailedPrecondition: FENCED when a newer generation or epoch was opened before.
        FailedPrecondition: POSITIONS_FORGOTTEN.
        PermissionDenied: NOT_OWNER when another worker has opened it under this epoch.
    """
    connector, row = ledger.connector, ledger.tasks.get(fence.task)
    if why := _outdated(ledger, fence):
        raise _fenced(ledger, fence, why)
    if connector.forgotten:
        raise _forgotten(connector)
    same_owner = row is not None and (row.generation, row.epoch) == (fence.generation, fence.epoch)
    if same_owner and row is not None:
        _require_owner(fence, row, worker)
    shut_out: list[TaskRow] = []
    if not same_owner:
        rows = ledger.tasks.values() if fence.generation > connector.generation else [row] if row is not None else []
        shut_out = [task for task in rows if task.lease_id]
    connector = _waiting_for(connector, shut_out, seen)
    snapshot = None
    if fence.generation > connector.generation:
        snapshot = snapshots.ended(ledger, revision, now, keep_resume=keep_resume)
        clean = connector.carried_clean and all(task.clean for task in ledger.tasks.values())
        connector = replace(
            connector, generation=fence.generation, carried_clean=clean, revision=revision, epoch_floor=_highest_epoch(ledger)
        )
    elif not connector.revision:
        connector = replace(connector, revision=revision)
    seen_before = row is not None and row.generation == fence.generation
    clean = row.clean if row is not None and seen_before else connector.carried_clean
    lease, lease_id = (row.lease, row.lease_id) if row is not None and same_owner else (0, 0)
    opened = TaskRow(
        fence.task, fence.generation, fence.epoch, clean=False, open=True, lease=lease, lease_id=lease_id, worker=worker
    )
    waited_for = tuple(replace(task, lease=0, lease_id=0) for task in shut_out if task.task != fence.task)
    positions = tuple(sorted(ledger.positions.values(), key=lambda position: position.partition))
    wait = max(0, _left(connector.wait, connector.wait_id, seen) + send_deadline)
    return Effects(connector, (*waited_for, opened), snapshot=snapshot), Opened(positions, clean, connector.incarnation, wait)


def confirm(
    ledger: Ledger, fences: Sequence[Fence], lease: int, seen: Sightings, *, worker: str = ""
) -> tuple[Effects, tuple[Fence, ...]]:
    """Let tasks of a connector run on for so many microseconds; return those that are fenced. The ledger holds all its tasks.

    `worker`: who is known to call; what another one has opened is fenced for it.
    """
    confirmed, fenced = [], []
    for fence in fences:
        row = ledger.tasks.get(fence.task) or TaskRow(fence.task, 0, 0, clean=True, open=False)
        opened = (row.generation, row.epoch) == (fence.generation, fence.epoch)
        shut_out = ledger.connector.forgotten or (opened and (not row.open or _is_anothers(row, worker)))
        if shut_out or _outdated(ledger, fence):
            fenced.append(fence)
        else:
            left = _left(row.lease, row.lease_id, seen)
            confirmed.append(replace(row, lease=max(left, lease), lease_id=seen.new()))
    return Effects(tasks=tuple(confirmed)), tuple(fenced)


def commit(
    ledger: Ledger, fence: Fence, updates: Sequence[Update], seen: Sightings, *, clean: bool, now: int, worker: str = ""
) -> Effects:
    """Store positions, all or none. The ledger holds the task and the positions of the partitions in `updates`.

    The same commit again, after its answer was lost, is accepted and changes nothing. `worker`: who is known to call.

    Raises:
        PermissionDenied: NOT_OWNER when another worker has opened the task.
        FailedPrecondition: FENCED when the task was not opened by exactly this owner, or was shut out since.
        Aborted: POSITION_MISMATCH when another offset than the expected one is stored, or a higher incarnation than the
            sender knows.
    """
    connector, row = ledger.connector, ledger.tasks.get(fence.task)
    if row is None:
        raise _fenced(ledger, fence, "it was never opened")
    if fence.generation != connector.generation:
        raise _fenced(ledger, fence, f"generation {connector.generation} of the plan is open")
    if (row.generation, row.epoch) != (fence.generation, fence.epoch):
        raise _fenced(ledger, fence, f"epoch {row.epoch} in generation {row.generation} opened it")
    _require_owner(fence, row, worker)
    if not row.open:
        raise _fenced(ledger, fence, "positions were altered or reset since it was opened")
    changed, forgotten = [], []
    for update in updates:
        stored = ledger.positions.get(update.partition)
        if update.forget and stored is None:
            # Its own commit once more.
            continue
        incarnation = stored.incarnation if stored is not None else connector.incarnation
        _require_incarnation(update, incarnation)
        position = Position(update.partition, update.offset, max(incarnation, update.incarnation), update.resume, now)
        # Its own commit once more: only the fence's owner could have stored this, so the expectation held then.
        if not update.forget and stored is not None and replace(stored, update_time=now) == position:
            continue
        _require_expected(update, stored)
        if update.forget:
            forgotten.append(update.partition)
        else:
            changed.append(position)
    lease, lease_id = (0, 0) if _left(row.lease, row.lease_id, seen) <= _OVER else (row.lease, row.lease_id)
    kept = replace(row, clean=clean, lease=lease, lease_id=lease_id)
    waiting = _waiting_for(connector, (), seen)
    rows = () if kept == row else (kept,)
    return Effects(None if waiting == connector else waiting, rows, tuple(changed), forget=tuple(forgotten))


def alter(ledger: Ledger, wanted: Mapping[str, tuple[str, str]], now: int) -> Effects:
    """Move positions by hand: offset and resume information by partition. The ledger holds all of the connector."""
    positions = []
    for partition, (offset, resume) in wanted.items():
        stored = ledger.positions.get(partition)
        incarnation = _above(ledger, stored.incarnation if stored is not None else ledger.connector.incarnation, now)
        # What was kept with the old position (what a sink has seen, where a source's cursor is) says nothing about the new one.
        positions.append(Position(partition, offset, incarnation, resume, now))
    return Effects(None, _shut_out(ledger, clean=None), tuple(positions))


def reset(ledger: Ledger, now: int) -> Effects:
    """Forget all positions. The ledger holds all of the connector."""
    fresh = replace(ledger.connector, incarnation=_above_all(ledger, now), carried_clean=True, forgotten=0)
    return Effects(fresh, _shut_out(ledger, clean=True), forget_positions=True)


def forget(ledger: Ledger, seen: Sightings, now: int) -> Effects:
    """Forget a connector that was deleted for good. The ledger holds all of it. Again, it changes nothing."""
    connector = ledger.connector
    if connector.forgotten:
        return Effects()
    waiting = _waiting_for(connector, [task for task in ledger.tasks.values() if task.lease_id], seen)
    kept = replace(
        waiting, incarnation=_above_all(ledger, now), carried_clean=True, epoch_floor=_highest_epoch(ledger), forgotten=max(now, 1)
    )
    return Effects(kept, forget_positions=True, forget_owners=True)


def restore(ledger: Ledger, snapshot: Snapshot, now: int) -> Effects:
    """Move all positions to the snapshot. The ledger holds all of the connector.

    What came after the snapshot is forgotten, with a higher incarnation for when it comes again; what has not moved since stays
    as it is. Every task is shut out until it is opened again.
    """
    stored = ledger.positions
    moved = {
        partition: (offset, snapshot.resumes.get(partition, ""))
        for partition, offset in snapshot.offsets.items()
        if partition not in stored or stored[partition].offset != offset
    }
    altered = alter(ledger, moved, now)
    forgotten = tuple(sorted(partition for partition in stored if snapshots.moves(partition) and partition not in snapshot.offsets))
    if not forgotten:
        return altered
    return replace(altered, connector=replace(ledger.connector, incarnation=_above_all(ledger, now)), forget=forgotten)


def put_back(ledger: Ledger, wanted: Mapping[str, tuple[str, str]], now: int) -> Effects:
    """Move to exactly these positions: offset and resume information by partition. The ledger holds all of the connector.

    All others are forgotten, but for the runtime's own rows: what they say of queues is still so.
    """
    incarnation = _above_all(ledger, now)
    positions = tuple(Position(partition, offset, incarnation, resume, now) for partition, (offset, resume) in wanted.items())
    forgotten = tuple(sorted(partition for partition in ledger.positions if snapshots.moves(partition) and partition not in wanted))
    # A partition that is forgotten may be met again: it must not begin below what sinks have stored of it.
    connector = replace(ledger.connector, incarnation=incarnation, forgotten=0)
    return Effects(connector, _shut_out(ledger, clean=None), positions, forget=forgotten)


def moved(ledger: Ledger, effects: Effects) -> Moved:
    """Return what effects do, for who asked for them."""
    before, after = ledger.positions, apply(ledger, effects).positions
    changes = [
        Change(
            partition,
            was.offset if was else None,
            now.offset if now else None,
            was.resume if was else "",
            now.resume if now else "",
        )
        for partition in sorted(before.keys() | after.keys())
        if snapshots.moves(partition) and (was := before.get(partition)) != (now := after.get(partition))
    ]
    return Moved(tuple(after[partition] for partition in sorted(after)), tuple(changes), len(before.keys() - after.keys()))


def apply(ledger: Ledger, effects: Effects) -> Ledger:
    """Return the ledger after the effects."""
    return Ledger(
        effects.connector or ledger.connector,
        {**({} if effects.forget_owners else ledger.tasks), **{task.task: task for task in effects.tasks}},
        {
            **{
                partition: position
                for partition, position in ledger.positions.items()
                if not effects.forget_positions and partition not in effects.forget
            },
            **{position.partition: position for position in effects.positions},
        },
    )


def _waiting_for(connector: ConnectorRow, shut_out: Sequence[TaskRow], seen: Sightings) -> ConnectorRow:
    """Return the connector whose newer owners wait for those as well, and for nobody of whom nothing can be under way."""
    waits = _left(connector.wait, connector.wait_id, seen)
    longest = max((_left(task.lease, task.lease_id, seen) for task in shut_out), default=_OVER)
    if max(waits, longest) <= _OVER:
        return replace(connector, wait=0, wait_id=0)
    # What is left, under an id of its own: which of them ends last is not the same to replicas that saw them at other times.
    return connector if longest <= waits else replace(connector, wait=longest, wait_id=seen.new())


def _left(length: int, stored: int, seen: Sightings) -> int:
    """Return what is left of a length that is stored under an id (0: none is); below 0: for so long it has been over."""
    return max(_OVER, length - seen.age(stored)) if stored else _OVER


def _outdated(ledger: Ledger, fence: Fence) -> str:
    """Why somebody newer than the fence has opened its task; empty: nobody has."""
    row = ledger.tasks.get(fence.task)
    if fence.generation < ledger.connector.generation:
        return f"generation {ledger.connector.generation} of the plan was opened"
    if row is not None and fence.epoch < row.epoch:
        return f"epoch {row.epoch} opened it"
    # Its partitions may have been any task's: under a lower epoch their new records would be dropped by every sink.
    highest = _highest_epoch(ledger) if fence.generation > ledger.connector.generation else ledger.connector.epoch_floor
    return f"epoch {highest} opened a task of an earlier generation" if fence.epoch <= highest else ""


def _highest_epoch(ledger: Ledger) -> int:
    return max([ledger.connector.epoch_floor, *(row.epoch for row in ledger.tasks.values())])


def _above_all(ledger: Ledger, now: int) -> int:
    highest = max((position.incarnation for position in ledger.positions.values()), default=0)
    return _above(ledger, max(ledger.connector.incarnation, highest), now)


def _above(ledger: Ledger, incarnation: int, now: int) -> int:
    """Return the next incarnation, at microseconds since 1970 by a clock that may be wrong: epochs are numbers of the same time."""
    floor, _ = bounded_floor(now / 1_000_000, _highest_epoch(ledger))
    return max(incarnation, floor) + 1


def _shut_out(ledger: Ledger, *, clean: bool | None) -> tuple[TaskRow, ...]:
    return tuple(replace(task, open=False, clean=task.clean if clean is None else clean) for task in ledger.tasks.values())


def _require_expected(update: Update, stored: Position | None) -> None:
    found = NONE if stored is None else stored.offset
    if update.expected and update.expected != found:
        message = f"partition {update.partition!r}: expected {update.expected}, stored is {found}; open the task again"
        raise Aborted("POSITION_MISMATCH", message, partition=update.partition, expected=update.expected, stored=found)


def _require_incarnation(update: Update, incarnation: int) -> None:
    if 0 < update.incarnation < incarnation:
        message = (
            f"partition {update.partition!r}: incarnation {update.incarnation} was sent, {incarnation} is stored; "
            "open the task again"
        )
        raise Aborted(
            "POSITION_MISMATCH",
            message,
            partition=update.partition,
            expected=f"incarnation {update.incarnation}",
            stored=f"incarnation {incarnation}",
        )


def _is_anothers(row: TaskRow, worker: str) -> bool:
    return bool(worker and row.worker) and row.worker != worker


def _require_owner(fence: Fence, row: TaskRow, worker: str) -> None:
    if _is_anothers(row, worker):
        message = (
            f"task {fence.task} of connector {fence.connector_uid}, epoch {fence.epoch}, was opened by the worker {row.worker!r}, "
            f"and {worker!r} may not speak for it; give each executor an id and a token or a certificate of its own"
        )
        raise PermissionDenied("NOT_OWNER", message, connector_uid=fence.connector_uid, task=str(fence.task))


def _forgotten(connector: ConnectorRow) -> FailedPrecondition:
    when = datetime.fromtimestamp(connector.forgotten // 1_000_000, UTC).date()
    message = (
        f"connector {connector.uid} was deleted, and where it was is forgotten since {when}; stop it, and let it begin anew with "
        "`rocketconnect position reset`, or put its positions back with `rocketconnect position import`"
    )
    return FailedPrecondition("POSITIONS_FORGOTTEN", message, connector_uid=connector.uid)


def _fenced(ledger: Ledger, fence: Fence, why: str) -> FailedPrecondition:
    message = (
        f"task {fence.task} of connector {fence.connector_uid}, generation {fence.generation}, epoch {fence.epoch}, is fenced: "
        f"{why}; stop the task"
    )
    opened = str(ledger.connector.generation)
    return FailedPrecondition("FENCED", message, connector_uid=fence.connector_uid, task=str(fence.task), opened_generation=opened)
