"""Sinks and sources driven by the engines of their families, as executors do, without a broker."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass

from bench.systems import moved
from bench.systems.system import Move
from rocketconnect_sdk import (
    Position,
    QueuePosition,
    RecordSink,
    RecordSinkTask,
    SinkBatch,
    SinkCommit,
    Source,
    SourceTask,
    TaskContext,
)
from rocketconnect_sdk.options import parse
from rocketconnect_sdk.polled import batches_of
from rocketconnect_sdk.schema import STRING

BATCH = 5_000
"""Records in a batch of a sink, and at most in a poll of a source."""
_QUEUE = "orders/broker-a/0"


@dataclass(frozen=True, slots=True)
class _Sinking:
    task: RecordSinkTask
    batches: Sequence[SinkBatch]

    def move(self) -> Iterable[str]:
        """Writes all batches."""
        for number, batch in enumerate(self.batches):
            begin, end = batch.offsets[0], batch.offsets[-1] + 1
            commit = SinkCommit(
                "bench", 0, 1, {_QUEUE: QueuePosition(begin)}, {_QUEUE: QueuePosition(end)}, len(batch), f"batch-{number}"
            )
            self.task.commit([self.task.writer().stage(batch, f"part-{number}")], commit)
        return ()


@contextmanager
def sinking(sink: RecordSink, config: Mapping[str, str], records: int) -> Iterator[Move]:
    """A sink that has started, with batches that are there already: an executor has decoded them."""
    parsed = parse(sink.options, config)
    task = sink.open(parsed, sink.plan(parsed, 1).tasks[0], TaskContext(connector="bench", connector_uid="bench"))
    with closing(task):
        task.start()
        parts = (range(begin, min(begin + BATCH, records)) for begin in range(0, records, BATCH))
        batches = [
            SinkBatch(_QUEUE, "orders", list(map(moved.text, part)), part, list(map(moved.key, part)), schema=STRING)
            for part in parts
        ]
        yield _Sinking(task, batches).move


@dataclass(frozen=True, slots=True)
class _Sourcing:
    task: SourceTask
    records: int
    written: Callable[[object], str | bytes]

    def move(self) -> Iterable[str | bytes]:
        """Polls until all are there, and says of each poll that it is stored, as the runtime does behind it."""
        found: list[object] = []
        while len(found) < self.records:
            done: dict[str, Position] = {}
            for batch in batches_of(self.task.poll()):
                found += batch.values
                done[batch.partition] = Position(batch.offsets[-1] if len(batch) else batch.end, batch.resume or {})
            if done:
                self.task.committed(done)
        # What makes them comparable is no part of what is measured, and is done behind it.
        return map(self.written, found)


@contextmanager
def sourcing(
    source: Source, config: Mapping[str, str], records: int, written: Callable[[object], str | bytes] = moved.written
) -> Iterator[Move]:
    """A source that has started where all records are before it; `written` finds in a value what moved.text has made."""
    parsed = parse(source.options, config)
    context = TaskContext(connector="bench", connector_uid="bench", batch_records=BATCH)
    task = source.open(parsed, source.plan(parsed, 1, {}).tasks[0], context)
    with closing(task):
        task.start({})
        yield _Sourcing(task, records, written).move
