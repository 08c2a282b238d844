"""How long the steps of a batch on Spark take."""

import time
from bisect import bisect_left
from collections.abc import Iterator
from contextlib import contextmanager

from services.executor.contract.metrics import BATCH_BOUNDS, StepTimes, TaskMetrics


class Steps:
    """Counts them. Used by the one thread of a task that writes."""

    def __init__(self, metrics: TaskMetrics) -> None:
        self._metrics = metrics

    @contextmanager
    def timed(self, step: str) -> Iterator[None]:
        """Counts what the block takes, also if it fails."""
        began = time.monotonic()
        try:
            yield
        finally:
            self._count(step, time.monotonic() - began)

    def _count(self, step: str, seconds: float) -> None:
        known = {each.step: each for each in self._metrics.spark_steps}
        before = known.get(step, StepTimes(step))
        first = bisect_left(BATCH_BOUNDS, seconds)
        buckets = tuple(count + (index >= first) for index, count in enumerate(before.buckets))
        known[step] = StepTimes(step, before.count + 1, before.seconds + seconds, buckets)
        self._metrics.spark_steps = tuple(known.values())
