"""Which records of a direct task are traced, and what is told of them: poll, transform, write."""

import random

from rocketconnect_sdk.record import SourceBatch
from services.executor.contract.spans import Context, Span
from services.executor.runtime.errors.failure import written
from services.executor.runtime.task.traces import PolledTraces


class DirectTraces(PolledTraces):
    """Traces one record of a batch that is copied."""

    def copied(self, batch: SourceBatch, began: int, error: str = "") -> str:
        """A batch was written, or was not; that was begun then. Returns the trace of one of its records; empty: none is traced."""
        now = self._clock()
        if not len(batch) or now < self._due:
            return ""
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
        return root.trace_id
