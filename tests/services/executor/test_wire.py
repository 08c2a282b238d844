"""What the executor says in messages."""

import pytest

from services.executor.contract.metrics import DriverUse, OpenBatch, StepTimes, TaskMetrics
from services.executor.wire import metrics


def test_counters_say_since_when_they_count_where_it_is_known() -> None:
    assert metrics(TaskMetrics(counted_since=1.5)).counted_since.ToMilliseconds() == 1500
    assert not metrics(TaskMetrics()).HasField("counted_since")


@pytest.mark.parametrize(("left", "told"), [(None, (0, False)), (0, (0, True)), (7, (7, True))])
def test_what_a_source_has_left_is_told_with_whether_it_is_known(left: int | None, told: tuple[int, bool]) -> None:
    said = metrics(TaskMetrics(source_remaining=left, source_remaining_unit="bytes"))
    assert (said.source_remaining, said.source_remaining_known) == told
    assert said.source_remaining_unit == "bytes"


def test_the_time_that_a_source_will_take_is_told_where_it_is_known() -> None:
    assert metrics(TaskMetrics(source_seconds_left=1.5)).source_time_left.ToMilliseconds() == 1500
    assert not metrics(TaskMetrics()).HasField("source_time_left")


def test_an_open_batch_is_told_with_its_times_where_there_is_one() -> None:
    said = metrics(TaskMetrics(open_batch=OpenBatch(7, 1.5, 61.5))).open_batch
    assert (said.records, said.since.ToMilliseconds(), said.due.ToMilliseconds()) == (7, 1_500, 61_500)
    assert not metrics(TaskMetrics()).HasField("open_batch")
    without_end = metrics(TaskMetrics(open_batch=OpenBatch(7, 1.5, None))).open_batch
    assert (without_end.records, without_end.HasField("due")) == (7, False)


def test_what_a_spark_driver_uses_goes_with_a_report_where_it_is_known() -> None:
    use = DriverUse("spark", 5, 6, None, None, 1.5, 2, 0)
    said = metrics(TaskMetrics(spark_driver=use, spark_steps=(StepTimes("write", 1, 0.5),)))
    assert (said.spark_driver.profile, said.spark_driver.heap_used_bytes, said.spark_driver.gc_seconds) == ("spark", 5, 1.5)
    assert [said.spark_driver.HasField(name) for name in ("heap_max_bytes", "resident_bytes", "spilled_bytes")] == [
        False,
        False,
        True,
    ]
    assert [(each.step, each.count, each.seconds) for each in said.spark_steps] == [("write", 1, 0.5)]
    assert not metrics(TaskMetrics()).HasField("spark_driver")


def test_times_and_latencies_go_with_a_report_where_there_are_any() -> None:
    said = metrics(TaskMetrics(newest_record=1.5, newest_stored=2.5, latencies=1, latency_seconds=3.0))
    assert (said.newest_record.ToMilliseconds(), said.newest_stored.ToMilliseconds()) == (1500, 2500)
    assert (said.latencies, said.latency_seconds, len(said.latency_bounds)) == (1, 3.0, len(said.latency_buckets))
    nothing = metrics(TaskMetrics())
    assert not nothing.HasField("newest_record")
    assert not nothing.HasField("newest_stored")
    assert not nothing.latency_bounds
