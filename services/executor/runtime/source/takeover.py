"""What a new owner of a source task learns from the topic, so that it sends nothing twice (invariant 1). Pure."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from rocketconnect_sdk.errors import PermanentError
from rocketconnect_sdk.record import Offset, SourceBatch
from rocketmq_remoting.model import MessageQueue
from services.executor.runtime.positions.stored import Stored
from services.executor.runtime.rocketmq import queue_names
from services.executor.runtime.source.pieces import Piece

ROW = "~task/"
"""Begins the partitions of the rows that tasks keep for themselves among the positions of their connector."""

Floors = Mapping[MessageQueue, int]
Ranges = Mapping[MessageQueue, tuple[int, int]]
"""By queue the offset of the first message, and that behind the last one."""


def row_name(task: int) -> str:
    """The partition of a task's own row."""
    return f"{ROW}{task}"


@dataclass(frozen=True, slots=True)
class Row:
    """What a task stores with every commit, in the same transaction as the positions.

    Attributes:
        generation: The plan generation that it ran in.
        revision: Of the configuration.
        floors: For each queue the offset from which on messages above the positions can be. None left: it ended clean.
        base: The lowest floors of the generations before.
        tasks: How many tasks the plan has. 0: not known.
        mixed: Not all messages above the floors went by the queue map of the revision.
        base_mixed: The same of what is above the base.
        ends: For each queue the end that the broker had confirmed, or had told of; never below its floor.
        lost: What was lost of that, and nobody has accepted.
        epochs: For each queue the lowest epoch that counts above its floor; what has a lower one is late there. None: any counts.
        base_epochs: The same above the base.
        count: How often its owner has stored one. It stands in the offset of the row, which each commit names that it follows: so
            none is let in on a store that was put back from a backup meanwhile, where floors would not fit the positions any more.
    """

    generation: int
    revision: int
    floors: Floors = field(default_factory=dict)
    base: Floors = field(default_factory=dict)
    tasks: int = 0
    mixed: bool = False
    base_mixed: bool = False
    ends: Floors = field(default_factory=dict)
    lost: Ranges = field(default_factory=dict)
    epochs: Floors = field(default_factory=dict)
    base_epochs: Floors = field(default_factory=dict)
    count: int = 0

    def above(self, floors: Floors, held: Collection[MessageQueue], epoch: int) -> "Row":
        """The row with the floors of now.

        Args:
            floors: They.
            held: The queues whose floor is still that of a predecessor: what it and those before it have sent is above it.
            epoch: Of the owner. It alone has sent what is above the other floors, as long as nobody sends who has lost the task.
        """
        epochs = {queue: self.epochs.get(queue, 0) if queue in held else epoch for queue in floors}
        return replace(self, floors=floors, epochs={queue: lowest for queue, lowest in epochs.items() if lowest})

    def stored(self, epoch: int) -> Stored:
        """As a position."""
        resume = {
            "generation": self.generation,
            "revision": self.revision,
            "floors": {queue_names.text(queue): offset for queue, offset in self.floors.items()},
            "base": {queue_names.text(queue): offset for queue, offset in self.base.items()},
            "tasks": self.tasks,
            "mixed": self.mixed,
            "base_mixed": self.base_mixed,
            "ends": {queue_names.text(queue): end for queue, end in self.ends.items() if self.floors.get(queue) != end},
            "lost": {queue_names.text(queue): [start, end] for queue, (start, end) in self.lost.items()},
            "epochs": {queue_names.text(queue): epoch for queue, epoch in self.epochs.items()},
            "base_epochs": {queue_names.text(queue): epoch for queue, epoch in self.base_epochs.items()},
        }
        return Stored((epoch, self.count), 0, resume)

    @classmethod
    def parse(cls, resume: Mapping[str, Any]) -> "Row":
        """From what was stored."""
        floors = {queue_names.parse(name): offset for name, offset in resume["floors"].items()}
        return cls(
            resume["generation"],
            resume["revision"],
            floors,
            {queue_names.parse(name): offset for name, offset in resume["base"].items()},
            resume.get("tasks", 0),
            # Rows of before this was stored do not tell.
            resume.get("mixed", True),
            resume.get("base_mixed", True),
            {**floors, **{queue_names.parse(name): end for name, end in resume.get("ends", {}).items()}},
            {queue_names.parse(name): (start, end) for name, (start, end) in resume.get("lost", {}).items()},
            {queue_names.parse(name): epoch for name, epoch in resume.get("epochs", {}).items()},
            {queue_names.parse(name): epoch for name, epoch in resume.get("base_epochs", {}).items()},
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


def _highest(ends: Iterable[Floors]) -> dict[MessageQueue, int]:
    found: dict[MessageQueue, int] = {}
    for each in ends:
        for queue, end in each.items():
            found[queue] = max(end, found.get(queue, 0))
    return found


def _united(losses: Iterable[Ranges]) -> dict[MessageQueue, tuple[int, int]]:
    """For each queue one range that has all of its losses in it."""
    found: dict[MessageQueue, tuple[int, int]] = {}
    for each in losses:
        for queue, (start, end) in each.items():
            known = found.get(queue, (start, end))
            found[queue] = (min(start, known[0]), max(end, known[1]))
    return found


@dataclass(frozen=True, slots=True)
class Search:
    """What a new owner has to look for in the topic.

    Attributes:
        starts: From where it has to read each queue; empty: every predecessor has ended clean.
        base: What its own row has to carry.
        mixed: Not all that is there went by the queue map of its revision: a queue's highest offset says nothing of other records.
        base_mixed: What its own row has to carry.
        ends: The ends that the broker had confirmed to earlier owners.
        lost: What they have found lost and nobody has accepted.
        epochs: The lowest epoch that counts in each queue: a sink has left out what came later with a lower one.
        base_epochs: What its own row has to carry.
    """

    starts: Floors
    base: Floors
    mixed: bool
    base_mixed: bool
    ends: Floors = field(default_factory=dict)
    lost: Ranges = field(default_factory=dict)
    epochs: Floors = field(default_factory=dict)
    base_epochs: Floors = field(default_factory=dict)


def scan_from(known: Mapping[int, Row], task: int, generation: int, revision: int) -> Search:
    """From where a new owner has to read each queue."""
    own = known.get(task)
    if own is not None and own.generation == generation:
        mixed = own.mixed or own.revision != revision
        return Search(own.floors, own.base, mixed, own.base_mixed, own.ends, own.lost, own.epochs, own.base_epochs)
    # The first owner in this generation: whoever of the older ones held its partitions did not say where it was last.
    left = [*_left_by(known, generation), *(_base(row) for row in known.values() if row.generation == generation)]
    base = lowest(each.floors for each in left)
    mixed = any(each.mixed or each.revision != revision for each in left if each.floors)
    # Whose a source partition was is not known: the lowest counts.
    lowest_epochs = lowest({queue: each.epochs.get(queue, 0) for queue in each.floors} for each in left)
    epochs = {queue: epoch for queue, epoch in lowest_epochs.items() if epoch}
    ends, lost = _highest(each.ends for each in left), _united(each.lost for each in left)
    return Search(base, base, mixed, mixed, ends, lost, epochs, epochs)


@dataclass(frozen=True, slots=True)
class _Left:
    """Floors that are left to be looked from, how what is above them was sent, and what was known of the queues."""

    floors: Floors
    revision: int
    mixed: bool
    epochs: Floors
    ends: Floors = field(default_factory=dict)
    lost: Ranges = field(default_factory=dict)


def _own(row: Row) -> _Left:
    return _Left(row.floors, row.revision, row.mixed, row.epochs, row.ends, row.lost)


def _base(row: Row) -> _Left:
    return _Left(row.base, row.revision, row.base_mixed, row.base_epochs)


def _left_by(known: Mapping[int, Row], generation: int) -> list[_Left]:
    """What the generations before left to be looked for."""
    older = [row for row in known.values() if row.generation < generation]
    newest = max((row.generation for row in older), default=0)
    last = [row for row in older if row.generation == newest]
    if last and 0 < last[0].tasks <= len(last):
        # All of its tasks have begun: what was before them is theirs.
        return [_own(row) for row in last]
    # One that never began has left what it should have looked for.
    return [*(_own(row) for row in older), *(_base(row) for row in last)]


@dataclass(slots=True)
class _Unfinished:
    """Of a source partition what another queue map has left unfinished.

    Attributes:
        incarnation: Of the source partition.
        sent: The offsets that are there, in whichever queue.
        last: The highest of them.
        marks: The highest one in each queue.
        is_over: All that was missing is confirmed: the map that holds now decides.
    """

    incarnation: int
    sent: Collection[Offset]
    last: Offset
    marks: Mapping[MessageQueue, Offset]
    is_over: bool = False


class Found:
    """The records of a task that are in the topic already though its positions are not past them.

    Where all of them went by the queue map that holds now, what is in a queue is told by its highest offset: up to it everything
    that goes there is there. Where they went by another one (`sent`), that would be wrong in both directions, and the old map is
    finished first. What is there, in whichever queue, is not sent again. What is missing below the highest of what is there goes in
    its order to one queue (`lane`); what follows `waits` until all of that is confirmed, and goes by the map that holds now.

    Args:
        there: By queue and mark key the incarnation and the highest source offset.
        floors: By queue where the search began: it stays the floor until the positions have passed what was found.
        sent: By mark key the incarnation and the offsets that are there; None: all went by the queue map that holds now.
        raised: By mark key the incarnation that the topic knows, where the position service knows a lower one (see `gone_back`).
    """

    def __init__(
        self,
        there: Mapping[MessageQueue, Mapping[str, tuple[int, Offset]]],
        floors: Floors,
        sent: Mapping[str, tuple[int, Collection[Offset]]] | None = None,
        raised: Mapping[str, int] | None = None,
    ) -> None:
        self._raised = raised or {}
        self._there = {queue: dict(marks) for queue, marks in there.items() if marks}
        self._floors = dict(floors)
        self._read: set[str] = set()
        self._unfinished = {
            key: _Unfinished(incarnation, offsets, max(offsets), _marks(there, key, incarnation))
            for key, (incarnation, offsets) in (sent or {}).items()
        }

    def skip(self, piece: Piece) -> int:
        """How many of the first messages of a piece are in its queue already."""
        return piece.up_to(self.mark(piece.queue, piece.key, piece.incarnation)) if self._there else 0

    def mark(self, queue: MessageQueue, key: str, incarnation: int) -> Offset:
        """The highest offset of a source partition that is in a queue, with all before it that go there; empty: none is."""
        if key in self._unfinished:
            return ()
        found, mark = self._there.get(queue, {}).get(key, (incarnation, ()))
        return mark if found == incarnation else ()

    def raised(self, key: str) -> int:
        """The incarnation of a source partition that the topic knows, where the position service knows a lower one; else 0."""
        return self._raised.get(key, 0)

    def holds(self, key: str) -> bool:
        """Whether something of a source partition was found that its position has not passed."""
        return key in self._unfinished or any(key in marks for marks in self._there.values())

    @property
    def mixed(self) -> bool:
        """Whether something that did not go by the queue map that holds now may be above the positions."""
        return bool(self._unfinished)

    def missing(self, batch: SourceBatch, key: str, incarnation: int) -> SourceBatch:
        """A batch without the records that were sent by another queue map; it ends where it ended."""
        unfinished = self._of(key, incarnation)
        if unfinished is None or not len(batch):
            return batch
        kept = [index for index, offset in enumerate(batch.offsets) if tuple(offset) not in unfinished.sent]
        return batch if len(kept) == len(batch) else batch.take(kept)

    def lane(self, topic: str, queues: Sequence[MessageQueue], key: str, incarnation: int, first: Offset) -> MessageQueue | None:
        """The queue of a topic to which all of a source partition goes until its old map is finished; None: the map decides.

        That one which holds the least of the partition. Whatever the old map was, it sent to each queue in order: the queue to
        which it would have sent a missing record holds nothing behind that record, so the one that holds the least does not
        either, and order and marks (which sinks drop by) stay right in it.

        Args:
            topic: The topic.
            queues: Its queues in the map that holds now.
            key: The mark key of the source partition.
            incarnation: Of the source partition.
            first: The offset of the first record that is to go there.

        Raises:
            PermanentError: the record went to another topic by the old map, and every queue of this one holds later ones.
        """
        unfinished = self._of(key, incarnation)
        if unfinished is None:
            return None
        marks = unfinished.marks
        known = {*queues, *(queue for queue in self._floors if queue.topic == topic)}
        lane = min(known, key=lambda queue: (marks.get(queue, ()), queue not in queues, queue))
        if first <= marks.get(lane, ()):
            msg = (
                f"source partition {key.partition('/')[2]}: a record was not sent before the configuration changed (its offset is "
                f"{'.'.join(map(str, first))}), and every queue of topic {topic}, to which it goes now, has later ones: put the "
                "former configuration back until the connector has caught up, stop it, and change it then"
            )
            raise PermanentError(msg)
        return lane

    def waits(self, batch: SourceBatch, key: str, incarnation: int, *, is_open: bool) -> bool:
        """Whether a batch has to wait: it is behind all that the old map has left unfinished, of which not all is confirmed.

        Otherwise, when it is behind that, the map that holds now begins with it (invariant 4).

        Args:
            batch: Of what is `missing`.
            key: The mark key of its source partition.
            incarnation: Its incarnation.
            is_open: Something of the partition is on its way.
        """
        unfinished = self._of(key, incarnation)
        if unfinished is None or not len(batch) or batch.offsets[0] <= unfinished.last:
            return False
        unfinished.is_over = not is_open
        return is_open

    def read(self, key: str) -> None:
        """A record of this source partition was read by this task."""
        self._read.add(key)

    def passed(self, key: str, incarnation: int, position: Offset, *, drained: bool) -> None:
        """The position of a source partition is here now.

        Args:
            key: Its mark key.
            incarnation: Its incarnation.
            position: The position.
            drained: Nothing of it is on its way.
        """
        unfinished = self._unfinished.get(key)
        # What is on its way may have gone by the lane, which no map tells.
        settled = unfinished is not None and (drained or unfinished.is_over)
        if unfinished is not None and settled and (unfinished.incarnation, unfinished.last) <= (incarnation, position):
            del self._unfinished[key]
        for queue, marks in list(self._there.items()):
            if key in marks and marks[key] <= (incarnation, position):
                self._drop(queue, {key})

    def caught_up(self) -> None:
        """The source has nothing more: what it has not read by now belongs to other tasks, or is gone from the source."""
        for queue, marks in list(self._there.items()):
            self._drop(queue, marks.keys() - self._read)
        for key in self._unfinished.keys() - self._read:
            del self._unfinished[key]

    def held(self) -> dict[MessageQueue, int]:
        """The queues whose floor has to stay, with it."""
        return {queue: self._floors[queue] for queue in self._there if queue in self._floors}

    def _of(self, key: str, incarnation: int) -> _Unfinished | None:
        unfinished = self._unfinished.get(key)
        # What was sent before a deliberate reset is sent again.
        return unfinished if unfinished is not None and unfinished.incarnation == incarnation and not unfinished.is_over else None

    def _drop(self, queue: MessageQueue, keys: Iterable[str]) -> None:
        marks = self._there[queue]
        for key in list(keys):
            del marks[key]
        if not marks:
            del self._there[queue]


def _marks(
    there: Mapping[MessageQueue, Mapping[str, tuple[int, Offset]]], key: str, incarnation: int
) -> dict[MessageQueue, Offset]:
    """What is the highest offset of a source partition in each queue that has any."""
    return {queue: marks[key][1] for queue, marks in there.items() if key in marks and marks[key][0] == incarnation}
