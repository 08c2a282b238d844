import threading
import time
from dataclasses import replace

import pytest

from rocketconnect_sdk.record import SinkBatch
from rocketconnect_sdk.schema import BYTES, STRING, Schema
from rocketconnect_sdk.sink import FlushPolicy
from services.executor.runtime.sink.batcher import Batcher, Limits
from services.executor.runtime.sink.decode.part import Part

LARGE = Limits(1 << 30, 1 << 30, 1 << 30)


def part(
    start: int, rows: int = 1, size: int = 10, schema: Schema | None = STRING, arrived: float | None = None, queue: str = "q"
) -> Part:
    records = SinkBatch(queue, "t", ["x"] * rows, list(range(start, start + rows)), schema=schema, size=size * rows)
    return Part(queue, start, start + rows, {}, records, rows, 0, arrived=time.monotonic() if arrived is None else arrived)


def starts(parts: list[Part]) -> list[int]:
    return [each.start for each in parts]


def test_without_a_policy_a_batch_is_as_much_as_is_there() -> None:
    batcher = Batcher(FlushPolicy(), LARGE)
    assert batcher.take(0) == []
    for start in range(3):
        assert batcher.put(part(start), 0)
    assert starts(batcher.take(0)) == [0, 1, 2]
    assert batcher.take(0) == []
    assert batcher.size == 0


def test_a_batch_waits_for_rows_bytes_or_time_whichever_comes_first() -> None:
    by_rows = Batcher(FlushPolicy(rows=3, interval=600), LARGE)
    by_bytes = Batcher(FlushPolicy(bytes=30, interval=600), LARGE)
    for batcher in (by_rows, by_bytes):
        batcher.put(part(0, 2), 0)
        assert batcher.take(0) == []
        batcher.put(part(2), 0)
        assert starts(batcher.take(0)) == [0, 2]
    by_time = Batcher(FlushPolicy(rows=3, interval=0.2), LARGE)
    by_time.put(part(0), 0)
    assert by_time.take(0) == []
    began = time.monotonic()
    assert starts(by_time.take(5)) == [0]
    assert time.monotonic() - began == pytest.approx(0.2, abs=0.1)


def test_a_batch_gathers_while_more_is_known_to_be_there_and_no_longer_than_it_may() -> None:
    batcher = Batcher(FlushPolicy(), Limits(1 << 30, 1 << 30, 3), gather=600)
    batcher.put(part(0), 0)
    batcher.expect(more=True)
    assert batcher.take(0) == []
    batcher.put(part(1), 0)
    threading.Timer(0.1, lambda: batcher.expect(more=False)).start()
    assert starts(batcher.take(5)) == [0, 1]
    batcher.expect(more=True)
    for start in range(2, 5):
        batcher.put(part(start), 0)
    assert starts(batcher.take(0)) == [2, 3, 4]
    batcher.put(part(5, arrived=time.monotonic() - 601), 0)
    assert starts(batcher.take(0)) == [5]


def test_a_drain_and_a_full_buffer_close_a_batch_before_its_time() -> None:
    batcher = Batcher(FlushPolicy(interval=600), Limits(1_000, 1 << 30, 1 << 30))
    batcher.put(part(0), 0)
    batcher.drain(draining=True)
    assert starts(batcher.take(0)) == [0]
    batcher.drain(draining=False)
    batcher.put(part(1, size=2_000), 0)
    assert starts(batcher.take(0)) == [1]


def test_a_batch_is_cut_at_its_limits_and_where_the_schema_changes() -> None:
    batcher = Batcher(FlushPolicy(), Limits(1 << 30, 1 << 30, 2))
    for start in range(3):
        batcher.put(part(start), 0)
    batcher.put(part(3, schema=BYTES), 0)
    assert starts(batcher.take(0)) == [0, 1]
    assert starts(batcher.take(0)) == [2]
    assert starts(batcher.take(0)) == [3]


def test_tables_that_come_in_turns_become_one_batch_each_and_a_rest_waits_for_its_own_limits() -> None:
    batcher = Batcher(FlushPolicy(rows=5, interval=600), LARGE)
    for start in range(8):
        batcher.put(part(start, schema=(STRING, BYTES)[start % 2], queue=f"q{start % 2}"), 0)
    assert batcher.take(0) == []
    batcher.put(part(8, queue="q0"), 0)
    assert starts(batcher.take(0)) == [0, 2, 4, 6, 8]
    assert batcher.take(0) == []
    batcher.drain(draining=True)
    assert starts(batcher.take(0)) == [1, 3, 5, 7]
    assert batcher.size == 0


def test_a_part_with_an_error_closes_the_batches_before_it_and_is_taken_last() -> None:
    batcher = Batcher(FlushPolicy(interval=600), LARGE)
    for start, schema in enumerate((STRING, BYTES)):
        batcher.put(part(start, schema=schema, queue=f"q{start}"), 0)
    batcher.put(replace(part(2, queue="q0"), error=ValueError("bad")), 0)
    assert [starts(batcher.take(0)) for _ in range(4)] == [[0], [1], [2], []]


def test_the_reader_is_held_up_while_the_buffer_is_full_and_memory_counts_records_too() -> None:
    batcher = Batcher(FlushPolicy(), Limits(1_000, 1 << 30, 1 << 30))
    assert batcher.put(part(0, rows=20, size=0), 0)
    assert not batcher.put(part(20), 0.01)
    threading.Timer(0.1, lambda: batcher.take(0)).start()
    assert batcher.put(part(20), 5)


def test_nothing_is_taken_in_after_it_is_closed_and_what_is_there_can_be_taken() -> None:
    batcher = Batcher(FlushPolicy(), LARGE)
    batcher.put(part(0), 0)
    batcher.close()
    assert not batcher.put(part(1), 0)
    assert starts(batcher.take(0)) == [0]
    assert batcher.take(5) == []


def test_an_open_batch_is_told_until_it_is_taken() -> None:
    batcher = Batcher(FlushPolicy(rows=5, interval=600), LARGE)
    assert batcher.open_batch() is None
    batcher.put(part(0, 2, arrived=time.monotonic()), 0)
    batcher.put(part(2, 1, schema=BYTES), 0)
    waiting = batcher.open_batch()
    assert waiting is not None
    assert waiting.records == 3
    assert waiting.due is not None
    assert waiting.due - waiting.since == pytest.approx(600)
    assert time.monotonic() - 60 < waiting.since <= time.monotonic()
    batcher.drain(draining=True)
    batcher.take(0)
    batcher.take(0)
    assert batcher.open_batch() is None


def test_without_a_time_for_which_batches_are_open_none_is_told() -> None:
    batcher = Batcher(FlushPolicy(), LARGE)
    batcher.put(part(0), 0)
    assert batcher.open_batch() is None
