"""What Spark drivers use, and how long the steps of batches on Spark take. Pure."""

from collections.abc import Iterator, Mapping

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, InfoMetricFamily, Metric
from rocketconnect.state.v1 import state_service_pb2 as states

from services.exporter.series import TASK, Tasks, labels_of

_DRIVER = ("worker", "profile")
_GAUGES: Mapping[str, tuple[str, str]] = {
    "heap_used_bytes": ("heap_used_bytes", "What of the heap of its Java process is in use, garbage included."),
    "heap_committed_bytes": ("heap_committed_bytes", "What of the heap Java has taken from the system."),
    "heap_max_bytes": ("heap_max_bytes", "The most that the heap may be: spark.driver.memory."),
    "resident_bytes": ("resident_memory_bytes", "What its Java process has in memory, beside the heap, too."),
}
_COUNTERS: Mapping[str, tuple[str, str]] = {
    "gc_seconds": ("gc_seconds", "Time that its Java process has spent on collecting garbage."),
    "gc_runs": ("gc_runs", "How often it has collected garbage."),
    "spilled_bytes": (
        "spilled_bytes",
        "What tasks of Spark wrote to disk as it did not fit into memory, where they run in the driver.",
    ),
}


def of_tasks(tasks: Tasks) -> Iterator[Metric]:
    """Yield what sinks on Spark say. Of a driver that several tasks share there is one series; what is not known has no sample."""
    runs_on = InfoMetricFamily("rocketconnect_task_spark", "The Spark driver that a sink runs on.", labels=TASK)
    steps = HistogramMetricFamily(
        "rocketconnect_spark_step_duration_seconds",
        "Steps of batches on Spark, failed ones too: stage and commit, or write where the sink does both in one.",
        labels=(*TASK, "step"),
    )
    drivers: dict[tuple[str, str], states.SparkDriver] = {}
    for connector, task in tasks:
        labels, said = labels_of(connector, task), task.metrics
        for each in said.spark_steps:
            pairs = zip(said.batch_bounds, each.buckets, strict=False)
            buckets = [(repr(bound), count) for bound, count in pairs if bound != float("inf")]
            steps.add_metric([*labels, each.step], [*buckets, ("+Inf", each.count)], each.seconds)
        if said.HasField("spark_driver") and task.worker_id:
            driver = said.spark_driver
            runs_on.add_metric(labels, dict(zip(_DRIVER, (task.worker_id, driver.profile), strict=True)))
            # Two tasks may have been told a moment apart, and counters go up.
            known = drivers.setdefault((task.worker_id, driver.profile), driver)
            if (driver.gc_runs, driver.gc_seconds) > (known.gc_runs, known.gc_seconds):
                drivers[task.worker_id, driver.profile] = driver
    yield from (runs_on, steps)
    yield from _of_drivers(drivers)


def _of_drivers(drivers: Mapping[tuple[str, str], states.SparkDriver]) -> Iterator[Metric]:
    for field, (name, text) in _GAUGES.items():
        gauge = GaugeMetricFamily(f"rocketconnect_spark_driver_{name}", text, labels=_DRIVER)
        for labels, driver in drivers.items():
            if _is_known(driver, field):
                gauge.add_metric(labels, getattr(driver, field))
        yield gauge
    for field, (name, text) in _COUNTERS.items():
        counter = CounterMetricFamily(f"rocketconnect_spark_driver_{name}", text, labels=_DRIVER)
        for labels, driver in drivers.items():
            if _is_known(driver, field):
                counter.add_metric(labels, getattr(driver, field))
        yield counter


def _is_known(driver: states.SparkDriver, field: str) -> bool:
    described = driver.DESCRIPTOR.fields_by_name[field]
    return not described.has_presence or driver.HasField(described.name)  # type: ignore[arg-type]
