"""Messages to domain and back, pure."""

import json
from collections.abc import Iterable
from dataclasses import asdict

from google.protobuf.timestamp_pb2 import Timestamp
from rocketconnect.position.v1 import position_service_pb2 as pb
from rocketconnect.record.v1 import record_pb2

from rocketconnect_kit.errors import FieldProblem
from services.position import checks
from services.position.directory import Entry
from services.position.domain import Fence, Moved, Opened, Position, Snapshot, Update
from services.position.fencing import NONE
from services.position.snapshots import moves


def opening(request: pb.OpenTaskRequest) -> tuple[Fence, int, int]:
    """Return who opens, the revision of its plan, and the send deadline in microseconds.

    Raises:
        InvalidArgument: POSITION_INVALID with all that is wrong with it.
    """
    value, send_deadline = _fence(request.fence), request.send_deadline.ToMicroseconds()
    checks.refuse(
        [
            *checks.fence_problems(value),
            *checks.send_deadline_problems(send_deadline),
            *checks.worker_problems(request.worker_id),
        ]
    )
    return value, max(0, request.revision), send_deadline


def confirmed(request: pb.ConfirmEpochsRequest) -> tuple[dict[str, list[Fence]], int]:
    """Return whose tasks are to be confirmed, by connector, and for how many microseconds.

    Raises:
        InvalidArgument: POSITION_INVALID with all that is wrong with the fences and the lease.
    """
    fences = [_fence(each) for each in request.fences]
    lease = request.lease.ToMicroseconds()
    problems = checks.confirm_problems(fences, lease)
    checks.refuse(problems)
    by_connector: dict[str, list[Fence]] = {}
    for each in fences:
        by_connector.setdefault(each.connector_uid, []).append(each)
    return by_connector, lease


def forgotten(request: pb.ForgetPositionsRequest) -> list[str]:
    """Return the uids of the connectors to forget, each once.

    Raises:
        InvalidArgument: POSITION_INVALID with all that is wrong with them.
    """
    checks.refuse(checks.uids_problems(request.connector_uids))
    return sorted(set(request.connector_uids))


def fences(values: Iterable[Fence]) -> pb.ConfirmEpochsResponse:
    """Return the answer to ConfirmEpochs: who is fenced."""
    return pb.ConfirmEpochsResponse(fenced=[pb.TaskFence(**asdict(each)) for each in values])


def commit(request: pb.CommitPositionsRequest) -> tuple[Fence, tuple[Update, ...]]:
    """Return who commits what, offsets in canonical form.

    Raises:
        InvalidArgument: POSITION_INVALID with all that is wrong with fence, partitions and offsets.
    """
    value = _fence(request.fence)
    problems = checks.fence_problems(value)
    problems += checks.list_problems("updates", [update.position.partition for update in request.updates])
    updates = []
    for number, update in enumerate(request.updates[: checks.MAXIMUM_UPDATES]):
        field, position, expected = f"updates[{number}]", update.position, update.expected_offset
        problems += _position_problems(f"{field}.position", position)
        problems += checks.resume_problems(f"{field}.position", position.resume)
        if expected not in {"", NONE}:
            problems += checks.offset_problems(f"{field}.expected_offset", expected)
            expected = checks.canonical_offset(expected) or NONE
        offset = checks.canonical_offset(position.offset) or ""
        if update.forget or update.reset_group:
            problems += checks.movable_problems(field, position.partition)
        problems += checks.group_problems(field, update.reset_group)
        updates.append(
            Update(position.partition, offset, position.incarnation, position.resume, expected, update.forget, update.reset_group)
        )
    checks.refuse(problems)
    return value, tuple(updates)


def alteration(request: pb.AlterPositionsRequest) -> dict[str, tuple[str, str]]:
    """Return canonical offsets and resume information by partition; none when an edge or a time is asked for.

    Raises:
        InvalidArgument: POSITION_INVALID with all that is wrong with partitions and offsets, or when nothing, or more than one
            thing, says where to go.
    """
    given = list(request.positions)
    problems = checks.list_problems("positions", [position.partition for position in given])
    places = [name for name, said in (("to", request.to), ("to_time", request.HasField("to_time"))) if said]
    if given and places:
        problems.append(FieldProblem(places[0], "", "is given beside positions", "give either of them"))
    elif len(places) > 1:
        problems.append(FieldProblem("to_time", "", "is given beside to", "give either of them"))
    elif not given and not places:
        problems.append(FieldProblem("positions", "", "is empty", "name the partitions to move, and their new offsets"))
    if request.partitions and not places:
        problems.append(FieldProblem("partitions", "", "is given without to or to_time", "give one of them, or leave it out"))
    problems += checks.list_problems("partitions", list(request.partitions))
    for number, partition in enumerate(request.partitions[: checks.MAXIMUM_UPDATES]):
        problems += checks.movable_problems(f"partitions[{number}]", partition)
    for number, position in enumerate(given[: checks.MAXIMUM_UPDATES]):
        problems += _restored_problems(f"positions[{number}]", position)
    checks.refuse(problems)
    return _restored(given)


def restoration(request: pb.ImportPositionsRequest) -> dict[str, tuple[str, str]]:
    """Return canonical offsets and resume information by partition.

    Raises:
        InvalidArgument: POSITION_INVALID with all that is wrong with them.
    """
    given = [position for position in request.positions if moves(position.partition)]
    problems = checks.list_problems("positions", [position.partition for position in given])
    for number, position in enumerate(given[: checks.MAXIMUM_UPDATES]):
        problems += _restored_problems(f"positions[{number}]", position)
    checks.refuse(problems)
    return _restored(given)


def changes(moved: Moved) -> list[pb.PositionChange]:
    """Return the messages of what was moved."""
    return [
        pb.PositionChange(partition=change.partition, from_offset=change.before or "", to_offset=change.after or "")
        for change in moved.changes
    ]


def offset_alone(entry: Entry, moved: Moved) -> list[str]:
    """Return the partitions of a source that had a map beside their offset, and have none now that they were moved."""
    if not entry.source:
        return []
    return [
        change.partition
        for change in moved.changes
        if change.after is not None and _has_map(entry, change.had) and not _has_map(entry, change.has)
    ]


def _has_map(entry: Entry, resume: str) -> bool:
    # A direct task keeps the map of its source in its own.
    return bool(resume) and (not entry.direct or bool(json.loads(resume).get("resume")))


def opened(value: Opened) -> pb.OpenTaskResponse:
    """Return the answer to OpenTask."""
    response = pb.OpenTaskResponse(positions=map(position, value.positions), clean=value.clean, incarnation=value.incarnation)
    response.wait.FromMicroseconds(value.wait)
    return response


def position(value: Position) -> record_pb2.Position:
    """Return the message of a position."""
    return record_pb2.Position(
        partition=value.partition,
        offset=value.offset,
        incarnation=value.incarnation,
        resume=value.resume,
        update_time=_timestamp(value.update_time),
    )


def snapshot(value: Snapshot) -> pb.PositionSnapshot:
    """Return the message of a snapshot."""
    return pb.PositionSnapshot(
        revision=value.revision,
        next_revision=value.next_revision,
        positions=len(value.offsets),
        time=_timestamp(value.time),
    )


def _timestamp(microseconds: int) -> Timestamp:
    made = Timestamp()
    made.FromMicroseconds(microseconds)
    return made


def _fence(message: pb.TaskFence) -> Fence:
    return Fence(message.connector_uid, message.task, message.generation, message.epoch)


def _position_problems(field: str, value: record_pb2.Position) -> list[FieldProblem]:
    return [
        *checks.partition_problems(field, value.partition),
        *checks.offset_problems(f"{field}.offset", value.offset),
    ]


def _restored_problems(field: str, value: record_pb2.Position) -> list[FieldProblem]:
    return [
        *_position_problems(field, value),
        *checks.movable_problems(field, value.partition),
        *checks.restored_problems(field, value.resume),
    ]


def _restored(given: Iterable[record_pb2.Position]) -> dict[str, tuple[str, str]]:
    return {position.partition: (checks.canonical_offset(position.offset) or "", position.resume) for position in given}
