"""What the services say as Prometheus metrics. Pure.

Names end in their base unit, counters in `_total`. Series of a task carry connector and task, not the worker: a task that moves
goes on with its series (`rocketconnect_task_worker_info` says where it is). Counters begin at 0 when a task is started again, as
Prometheus expects of counters.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, InfoMetricFamily, Metric
from rocketconnect.cluster.v1 import cluster_service_pb2 as cluster
from rocketconnect.connector.v1 import connector_pb2 as connectors
from rocketconnect.state.v1 import state_service_pb2 as states

from services.exporter import freshness, spark
from services.exporter.series import TASK, UNDER_WAY, Tasks, labels_of

_QUEUE = (*TASK, "topic", "queue")
_PARTITION = (*TASK, "partition")
_COUNTERS: Mapping[str, tuple[str, str]] = {
    "records_in": ("records_in", "Records read from the source or from the topic."),
    "records_out": ("records_out", "Records confirmed by the broker or made durable by the sink."),
    "bytes_in": ("bytes_in", "Bytes of values read."),
    "bytes_out": ("bytes_out", "Bytes of values confirmed or made durable."),
    "duplicates_skipped": ("duplicates_skipped", "Records dropped because they were there already."),
    "late_skipped": ("late_skipped", "Messages dropped because their epoch was below that of others before them in the queue."),
    "gap_messages": ("gap_messages", "Messages that were missing in a queue and passed, as on.gap=skip says."),
    "dead_letters": ("dead_letters", "Records given to the dead-letter queue."),
    "records_skipped": ("records_skipped", "Records filtered or skipped by the error policy."),
    "retries": ("retries", "Attempts after the first, of polls, sends and writes."),
    "errors": ("errors", "Errors, retried ones included."),
    "commits": ("commits", "Position commits."),
}
_GAUGES: Mapping[str, tuple[str, str]] = {
    "rate_in": ("records_in_per_second", "Records a second over the last ten seconds, in."),
    "rate_out": ("records_out_per_second", "Records a second over the last ten seconds, out."),
    "buffered_bytes": ("buffered_bytes", "Bytes held between two stages now."),
    "dropped_in_a_row": ("dropped_in_a_row", "Messages dropped since anything of their source partitions was kept."),
    "batch_seconds_max": ("batch_duration_max_seconds", "The longest batch since the task was started."),
}
_STATES = {number: name.removeprefix("STATE_") for name, number in connectors.State.items() if number}


def up(services: Mapping[str, bool], workers: Iterable[cluster.Worker]) -> Iterator[Metric]:
    """Yield whether each service answered, and each executor as the cluster service knows it."""
    text = "1: the service answered this scrape, the lease of the executor holds; 0: not."
    family = GaugeMetricFamily("rocketconnect_up", text)
    for name, answered in services.items():
        family.add_sample(family.name, {"service": name}, answered)
    for worker in workers:
        family.add_sample(family.name, {"service": "executor", "worker": worker.worker_id}, worker.alive)
    yield family


def scrape_seconds(seconds: float) -> Metric:
    """Return how long the services took to answer."""
    return GaugeMetricFamily("rocketconnect_exporter_scrape_duration_seconds", "Time to ask all services.", seconds)


def of_states(said: Sequence[states.ConnectorState]) -> Iterator[Metric]:
    """Yield the metrics of connectors and their tasks."""
    yield from _of_connectors(said)
    tasks = [(connector, task) for connector in said for task in connector.tasks]
    yield from _of_life(tasks)
    # Planning (task -1) moves no records.
    running = [(connector, task) for connector, task in tasks if task.task >= 0]
    for field, (name, text) in _COUNTERS.items():
        counter = CounterMetricFamily(f"rocketconnect_task_{name}", text, labels=TASK)
        for connector, task in running:
            counter.add_metric(labels_of(connector, task), getattr(task.metrics, field))
        yield counter
    for field, (name, text) in _GAUGES.items():
        gauge = GaugeMetricFamily(f"rocketconnect_task_{name}", text, labels=TASK)
        for connector, task in running:
            gauge.add_metric(labels_of(connector, task), getattr(task.metrics, field))
        yield gauge
    yield _batches(running)
    yield from freshness.of_tasks(running)
    yield from spark.of_tasks(running)
    yield from _of_ends(running)


def of_cluster(workers: Sequence[cluster.Worker], assignments: Sequence[cluster.Assignment], changes: int) -> Iterator[Metric]:
    """Yield the metrics of workers, their leases and the assignment."""
    count = GaugeMetricFamily("rocketconnect_workers", "Workers by whether their lease holds.", labels=["state"])
    alive = sum(worker.alive for worker in workers)
    count.add_metric(["alive"], alive)
    count.add_metric(["lost"], len(workers) - alive)
    yield count
    lease = GaugeMetricFamily("rocketconnect_worker_lease_expiry_timestamp_seconds", "When its lease ends.", labels=["worker"])
    held = GaugeMetricFamily("rocketconnect_worker_tasks", "Tasks that it holds.", labels=["worker"])
    for worker in workers:
        lease.add_metric([worker.worker_id], worker.lease_until.ToNanoseconds() / 1e9)
        held.add_metric([worker.worker_id], worker.tasks)
    yield from (lease, held)
    units = GaugeMetricFamily("rocketconnect_assignments", "Units of work by kind and by who holds them.", labels=["unit", "state"])
    for (unit, state), number in sorted(Counter(map(_assignment_labels, assignments)).items()):
        units.add_metric([unit, state], number)
    yield units
    total = CounterMetricFamily("rocketconnect_assignment_changes", "How often a unit of work has been given to a worker.")
    total.add_metric([], changes)
    yield total


def _of_connectors(said: Sequence[states.ConnectorState]) -> Iterator[Metric]:
    state = GaugeMetricFamily(
        "rocketconnect_connector_state", "1 for the state that the connector is in.", labels=["connector", "state"]
    )
    revision = GaugeMetricFamily("rocketconnect_connector_revision", "The revision that its tasks run.", labels=["connector"])
    info = InfoMetricFamily("rocketconnect_connector", "The direction of the connector, and its plugin.", labels=["connector"])
    for connector in said:
        for number, name in _STATES.items():
            state.add_metric([connector.connector, name], connector.state == number)
        revision.add_metric([connector.connector], connector.revision)
        kind = connectors.ConnectorType.Name(connector.type).removeprefix("CONNECTOR_TYPE_").lower()
        info.add_metric([connector.connector], {"type": kind, "plugin": connector.plugin})
    yield from (state, revision, info)


def _of_life(tasks: Sequence[tuple[states.ConnectorState, states.TaskState]]) -> Iterator[Metric]:
    state = GaugeMetricFamily("rocketconnect_task_state", "1 for the state that the task is in.", labels=[*TASK, "state"])
    where = InfoMetricFamily("rocketconnect_task_worker", "The worker that holds the task.", labels=TASK)
    progress = GaugeMetricFamily("rocketconnect_task_last_progress_timestamp_seconds", "When it last made progress.", labels=TASK)
    restarts = CounterMetricFamily("rocketconnect_task_restarts", "How often it was started again after a failure.", labels=TASK)
    for connector, task in tasks:
        labels = labels_of(connector, task)
        for number, name in _STATES.items():
            state.add_metric([*labels, name], task.state == number)
        restarts.add_metric(labels, task.restarts)
        if task.worker_id:
            where.add_metric(labels, {"worker": task.worker_id})
        if task.HasField("last_progress"):
            progress.add_metric(labels, task.last_progress.ToNanoseconds() / 1e9)
    yield from (state, where, progress, restarts)


def _batches(tasks: Tasks) -> Metric:
    family = HistogramMetricFamily(
        "rocketconnect_task_batch_duration_seconds", "From the first record of a batch to its commit.", labels=TASK
    )
    for connector, task in tasks:
        said = task.metrics
        pairs = zip(said.batch_bounds, said.batch_buckets, strict=False)
        buckets = [(repr(bound), count) for bound, count in pairs if bound != float("inf")]
        family.add_metric(labels_of(connector, task), [*buckets, ("+Inf", said.batches)], said.batch_seconds)
    return family


def _of_ends(tasks: Tasks) -> Iterator[Metric]:
    lag = GaugeMetricFamily("rocketconnect_sink_lag_messages", "Messages between the position and the end.", labels=_QUEUE)
    position = GaugeMetricFamily("rocketconnect_sink_position", "The committed position: an offset of the queue.", labels=_QUEUE)
    remaining = GaugeMetricFamily(
        "rocketconnect_source_remaining", "What is left to read, where that is known, in the unit of the source.", labels=TASK
    )
    at = GaugeMetricFamily(
        "rocketconnect_source_position",
        "The first integer of the committed offset, of files the byte, in the (at most 100) partitions that moved last.",
        labels=_PARTITION,
    )
    for connector, task in tasks:
        labels = labels_of(connector, task)
        for source in task.metrics.source_positions:
            at.add_metric([*labels, source.partition], source.offset)
        for queue in task.metrics.lags:
            # "topic/broker/number"; what is chosen by topic would else need a pattern.
            where = [*labels, queue.queue.partition("/")[0], queue.queue]
            lag.add_metric(where, queue.messages)
            position.add_metric(where, queue.position)
        if task.metrics.source_remaining_known and task.state in UNDER_WAY:
            remaining.add_metric(labels, task.metrics.source_remaining)
    yield from (lag, position, remaining, at)


def _assignment_labels(assignment: cluster.Assignment) -> tuple[str, str]:
    unit = cluster.Unit.Name(assignment.unit).removeprefix("UNIT_").lower()
    if not assignment.worker_id:
        return unit, "unowned"
    return unit, "revoked" if assignment.revoked else "held"
