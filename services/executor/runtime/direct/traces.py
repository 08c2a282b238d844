"""Which records of a direct task are traced, and what is told of them: poll, transform, write."""

import random
import time
from collections.abc import Callable

from rocketconnect_sdk.record import SourceBatch
from services.executor.contract.spans import Context, Span
from services.executor.contract.task import TaskSpec
from services.executor.runtime.errors.failure import written
from services.executor.runtime.task_runtime import TaskRuntime


class DirectTraces:
    """Traces one record of a batch, no more than so many a second. Used by the task's thread.

    Args:
        spec: The task.
        a_second: How many records are traced.
        tell: Takes what is told.
        clock: Nanoseconds since 1970.
    """

    def __init__(
        self, spec: TaskSpec, a_second: float, tell: Callable[[Span], None], clock: Callable[[], int] = time.time_ns
    ) -> None:
        self._about: dict[str, str | int] = {
            "rocketconnect.connector": spec.connector,
            "rocketconnect.task": spec.task,
            "rocketconnect.epoch": spec.epoch,
        }
        self._pause = int(1e9 / a_second)
        self._tell = tell
        self._clock = clock
        self._due = 0
        self._polled = (0, 0)

    @classmethod
    def of(cls, runtime: TaskRuntime) -> "DirectTraces | None":
        """For a task; None: nothing is traced, and nothing is done for a record."""
        a_second = runtime.endpoints.trace_records
        return cls(runtime.spec, a_second, runtime.reporter.span) if a_second else None

    def now(self) -> int:
        """The time, for `polled` and `copied`."""
        return self._clock()

    def polled(self, began: int) -> None:
        """What is copied next was read since then."""
        self._polled = (began, self._clock())

    def copied(self, batch: SourceBatch, began: int, error: str = "") -> None:
        """A batch was written, or was not; that was begun then."""
        now = self._clock()
        if not len(batch) or now < self._due:
            return
        self._due = now + self._pause
        offset = batch.offsets[random.randrange(len(batch))]  # noqa: S311 - a sample
        place: dict[str, str | int] = {
            "rocketconnect.source.partition": batch.partition,
            "rocketconnect.source.offset": written(offset),
        }
        root, (polled, read) = Context.begin(), self._polled
        name = f"copy {self._about['rocketconnect.connector']}"
        self._tell(Span(root, "", name, "INTERNAL", polled, now, {**self._about, **place}, error))
        self._tell(Span(root.child(), root.span_id, "poll", "INTERNAL", polled, read, self._about))
        self._tell(Span(root.child(), root.span_id, "transform", "INTERNAL", read, began, self._about))
        self._tell(Span(root.child(), root.span_id, "write", "INTERNAL", began, now, self._about, error))
