"""What can be learnt by reading the end of a queue: which of a connector's records are there already."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.record import Offset
from rocketmq_remoting.batch import DecodedBatch
from rocketmq_remoting.client import Client
from rocketmq_remoting.errors import QueueGap
from rocketmq_remoting.model import MessageQueue
from rocketmq_remoting.pulls.stream import PullStream
from services.executor.runtime.rocketmq import source_marks as marks
from services.executor.runtime.rocketmq.queue_names import text
from services.executor.runtime.rocketmq.source_marks import highest, in_time

_STREAM = b"\xff\xff\xff\xff"
"""Begins every message of an Arrow IPC stream."""


_PULL_SECONDS = 1.0


BARRIER_SECONDS = 5.0


_BEFORE_A_LOST_END = 200_000
"""Messages: what was sent since a broker lost the end of a queue stands among its last ones, wherever that end was."""


@dataclass(frozen=True, slots=True)
class Tail:
    """What stands in a queue from an offset on.

    Attributes:
        reached: By mark key, and by incarnation, the highest source offset of the connector.
        start: From where it was read: lower than was asked for when the queue ends before that.
        end: The queue's end up to which it was read.
        gap: What was missing, for people; empty: nothing.
        epoch: The highest one of the connector's messages; 0: there are none.
    """

    reached: Mapping[str, Mapping[int, Offset]]
    start: int
    end: int
    gap: str = ""
    epoch: int = 0

    @property
    def there(self) -> dict[str, tuple[int, Offset]]:
        """By mark key the highest incarnation, and its highest source offset."""
        return {key: max(reached.items()) for key, reached in self.reached.items()}


class Sent:
    """Which records of a connector stand in the topics above its positions, one by one.

    What is of a lower incarnation than that of the position was sent before a move by hand. What is of a higher one was sent before
    the store of the positions has gone back, and is there like the rest; the highest is told.

    Args:
        known: By mark key the incarnation and the position.
    """

    def __init__(self, known: Callable[[str], tuple[int, Offset]]) -> None:
        self._known = known
        self.offsets: dict[str, tuple[int, set[Offset]]] = {}

    def add(self, place: marks.SourceCoordinate, offsets: Iterable[Offset]) -> None:
        """A message with this place has been found, which holds the records of these offsets."""
        stored, position = self._known(place.key)
        if place.incarnation < stored:
            return
        incarnation, sent = self.offsets.get(place.key, (stored, set()))
        sent.update(offset for offset in offsets if offset > position)
        if sent:
            self.offsets[place.key] = (max(incarnation, place.incarnation), sent)


def read_tail(
    client: Client,
    queue: MessageQueue,
    start: int,
    uid: str,
    stopping: Callable[[], bool],
    sent: Sent | None = None,
    lowest: int = 0,
) -> Tail:
    """Reads a queue from an offset to its present end and learns what a connector has in it. Call `settle` first.

    A queue that ends before the offset has lost what was there, and what was sent since may stand before it: what is read then are
    its last messages, 200,000 of them.

    Args:
        client: RocketMQ.
        queue: The queue.
        start: The offset.
        uid: The connector's.
        stopping: Whether it is to stop.
        sent: Is told each record. None: nobody asks.
        lowest: The lowest epoch that counts: what has a lower one, or one below that of an earlier message of its source partition,
            was sent late, and sinks leave it out.

    Raises:
        RetriableError: the broker is away; call it again.
        InterruptedError: it is to stop.
    """
    tail = _read(client, queue, start, uid, stopping, sent, lowest)
    if start <= tail.end:
        return tail
    lower = max(client.min_offset(queue), tail.end - _BEFORE_A_LOST_END)
    return _read(client, queue, lower, uid, stopping, sent, lowest)


def _read(
    client: Client, queue: MessageQueue, start: int, uid: str, stopping: Callable[[], bool], sent: Sent | None, lowest: int
) -> Tail:
    end = client.max_offset(queue)
    newest: dict[str, int] = {}
    reached: dict[str, dict[int, Offset]] = {}
    gap = ""
    own = f"{uid}/"
    # At the end of the queue the broker holds a pull: what was there a moment ago may be gone.
    with PullStream(client, queue, start, suspend=_PULL_SECONDS) as stream:
        while stream.position < end:
            if stopping():
                msg = "stopped while it read what is in the topic"
                raise InterruptedError(msg)
            try:
                batch = stream.next(_PULL_SECONDS)
            except QueueGap as missing:
                # Records that are gone are sent again: that is right for a source, and is said.
                gap = str(missing)
                stream.seek(missing.resume_at)
                continue
            if batch is None:
                if (left := client.max_offset(queue)) < end:
                    gap = _lost(queue, end, left)
                    end = left
                continue
            for run, offsets in in_time(batch.raw_properties, own, newest, lowest):
                places, last = reached.setdefault(run.key, {}), highest(offsets)
                places[run.incarnation] = max(last, places.get(run.incarnation, last))
                if sent is not None:
                    _add_each(sent, batch, run)
    return Tail(reached, start, end, gap, max(newest.values(), default=0))


def _add_each(sent: Sent, batch: DecodedBatch, run: marks.Run) -> None:
    for index in range(run.start, run.stop):
        place = marks.parse(batch.raw_properties[index])
        if place is not None:
            sent.add(place, _rows_of(batch.bodies[index], place))


def _rows_of(body: bytes, place: marks.SourceCoordinate) -> Iterable[Offset]:
    """The source offsets of a message: that in its properties, or of a packed one that of each row."""
    if not body.startswith(_STREAM):
        return [place.offset]
    from rocketconnect_sdk.columns.rows import unpack

    try:
        rows = unpack(body)
    except RecordError:
        # Another converter's bytes that only begin like it.
        return [place.offset]
    return map(tuple, rows.offsets.to_pylist()) if rows.source == place.key else [place.offset]


def _lost(queue: MessageQueue, start: int, end: int) -> str:
    return (
        f"queue {text(queue)} ends at {end}, before {start}, up to which it has held messages: the broker has lost data, or the "
        "topic was created anew"
    )
