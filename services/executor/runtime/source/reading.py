"""When a source is polled, and what its failures mean for the next time."""

import time

from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import RetriableError, SystemAway
from rocketconnect_sdk.record import SourceBatch
from rocketconnect_sdk.source import SourceTask
from services.executor.runtime.source.resuming import check_resume
from services.executor.runtime.source.takeover import Found
from services.executor.runtime.source.time_left import TimeLeft, left_with
from services.executor.runtime.source.traces import SourceTraces
from services.executor.runtime.task.keep_alive import KeptAlive
from services.executor.runtime.task.meter import Meter
from services.executor.runtime.task.rate import RateLimit
from services.executor.runtime.task_runtime import TaskRuntime

_SOON_SECONDS = 0.01
"""How soon a source that gives records soon is polled again."""


class Reading:
    """Polls a source that is started: not faster than its configuration allows, and after a failure with growing pauses.

    Used by the task's thread.

    Args:
        runtime: What every task has.
        task: The source's task.
        context: Gets the sizes of a batch that the limits of rates leave.
        found: Hears when the source has given what was there.
        meter: Counts what is read.
        limit: Of records and bytes a second.

    Attributes:
        trouble: What keeps it from reading on; empty: nothing.
        quiet: The last poll gave no record, and the source waits for nothing that it has stored itself.
        traces: Chooses records that are traced; None: none is, which is decided once.
    """

    def __init__(
        self, runtime: TaskRuntime, task: SourceTask, context: TaskContext, found: Found, meter: Meter, limit: RateLimit
    ) -> None:
        self.trouble = ""
        self.quiet = False
        self.traces = SourceTraces.wanted(runtime.spec, runtime.endpoints.trace_records, runtime.reporter.span)
        self._runtime = runtime
        self._task = task
        self._found = found
        self._meter = meter
        self._limit = limit
        config = runtime.config
        context.batch_records, context.batch_bytes = limit.piece(config["batch.records"], config["batch.bytes"])
        self._kept_alive = KeptAlive(task, runtime.reporter)
        runtime.attempts.meanwhile = self._kept_alive.keep
        self._time_left = TimeLeft()
        self._left: tuple[int | None, str] = None, ""
        self._unsent = 0
        self._again_at = 0.0
        self._backoff = runtime.attempts.backoff()
        self._error: SystemAway | RetriableError | None = None
        self._failing_since = 0.0

    def keep_alive(self) -> None:
        """To be called again and again while nothing is read. Raises PermanentError: as poll."""
        self._kept_alive.keep()

    def is_due(self, now: float) -> bool:
        """Whether it is time to read."""
        return now >= self._again_at and not self._limit.delay()

    def delay(self, now: float) -> float:
        """In how many seconds it is."""
        return max(self._again_at - now, self._limit.delay())

    def hold(self, until: float) -> None:
        """Reads nothing before that."""
        self._again_at = until

    def poll(self, now: float) -> list[SourceBatch]:
        """What there is: batches with records, or with a place that moves; none: neither.

        Raises:
            SystemAway, RetriableError, PermanentError: see SourceTask.poll.
        """
        began = self.traces.now() if self.traces is not None else 0
        batches = [batch for batch in self._kept_alive.poll() if len(batch) or batch.end]
        if self.traces is not None:
            self.traces.polled(began)
        self.measure()
        for batch in batches:
            if batch.resume is not None:
                check_resume(batch, self._task)
        if records := sum(map(len, batches)):
            size = sum(batch.size for batch in batches)
            self.quiet = False
            self._limit.take(records, size)
            self._meter.read(records, size)
            return batches
        if not batches and self._task.caught_up:
            self._found.caught_up()
        # Between records a position that moves costs no wait; a source that moves positions alone is as good as idle.
        soon = self._task.gives_soon
        if not batches or self.quiet:
            self._again_at = now + (_SOON_SECONDS if soon else self._task.idle_seconds)
        self.quiet = not soon
        return batches

    def measure(self) -> None:
        """Tells how much is left to read, and for about how long, and that it is not known where it is not."""
        self._left = left, unit = self._task.remaining(), self._task.remaining_unit
        metrics = self._runtime.reporter.metrics
        metrics.source_remaining, metrics.source_remaining_unit = left_with(left, unit, self._unsent)
        metrics.source_seconds_left = self._time_left.of(time.monotonic(), left, unit)

    def unsent(self, size: int) -> None:
        """So many bytes were read and are in no topic yet."""
        self._unsent = size
        metrics = self._runtime.reporter.metrics
        metrics.source_remaining, metrics.source_remaining_unit = left_with(*self._left, size)

    def went_well(self) -> None:
        """What was read is on its way: failures before it count no longer."""
        if self._error is not None:
            self._error, self.trouble = None, ""
            self._backoff.reset()

    def failed(self, what: str, error: SystemAway | RetriableError, now: float) -> None:
        """It is tried again after a pause.

        Args:
            what: What failed, for people.
            error: Why.
            now: Monotonic time.

        Raises:
            GaveUp: it has failed for as long as the configuration allows.
        """
        before, self._error = self._error, error
        self.trouble = f"{what}: {error}"
        if before is None:
            self._failing_since = now
        pause = error.wait or self._backoff.pause()
        if isinstance(error, RetriableError):
            self._runtime.attempts.check_time(self._failing_since, self.trouble, error)
        self._runtime.attempts.count(error, before)
        self._again_at = now + pause
