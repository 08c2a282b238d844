"""What a new owner of a source task learns from the topic, so that it sends nothing twice (invariant 1). Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from rocketconnect_sdk.record import Offset
from rocketmq_remoting.model import MessageQueue
from services.executor.runtime import queues as queue_names
from services.executor.runtime.pieces import Piece
from services.executor.runtime.positions import Stored

ROW = "~task/"
"""Begins the partitions of the rows that tasks keep for themselves among the positions of their connector."""

Floors = Mapping[MessageQueue, int]


def row_name(task: int) -> str:
    """The partition of a task's own row."""
    return f"{ROW}{task}"


@dataclass(frozen=True, slots=True)
class Row:
    """What a task stores with every commit, in the same transaction as the positions.

    Attributes:
        generation: The plan generation that it ran in.
        revision: Of the configuration.
        queues: The queues of each topic that it knows, sorted: the queue map.
        floors: For each queue the offset from which on messages above the positions can be. None left: it ended clean.
        base: The lowest floors of the generations before.
        tasks: How many tasks the plan has. 0: not known.
    """

    generation: int
    revision: int
    queues: Mapping[str, tuple[MessageQueue, ...]] = field(default_factory=dict)
    floors: Floors = field(default_factory=dict)
    base: Floors = field(default_factory=dict)
    tasks: int = 0

    def stored(self, epoch: int) -> Stored:
        """As a position."""
        resume = {
            "generation": self.generation,
            "revision": self.revision,
            "queues": {topic: [queue_names.text(queue) for queue in queues] for topic, queues in self.queues.items()},
            "floors": {queue_names.text(queue): offset for queue, offset in self.floors.items()},
            "base": {queue_names.text(queue): offset for queue, offset in self.base.items()},
            "tasks": self.tasks,
        }
        return Stored((epoch,), 0, resume)

    @classmethod
    def parse(cls, resume: Mapping[str, Any]) -> "Row":
        """From what was stored."""
        return cls(
            resume["generation"],
            resume["revision"],
            {topic: tuple(map(queue_names.parse, names)) for topic, names in resume["queues"].items()},
            {queue_names.parse(name): offset for name, offset in resume["floors"].items()},
            {queue_names.parse(name): offset for name, offset in resume["base"].items()},
            resume.get("tasks", 0),
        )


def rows(positions: Mapping[str, Stored]) -> dict[int, Row]:
    """The rows among the positions of a connector, by task."""
    return {
        int(partition.removeprefix(ROW)): Row.parse(stored.resume)
        for partition, stored in positions.items()
        if partition.startswith(ROW)
    }


def lowest(floors: Iterable[Floors]) -> dict[MessageQueue, int]:
    """For each queue the lowest of them."""
    found: dict[MessageQueue, int] = {}
    for each in floors:
        for queue, offset in each.items():
            found[queue] = min(offset, found.get(queue, offset))
    return found


def scan_from(known: Mapping[int, Row], task: int, generation: int) -> tuple[dict[MessageQueue, int], dict[MessageQueue, int]]:
    """From where a new owner has to read each queue; empty: every predecessor has ended clean.

    Returns: (where to begin, the base that its own row has to carry).
    """
    own = known.get(task)
    if own is not None and own.generation == generation:
        return dict(own.floors), dict(own.base)
    # The first owner in this generation: whoever of the older ones held its partitions did not say where it was last.
    base = lowest([*_left_by(known, generation), *(row.base for row in known.values() if row.generation == generation)])
    return dict(base), base


def _left_by(known: Mapping[int, Row], generation: int) -> list[Floors]:
    """What the generations before left to be looked for."""
    older = [row for row in known.values() if row.generation < generation]
    newest = max((row.generation for row in older), default=0)
    last = [row for row in older if row.generation == newest]
    if last and 0 < last[0].tasks <= len(last):
        # All of its tasks have begun: what was before them is theirs.
        return [row.floors for row in last]
    # One that never began has left what it should have looked for.
    return [*(row.floors for row in older), *(row.base for row in last)]


class Found:
    """The records of a task that are in the topic already though its positions are not past them.

    Args:
        there: By queue and mark key the incarnation and the highest source offset.
        floors: By queue where the search began: it stays the floor until the positions have passed what was found.
    """

    def __init__(self, there: Mapping[MessageQueue, Mapping[str, tuple[int, Offset]]], floors: Floors) -> None:
        self._there = {queue: dict(marks) for queue, marks in there.items() if marks}
        self._floors = dict(floors)
        self._read: set[str] = set()

    def skip(self, piece: Piece) -> int:
        """How many of the first messages of a piece are in its queue already."""
        return piece.up_to(self.mark(piece.queue, piece.key, piece.incarnation)) if self._there else 0

    def mark(self, queue: MessageQueue, key: str, incarnation: int) -> Offset:
        """The highest offset of a source partition that is in a queue; empty: none is."""
        found, mark = self._there.get(queue, {}).get(key, (incarnation, ()))
        return mark if found == incarnation else ()

    def read(self, key: str) -> None:
        """A record of this source partition was read by this task."""
        self._read.add(key)

    def passed(self, key: str, incarnation: int, position: Offset) -> None:
        """The position of a source partition is here now."""
        for queue, marks in list(self._there.items()):
            if key in marks and marks[key] <= (incarnation, position):
                self._drop(queue, {key})

    def caught_up(self) -> None:
        """The source has nothing more: what it has not read by now belongs to other tasks, or is gone from the source."""
        for queue, marks in list(self._there.items()):
            self._drop(queue, marks.keys() - self._read)

    def held(self) -> dict[MessageQueue, int]:
        """The queues whose floor has to stay, with it."""
        return {queue: self._floors[queue] for queue in self._there if queue in self._floors}

    def _drop(self, queue: MessageQueue, keys: Iterable[str]) -> None:
        marks = self._there[queue]
        for key in list(keys):
            del marks[key]
        if not marks:
            del self._there[queue]
