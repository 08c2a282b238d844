"""Between reading and writing of a sink: what was read waits here, bounded in bytes, until a batch of it is due."""

import threading
import time
from dataclasses import dataclass

from rocketconnect_sdk.sink import FlushPolicy
from services.executor.runtime.sink.decode.cut import Cut
from services.executor.runtime.sink.decode.part import Part


@dataclass(frozen=True, slots=True)
class Limits:
    """How large things get.

    Attributes:
        buffer_bytes: What waits here at most, plus one part.
        batch_bytes: A batch, about.
        batch_records: A batch, about.
    """

    buffer_bytes: int
    batch_bytes: int
    batch_records: int


@dataclass(frozen=True, slots=True)
class Waiting:
    """What is not written yet.

    Attributes:
        records: How many records.
        since: When the first of them came, monotonic.
        due: When it is written at the latest; None: the sink decides.
    """

    records: int
    since: float
    due: float | None


class Batcher:
    """One thread puts, another one takes.

    A batch is as much of one schema as is there when the writer is ready for it, unless the sink's flush policy asks for more.

    Args:
        policy: The sink's.
        limits: How large things get.
        gather: So many seconds after its first record a batch is waited for while more is known to be there: what a batch costs
            besides its records is shared by more of them. Where there is nothing more, nothing waits.
        topics_apart: A batch has records of one topic alone.
    """

    def __init__(self, policy: FlushPolicy, limits: Limits, gather: float = 0.0, *, topics_apart: bool = False) -> None:
        self._policy = policy
        self._gather = gather
        self._more = False
        self._limits = limits
        rows = min(policy.rows or limits.batch_records, limits.batch_records)
        size = min(policy.bytes or limits.batch_bytes, limits.batch_bytes)
        self._cut = Cut(rows, size, topics_apart=topics_apart)
        self._held = 0
        self._failing = False
        self._changed = threading.Condition()
        self._draining = False
        self._closed = False

    @property
    def size(self) -> int:
        """About how much memory what waits takes."""
        return self._held

    def open_batch(self) -> Waiting | None:
        """What waits because the sink's flush policy lets batches be open; None: nothing does."""
        with self._changed:
            if not self._policy.interval or not self._cut.taken:
                return None
            records = self._cut.rows + sum(len(part.records) for part in self._cut.left)
            since = self._cut.taken[0].arrived
            return Waiting(records, since, since + self._policy.interval)

    def put(self, part: Part, timeout: float) -> bool:
        """Adds a part; false when there was no room for so many seconds, or it is closed. Invariant 7."""
        with self._changed:
            if not self._changed.wait_for(lambda: self._held < self._limits.buffer_bytes or self._closed, timeout) or self._closed:
                return False
            self._cut.offer(part)
            self._failing = self._failing or part.error is not None
            self._held += part.held_bytes
            self._changed.notify_all()
            return True

    def expect(self, *, more: bool) -> None:
        """Whether the queues are known to hold more than was put."""
        if more != self._more:
            with self._changed:
                self._more = more
                self._changed.notify_all()

    def take(self, timeout: float) -> list[Part]:
        """The parts of the next batch, see Cut; empty when none is due within so many seconds."""
        until = time.monotonic() + timeout
        with self._changed:
            while True:
                now = time.monotonic()
                due = self._due_in(now)
                if due <= 0:
                    return self._taken()
                if now >= until or self._closed:
                    return []
                self._changed.wait(min(due, until - now))

    def wake(self) -> None:
        """Ends a wait in `take`."""
        with self._changed:
            self._changed.notify_all()

    def drain(self, *, draining: bool) -> None:
        """While draining, whatever is there is due."""
        with self._changed:
            self._draining = draining
            self._changed.notify_all()

    def close(self) -> None:
        """Nothing is taken in any more."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def _due_in(self, now: float) -> float:
        if not self._cut.taken:
            return float("inf")
        if self._held >= self._limits.buffer_bytes or self._cut.full or self._failing or self._draining:
            return 0.0
        interval = self._policy.interval or (self._gather if self._more else 0.0)
        return self._cut.taken[0].arrived + interval - now if interval else 0.0

    def _taken(self) -> list[Part]:
        parts = self._cut.taken
        self._cut = self._cut.following()
        self._held -= sum(part.held_bytes for part in parts)
        self._changed.notify_all()
        return parts
