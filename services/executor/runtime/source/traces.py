"""Which records of a source are traced, and what is told of them: poll, convert, send."""

import random
import time
from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rocketconnect_sdk.record import Offset
from rocketmq_remoting.protocol.properties import MAX_PROPERTIES_BYTES
from services.executor.contract.spans import MARK, Context, Span
from services.executor.contract.task import TaskSpec
from services.executor.runtime.errors.failure import written
from services.executor.runtime.rocketmq.queue_names import text
from services.executor.runtime.source.pieces import Piece, ReadBatch
from services.executor.runtime.task.traces import PolledTraces

_MOST_OPEN = 64
"""So many traced records are on their way at a time; of older ones nothing is told."""


@dataclass(frozen=True, slots=True)
class _Open:
    batch: ReadBatch
    offset: Offset
    root: Context
    send: Context
    polled: tuple[int, int]
    converted: int


class SourceTraces(PolledTraces):
    """Traces one message of a batch that is sent."""

    def __init__(
        self, spec: TaskSpec, a_second: float, tell: Callable[[Span], None], clock: Callable[[], int] = time.time_ns
    ) -> None:
        """See PolledTraces."""
        super().__init__(spec, a_second, tell, clock)
        self._open: deque[_Open] = deque(maxlen=_MOST_OPEN)

    def take(self, pieces: Sequence[Piece]) -> None:
        """Chooses a message, if it is time to, and gives it its property. Before they are sent, or encoded."""
        now = self._clock()
        there = [piece for piece in pieces if not piece.dead]
        if now < self._due or not there:
            return
        piece = random.choice(there)  # noqa: S311 - a sample
        index = random.randrange(len(piece))  # noqa: S311
        root = Context.begin()
        send = root.child()
        before = piece.properties[index]
        # Whoever has sent it to where it was read has a trace of its own, which stays as it is.
        if MARK in before or len(before) + len(send.encoded) > MAX_PROPERTIES_BYTES:
            return
        self._due = now + self._pause
        properties = list(piece.properties)
        properties[index] = before + send.encoded
        piece.properties = properties
        piece.size += len(send.encoded)
        piece.batch.trace_id = root.trace_id
        self._open.append(_Open(piece.batch, piece.offsets[index], root, send, self._polled, now))

    def confirmed(self, piece: Piece, end: int) -> None:
        """A piece is in its queue, before this offset."""
        for one in [one for one in self._open if one.batch is piece.batch]:
            index = bisect_left(piece.offsets, one.offset)
            if not piece.dead and index < len(piece) and piece.offsets[index] == one.offset:
                self._open.remove(one)
                self._say(one, piece, end - len(piece) + index)

    def _say(self, one: _Open, piece: Piece, queue_offset: int) -> None:
        began, read = one.polled
        now, root = self._clock(), one.root.span_id
        place: dict[str, str | int] = {
            "rocketconnect.source.partition": piece.batch.partition,
            "rocketconnect.source.offset": written(one.offset),
        }
        message: dict[str, str | int] = {
            "messaging.system": "rocketmq",
            "messaging.operation.type": "send",
            "messaging.destination.name": piece.queue.topic,
            "messaging.destination.partition.id": text(piece.queue),
            "rocketconnect.queue.offset": queue_offset,
        }
        name = f"read {self._about['rocketconnect.connector']}"
        self._tell(Span(one.root, "", name, "INTERNAL", began, now, {**self._about, **place}))
        self._tell(Span(one.root.child(), root, "poll", "INTERNAL", began, read, self._about))
        self._tell(Span(one.root.child(), root, "convert", "INTERNAL", read, one.converted, self._about))
        self._tell(Span(one.send, root, f"send {piece.queue.topic}", "PRODUCER", one.converted, now, {**self._about, **message}))
