from collections.abc import Iterable, Sequence

import pytest
from google.protobuf.timestamp_pb2 import Timestamp
from prometheus_client import CollectorRegistry
from prometheus_client.core import Metric
from prometheus_client.exposition import choose_encoder
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from prometheus_client.registry import Collector
from rocketconnect.cluster.v1 import cluster_service_pb2 as cluster
from rocketconnect.connector.v1 import connector_pb2 as c
from rocketconnect.state.v1 import state_service_pb2 as s

from services.exporter import families


def samples(metrics: Iterable[Metric]) -> dict[tuple[str, ...], float]:
    """(name, label values in the order of the label names) -> value."""
    return {
        (sample.name, *(value for _, value in sorted(sample.labels.items()))): sample.value
        for metric in metrics
        for sample in metric.samples
    }


class Said(Collector):
    """What is shown of these states."""

    def __init__(self, said: Sequence[s.ConnectorState]) -> None:
        self._said = said

    def collect(self) -> Iterable[Metric]:
        return families.of_states(self._said)


def sink(**more: object) -> s.ConnectorState:
    metrics = s.TaskMetrics(
        records_in=10,
        records_out=9,
        bytes_out=900,
        batches=3,
        batch_seconds=1.5,
        batch_bounds=[0.1, 1.0],
        batch_buckets=[1, 2],
        lags=[s.QueueLag(queue="t/broker-a/0", messages=7, position=93)],
    )
    task = s.TaskState(
        task=0, state=c.STATE_IDLE, worker_id="w1", restarts=2, metrics=metrics, last_progress=Timestamp(seconds=100)
    )
    return s.ConnectorState(
        connector="out",
        state=c.STATE_IDLE,
        type=c.CONNECTOR_TYPE_SINK,
        plugin="file_lines",
        revision=4,
        tasks=[s.TaskState(task=-1, state=c.STATE_STOPPED), task],
    )


def test_counters_of_a_task_carry_connector_and_task_and_never_the_worker() -> None:
    found = samples(families.of_states([sink()]))
    assert found["rocketconnect_task_records_in_total", "out", "0"] == 10
    assert found["rocketconnect_task_records_out_total", "out", "0"] == 9
    assert found["rocketconnect_task_bytes_out_total", "out", "0"] == 900
    assert found["rocketconnect_task_restarts_total", "out", "0"] == 2
    assert found["rocketconnect_task_worker_info", "out", "0", "w1"] == 1
    moved = sink()
    moved.tasks[1].worker_id = "w2"
    counters = {key for key in found if key[0].endswith("_total")}
    assert counters == {key for key in samples(families.of_states([moved])) if key[0].endswith("_total")}


def test_state_is_one_hot() -> None:
    found = samples(families.of_states([sink()]))
    task = {key[2]: value for key, value in found.items() if key[0] == "rocketconnect_task_state" and key[3] == "0"}
    assert task["IDLE"] == 1
    assert sum(task.values()) == 1
    assert set(task) == {name.removeprefix("STATE_") for name in c.State.keys()} - {"UNSPECIFIED"}  # noqa: SIM118 - no mapping
    assert found["rocketconnect_connector_state", "out", "IDLE"] == 1
    assert found["rocketconnect_connector_info", "out", "file_lines", "sink"] == 1


def test_batch_times_are_a_histogram_with_their_sum_and_count() -> None:
    found = samples(families.of_states([sink()]))
    name = "rocketconnect_task_batch_duration_seconds"
    buckets = {key[2]: value for key, value in found.items() if key[0] == f"{name}_bucket"}
    assert buckets == {"0.1": 1, "1.0": 2, "+Inf": 3}
    assert found[f"{name}_sum", "out", "0"] == 1.5
    assert found[f"{name}_count", "out", "0"] == 3


def test_what_is_known_of_times_is_shown_and_what_is_not_is_no_zero() -> None:
    names = {
        "rocketconnect_task_newest_record_timestamp_seconds",
        "rocketconnect_task_newest_stored_timestamp_seconds",
        "rocketconnect_task_end_to_end_latency_seconds_count",
    }
    assert not {name for name, *_ in samples(families.of_states([sink()]))} & names
    timed = sink()
    timed.tasks[1].metrics.MergeFrom(
        s.TaskMetrics(
            newest_record=Timestamp(seconds=5, nanos=500_000_000),
            newest_stored=Timestamp(seconds=6),
            latencies=3,
            latency_seconds=70.0,
            latency_bounds=[1.0, 60.0],
            latency_buckets=[1, 2],
        )
    )
    found = samples(families.of_states([timed]))
    assert [found[name, "out", "0"] for name in sorted(names)] == [3, 5.5, 6]
    latency = "rocketconnect_task_end_to_end_latency_seconds"
    buckets = {key[2]: value for key, value in found.items() if key[0] == f"{latency}_bucket"}
    assert buckets == {"1.0": 1, "60.0": 2, "+Inf": 3}
    assert found[f"{latency}_sum", "out", "0"] == 70.0


def test_a_traced_record_is_an_exemplar_of_its_bucket_for_who_asks_for_openmetrics_and_for_no_one_else() -> None:
    traced = sink()
    latency = s.TaskMetrics(latencies=3, latency_seconds=70.0, latency_bounds=[1.0, 60.0], latency_buckets=[1, 2])
    for seconds in (1.0, 65.5):
        latency.latency_exemplars.add(trace_id="ab" * 16, seconds=seconds, time=Timestamp(seconds=7))
    traced.tasks[1].metrics.MergeFrom(latency)
    registry = CollectorRegistry()
    registry.register(Said([traced]))
    said, _ = choose_encoder("application/openmetrics-text; version=1.0.0")
    found = {
        sample.labels["le"]: (sample.exemplar.labels, sample.exemplar.value, float(sample.exemplar.timestamp))
        for family in text_string_to_metric_families(said(registry).decode())  # type: ignore[no-untyped-call]
        for sample in family.samples
        if sample.exemplar
    }
    labels = {"trace_id": "ab" * 16}
    assert found == {"1.0": (labels, 1.0, 7.0), "+Inf": (labels, 65.5, 7.0)}
    plain, _ = choose_encoder("text/plain")
    assert b"trace_id" not in plain(registry)
    assert b"latency_seconds_bucket" in plain(registry)


def test_sink_shows_lag_and_position_by_queue_and_source_its_positions_and_what_remains() -> None:
    positions = [s.SourcePosition(partition="/a#1", offset=100), s.SourcePosition(partition="/b#2", offset=7)]
    metrics = s.TaskMetrics(source_remaining=42, source_remaining_known=True, source_positions=positions)
    source = s.ConnectorState(
        connector="in", type=c.CONNECTOR_TYPE_SOURCE, tasks=[s.TaskState(task=0, state=c.STATE_RUNNING, metrics=metrics)]
    )
    found = samples(families.of_states([sink(), source]))
    assert found["rocketconnect_sink_lag_messages", "out", "t/broker-a/0", "0", "t"] == 7
    assert found["rocketconnect_sink_position", "out", "t/broker-a/0", "0", "t"] == 93
    assert found["rocketconnect_source_remaining", "in", "0"] == 42
    assert found["rocketconnect_source_position", "in", "/a#1", "0"] == 100
    assert found["rocketconnect_source_position", "in", "/b#2", "0"] == 7
    assert ("rocketconnect_source_remaining", "out", "0") not in found


@pytest.mark.parametrize("known", [True, False])
def test_what_remains_has_a_sample_of_0_when_that_is_known_and_none_when_it_is_not(known: bool) -> None:
    tasks = [s.TaskState(task=0, state=c.STATE_IDLE, metrics=s.TaskMetrics(source_remaining_known=known))]
    found = samples(families.of_states([s.ConnectorState(connector="in", type=c.CONNECTOR_TYPE_SOURCE, tasks=tasks)]))
    assert found.get(("rocketconnect_source_remaining", "in", "0")) == (0 if known else None)


@pytest.mark.parametrize("state", [c.STATE_STARTING, c.STATE_UNASSIGNED, c.STATE_RESTARTING, c.STATE_FAILED, c.STATE_STOPPED])
def test_of_a_task_that_does_not_run_nothing_says_that_it_is_at_the_end(state: "c.State.ValueType") -> None:
    tasks = [s.TaskState(task=0, state=state, metrics=s.TaskMetrics(records_in=7))]
    source = s.ConnectorState(connector="in", type=c.CONNECTOR_TYPE_SOURCE, tasks=tasks)
    behind = s.ConnectorState(connector="out", type=c.CONNECTOR_TYPE_SINK, tasks=tasks)
    found = {key[0] for key in samples(families.of_states([source, behind]))}
    assert "rocketconnect_task_records_in_total" in found
    assert found.isdisjoint({"rocketconnect_source_remaining", "rocketconnect_sink_lag_messages"})


def test_planning_has_a_state_and_no_counters() -> None:
    found = samples(families.of_states([sink()]))
    assert found["rocketconnect_task_state", "out", "STOPPED", "plan"] == 1
    assert ("rocketconnect_task_records_in_total", "out", "plan") not in found


def test_workers_leases_and_assignments() -> None:
    workers = [
        cluster.Worker(worker_id="w1", alive=True, tasks=2, lease_until=Timestamp(seconds=1000, nanos=500_000_000)),
        cluster.Worker(worker_id="w2", alive=False),
    ]
    assignments = [
        cluster.Assignment(unit=cluster.UNIT_TASK, worker_id="w1"),
        cluster.Assignment(unit=cluster.UNIT_TASK, worker_id="w1", revoked=True),
        cluster.Assignment(unit=cluster.UNIT_PLAN),
    ]
    found = samples(families.of_cluster(workers, assignments, 17))
    assert found["rocketconnect_workers", "alive"] == 1
    assert found["rocketconnect_workers", "lost"] == 1
    assert found["rocketconnect_worker_tasks", "w1"] == 2
    assert found["rocketconnect_worker_lease_expiry_timestamp_seconds", "w1"] == 1000.5
    assert found["rocketconnect_assignments", "held", "task"] == 1
    assert found["rocketconnect_assignments", "revoked", "task"] == 1
    assert found["rocketconnect_assignments", "unowned", "plan"] == 1
    assert found["rocketconnect_assignment_changes_total",] == 17


def test_up_knows_services_and_executors() -> None:
    workers = [cluster.Worker(worker_id="w1", alive=True), cluster.Worker(worker_id="w2", alive=False)]
    found = samples(families.up({"state": True, "gateway": False}, workers))
    assert found == {
        ("rocketconnect_up", "state"): 1,
        ("rocketconnect_up", "gateway"): 0,
        ("rocketconnect_up", "executor", "w1"): 1,
        ("rocketconnect_up", "executor", "w2"): 0,
    }


def test_no_configuration_and_no_error_text_is_shown() -> None:
    said = sink()
    said.trace = "can't log in with hunter2"
    said.tasks[1].trace = "hunter2"
    said.tasks[1].config["password"] = "hunter2"
    assert "hunter2" not in str([sample for metric in families.of_states([said]) for sample in metric.samples])
