"""What a source task has on its way: batches that were read, cut into pieces for queues. Pure."""

from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil

from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.record import Offset
from rocketconnect_sdk.resume import JSON
from rocketconnect_sdk.stages import Stage
from rocketconnect_sdk.wording.counts import counted
from rocketmq_remoting.batch import BATCH_OVERHEAD_BYTES, EncodedBatch, encode_batch
from rocketmq_remoting.model import MessageQueue
from rocketmq_remoting.numbered import lengths
from services.executor.runtime.errors.failure import Failure
from services.executor.runtime.positions.stored import Stored


@dataclass(slots=True, eq=False)
class ReadBatch:
    """A batch that was read from one source partition, until its last record is confirmed.

    Attributes:
        partition: The source partition.
        key: Its mark key.
        end: The offset of its last record.
        read_at: Monotonic time.
        open_pieces: How many pieces are not yet confirmed.
        covered: The position is past it: it and all before it in the partition are confirmed.
        resume: What the source needs beside the end to go on there.
        closes: The position may stand at its end. Where it may not, it stays open until one behind it, which closes, is confirmed.
        first_ms: The source's time of its first record, milliseconds since 1970; None: not known.
        last_ms: That of its last record.
        trace_id: Of a traced one among them; empty: none is.
        gone: The source partition is no more, and its position is to be forgotten.
    """

    partition: str
    key: str
    end: Offset
    read_at: float
    open_pieces: int = 0
    covered: bool = False
    resume: Mapping[str, JSON] = field(default_factory=dict, repr=False)
    closes: bool = True
    first_ms: int | None = None
    last_ms: int | None = None
    trace_id: str = ""
    gone: bool = False

    def timed(self, times_ms: Sequence[int | None] | None, count: int) -> "ReadBatch":
        """This one, now that its records are known to have these times; so many of them go on."""
        if count and times_ms is not None:
            self.first_ms, self.last_ms = times_ms[0], times_ms[count - 1]
        return self


@dataclass(slots=True, eq=False)
class Piece:
    """Messages for one queue, out of one batch, in their order.

    Attributes:
        batch: What they belong to.
        queue: Where they go.
        key: The mark key of their source partition.
        incarnation: Of the source partition.
        offsets: Their source offsets; of a message of many records that of its last one.
        bodies: Their payloads.
        properties: Their encoded properties, RCPOS first.
        dead: They are dead letters.
        rows: How many records each message holds; None: one each.
        found_from: Set on the rest of a piece: the part before it is in the queue, at this offset or behind it.
        size: Bytes as they are sent.
        values: Bytes of bodies.
    """

    batch: ReadBatch
    queue: MessageQueue
    key: str
    incarnation: int
    offsets: Sequence[Offset]
    bodies: Sequence[bytes]
    properties: Sequence[bytes]
    dead: bool = False
    rows: Sequence[int] | None = None
    found_from: int | None = None
    size: int = field(init=False)
    values: int = field(init=False)
    _encoded: EncodedBatch | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        """Counts it."""
        self.values = sum(map(len, self.bodies))
        self.size = self.values + sum(lengths(self.properties)) + BATCH_OVERHEAD_BYTES * len(self.bodies)

    def encoded(self) -> EncodedBatch:
        """Its messages as they are sent; made once.

        Raises:
            InvalidMessage: they are too large or too many for one send.
        """
        if self._encoded is None:
            self._encoded = encode_batch(self.bodies, self.properties)
        return self._encoded

    def __len__(self) -> int:
        """How many messages."""
        return len(self.bodies)

    @property
    def records(self) -> int:
        """How many records."""
        return len(self) if self.rows is None else sum(self.rows)

    def part(self, start: int, stop: int) -> "Piece":
        """Some of its messages; it belongs to the same batch, which does not count it yet."""
        return Piece(
            self.batch,
            self.queue,
            self.key,
            self.incarnation,
            self.offsets[start:stop],
            self.bodies[start:stop],
            self.properties[start:stop],
            dead=self.dead,
            rows=None if self.rows is None else self.rows[start:stop],
            found_from=self.found_from,
        )

    def split(self, size: int, count: int) -> list["Piece"]:
        """Cut so that each has at most so many bytes (or one message) and so many messages; see `part`."""
        if len(self) <= 1 or (self.size <= size and len(self) <= count):
            return [self]
        # Of as many messages each; what is still too large is cut again.
        step = len(self) // max(2, ceil(self.size / size), ceil(len(self) / count)) or 1
        parts = [self.part(start, start + step) for start in range(0, len(self), step)]
        return [small for part in parts for small in part.split(size, count)]

    def up_to(self, mark: Offset) -> int:
        """How many of its first messages are not above a mark."""
        return bisect_right(self.offsets, mark)


_NOWHERE = Stored(())


class Progress:
    """Which positions are safe, and from where a successor has to look into the queues.

    Args:
        incarnations: Of source partitions that have a position.
        incarnation: Of the others.
        raised: Of a source partition the one that the topic knows, where that is higher; 0: it is not.
    """

    def __init__(
        self, incarnations: Mapping[str, int], incarnation: int, raised: Callable[[str], int] = lambda _partition: 0
    ) -> None:
        self._incarnations = dict(incarnations)
        self._incarnation = incarnation
        self._raised = raised
        self._open: dict[str, deque[ReadBatch]] = {}
        self._confirmed: dict[MessageQueue, deque[tuple[int, ReadBatch]]] = {}
        self._ends: dict[MessageQueue, int] = {}
        self._moved: dict[str, Stored] = {}
        self._passed: list[ReadBatch] = []

    def incarnation(self, partition: str) -> int:
        """The incarnation of a source partition."""
        return max(self.stored_incarnation(partition), self._raised(partition))

    def stored_incarnation(self, partition: str) -> int:
        """The one that the position service knows."""
        return self._incarnations.get(partition, self._incarnation)

    @property
    def in_flight(self) -> bool:
        """True while anything is not confirmed."""
        return any(self._open.values())

    def is_open(self, partition: str) -> bool:
        """True while anything of a source partition is not confirmed."""
        return bool(self._open.get(partition))

    def add_queue(self, queue: MessageQueue, end: int) -> None:
        """A queue is written to from now on; nothing of ours is at or above `end`."""
        self._ends.setdefault(queue, end)

    def read(self, batch: ReadBatch) -> None:
        """A batch was read; its pieces are already counted."""
        self._open.setdefault(batch.partition, deque()).append(batch)
        self._advance(batch.partition)

    def confirmed(self, piece: Piece, queue_offset: int | None, end: int) -> None:
        """The broker has confirmed a piece, or it was there already.

        Args:
            piece: The piece.
            queue_offset: Of its first message; None: it was found, and the floor of its queue already stands before it.
            end: The queue offset behind its last message.
        """
        if queue_offset is not None:
            self._confirmed.setdefault(piece.queue, deque()).append((queue_offset, piece.batch))
        self._ends[piece.queue] = max(self._ends.get(piece.queue, 0), end)
        piece.batch.open_pieces -= 1
        self._advance(piece.batch.partition)

    def lost(self, queue: MessageQueue, end: int) -> None:
        """The queue ends here, before what was confirmed: what comes next stands here."""
        self._ends[queue] = end
        if queue in self._confirmed:
            self._confirmed[queue] = deque((min(offset, end), batch) for offset, batch in self._confirmed[queue])

    @property
    def ends(self) -> Mapping[MessageQueue, int]:
        """Where each queue ends, as far as the broker has confirmed it, or told of it."""
        return self._ends

    def _advance(self, partition: str) -> None:
        # Invariant 1: the position moves only over batches of which the broker has confirmed every message.
        batches = self._open[partition]
        passed = 0
        for count, batch in enumerate(batches, 1):
            if batch.open_pieces:
                break
            if batch.closes:
                passed = count
                self._moved[partition] = Stored(batch.end, self.incarnation(partition), batch.resume, gone=batch.gone)
        for _ in range(passed):
            batch = batches.popleft()
            batch.covered = True
            if batch.first_ms is not None or batch.last_ms is not None:
                self._passed.append(batch)
        if not batches and self._moved.get(partition, _NOWHERE).gone:
            # Invariant 7: with its position goes what is known of it. Whatever has its name later begins as a new one does.
            del self._open[partition]

    def take_moved(self) -> dict[str, Stored]:
        """The positions that have moved since the last call."""
        moved, self._moved = self._moved, {}
        return moved

    def take_passed(self) -> list[ReadBatch]:
        """The batches with a source's time over which a position has moved since the last call."""
        passed, self._passed = self._passed, []
        return passed

    def floors(self, held: Mapping[MessageQueue, int]) -> dict[MessageQueue, int]:
        """For each queue the offset from which on messages above the positions can be: all others are covered by them.

        Args:
            held: Floors that have to stay.
        """
        floors = {}
        for queue, end in self._ends.items():
            waiting = self._confirmed.get(queue)
            while waiting and waiting[0][1].covered:
                waiting.popleft()
            floor = waiting[0][0] if waiting else end
            floors[queue] = min(floor, held.get(queue, floor))
        return floors


class RecordTooLarge(RecordError):
    """A value does not fit into a message."""


def too_large(body: bytes, limit: int, by: object) -> Failure:
    """Of a record that no message can hold; `by`: what has found that."""
    message = f"the value takes {counted(body, 'byte')} and a message may hold {limit}. With claim.check.url it is stored elsewhere"
    return Failure.of_value(Stage.CONVERT, RecordTooLarge(message), body, by)
