"""Which messages that a sink reads are traced, as who sent them said, and what is told of them: pull, convert, write."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rocketmq_remoting.batch import DecodedBatch
from rocketmq_remoting.protocol.properties import decode_properties
from services.executor.contract.spans import MARK, PROPERTY, Context, Span, read
from services.executor.contract.task import TaskSpec
from services.executor.runtime.sink.decode.part import Part
from services.executor.runtime.task.traces import TaskTraces
from services.executor.runtime.task_runtime import TaskRuntime

_MOST_A_SECOND = 100
"""Other producers may trace all that they send."""
_SECOND = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Traced:
    """A message on its way: its offset, who sent it, when it was pulled and when it was converted."""

    offset: int
    sender: Context
    pulled: int
    converted: int = 0


class SinkTraces(TaskTraces):
    """Follows traced messages. `pulled` is for the thread that reads, the others for the one that writes."""

    def __init__(self, spec: TaskSpec, tell: Callable[[Span], None], clock: Callable[[], int] = time.time_ns) -> None:
        """See TaskTraces."""
        super().__init__(spec, tell, clock)
        self._second = self._told = 0

    @classmethod
    def of(cls, runtime: TaskRuntime) -> "SinkTraces | None":
        """For a task; None: nothing is traced, and nothing is done for a record."""
        return cls(runtime.spec, runtime.reporter.span) if runtime.endpoints.trace_records else None

    def pulled(self, batch: DecodedBatch, kept: Sequence[int] | None) -> list[Traced]:
        """Those that are traced among these; kept: the indexes of those that go on; None: all."""
        now = self._clock()
        if now - self._second >= _SECOND:
            self._second, self._told = now, 0
        found: list[Traced] = []
        indexes = range(len(batch.bodies)) if kept is None else kept
        raws = [batch.raw_properties[index] for index in indexes]
        # Most batches have none: all at once costs a tenth of one by one.
        if MARK not in b"".join(raws):
            return found
        for index, raw in zip(indexes, raws, strict=True):
            if MARK not in raw:
                continue
            sender = read(decode_properties(raw).get(PROPERTY, ""))
            if sender is not None and self._told < _MOST_A_SECOND:
                self._told += 1
                found.append(Traced(batch.offsets[index], sender, now))
        return found

    def converted(self, traced: Sequence[Traced], parts: Sequence[Part]) -> None:
        """Each goes with the part that it is in. Before the parts are put."""
        now = self._clock()
        for part in parts:
            part.traced = [
                Traced(one.offset, one.sender, one.pulled, now) for one in traced if part.start <= one.offset < part.until
            ]

    def written(self, parts: Sequence[Part], began: int, error: str = "") -> None:
        """A batch was written, or was not; it was begun then."""
        now = self._clock()
        for part in parts:
            for one in part.traced:
                self._say(part, one, began, now, error)

    def _say(self, part: Part, one: Traced, began: int, now: int, error: str) -> None:
        below = one.sender.child()
        message: dict[str, str | int] = {
            "messaging.system": "rocketmq",
            "messaging.operation.type": "process",
            "messaging.destination.name": part.queue.partition("/")[0],
            "messaging.destination.partition.id": part.queue,
            "rocketconnect.queue.offset": one.offset,
        }
        name = f"deliver {self._about['rocketconnect.connector']}"
        self._tell(Span(below, one.sender.span_id, name, "CONSUMER", one.pulled, now, {**self._about, **message}, error))
        self._tell(Span(below.child(), below.span_id, "convert", "INTERNAL", one.pulled, one.converted, self._about))
        self._tell(Span(below.child(), below.span_id, "write", "INTERNAL", began, now, self._about, error))


def trace_of(part: Part) -> str:
    """The trace of the first message of a part that has one; empty: none has."""
    return next((one.sender.trace_id for one in part.traced), "")
