"""What a sink was given and has not made durable, and the positions behind what it has. Pure."""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, replace

from rocketconnect_sdk.errors import PermanentError
from rocketconnect_sdk.sink import FlushPolicy, QueuePosition, SourceMark
from services.executor.runtime.sink.batcher import Waiting
from services.executor.runtime.sink.positions import merged

MOST_STEPS = 64
"""So many places of a queue are remembered to which its position can move; beyond that every other one (invariant 7)."""


@dataclass(frozen=True, slots=True)
class Step:
    """What was put at once of a queue.

    Attributes:
        until: The offset behind it.
        needed: It is durable when the sink says so of everything before this offset: behind the last record that the sink has.
        stored_ms: See QueuePosition.
        marks: Those that it has moved.
        rows: How many records.
        size: Bytes of their values.
        put_at: When the first of them was put.
        first_ms: The source's time of the first of them; None: not known.
        last_ms: That of the last one.
        trace_id: Of a traced one among them; empty: none is.
    """

    until: int
    needed: int
    stored_ms: int
    marks: Mapping[str, SourceMark]
    rows: int
    size: int
    put_at: float
    first_ms: int | None = None
    last_ms: int | None = None
    trace_id: str = ""

    def and_then(self, other: "Step") -> "Step":
        """This one and the next as one."""
        marks = merged(self.marks, other.marks)
        first_ms = other.first_ms if self.first_ms is None else self.first_ms
        last_ms = self.last_ms if other.last_ms is None else other.last_ms
        both = replace(other, marks=marks, rows=self.rows + other.rows, size=self.size + other.size, put_at=self.put_at)
        return replace(both, first_ms=first_ms, last_ms=last_ms, trace_id=self.trace_id or other.trace_id)


class Undurable:
    """Of the queues of one task.

    Args:
        positions: Where they are; all before is durable.
        policy: The sink's.
        most_bytes: Limit of bytes, where the policy has none.

    Attributes:
        passed: What has become durable at the last call of `durable`.
    """

    def __init__(self, positions: Mapping[str, QueuePosition], policy: FlushPolicy, most_bytes: int) -> None:
        self.positions = dict(positions)
        self._policy = policy
        self._most_bytes = policy.bytes or most_bytes
        self._known = {queue: position.until for queue, position in positions.items()}
        self._steps: dict[str, deque[Step]] = {}
        self._rows = self._bytes = 0
        self.passed: list[Step] = []

    def __bool__(self) -> bool:
        """Whether there is anything."""
        return bool(self._steps)

    @property
    def size(self) -> int:
        """Bytes of values."""
        return self._bytes

    def put(self, queue: str, step: Step) -> None:
        """The sink was given this, behind what it was given of the queue before."""
        steps = self._steps.setdefault(queue, deque())
        steps.append(step)
        self._rows += step.rows
        self._bytes += step.size
        if len(steps) > MOST_STEPS:
            last = steps.pop()
            pairs = zip(list(steps)[::2], list(steps)[1::2], strict=True)
            self._steps[queue] = deque([*(first.and_then(second) for first, second in pairs), last])

    def full(self) -> bool:
        """Whether no more may be put."""
        return self._bytes >= self._most_bytes or 0 < self._policy.rows <= self._rows

    def due(self, now: float) -> bool:
        """Whether all of it is to be made durable."""
        return self.full() or 0 < self._policy.interval <= now - self._first(now)

    def waiting(self) -> Waiting | None:
        """What there is, for people; None: nothing."""
        if not self._steps:
            return None
        since, interval = self._first(0.0), self._policy.interval
        return Waiting(self._rows, since, since + interval if interval else None)

    def _first(self, default: float) -> float:
        return min((steps[0].put_at for steps in self._steps.values()), default=default)

    def durable(self, told: Mapping[str, int], given: Mapping[str, int]) -> dict[str, QueuePosition]:
        """The positions that have moved now that the sink says up to where what it has is durable.

        Args:
            told: What it says, by queue.
            given: Up to where it was given records; more than was put here where one of them was refused.

        Raises:
            PermanentError: it says so of what it was not given.
        """
        for queue, offset in told.items():
            steps, position = self._steps.get(queue), self.positions.get(queue)
            end = max(given.get(queue, 0), steps[-1].until if steps else position.until if position else 0)
            if position is None or offset > end:
                msg = f"the sink says that {queue} is durable up to {offset}, and was given it up to {end}: a defect of the sink"
                raise PermanentError(msg)
            self._known[queue] = max(self._known[queue], offset)
        moved: dict[str, QueuePosition] = {}
        self.passed = []
        for queue in list(self._steps):
            if (position := self._move(queue)) is not None:
                moved[queue] = self.positions[queue] = position
        return moved

    def _move(self, queue: str) -> QueuePosition | None:
        """Invariant 2: to the end of the last step that is durable as a whole, with the marks up to there and no others."""
        steps, before = self._steps[queue], self.positions[queue]
        position = before
        while steps and steps[0].needed <= self._known[queue]:
            step = steps.popleft()
            self.passed.append(step)
            self._rows -= step.rows
            self._bytes -= step.size
            marks = merged(position.marks, step.marks)
            position = replace(position, until=step.until, stored_ms=step.stored_ms, marks=marks)
        if not steps:
            del self._steps[queue]
        return position if position is not before else None
