import pytest

from services.executor.contract.metrics import SourcePosition, TaskMetrics
from services.executor.contract.task import State
from services.executor.runtime.task.meter import Meter
from tests.services.executor.runtime.conftest import RecordingReporter


def meter() -> tuple[Meter, TaskMetrics]:
    reporter = RecordingReporter()
    return Meter(reporter, 0.0), reporter.metrics


def test_a_source_partition_shows_the_first_integer_of_its_newest_offset() -> None:
    made, metrics = meter()
    made.committed({"a": (10,), "b": (7, 1)})
    made.committed({"a": (20, 1)})
    assert metrics.source_positions == (SourcePosition("b", 7), SourcePosition("a", 20))


def test_only_the_hundred_partitions_that_moved_last_are_shown() -> None:
    made, metrics = meter()
    for number in range(150):
        made.committed({f"p{number}": (number,), "always": (number,)})
    assert len(metrics.source_positions) == 100
    assert metrics.source_positions[-1] == SourcePosition("always", 149)
    assert metrics.source_positions[0] == SourcePosition("p51", 51)


def test_partitions_with_long_names_are_fewer() -> None:
    made, metrics = meter()
    made.committed({f"{number}".ljust(1_000): (number,) for number in range(100)})
    assert [at.offset for at in metrics.source_positions] == list(range(84, 100))


def test_an_offset_that_no_metric_can_hold_is_cut() -> None:
    made, metrics = meter()
    made.committed({"high": (10**30,), "low": (-(10**30),), "none": ()})
    assert [at.offset for at in metrics.source_positions] == [2**63 - 1, -(2**63) + 1]


def test_a_source_that_is_done_is_idle_at_once_and_one_that_rests_a_moment_later() -> None:
    reporter = RecordingReporter()
    made = Meter(reporter, 0.0)
    made.moved(10.0, 1, 1)
    made.say(10.1, "", work=False)
    made.say(10.1, "", work=False, done=True)
    assert [state for state, _ in reporter.states] == [State.RUNNING, State.IDLE]


def test_a_source_that_rests_says_what_it_holds_back() -> None:
    reporter = RecordingReporter()
    meter = Meter(reporter, 0.0)
    for held in ("the last line of /a has no newline", ""):
        meter.say(0.0, "", work=False, held=held)
        assert reporter.states[-1] == (State.IDLE, held)
    meter.say(0.0, "", work=True, held="the last line of /a has no newline")
    assert reporter.states[-1] == (State.RUNNING, "")


def test_of_a_batch_the_first_record_is_measured_and_the_newest_is_kept() -> None:
    made, metrics = meter()
    made.arrived(1_000.0, 998_000, 999_500)
    made.arrived(1_001.0, 990_000, 991_000)
    assert (metrics.latencies, metrics.latency_seconds, metrics.newest_record) == (2, 13.0, 999.5)
    within = dict(zip(metrics.latency_bounds, metrics.latency_buckets, strict=True))
    assert (within[1.0], within[2.5], within[10.0], within[30.0]) == (0, 1, 1, 2)


def test_of_each_bucket_the_newest_traced_batch_is_kept_and_of_others_nothing() -> None:
    made, metrics = meter()
    made.arrived(1_000.0, 998_000, 999_500)
    assert not metrics.latency_exemplars
    made.arrived(1_000.0, 998_000, 999_500, "a" * 32)
    made.arrived(1_001.0, 999_100, 999_500, "b" * 32)
    made.arrived(1_002.0, None, None, "c" * 32)
    made.arrived(200_000.0, 1_000, 1_000, "d" * 32)
    assert [(each.trace_id[0], each.time) for each in metrics.latency_exemplars] == [("b", 1_001.0), ("d", 200_000.0)]


@pytest.mark.parametrize("time_ms", [None, 0, -5, 999_999_000_000])
def test_a_time_that_is_none_tells_nothing(time_ms: int | None) -> None:
    made, metrics = meter()
    made.arrived(1_000.0, time_ms, time_ms)
    made.stored([0])
    assert (metrics.latencies, metrics.newest_record, metrics.newest_stored) == (0, None, None)


def test_a_clock_of_the_source_that_is_ahead_takes_nothing_from_what_others_took() -> None:
    made, metrics = meter()
    made.arrived(1_000.0, 1_002_000, 1_002_000)
    assert (metrics.latencies, metrics.latency_seconds, metrics.newest_record) == (1, 0.0, 1_002.0)
