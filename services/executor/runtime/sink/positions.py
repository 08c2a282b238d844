"""Positions of sinks: as they are stored, and as sinks see them. Pure."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import islice

from rocketconnect_sdk.sink import QueuePosition, SinkCommit, SourceMark
from services.executor.contract.task import TaskSpec
from services.executor.runtime.positions.stored import Stored
from services.executor.runtime.sink.decode.part import Part

MOST_MARKS = 1_500
"""So many source partitions a queue are remembered, those that moved last (invariant 7). A double can only be told apart from a new
record while its partition is among them; it comes within seconds or minutes of the first one, when a source changes its owner."""


def merged(marks: Mapping[str, SourceMark], moved: Mapping[str, SourceMark]) -> dict[str, SourceMark]:
    """Marks after some have moved: these stand last, and what has not moved for longest is forgotten."""
    if not moved:
        return dict(marks)
    found = {key: mark for key, mark in marks.items() if key not in moved}
    found.update(moved)
    for key in list(islice(found, max(0, len(found) - MOST_MARKS))):
        del found[key]
    return found


def to_stored(position: QueuePosition) -> Stored:
    """For the position service."""
    form = position.to_json()
    return Stored((form.pop("until"),), form.pop("incarnation"), form)


def moved_to(position: QueuePosition, offset: int, group: str, floor: int) -> Stored:
    """Where a queue is that is moved because its group was reset, as if a person had moved it.

    Args:
        position: Where it was.
        offset: Where it goes on.
        group: The consumer group.
        floor: What an incarnation that is drawn now is above (see bounded_floor).
    """
    # What was seen before the old offset says nothing of the new one, and what the sink has stored with its data is older.
    return Stored((offset,), max(position.incarnation, floor) + 1, reset_group=group)


def from_stored(stored: Stored) -> QueuePosition:
    """From the position service; what was set by hand has no marks."""
    form = {"marks": {}, **stored.resume, "until": stored.offset[0], "incarnation": stored.incarnation}
    return QueuePosition.from_json(form)


def choose(service: QueuePosition | None, sink: QueuePosition | None, incarnation: int) -> QueuePosition | None:
    """Invariant 2: what the sink has stored with its data wins, unless a deliberate reset or an accepted gap came after it.

    Args:
        service: What the position service has.
        sink: What the sink has.
        incarnation: That positions without an entry in the position service begin with: a reset has raised it.
    """
    deliberate = incarnation if service is None else service.incarnation
    if sink is None or deliberate > sink.incarnation:
        return service
    if service is not None and (service.incarnation, service.era) > (sink.incarnation, sink.era):
        return service
    return sink


def after(before: Mapping[str, QueuePosition], parts: Iterable[Part]) -> dict[str, QueuePosition]:
    """The positions behind these parts, for the queues that they are of."""
    moved: dict[str, QueuePosition] = {}
    marks: dict[str, dict[str, SourceMark]] = {}
    for part in parts:
        marks.setdefault(part.queue, {}).update(part.marks)
        moved[part.queue] = replace(before[part.queue], until=part.until, stored_ms=part.stored_ms)
    return {
        queue: replace(position, marks=merged(position.marks, marks[queue])) if marks[queue] else position
        for queue, position in moved.items()
    }


def commit_of(spec: TaskSpec, before: Mapping[str, QueuePosition], parts: Sequence[Part]) -> SinkCommit:
    """What a batch of these parts is."""
    behind = after(before, parts)
    known = {queue: before[queue] for queue in behind}
    places = {queue: ".".join(map(str, known[queue].place)) for queue in behind}
    ranges = [f"{queue}:{places[queue]}-{behind[queue].until}" for queue in sorted(behind)]
    token = hashlib.sha256("\n".join([spec.connector_uid, *ranges]).encode()).hexdigest()[:32]
    rows = sum(len(part.records) for part in parts)
    return SinkCommit(spec.connector_uid, spec.task, spec.epoch, known, behind, rows, token)
