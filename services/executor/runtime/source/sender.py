"""Sends pieces to their queues: one send under way for each queue, queues side by side, nothing sent twice, order kept."""

import time
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field

from rocketconnect_kit.backoff import Backoff
from rocketconnect_sdk.errors import SystemAway
from rocketmq_remoting.batch import EncodedBatch
from rocketmq_remoting.client import Client
from rocketmq_remoting.connections.pending import Pending
from rocketmq_remoting.errors import (
    InvalidMessage,
    OutcomeUnknown,
    QueueGap,
    RetriableError,
    RocketMQError,
    TopicNotFound,
)
from rocketmq_remoting.model import MessageQueue, SendReceipt
from services.executor.contract.metrics import TaskMetrics
from services.executor.runtime.rocketmq.message_trace import SendTrace
from services.executor.runtime.rocketmq.queue_names import text
from services.executor.runtime.rocketmq.settling import settle
from services.executor.runtime.rocketmq.tail import Tail, read_tail
from services.executor.runtime.source.pieces import Piece
from services.executor.runtime.task.control import TaskControl
from services.executor.runtime.task.lease import Lease

_ANSWER_SECONDS = 15.0
"""As long as the connection lives, waiting is the cheapest way to learn how a send ended."""
_SLOW_SECONDS = 2.0
_MOST_MESSAGES = 32_767
_GONE = (
    "its broker does not know the topic any more. Make it again (`rocketconnect topic create`), or start this connector again, "
    "which makes it where topic.auto.create is on"
)


@dataclass(frozen=True, slots=True)
class Confirmed:
    """A piece is in its queue.

    Attributes:
        piece: The piece.
        floor: Its first message is at this queue offset, or behind it.
        end: Its last message is before this queue offset.
    """

    piece: Piece
    floor: int
    end: int


@dataclass(frozen=True, slots=True)
class Refusal:
    """The broker will never take this message."""

    piece: Piece
    error: RocketMQError


@dataclass(frozen=True, slots=True)
class Lost:
    """Messages that the broker had confirmed, or had told of, are not in their queue any more.

    Attributes:
        gap: What is lost.
        floor: What was sent since stands at this queue offset, or behind it.
    """

    gap: QueueGap
    floor: int


@dataclass(slots=True, eq=False)
class _Lane:
    queue: MessageQueue
    end: int  # nothing unconfirmed of ours is before this offset
    waiting: deque[Piece] = field(default_factory=deque)
    flying: list[Piece] = field(default_factory=list)
    pending: Pending[SendReceipt] | None = None
    sent_at: float = 0.0
    looking: "Future[Tail] | None" = None
    backoff: Backoff = field(default_factory=lambda: Backoff(0.02, 2.0))
    not_before: float = 0.0
    most: int = _MOST_MESSAGES
    held: bool = False
    trouble: str = ""


class Sender:
    """The sending half of a source task; used by its thread alone.

    Args:
        client: RocketMQ.
        uid: The connector's, to know its messages in a queue.
        epoch: Of the task: what was sent under a lower one is not its own.
        lease: Nothing is written after it has ended.
        control: Woken when an answer has come.
        metrics: Failed sends and those that are tried again are counted in it.
        batch_bytes: About how much one send holds at most.
        linger: Seconds for which less than that waits for more.
        trace: Tells RocketMQ's message trace of what is confirmed; None: nothing is told.
    """

    def __init__(
        self,
        client: Client,
        uid: str,
        epoch: int,
        lease: Lease,
        control: TaskControl,
        metrics: TaskMetrics,
        *,
        batch_bytes: int,
        linger: float = 0.0,
        trace: SendTrace | None = None,
    ) -> None:
        self._client = client
        self._uid = uid
        self._epoch = epoch
        self._lease = lease
        self._control = control
        self._metrics = metrics
        self._batch_bytes = batch_bytes
        self._linger = linger
        self._trace = trace
        self._lanes: dict[MessageQueue, _Lane] = {}
        self._busy: dict[MessageQueue, _Lane] = {}
        self._lookers: ThreadPoolExecutor | None = None
        # By broker, when the wait began after which everything sent before can be read. Used by the looker's thread alone.
        self._settled: dict[str, float] = {}
        self._closed = False
        self.buffered = 0

    def add_queue(self, queue: MessageQueue, end: int) -> None:
        """A queue that is sent to, and an offset before which nothing unconfirmed of ours is."""
        self._lanes.setdefault(queue, _Lane(queue, end))

    def add(self, piece: Piece) -> None:
        """Takes a piece; its queue is known."""
        lane = self._lanes[piece.queue]
        lane.waiting.append(piece)
        self._busy[piece.queue] = lane
        self.buffered += piece.size

    @property
    def idle(self) -> bool:
        """True when everything is confirmed."""
        return not self._busy

    @property
    def trouble(self) -> str:
        """What it waits for, for people; empty: all is well."""
        now = time.monotonic()
        for lane in self._busy.values():
            if lane.trouble:
                return lane.trouble
            if lane.pending is not None and now - lane.sent_at > _SLOW_SECONDS:
                return f"broker {lane.queue.broker} has not answered a send to {text(lane.queue)} for {now - lane.sent_at:.0f} s"
        return ""

    def pump(self) -> list[Confirmed | Refusal | Lost]:
        """Takes the answers that are there and begins the sends that can begin. Does not wait for answers.

        Raises:
            PermanentError: of RocketMQ: no permission, say.
        """
        events: list[Confirmed | Refusal | Lost] = []
        for lane in list(self._busy.values()):
            if lane.pending is not None and lane.pending.done():
                self._answered(lane, lane.pending, events)
            if lane.looking is not None and lane.looking.done():
                self._looked(lane, lane.looking.result(), events)
            if lane.pending is None and lane.looking is None:
                if lane.waiting:
                    self._send(lane, events)
                elif not lane.flying:
                    del self._busy[lane.queue]
            if lane.pending is not None and lane.waiting:
                self._prepare(lane.waiting[0])
        self.buffered -= sum(event.piece.size for event in events if not isinstance(event, Lost))
        return events

    def delay(self) -> float:
        """Seconds until a retry is due; answers wake the task by themselves."""
        times = [lane.not_before for lane in self._busy.values() if lane.waiting and lane.pending is None and lane.looking is None]
        return max(0.0, min(times) - time.monotonic()) if times else 1.0

    def hurry(self) -> None:
        """Nothing more comes: nothing waits for more."""
        self._linger = 0.0

    def go_on(self, queue: MessageQueue, instead: Sequence[Piece] = ()) -> None:
        """A refusal is dealt with: what is behind it may be sent, after what takes its place."""
        lane = self._lanes[queue]
        lane.held = False
        lane.waiting.extendleft(reversed(instead))
        self._busy[queue] = lane
        self.buffered += sum(piece.size for piece in instead)

    def drop_waiting(self) -> None:
        """The task fails: only what is under way is still finished."""
        for lane in self._busy.values():
            self.buffered -= sum(piece.size for piece in lane.waiting)
            lane.waiting.clear()

    def close(self) -> None:
        """Ends the look into the topic that may be under way, and the message trace."""
        self._closed = True
        if self._lookers is not None:
            self._lookers.shutdown(wait=True, cancel_futures=True)
        if self._trace is not None:
            self._trace.close()

    # --- one lane

    def _send(self, lane: _Lane, events: list[Confirmed | Refusal | Lost]) -> None:
        now = time.monotonic()
        if now < lane.not_before or lane.held or self._waits_for_more(lane, now):
            return
        try:
            self._lease.check()
        except SystemAway as error:
            self._later(lane, str(error))
            return
        pieces = self._take(lane)
        try:
            batch = EncodedBatch.concat([piece.encoded() for piece in pieces])
            # Invariant 4: the only send under way for this queue. Invariant 8: no byte is written when the lease is over.
            lane.pending = self._client.send_batch_async(lane.queue, batch, _ANSWER_SECONDS, not_after=self._lease.until)
        except RocketMQError as error:
            self._failed(lane, pieces, error, events)
            return
        lane.flying, lane.sent_at = pieces, now
        lane.pending.add_done_callback(self._wake)

    def _prepare(self, piece: Piece) -> None:
        """Encodes what is sent next, while the broker works on what it has."""
        with suppress(InvalidMessage):
            # Raised again where it is sent.
            piece.encoded()

    def _wake(self, _pending: object) -> None:
        self._control.wake()

    def _waits_for_more(self, lane: _Lane, now: float) -> bool:
        if not self._linger or sum(piece.size for piece in lane.waiting) >= self._batch_bytes:
            return False
        lane.not_before = lane.waiting[0].batch.read_at + self._linger
        return now < lane.not_before

    def _take(self, lane: _Lane) -> list[Piece]:
        waiting = lane.waiting
        pieces = [waiting.popleft()]
        if len(pieces[0]) > lane.most:
            whole = pieces[0]
            whole.batch.open_pieces += 1
            waiting.appendleft(whole.part(lane.most, len(whole)))
            return [whole.part(0, lane.most)]
        size, count = pieces[0].size, len(pieces[0])
        while waiting and size + waiting[0].size <= self._batch_bytes and count + len(waiting[0]) <= lane.most:
            piece = waiting.popleft()
            pieces.append(piece)
            size += piece.size
            count += len(piece)
        return pieces

    def _answered(self, lane: _Lane, pending: Pending[SendReceipt], events: list[Confirmed | Refusal | Lost]) -> None:
        pieces, lane.flying, lane.pending = lane.flying, [], None
        try:
            receipt = pending.result()
        except RocketMQError as error:
            self._failed(lane, pieces, error, events)
            return
        if self._trace is not None:
            properties = [raw for piece in pieces for raw in piece.properties]
            self._trace.confirmed(receipt, properties, [body for piece in pieces for body in piece.bodies], lane.sent_at)
        at = receipt.queue_offset
        self._compare(lane, at, at, events)
        for piece in pieces:
            after = at + len(piece)
            events.append(Confirmed(piece, at if piece.found_from is None else piece.found_from, after))
            at = after
        lane.end = max(lane.end, at)
        self._worked(lane)
        lane.most = min(_MOST_MESSAGES, lane.most * 2)

    def _compare(self, lane: _Lane, end: int, floor: int, events: list[Confirmed | Refusal | Lost]) -> None:
        """Invariant 5: offsets only rise, so a queue that ended before what was known of it has lost what was there."""
        if end < lane.end:
            events.append(Lost(QueueGap(lane.queue, end, lane.end, end, "lost"), floor))
            lane.end = end

    def _worked(self, lane: _Lane) -> None:
        lane.trouble = ""
        lane.not_before = 0.0
        lane.backoff.reset()

    def _failed(self, lane: _Lane, pieces: list[Piece], error: RocketMQError, events: list[Confirmed | Refusal | Lost]) -> None:
        if isinstance(error, OutcomeUnknown):
            # Never sent again blindly: it may be there. Invariant 1.
            self._metrics.errors += 1
            lane.flying = pieces
            lane.trouble = f"looking into {text(lane.queue)} for what became of a send: {error}"
            lane.looking = self._look(lane)
            return
        if isinstance(error, InvalidMessage):
            count = sum(map(len, pieces))
            if count == 1:
                # Invariant 4: what is behind it waits until its fate is decided.
                lane.held = True
                events.append(Refusal(pieces[0], error))
                return
            # One of them: halved until it is found.
            self._retried()
            lane.most = max(1, count // 2)
            lane.waiting.extendleft(reversed(pieces))
            return
        lane.waiting.extendleft(reversed(pieces))
        if not isinstance(error, RetriableError | TopicNotFound):
            raise error
        # The topic was there when the task began: a broker that comes back has not announced it yet.
        self._retried()
        self._later(lane, f"sending to {text(lane.queue)}: {_GONE if isinstance(error, TopicNotFound) else error}")

    def _later(self, lane: _Lane, trouble: str) -> None:
        lane.trouble = trouble
        lane.not_before = time.monotonic() + lane.backoff.pause()

    def _retried(self) -> None:
        self._metrics.errors += 1
        self._metrics.retries += 1

    # --- sends of unknown outcome

    def _look(self, lane: _Lane) -> "Future[Tail]":
        if self._lookers is None:
            self._lookers = ThreadPoolExecutor(max_workers=1, thread_name_prefix="look into topic")
        looking = self._lookers.submit(self._find_out, lane.queue, lane.end, time.monotonic())
        looking.add_done_callback(self._wake)
        return looking

    def _find_out(self, queue: MessageQueue, start: int, failed_at: float) -> Tail:
        backoff = Backoff(0.1, 2.0)
        while True:
            try:
                # The queues of a broker that dies fail together: one wait for what it still had in hand is enough for all.
                if self._settled.get(queue.broker, -1.0) < failed_at:
                    began = time.monotonic()
                    settle(self._client, [queue.broker], self._pause)
                    self._settled[queue.broker] = began
                return read_tail(self._client, queue, start, self._uid, self._stopping, lowest=self._epoch)
            except (RetriableError, TopicNotFound):
                # No limit: without the answer nothing can go on, and the task says what it waits for.
                if self._pause(backoff.pause()):
                    msg = "stopped before the broker came back"
                    raise InterruptedError(msg) from None

    def _stopping(self) -> bool:
        return self._closed

    def _pause(self, seconds: float) -> bool:
        until = time.monotonic() + seconds
        while not self._closed and (left := until - time.monotonic()) > 0:
            time.sleep(min(left, 0.1))
        return self._closed

    def _looked(self, lane: _Lane, tail: Tail, events: list[Confirmed | Refusal | Lost]) -> None:
        pieces, lane.flying, lane.looking = lane.flying, [], None
        counts = [self._there(piece, tail) for piece in pieces]
        self._compare(lane, tail.end - sum(counts), tail.start, events)
        missing: list[Piece] = []
        for piece, found in zip(pieces, counts, strict=True):
            if found == len(piece):
                events.append(Confirmed(piece, tail.start if piece.found_from is None else piece.found_from, tail.end))
            else:
                self.buffered -= piece.size
                rest = piece.part(found, len(piece)) if found else piece
                self.buffered += rest.size
                rest.found_from = tail.start if found and piece.found_from is None else piece.found_from
                missing.append(rest)
        if missing:
            self._metrics.retries += 1
        lane.waiting.extendleft(reversed(missing))
        if not missing:
            lane.end = max(lane.end, tail.end)
        self._worked(lane)

    @staticmethod
    def _there(piece: Piece, tail: Tail) -> int:
        """How many of the first messages of a piece are in its queue."""
        mark = tail.there.get(piece.key)
        return 0 if mark is None or mark[0] != piece.incarnation else piece.up_to(mark[1])
