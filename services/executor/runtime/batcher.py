"""Between reading and writing of a sink: what was read waits here, bounded in bytes, until a batch of it is due."""

import threading
import time
from collections import deque
from dataclasses import dataclass

from rocketconnect_sdk.sink import FlushPolicy
from services.executor.runtime.parts import Part


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


class Batcher:
    """One thread puts, another one takes.

    A batch is as much as is there when the writer is ready for it, unless the sink's flush policy asks for more.
    """

    def __init__(self, policy: FlushPolicy, limits: Limits) -> None:
        self._policy = policy
        self._limits = limits
        self._parts: deque[Part] = deque()
        self._records = 0
        self._size = 0
        self._held = 0
        self._changed = threading.Condition()
        self._draining = False
        self._closed = False

    @property
    def size(self) -> int:
        """About how much memory what waits takes."""
        return self._held

    def put(self, part: Part, timeout: float) -> bool:
        """Adds a part; false when there was no room for so many seconds, or it is closed. Invariant 7."""
        with self._changed:
            if not self._changed.wait_for(lambda: self._held < self._limits.buffer_bytes or self._closed, timeout) or self._closed:
                return False
            self._parts.append(part)
            self._records += len(part.records)
            self._size += part.records.size
            self._held += part.held_bytes
            self._changed.notify_all()
            return True

    def take(self, timeout: float) -> list[Part]:
        """The parts of the next batch, in order; empty when none is due within so many seconds. They have one schema."""
        until = time.monotonic() + timeout
        with self._changed:
            while True:
                now = time.monotonic()
                due = self._due_in(now)
                if due <= 0:
                    return self._cut()
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
        if not self._parts:
            return float("inf")
        policy, limits = self._policy, self._limits
        full = self._held >= limits.buffer_bytes or self._size >= limits.batch_bytes or self._records >= limits.batch_records
        enough = (policy.rows and self._records >= policy.rows) or (policy.bytes and self._size >= policy.bytes)
        failing = self._parts[-1].error is not None
        if full or enough or failing or self._draining:
            return 0.0
        return self._parts[0].arrived + policy.interval - now if policy.interval else 0.0

    def _cut(self) -> list[Part]:
        rows = min(self._policy.rows or self._limits.batch_records, self._limits.batch_records)
        size = min(self._policy.bytes or self._limits.batch_bytes, self._limits.batch_bytes)
        taken: list[Part] = []
        taken_rows = taken_size = 0
        schema = None
        while self._parts and (not taken or (taken_rows < rows and taken_size < size)):
            part = self._parts[0]
            if part.records.schema is not None and len(part.records):
                if schema is not None and part.records.schema != schema:
                    break
                schema = part.records.schema
            taken.append(self._parts.popleft())
            taken_rows += len(part.records)
            taken_size += part.records.size
            self._held -= part.held_bytes
        self._records -= taken_rows
        self._size -= taken_size
        self._changed.notify_all()
        return taken
