"""`make reference`: writes docs/monitoring.md, how to watch RocketConnect, with every metric as its definition says."""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import prometheus_client
from prometheus_client.core import Metric
from prometheus_client.metrics import MetricWrapperBase
from rocketconnect.cluster.v1 import cluster_service_pb2 as cluster
from rocketconnect.connector.v1 import connector_pb2 as connectors
from rocketconnect.state.v1 import state_service_pb2 as states

from rocketconnect_kit import metrics
from scripts.dashboards.__main__ import pages
from services.exporter import dead_letters, families, lag
from services.gateway import app

PAGE = Path(__file__).resolve().parent.parent / "docs/monitoring.md"

_HEAD = """\
# Watching it

`make reference` makes this page, from the definitions of metrics and dashboards.

- **The exporter** tells of all connectors, tasks and workers on one address: `rocketconnect serve exporter`, or the one of
  `rocketconnect up`, which says where when it is ready. A scrape asks the services: an exporter needs nothing but their addresses.
- **Each service** tells of itself on `ROCKETCONNECT_METRICS_PORT`: calls, its store, whether it leads, memory and processor.
- **Prometheus**: [deploy/prometheus](../deploy/prometheus) has what to scrape, rules that record what dashboards ask for, and
  alerts. [Alerts](operations.md#alerts) says of each what it means and what to do.
- **Grafana** 11.6 or newer: import the files in [deploy/grafana](../deploy/grafana), or have Grafana provision them.

Names end in their base unit, counters in `_total`. Series of a task carry `connector` and `task`, and not the worker: a task that
moves goes on with its series, and `rocketconnect_task_worker_info` says where it is. Counters begin at 0 when a task is started
again, as Prometheus expects of counters.
"""
_OF_SERVICES = """
### Of each service

The gateway alone has those of REST. Beside these each has `process_*` and `python_*`, as all of Prometheus' clients in Python.

"""


@dataclass(frozen=True, slots=True)
class Described:
    """A metric: its name as it is scraped, its type, labels and meaning."""

    name: str
    type: str
    labels: Sequence[str]
    meaning: str


def of_exporter() -> Iterator[Described]:
    """What the exporter tells, of a connector that has all that there is."""
    told = states.TaskMetrics(batches=1, batch_bounds=[1.0], batch_buckets=[1], source_remaining=1, source_remaining_known=True)
    told.MergeFrom(states.TaskMetrics(latencies=1, latency_bounds=[1.0], latency_buckets=[1]))
    told.newest_record.GetCurrentTime()
    told.newest_stored.GetCurrentTime()
    told.lags.add(queue="topic/broker/0", messages=1, position=1)
    told.source_positions.add(partition="partition", offset=1)
    task = states.TaskState(state=connectors.STATE_RUNNING, worker_id="worker", metrics=told)
    task.last_progress.GetCurrentTime()
    said = states.ConnectorState(connector="c", state=connectors.STATE_RUNNING, type=connectors.CONNECTOR_TYPE_SINK, tasks=[task])
    failed = states.ConnectorState(connector="f", state=connectors.STATE_FAILED, type=connectors.CONNECTOR_TYPE_SINK)
    waiting = {"c": dead_letters.Letters(keeps=True, waiting=1, oldest=1.0)}
    surveyed = [*lag.shown([failed], {"f": {"topic": 1}}), *dead_letters.shown(["c"], waiting)]
    workers = [cluster.Worker(worker_id="worker", alive=True)]
    held = [cluster.Assignment(unit=cluster.UNIT_TASK, worker_id="worker")]
    shown = [
        *families.up({"config": True}, workers),
        *families.of_states([said]),
        *surveyed,
        *families.of_cluster(workers, held, 1),
    ]
    yield from map(_of_family, [*shown, families.scrape_seconds(1.0)])


def of_services() -> Iterator[Described]:
    """What services count of themselves, and the gateway of REST."""
    counted = [
        metrics.BUILD,
        metrics.CALLS,
        metrics.SECONDS,
        metrics.RUNNING,
        metrics.HEALTHY,
        metrics.LEADING,
        app.REQUESTS,
        app.SECONDS,
    ]
    yield from map(_of_counted, counted)


def page() -> str:
    """The page."""
    parts = [_HEAD, "\n## Dashboards\n"]
    for each in pages():
        parts.append(f"\n### {each.title.partition(': ')[2].capitalize()}\n\n{each.about}\n\n| panel | question |\n|---|---|\n")
        parts += [f"| {panel.title} | {panel.description} |\n" for _, row in each.rows for panel in (made.build() for made in row)]
    parts.append("\n## Metrics\n\n### Of the exporter\n\n")
    parts += _table(of_exporter())
    parts.append(_OF_SERVICES)
    parts += _table(of_services())
    return "".join(parts)


def _of_family(metric: Metric) -> Described:
    labels = dict.fromkeys(name for sample in metric.samples for name in sample.labels if name != "le")
    end = {"counter": "_total", "info": "_info"}.get(metric.type, "")
    return Described(metric.name + end, metric.type, list(labels), metric.documentation)


def _of_counted(counted: MetricWrapperBase) -> Described:
    if isinstance(counted, prometheus_client.Info):
        return _of_family(*counted.collect())
    # What describe() tells has no labels until something is counted.
    labels = counted._labelnames  # noqa: SLF001
    (metric,) = counted.describe()
    end = "_total" if isinstance(counted, prometheus_client.Counter) else ""
    return Described(metric.name + end, metric.type, labels, metric.documentation)


def _table(described: Iterator[Described]) -> Iterator[str]:
    yield "| metric | type | labels | what it says |\n|---|---|---|---|\n"
    for each in described:
        labels = ", ".join(f"`{name}`" for name in each.labels)
        yield f"| `{each.name}` | {each.type} | {labels} | {each.meaning} |\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    sys.stdout.write("docs/monitoring.md written\n")
