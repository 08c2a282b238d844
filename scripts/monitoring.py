"""`make reference`: writes docs/monitoring.md, how to watch RocketConnect, with every metric as its definition says."""

import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import prometheus_client
from prometheus_client.core import Metric
from prometheus_client.metrics import MetricWrapperBase
from rocketconnect.cluster.v1 import cluster_service_pb2 as cluster
from rocketconnect.connector.v1 import connector_pb2 as connectors
from rocketconnect.state.v1 import state_service_pb2 as states

from rocketconnect_kit import metrics
from rocketconnect_kit.serving import resources
from scripts.dashboards.__main__ import pages
from scripts.pictures import shown
from services.executor.worker import openlineage
from services.exporter import dead_letters, families, lag
from services.exporter.rocketmq import families as of_rocketmq
from services.exporter.rocketmq import names
from services.exporter.rocketmq.snapshot import Broker
from services.gateway import app

PAGE = Path(__file__).resolve().parent.parent / "docs/monitoring.md"

_HEAD = """\
# Watching it

`make reference` makes this page, from the definitions of metrics and dashboards.

- **The exporter** tells of all connectors, tasks and workers on one address: `rocketconnect serve exporter`, or the one of
  `rocketconnect up`, which says where when it is ready. A scrape asks the services: an exporter needs nothing but their addresses.
- **Each service** tells of itself on `ROCKETCONNECT_METRICS_PORT`: calls, its store, whether it leads, memory and processor.
- **Prometheus**: [deploy/prometheus](../deploy/prometheus) has what to scrape, rules that record what dashboards ask for, and
  alerts. [Alerts](alerts.md#alerts) says of each what it means and what to do.
- **Grafana** 11.6 or newer: import the files in [deploy/grafana](../deploy/grafana), or have Grafana provision them.

Names end in their base unit, counters in `_total`. Series of a task carry `connector` and `task`, and not the worker: a task that
moves goes on with its series, and `rocketconnect_task_worker_info` says where it is. Counters begin at 0 when a task is started
again, as Prometheus expects of counters.
"""
_PICTURES = """
The pictures are of one run of six minutes with four connectors, in which things were broken on purpose. `python -m
scripts.pictures` makes them again: it runs `rocketconnect up --watch`, asks its Prometheus what each panel asks, and draws the
answers where Grafana has the panels. Grafana itself draws more finely.
"""
_OF_SERVICES = """
### Of each service

The gateway alone has those of REST, and executors with `--lineage-url` alone that of lineage.
Beside these each has `process_*` and `python_*`, as all of Prometheus' clients in Python.

"""
_OF_BROKERS = """
### Of RocketMQ

With `ROCKETCONNECT_ROCKETMQ_METRICS=true` and `ROCKETCONNECT_NAME_SERVER` the exporter has the metrics of
[RocketMQ exporter](https://github.com/apache/rocketmq-exporter) as well, under its names and with its labels: its dashboard
(Grafana's number 10477) works unchanged, and no second exporter is needed. ACL and TLS are told as to executors
(`ROCKETCONNECT_ROCKETMQ_ACCESS_KEY` and so on); the user asks brokers of all topics and groups, so it is a super user.

Brokers are asked each 30 s (`ROCKETCONNECT_ROCKETMQ_INTERVAL_SECONDS`), beside scrapes and not by them, and have as long to
answer. One that is away is a 0 of `rocketconnect_rocketmq_up` for an hour, and the series of all others are there; without a
round for three intervals there are none. Of topics, of groups in topics and of clients at most 1000 each
(`ROCKETCONNECT_ROCKETMQ_MOST`) have series, topics of users first; `rocketconnect_rocketmq_left_out` says how many have not.
Of 400 topics and 200 groups in them a round takes 3 s, and a third of a second of a processor.

Brokers do not tell of their Java's memory and garbage. [Prometheus' JMX exporter](https://github.com/prometheus/jmx_exporter)
does, an agent within their process. `rocketconnect up --watch` gives its own name server and broker one, and asks it. To a broker
of your own you give it so:

```sh
printf 'rules: []\\nexcludeObjectNames: ["*:*"]\\n' > jmx.yaml
JAVA_OPT_EXT="-javaagent:jmx_prometheus_javaagent-1.0.1.jar=9404:jmx.yaml" sh bin/mqbroker -n namesrv:9876
```

Port 9404 then has `jvm_memory_used_bytes`, `jvm_memory_max_bytes` and `jvm_gc_collection_seconds`, in 11 kB. Name the
job that scrapes it `rocketmq-java`, with a label `process`: the panels `Heaps of Java` and `Garbage of Java` and the
alert `RocketConnectBrokerHeapLow` ask for that. The agent takes half a second to a second of a processor at the start,
10 to 30 MiB, and 30 ms for a scrape on a busy machine.

"""
_THEIRS = """
RocketMQ exporter's, all of them gauges, and what a broker is asked for each. Where they differ: what a broker does not know
(-1) has no sample, `rocketmq_brokeruntime_remain_howmanydata_toflush` counts its unit in, `cluster` is that of the broker, and a
label has at most 100 addresses.

| metric | labels | what it says | asked |
|---|---|---|---|
"""
_NOT_THERE = "\nNot there:\n\n| metric | why not |\n|---|---|\n"


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
    told.spark_steps.add(step="write", count=1, buckets=[1])
    told.spark_driver.MergeFrom(states.SparkDriver(profile="spark", heap_max_bytes=1, resident_bytes=1, spilled_bytes=1))
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
        openlineage.EVENTS,
        resources.DISK_SIZE,
        resources.DISK_FREE,
        resources.MEMORY_LIMIT,
        resources.MEMORY_USED,
        resources.CERTIFICATES,
        app.REQUESTS,
        app.SECONDS,
    ]
    yield from map(_of_counted, counted)


def of_rounds() -> Iterator[Described]:
    """What the exporter tells of its questions to brokers."""
    up = {Broker("c", "b", "h:1", 0): True}
    yield from map(_of_family, of_rocketmq.of_rounds(up, {}, name_server=True, ended=1.0, seconds=1.0))


def of_brokers() -> Iterator[Described]:
    """RocketMQ exporter's metrics."""
    yield from (Described(each.name, "gauge", each.labels, each.text) for each in names.ALL.values())


def page() -> str:
    """The page."""
    parts = [_HEAD, "\n## Dashboards\n", _PICTURES]
    for each in pages():
        parts.append(f"\n### {each.title.partition(': ')[2].capitalize()}\n\n{each.about}\n\n| panel | question |\n|---|---|\n")
        parts += [f"| {panel.title} | {panel.description} |\n" for _, row in each.rows for panel in (made.build() for made in row)]
        parts += [_pictured(picture) for picture in shown.PICTURES if f"rocketconnect-{picture.dashboard}" == each.uid]
    parts.append("\n## Metrics\n\n### Of the exporter\n\n")
    parts += _table(of_exporter())
    parts.append(_OF_SERVICES)
    parts += _table(of_services())
    parts.append(_OF_BROKERS)
    parts += _table(of_rounds())
    parts.append(_THEIRS)
    for named in names.ALL.values():
        parts.append(f"| `{named.name}` | {_listed(named.labels)} | {named.text} | `{named.asked}` |\n")
    parts.append(_NOT_THERE)
    parts += [f"| `{name}` | {why} |\n" for name, why in names.MISSING.items()]
    return "".join(parts)


def _pictured(picture: shown.Picture) -> str:
    named = f"{', '.join(picture.rows[:-1])} and {picture.rows[-1]}"
    return f"\n{picture.caption}\n\n![{named}]({shown.FOLDER.name}/{picture.name}.png)\n"


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
        yield f"| `{each.name}` | {each.type} | {_listed(each.labels)} | {each.meaning} |\n"


def _listed(labels: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in labels)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    sys.stdout.write("docs/monitoring.md written\n")
