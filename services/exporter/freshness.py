"""How fresh what tasks have delivered is, and how long it took. Pure."""

from bisect import bisect_left
from collections.abc import Iterator

from prometheus_client.core import GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.samples import Exemplar
from rocketconnect.state.v1 import state_service_pb2 as states

from services.exporter.series import TASK, Tasks, labels_of


def of_tasks(tasks: Tasks) -> Iterator[Metric]:
    """Yield what is known of times. A task whose records have none has no such sample: unknown is never 0."""
    newest = GaugeMetricFamily(
        "rocketconnect_task_newest_record_timestamp_seconds",
        "The source's time of the newest record that the sink has made durable, or that the broker has confirmed to the source.",
        labels=TASK,
    )
    stored = GaugeMetricFamily(
        "rocketconnect_task_newest_stored_timestamp_seconds",
        "When the broker stored the newest message that the sink has made durable.",
        labels=TASK,
    )
    latency = HistogramMetricFamily(
        "rocketconnect_task_end_to_end_latency_seconds",
        "From the source's time of a record until it is durable in the sink, or confirmed by the broker to the source: "
        "of the first record of each batch and partition.",
        labels=TASK,
    )
    for connector, task in tasks:
        labels, said = labels_of(connector, task), task.metrics
        if said.HasField("newest_record"):
            newest.add_metric(labels, said.newest_record.ToNanoseconds() / 1e9)
        if said.HasField("newest_stored"):
            stored.add_metric(labels, said.newest_stored.ToNanoseconds() / 1e9)
        if said.latencies:
            pairs = zip(said.latency_bounds, said.latency_buckets, strict=False)
            counts = [*((repr(bound), count) for bound, count in pairs if bound != float("inf")), ("+Inf", said.latencies)]
            traced = {bisect_left(said.latency_bounds, each.seconds): each for each in said.latency_exemplars}
            buckets = [(*each, _exemplar(traced[place])) if place in traced else each for place, each in enumerate(counts)]
            latency.add_metric(labels, buckets, said.latency_seconds)
    yield from (newest, stored, latency)


def _exemplar(said: states.Exemplar) -> Exemplar:
    """A traced record, which is shown to who asks for OpenMetrics."""
    return Exemplar({"trace_id": said.trace_id}, said.seconds, said.time.ToNanoseconds() / 1e9)
