"""What all tasks have that tell of traced records: whose they are, the clock, and how often a source begins a trace."""

import time
from collections.abc import Callable
from typing import Self

from services.executor.contract.spans import Span
from services.executor.contract.task import TaskSpec


class TaskTraces:
    """Tells what becomes of traced records of a task.

    Args:
        spec: The task.
        tell: Takes what is told; of any thread.
        clock: Nanoseconds since 1970.
    """

    def __init__(self, spec: TaskSpec, tell: Callable[[Span], None], clock: Callable[[], int] = time.time_ns) -> None:
        self._about: dict[str, str | int] = {
            "rocketconnect.connector": spec.connector,
            "rocketconnect.task": spec.task,
            "rocketconnect.epoch": spec.epoch,
        }
        self._tell = tell
        self._clock = clock

    def now(self) -> int:
        """The time, for what is said to have begun then."""
        return self._clock()


class PolledTraces(TaskTraces):
    """Begins a trace for one record of a batch that was polled, no more than so many a second. Used by the task's thread.

    Args:
        spec: The task.
        a_second: How many records are traced.
        tell: Takes what is told.
        clock: Nanoseconds since 1970.
    """

    def __init__(
        self, spec: TaskSpec, a_second: float, tell: Callable[[Span], None], clock: Callable[[], int] = time.time_ns
    ) -> None:
        super().__init__(spec, tell, clock)
        self._pause = int(1e9 / a_second)
        self._due = 0
        self._polled = (0, 0)

    @classmethod
    def wanted(cls, spec: TaskSpec, a_second: float, tell: Callable[[Span], None]) -> Self | None:
        """For a task; None: nothing is traced, and nothing is done for a record."""
        return cls(spec, a_second, tell) if a_second else None

    def polled(self, began: int) -> None:
        """What is taken next was read since then."""
        self._polled = (began, self._clock())
