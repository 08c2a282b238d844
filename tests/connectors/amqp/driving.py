"""Tasks of both kinds, driven as the runtime does."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import ConfigError, RecordRefused
from rocketconnect_sdk.options import Config, parse
from rocketconnect_sdk.polled import batches_of
from rocketconnect_sdk.record import Position, SinkBatch, SourceBatch
from rocketconnect_sdk.sink import QueuePosition, RecordSinkTask, SinkCommit
from rocketconnect_sdk.source import SourceTask

QUEUE = "orders/b/0"
MOST_BYTES = 1_000


def configured(plugin: Any, given: dict[str, str]) -> Config:
    """Keys may be written as names of Python."""
    config = parse(plugin.options, {key.replace("_", "."): value for key, value in given.items()})
    return config.replaced(lambda text: text.replace("${env:WRONG}", "wrong").replace("${env:RIGHT}", "right"))


def problems(plugin: Any, **given: str) -> dict[str, str]:
    """By option what a check says."""
    try:
        config = configured(plugin, given)
    except ConfigError as error:
        return {each.key: each.reason for each in error.problems}
    return {each.key: each.reason for each in plugin.check(config)}


@contextmanager
def reading(source: Any, given: dict[str, str], share: str = "0/1", *, is_preview: bool = False) -> Iterator[SourceTask]:
    """A task that is started."""
    context = TaskContext(max_record_bytes=MOST_BYTES, epoch=0 if is_preview else 1)
    task = source.open(configured(source, given), {"share": share}, context)
    try:
        task.start({})
        yield task
    finally:
        task.close()


def records(task: SourceTask, count: int, *, stored: bool = True) -> SourceBatch:
    """The first so many records, as one batch, which is stored."""
    found: list[SourceBatch] = []
    end = time.monotonic() + 60
    while sum(map(len, found)) < count:
        assert time.monotonic() < end, f"only {sum(map(len, found))} of {count} came"
        found += [batch for batch in batches_of(task.poll()) if len(batch)]
        time.sleep(0.001)
    if stored:
        task.committed({batch.partition: Position(batch.offsets[-1]) for batch in found})
    return SourceBatch.concat(found)


@contextmanager
def writing(sink: Any, **given: str) -> Iterator[RecordSinkTask]:
    """A task that is started."""
    task = sink.open(configured(sink, given), {}, TaskContext())
    try:
        task.start()
        yield task
    finally:
        task.close()


def write(
    task: RecordSinkTask,
    values: Sequence[object],
    keys: Sequence[object] | None = None,
    headers: Any = None,
    times: Sequence[int | None] | None = None,
) -> dict[int, str]:
    """Writes a batch as the runtime does; returns what was refused."""
    batch = SinkBatch(QUEUE, "orders", values, range(len(values)), keys, times, headers)
    commit = SinkCommit("test", 0, 1, {QUEUE: QueuePosition(0)}, {QUEUE: QueuePosition(len(values))}, len(values), str(values))
    refused: dict[int, str] = {}
    try:
        receipts: Any = [task.writer().stage(batch, "part")]
    except RecordRefused as error:
        refused, receipts = error.refused, [error.receipt]
    try:
        task.commit(receipts, commit)
    except RecordRefused as error:
        refused |= error.refused
    return refused
