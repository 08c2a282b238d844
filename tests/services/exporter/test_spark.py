from rocketconnect.connector.v1 import connector_pb2 as c
from rocketconnect.state.v1 import state_service_pb2 as s

from services.exporter import families
from tests.services.exporter.test_families import samples


def sink(name: str, driver: s.SparkDriver | None, *steps: s.SparkStep, worker: str = "w1") -> s.ConnectorState:
    metrics = s.TaskMetrics(batch_bounds=[1.0, 2.0], spark_steps=steps, spark_driver=driver)
    task = s.TaskState(task=0, state=c.STATE_RUNNING, worker_id=worker, metrics=metrics)
    return s.ConnectorState(connector=name, state=c.STATE_RUNNING, type=c.CONNECTOR_TYPE_SINK, tasks=[task])


def test_tasks_that_share_a_driver_make_one_series_of_it_the_newest_and_name_it() -> None:
    before = s.SparkDriver(profile="spark", heap_used_bytes=5, heap_max_bytes=9, gc_seconds=1.0, gc_runs=3, spilled_bytes=0)
    after = s.SparkDriver(profile="spark", heap_used_bytes=4, heap_max_bytes=9, gc_seconds=1.5, gc_runs=4, spilled_bytes=7)
    elsewhere = sink("c", before, worker="w2")
    found = samples(families.of_states([sink("a", before), sink("b", after), elsewhere, sink("d", before)]))
    name = "rocketconnect_spark_driver"
    assert [found[f"{name}_heap_used_bytes", "spark", worker] for worker in ("w1", "w2")] == [4, 5]
    assert found[f"{name}_gc_seconds_total", "spark", "w1"] == 1.5
    assert found[f"{name}_gc_runs_total", "spark", "w1"] == 4
    assert found[f"{name}_spilled_bytes_total", "spark", "w1"] == 7
    assert [found["rocketconnect_task_spark_info", each, "spark", "0", "w1"] for each in ("a", "b", "d")] == [1, 1, 1]


def test_what_is_not_known_of_a_driver_has_no_sample_and_what_is_0_has_one() -> None:
    said = samples(families.of_states([sink("a", s.SparkDriver(profile="spark", spilled_bytes=0)), sink("b", None)]))
    found = {name for name, *_ in said if name.startswith("rocketconnect_spark_driver")}
    known = {"heap_used_bytes", "heap_committed_bytes", "gc_seconds_total", "gc_runs_total", "spilled_bytes_total"}
    assert found == {f"rocketconnect_spark_driver_{each}" for each in known}
    assert ("rocketconnect_task_spark_info", "b", "spark", "0", "w1") not in said


def test_the_steps_of_batches_are_a_histogram_by_step() -> None:
    stage = s.SparkStep(step="stage", count=3, seconds=4.5, buckets=[1, 2])
    found = samples(families.of_states([sink("a", None, stage, s.SparkStep(step="commit", count=2, seconds=0.1, buckets=[2, 2]))]))
    name = "rocketconnect_spark_step_duration_seconds"
    assert {key[2]: value for key, value in found.items() if key[0] == f"{name}_bucket" and key[3] == "stage"} == {
        "1.0": 1,
        "2.0": 2,
        "+Inf": 3,
    }
    assert found[f"{name}_count", "a", "commit", "0"] == 2
