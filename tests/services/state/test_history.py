"""The last hour of connectors."""

import sys

import pytest
from google.protobuf.timestamp_pb2 import Timestamp
from rocketconnect.state.v1 import state_service_pb2 as pb

from services.state import history, wire
from services.state.core import ConnectorsTold, States, step
from services.state.history import SAMPLES, STEP_SECONDS, History
from services.state.model import PLAN, ConnectorView, Moment, Sample, State, TaskView
from tests.services.state.things import LEASE, connector


def view(*tasks: TaskView, state: State = State.RUNNING, uid: str = "u1") -> ConnectorView:
    return ConnectorView(connector(uid), state, "", "", 1, tasks)


def task(number: int = 0, state: State = State.RUNNING, **metrics: object) -> TaskView:
    return TaskView(number, state, "", "w", 1, 1, None, metrics=pb.TaskMetrics(**metrics).SerializeToString())  # type: ignore[arg-type]


def at(seconds: float) -> Moment:
    return Moment(seconds, 1_000_000.0 + seconds)


def test_a_sample_has_the_sums_of_all_tasks_and_what_happened_since_the_one_before() -> None:
    kept = History()
    lags = [pb.QueueLag(messages=3), pb.QueueLag(messages=4)]
    kept.take(view(task(0, rate_out=2, errors=5, batches=1, batch_seconds=9), task(PLAN), state=State.STALLED), at(0))
    now = [task(0, rate_out=2, errors=7, batches=3, batch_seconds=10, lags=lags), task(1, rate_out=1, errors=1, lags=lags[:1])]
    kept.take(view(*now), at(10))
    first, second = kept.of("u1")
    assert first == Sample(1_000_000, State.STALLED, 2, None, 0, None)
    assert second == Sample(1_000_010, State.RUNNING, 3, 10, 3, 0.5)


def test_latencies_are_those_since_the_sample_before_and_the_newest_record_says_how_fresh_all_is() -> None:
    kept = History()
    kept.take(view(task(0, latencies=4, latency_seconds=90.0)), at(0))
    newest = [Timestamp(seconds=1_000_003), Timestamp(seconds=1_000_007)]
    now = [task(number, latencies=5, latency_seconds=92.0, newest_record=each) for number, each in enumerate(newest)]
    kept.take(view(*now), at(10))
    kept.take(view(task(0, newest_record=Timestamp(seconds=1_000_099))), at(20))
    kept.take(view(task(0, State.UNASSIGNED, newest_record=newest[0])), at(30))
    # Of the second task, which is new, all is.
    means = [None, (2.0 + 92.0) / 6, None, None]
    assert [sample.latency_seconds for sample in kept.of("u1")] == [mean and pytest.approx(mean) for mean in means]
    assert [sample.freshness_seconds for sample in kept.of("u1")] == [None, 3, 0, None]


def test_a_worker_that_tells_a_time_that_no_clock_can_show_ends_no_round_of_samples() -> None:
    kept = History()
    for second, told in enumerate((1 << 62, -(1 << 62))):
        kept.take(view(task(newest_record=Timestamp(seconds=told))), at(second))
    assert [sample.freshness_seconds for sample in kept.of("u1")] == [0, 1_000_001]


def test_a_task_that_was_started_again_counts_from_zero_and_one_that_nobody_runs_measures_nothing() -> None:
    kept = History()
    for second, tasks in enumerate(([task(errors=5)], [task(errors=2)], [], [task(errors=3)])):
        kept.take(view(*tasks), at(second))
    kept.take(view(task(state=State.UNASSIGNED, rate_out=9, errors=3, lags=[pb.QueueLag(messages=3)])), at(9))
    assert [sample.errors for sample in kept.of("u1")] == [0, 2, 0, 1, 0]
    assert kept.of("u1")[-1][2:4] == (None, None)


def test_a_source_is_as_far_behind_as_it_says_and_not_at_all_known_where_one_task_does_not_say_it() -> None:
    kept = History()
    kept.take(view(task(0, source_remaining_known=True), task(1, source_remaining_known=True, source_remaining=7)), at(0))
    kept.take(view(task(0, source_remaining_known=True), task(1)), at(1))
    assert [sample.lag for sample in kept.of("u1")] == [7, None]


@pytest.mark.parametrize("value", [float("inf"), float("-inf"), float("nan"), 1e300])
def test_what_is_no_number_is_not_known(value: float) -> None:
    kept = History()
    kept.take(view(task()), at(0))
    kept.take(view(task(rate_out=value, errors=(1 << 63) - 1, batches=1, batch_seconds=value)), at(10))
    shown = wire.sample(kept.of("u1")[-1])
    assert (shown.HasField("rate_out"), shown.HasField("batch_seconds")) == (False, False)
    assert shown.errors == 1 << 53


def test_an_hour_is_kept_and_no_more_in_order_and_in_little_memory() -> None:
    kept = History()
    for number in range(SAMPLES * 2 + 7):
        kept.take(view(task(rate_out=number)), at(number * STEP_SECONDS))
    samples = kept.of("u1")
    assert [sample.rate for sample in samples] == list(range(SAMPLES + 7, SAMPLES * 2 + 7))
    assert samples[-1].time - samples[0].time == 3600 - STEP_SECONDS
    ring = kept._rings["u1"]
    assert sys.getsizeof(ring._times) + sys.getsizeof(ring._values) < 16_000


def test_connectors_that_are_gone_are_forgotten_and_only_so_many_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "MOST_CONNECTORS", 2)
    kept = History()
    for uid in ("u1", "u2", "u3"):
        kept.take(view(uid=uid), at(0))
    assert [len(kept.of(uid)) for uid in ("u1", "u2", "u3")] == [1, 1, 0]
    kept.keep(frozenset({"u2", "u3"}))
    kept.take(view(uid="u3"), at(10))
    assert [len(kept.of(uid)) for uid in ("u1", "u2", "u3")] == [0, 1, 1]


def test_a_connector_that_nobody_has_told_of_yet_has_no_samples() -> None:
    states = States(LEASE)
    step(states, ConnectorsTold(snapshot=True, connectors=(connector(),)), at(0))
    kept = History()
    assert kept.of("u1") == []
    kept.take(states.view("name-u1", at(0)), at(0))
    assert [sample.state for sample in kept.of("u1")] == [State.UNASSIGNED]
