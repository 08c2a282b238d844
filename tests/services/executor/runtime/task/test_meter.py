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
