"""What is left of a batch in which records were refused."""

import pyarrow as pa

from rocketconnect_sdk.record import SinkBatch
from rocketconnect_sdk.sink import SourceMark
from rocketconnect_sdk.stages import Stage
from services.executor.runtime.errors.failure import Failure
from services.executor.runtime.sink.decode.part import BadRecord, Part
from services.executor.runtime.sink.refusals import Stop, before, first_refused

MARKS = {"c/p": SourceMark(1, 0, (7,))}
ERROR = RuntimeError("refused")


def part(queue: str, start: int, until: int, *, left_out: int | None = None) -> Part:
    offsets = [offset for offset in range(start, until) if offset != left_out]
    values = [f"{queue}{offset}" for offset in offsets]
    records = SinkBatch(queue, "t", values, offsets, values, offsets, [{} for _ in values], size=10 * len(values))
    array = pa.array(values)
    table = pa.RecordBatch.from_arrays([array], names=["value"])
    return Part(queue, start, until, {"c/p": SourceMark(1, 0, (until,))}, records, until - start, 1, array=array, table=table)


def test_each_queue_ends_before_its_first_refused_record() -> None:
    parts = [part("a", 0, 4), part("b", 0, 4), part("a", 4, 9, left_out=5), part("a", 9, 12), part("b", 4, 8)]
    kept = before(parts, {"a": Stop(7, MARKS)}, ERROR)
    assert [(each.queue, each.start, each.until) for each in kept] == [("a", 0, 4), ("b", 0, 4), ("a", 4, 7), ("b", 4, 8)]
    cut = kept[2]
    assert cut.records == SinkBatch("a", "t", ["a4", "a6"], [4, 6], ["a4", "a6"], [4, 6], [{}, {}], size=20)
    assert cut.array.to_pylist() == cut.table["value"].to_pylist() == ["a4", "a6"]
    assert (cut.marks, cut.error, cut.read, cut.duplicates) == (MARKS, ERROR, 2, 0)
    assert [each.error for each in kept if each is not cut] == [None, None, None]


def test_a_stop_at_the_beginning_of_a_part_still_ends_the_task() -> None:
    kept = before([part("a", 0, 4), part("a", 4, 9)], {"a": Stop(4, MARKS)}, ERROR)
    assert [(each.start, each.until, len(each.records), each.error) for each in kept] == [(0, 4, 4, None), (4, 4, 0, ERROR)]


def test_the_first_refused_record_of_each_queue_counts() -> None:
    failure = Failure.of_value(Stage.WRITE, ERROR, "x", object)
    records = [BadRecord("a", 9, failure), BadRecord("b", 1, failure), BadRecord("a", 3, failure)]
    assert first_refused(records) == {"a": 3, "b": 1}
