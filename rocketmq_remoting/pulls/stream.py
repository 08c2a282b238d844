"""Reads one queue from an offset on, ahead of its user and within a memory limit."""

from __future__ import annotations

import threading
import time
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Self

from rocketmq_remoting.batch import DecodedBatch
from rocketmq_remoting.errors import ClientClosed, NotSent, ProtocolError, QueueGap, RocketMQError
from rocketmq_remoting.model import PullStatus
from rocketmq_remoting.protocol.requests import number
from rocketmq_remoting.pulls.pulled import PullResult
from rocketmq_remoting.pulls.resets import reset_offset

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from rocketmq_remoting.client import Client
    from rocketmq_remoting.connections.pending import Pending
    from rocketmq_remoting.model import MessageQueue, SqlFilter, TagFilter
    from rocketmq_remoting.pulls.pulling import PullLane

_MOST_MESSAGES = 8192
# A guess until the first answer: with a small buffer few are asked for, so that one answer does not exceed it many times.
_FIRST_MESSAGE_BYTES = 4096
# Larger answers cost no less for each message.
_ENOUGH_BYTES = 1 << 20
# Every so many pulls a larger one asks whether the broker gives more by now.
_GROW_EVERY = 32
_DELETION_PAUSE = 0.05


@dataclass(slots=True)
class _Window:
    """One pull: the offsets [start, end) that it should bring; `end` is None if that is not known beforehand."""

    start: int
    end: int | None
    max_messages: int
    expected_bytes: int
    pending: Pending[PullResult]


class PullStream:
    """The messages of a queue in order, none left out.

    Several pulls are kept under way. A broker answers at most 32 messages by default, so the next pulls begin where
    answers of that size would end; what an answer lacks is pulled again before anything after it is given out. Where
    answers are large (batch topics, brokers with higher limits) the next pull is sent when the header of the last
    answer is there, before its messages are decoded.

    One thread may use `next` at a time; `close` may come from any.

    Args:
        client: the client.
        queue: where from.
        start_offset: of the first message.
        max_bytes_buffered: no new pull is sent while more than this waits or is expected (Invariant 7). What is
            expected is learned; when messages suddenly grow, each pull under way may bring the broker's own limit.
        pulls_in_flight: at most so many at once.
        suspend: how long the broker holds a pull at the end of the queue, seconds.
        message_filter: deliver only these.
        group: the consumer group in whose name it pulls.
        holes_allowed: offsets in the middle may be missing, as in topics with `cleanup.policy=COMPACTION`.
        on_arrival: called in the connection's thread when an answer has come, or a failure: for those who read several
            streams and wait for any of them. Must be short.
        on_reset: called there with where somebody has reset the group to, which the broker tells once. The stream goes on as it
            was. A stream that is closed tells it, too, when a pull was under way. Must be short.

    Attributes:
        connections: how often it has begun to pull anew; when it rises the broker may have been away in between.
    """

    def __init__(
        self,
        client: Client,
        queue: MessageQueue,
        start_offset: int,
        *,
        max_bytes_buffered: int = 16 << 20,
        pulls_in_flight: int = 16,
        suspend: float = 15.0,
        message_filter: TagFilter | SqlFilter | None = None,
        group: str | None = None,
        holes_allowed: bool = False,
        on_arrival: Callable[[], None] | None = None,
        on_reset: Callable[[int], None] | None = None,
    ) -> None:
        self.queue = queue
        self._client = client
        self._position = start_offset
        self._max_bytes = max_bytes_buffered
        self._pulls_in_flight = pulls_in_flight
        self._suspend = suspend
        self._filter = message_filter
        self._group = group
        # With a filter the number of messages in a range is unknown, so gaps between them mean nothing.
        self._holes_allowed = holes_allowed or message_filter is not None
        self._lock = threading.RLock()
        self._windows: deque[_Window] = deque()
        self._lane: PullLane | None = None
        # Answers to pulls of an earlier generation are ignored.
        self._generation = 0
        self._in_flight = 0
        self._expected_bytes = 0
        self._waiting_bytes = 0
        # What answers have taught: see `_learn`.
        self._answer_target = max(1, min(_ENOUGH_BYTES, max_bytes_buffered // 4))
        self._message_bytes = _FIRST_MESSAGE_BYTES
        self._broker_limit = _MOST_MESSAGES
        self._foreseeable = False
        self._known_end = 0
        self._pulls = 0
        self.connections = 0
        self._closed = False
        self._on_arrival = on_arrival
        self._on_reset = on_reset

    @property
    def position(self) -> int:
        """The offset of the next message that `next` gives out."""
        return self._position

    @property
    def is_filtered(self) -> bool:
        """Whether the position passes messages that are not given out."""
        return self._filter is not None

    @property
    def known_end(self) -> int:
        """The queue's end as the last answer told it, 0 before the first."""
        return self._known_end

    def seek(self, offset: int) -> None:
        """Go on at another offset, such as `QueueGap.resume_at`."""
        with self._lock:
            self._restart()
            self._position = offset

    def next(self, timeout: float, *, max_bytes: int = 1 << 20) -> DecodedBatch | None:
        """Return the next messages, or None if there are none within `timeout` seconds.

        Args:
            timeout: how long to wait, seconds.
            max_bytes: answers that have already arrived are joined up to about this size.

        Raises:
            QueueGap: messages are missing; with its exact range. Asked again, it says so again: `seek` past it.
            RetriableError: the broker can't be reached or is busy. Call again after a pause; nothing is skipped.
            PermanentError: as `Client.pull`.
        """
        deadline = time.monotonic() + timeout
        found: list[DecodedBatch] = []
        size = 0
        while size < max_bytes:
            try:
                head = self._head()
            except RocketMQError:
                # What was taken into account is given out first: the position is behind it.
                if found:
                    break
                raise
            wait = 0.0 if found else deadline - time.monotonic()
            try:
                result = head.pending.result(timeout=max(wait, 0.0))
            except TimeoutError:
                break
            except RocketMQError:
                self._drop(head)
                if found:
                    break
                raise
            try:
                batch = self._accept(head, result)
            except QueueGap:
                if found:
                    break
                self._drop(head)
                raise
            if batch:
                found.append(batch)
                size += batch.nbytes
            elif result.status is PullStatus.NO_MATCHED and self._filter is None:
                # The broker is deleting these messages: its minimum will rise past them in a moment.
                time.sleep(_DELETION_PAUSE)
        return DecodedBatch.concat(found) if found else None

    def close(self) -> None:
        """Stop; answers still under way are thrown away."""
        with self._lock:
            self._closed = True
            self._restart()

    def __enter__(self) -> Self:
        """Return the stream; it is closed at the end of the block."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        """Close it."""
        self.close()

    def _head(self) -> _Window:
        """Return the pull whose answer comes next, a new one if needed."""
        lane = self._lane
        if lane is None or not lane.connection.is_open:
            lane = self._client.pull_lane(
                self.queue,
                max_bytes=self._max_bytes,
                suspend=self._suspend,
                message_filter=self._filter,
                group=self._group,
            )
            with self._lock:
                self._restart()
                self._lane = lane
                self.connections += 1
        with self._lock:
            if self._closed:
                message = "the stream is closed"
                raise ClientClosed(message)
            if not self._windows:
                self._pull(lane, [(self._position, None)])
            return self._windows[0]

    def _restart(self) -> None:
        self._windows.clear()
        self._generation += 1
        self._in_flight = 0
        self._expected_bytes = 0
        self._waiting_bytes = 0
        self._lane = None

    def _drop(self, head: _Window) -> None:
        """Forget everything under way after a failed pull; the next call begins anew at the position."""
        with self._lock:
            if self._windows and self._windows[0] is head:
                self._restart()

    def _accept(self, head: _Window, result: PullResult) -> DecodedBatch | None:
        """Take an answer into account and return what of it is new."""
        self._check_range(result)
        batch = result.batch.between(self._position)
        if not self._holes_allowed:
            self._check_contiguous(batch)
        with self._lock:
            if not self._windows or self._windows[0] is not head:
                return None
            self._forget(self._windows.popleft())
            self._known_end = result.max_offset
            if result.status is PullStatus.FOUND and not self._holes_allowed:
                # An answer to an old window may end before what a unit has already brought.
                self._position = max(self._position, result.batch.offsets[-1] + 1 if result.batch else 0)
            elif result.status in {PullStatus.FOUND, PullStatus.NO_MATCHED} and self._holes_allowed:
                self._position = max(self._position, result.next_offset)
            self._learn(head, result)
            self._skip_covered()
            # If the connection is gone, the next call makes a new one; what this answer brought is not lost by it.
            with suppress(NotSent):
                if self._lane is not None and self._windows and self._windows[0].start > self._position:
                    # The answer was shorter than foreseen.
                    self._pull(self._lane, [(self._position, self._windows[0].start)], first=True)
                self._fill()
        return batch

    def _check_range(self, result: PullResult) -> None:
        """Invariant 5: a position outside of the queue is reported with the exact range, never corrected in silence."""
        if result.min_offset > self._position:
            raise QueueGap(self.queue, self._position, result.min_offset, result.min_offset, "expired")
        if result.status is PullStatus.OFFSET_ILLEGAL and self._position > result.max_offset:
            raise QueueGap(self.queue, result.max_offset, self._position, result.max_offset, "lost")

    def _check_contiguous(self, batch: DecodedBatch) -> None:
        if not batch or (batch.offsets[0] == self._position and batch.offsets[-1] - self._position == len(batch.offsets) - 1):
            return
        expected = self._position
        for offset in batch.offsets:
            if offset != expected:
                break
            expected += 1
        if offset < expected:
            msg = f"{self.queue}: offset {offset} after {expected - 1}: the queue is out of order"
            raise ProtocolError(msg)
        raise QueueGap(self.queue, expected, offset, offset, "hole")

    def _learn(self, head: _Window, result: PullResult) -> None:
        """Adapt to the size of the messages and to how much the broker gives at once."""
        count = len(result.batch)
        frame = head.pending.frame
        # A filter hides how many messages there are.
        if self._filter is not None or not count or frame is None:
            return
        # Invariant 7: compressed bodies count as what they become. Where they became too much, the next pulls ask for fewer.
        self._message_bytes = max(1, max(len(frame.body), result.batch.unpacked_bytes) // count)
        # Units of a batch topic are large and vary: foreseen ends would miss.
        self._foreseeable = result.batch.units == count
        if result.batch.is_cut:
            return
        if count < head.max_messages:
            if self._position < self._known_end:
                self._broker_limit = count
        elif head.max_messages > self._broker_limit:
            self._broker_limit = head.max_messages

    def _step(self, *, grow: bool = False) -> int:
        """How many messages the next pull asks for."""
        # Brokers don't heed the limit in bytes that a pull can name, so it is kept by the number of messages.
        wanted = max(1, min(_MOST_MESSAGES, self._answer_target // self._message_bytes))
        return min(wanted, self._broker_limit * 2 if grow else self._broker_limit)

    def _skip_covered(self) -> None:
        while self._windows and self._windows[0].end is not None and self._windows[0].end <= self._position:
            self._forget(self._windows.popleft())

    def _forget(self, window: _Window) -> None:
        if window.pending.frame is not None:
            self._waiting_bytes -= len(window.pending.frame.body)

    def _fill(self) -> None:
        """Send the pulls that can be foreseen, within the limits; several with one write where that is possible."""
        # Not for each answer: half of what may be under way at once is written together.
        if self._lane is None or not self._windows or self._in_flight > self._pulls_in_flight // 2:
            return
        last = self._windows[-1]
        if last.end is None and not self._resolve(last):
            return
        start = last.end
        ranges: list[tuple[int, int | None]] = []
        expected = self._waiting_bytes + self._expected_bytes
        while start is not None and start <= self._known_end and self._in_flight + len(ranges) < self._pulls_in_flight:
            self._pulls += 1
            step = self._step(grow=self._pulls % _GROW_EVERY == 0)
            expected += step * self._message_bytes
            if expected > self._max_bytes:
                break
            # At the queue's end one pull waits for what comes, however much that is.
            end = start + step if self._foreseeable and start < self._known_end else None
            ranges.append((start, end))
            start = end
        if ranges:
            self._pull(self._lane, ranges)

    def _resolve(self, window: _Window) -> bool:
        """Learn from the header of an answer where a pull of unknown size ended."""
        frame = window.pending.frame
        if frame is None or frame.code != 0:
            return False
        try:
            window.end = number(frame, "nextBeginOffset")
            self._known_end = max(self._known_end, number(frame, "maxOffset"))
        except ProtocolError:
            # `next` meets the same answer and raises.
            return False
        return True

    def _pull(self, lane: PullLane, ranges: list[tuple[int, int | None]], *, first: bool = False) -> None:
        """Send pulls and queue their windows; raise NotSent if the connection is gone."""
        asked = [(start, self._step() if end is None else end - start) for start, end in ranges]
        windows = [
            _Window(start, end, most, most * self._message_bytes, pending)
            for (start, end), (_, most), pending in zip(ranges, asked, lane.pull(asked), strict=True)
        ]
        self._in_flight += len(windows)
        self._expected_bytes += sum(window.expected_bytes for window in windows)
        if first:
            self._windows.extendleft(reversed(windows))
        else:
            self._windows.extend(windows)
        for window in windows:
            window.pending.add_done_callback(partial(self._arrived, self._generation, window))

    def _arrived(self, generation: int, window: _Window, pending: Pending[PullResult]) -> None:
        """Send the next pulls from the connection's thread: the user may be busy with what came before."""
        on_reset = self._on_reset
        if on_reset is not None and pending.frame is not None and (to := reset_offset(pending.frame, window.start)) is not None:
            # Of a pull that was given up, too: the broker does not say it again.
            on_reset(to)
        self._count_arrival(generation, window.expected_bytes, pending)
        if self._on_arrival is not None:
            self._on_arrival()

    def _count_arrival(self, generation: int, expected_bytes: int, pending: Pending[PullResult]) -> None:
        with self._lock:
            if self._closed or generation != self._generation:
                return
            self._in_flight -= 1
            self._expected_bytes -= expected_bytes
            if pending.frame is None:
                # `next` raises what went wrong.
                return
            self._waiting_bytes += len(pending.frame.body)
            # If the connection is gone, `next` makes a new one, and raises if it can't.
            with suppress(NotSent):
                self._fill()
