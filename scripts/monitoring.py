"""`make reference`: writes docs/monitoring.md, how to watch RocketConnect, with every metric as its definition says."""

import sys
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
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

- **The exporter** tells of all connectors, tasks and workers on one address: `rocketconnect serve exporter`, or the one that
  `rocketconnect up` prints. It needs the addresses of the services alone.
- **Each service** tells of itself on `ROCKETCONNECT_METRICS_PORT`: calls, its store, whether it leads, memory and processor.
- **Prometheus**: [deploy/prometheus](../deploy/prometheus) has scrape jobs, recording rules and [alerts](alerts.md#alerts).
- **Grafana** 11.6 or newer: import the files in [deploy/grafana](../deploy/grafana), or have Grafana provision them.

Names end in their base unit, counters in `_total`. Counters begin at 0 when a task is started again. A task that moves to another
worker goes on with its series; `rocketconnect_task_worker_info` says where it is. [Alerts and metrics](alerts.md#metrics) says how
to read lag, freshness and others. `make reference` makes this page from the definitions of metrics and dashboards.
"""
_DASHBOARDS = """
## Dashboards

In Grafana each panel says which question it answers. The pictures are of one run of six minutes with four connectors, in which
things were broken on purpose. `python -m scripts.pictures` makes them again; Grafana itself draws more finely.
"""
_OF_EXPORTER = """
## Metrics

### Of the exporter

Of each task, with the labels `connector` and `task`, and those of the row:

"""
_OF_OTHERS = "\nOf connectors, workers and the exporter itself:\n\n"
_OF_SERVICES = """
### Of each service

The gateway alone has those of REST, executors with `--lineage-url` alone that of lineage. Each has `process_*` and `python_*`, too.

"""
_OF_BROKERS = """
### Of RocketMQ

With `ROCKETCONNECT_ROCKETMQ_METRICS=true` and `ROCKETCONNECT_NAME_SERVER` the exporter has the metrics of
[RocketMQ exporter](https://github.com/apache/rocketmq-exporter) as well, with its names and labels. Its dashboard (Grafana's
number 10477) works unchanged.

- ACL and TLS are set as for executors (`ROCKETCONNECT_ROCKETMQ_ACCESS_KEY` and so on). The user has to be a super user, because it
  asks for all topics and groups.
- Brokers are asked each 30 s (`ROCKETCONNECT_ROCKETMQ_INTERVAL_SECONDS`), not by scrapes. Without a round for three intervals there
  are no series.
- A broker that is away is a 0 of `rocketconnect_rocketmq_up` for an hour.
- Of topics, of groups in topics and of clients at most 1000 each (`ROCKETCONNECT_ROCKETMQ_MOST`) have series, topics of users
  first. `rocketconnect_rocketmq_left_out` counts the others.
- A round over 400 topics and 200 groups takes 3 s, and a third of a second of a processor.

Brokers do not tell of their Java's memory and garbage. An agent within their process does,
[Prometheus' JMX exporter](https://github.com/prometheus/jmx_exporter). `rocketconnect up --watch` gives its own name server and
broker one. To give one to a broker of your own:

```sh
printf 'rules: []\\nexcludeObjectNames: ["*:*"]\\n' > jmx.yaml
JAVA_OPT_EXT="-javaagent:jmx_prometheus_javaagent-1.0.1.jar=9404:jmx.yaml" sh bin/mqbroker -n namesrv:9876
```

Scrape port 9404 by a job with the name `rocketmq-java` and a label `process`. The panels `Heaps of Java` and `Garbage of Java` ask
for that, and so does the alert `RocketConnectBrokerHeapLow`. The agent takes up to a second of a processor at the start, and 10 to
30 MiB.

"""
_THEIRS = """
RocketMQ exporter's are gauges. These differ from it:

- What a broker does not know (-1) has no sample.
- `rocketmq_brokeruntime_remain_howmanydata_toflush` counts its unit in.
- `cluster` is that of the broker, and a label has at most 100 addresses.
"""
_NOT_THERE = "\nNot there:\n\n| metric | why not |\n|---|---|\n"
_OF_A_TASK = ("connector", "task")


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
    parts = [_HEAD, _DASHBOARDS]
    for each in pages():
        parts.append(f"\n### {each.title.partition(': ')[2].capitalize()}\n\n{_filled(each.about)}\n")
        parts += [_filled(f"- **{row}**: {'; '.join(str(made.build().title) for made in panels)}") for row, panels in each.rows]
        parts += [_pictured(picture) for picture in shown.PICTURES if f"rocketconnect-{picture.dashboard}" == each.uid]
    told = list(of_exporter())
    parts.append(_OF_EXPORTER)
    parts += _table(replace(each, labels=each.labels[2:]) for each in told if _of_a_task(each))
    parts.append(_OF_OTHERS)
    parts += _table(each for each in told if not _of_a_task(each))
    parts.append(_OF_SERVICES)
    parts += _table(of_services())
    parts.append(_OF_BROKERS)
    parts += _table(of_rounds())
    parts.append(_THEIRS)
    for labels in dict.fromkeys(tuple(each.labels) for each in names.ALL.values()):
        asked = dict.fromkeys(each.asked for each in names.ALL.values() if tuple(each.labels) == labels)
        about = _filled(f"With {_listed(labels)}, asked for by {_listed(asked)}:")
        parts.append(f"\n{about}\n| metric | what it says |\n|---|---|\n")
        parts += [f"| {name} | {text} |\n" for name, text in _theirs(labels)]
    parts.append(_NOT_THERE)
    parts += [f"| `{name}` | {why} |\n" for name, why in names.MISSING.items()]
    return "".join(parts)


def _filled(text: str) -> str:
    indent = "  " * text.startswith("- ")
    return textwrap.fill(text, 130, subsequent_indent=indent, break_on_hyphens=False, break_long_words=False) + "\n"


def _of_a_task(described: Described) -> bool:
    return tuple(described.labels[:2]) == _OF_A_TASK


def _theirs(labels: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield RocketMQ exporter's metrics with these labels: those that differ in a span of time alone are one row."""
    rates = {names.runtime(f"{end}_tps{span}"): end for end in names.RATES for span in names.SPANS}
    times = [names.runtime(f"pmdt_{end}") for end in names.PUT_TIMES]
    rows = {each.name: (f"`{each.name}`", each.text) for each in names.ALL.values() if tuple(each.labels) == labels}
    for name, row in rows.items():
        if name in rates and name.endswith(f"_tps{names.SPANS[0]}"):
            others = ", ".join(f"`_tps{span}`" for span in names.SPANS[1:])
            spans = ", ".join(map(str, names.SPANS[:-1]))
            yield f"`{name}`, {others}", f"{names.RATES[rates[name]][1]} a second, in the last {spans} or {names.SPANS[-1]} s."
        elif name == times[0]:
            ends = ", ".join(f"`{end}`" for end in names.PUT_TIMES)
            yield f"`{names.runtime('pmdt_')}TIME`", f"Messages of the last minute that took so long to put. TIME is one of {ends}."
        elif name not in rates and name not in times:
            yield row


def _pictured(picture: shown.Picture) -> str:
    named = f"{', '.join(picture.rows[:-1])} and {picture.rows[-1]}"
    return f"\n{_filled(picture.caption)}\n![{named}]({shown.FOLDER.name}/{picture.name}.png)\n"


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


def _table(described: Iterable[Described]) -> Iterator[str]:
    yield "| metric | type | labels | what it says |\n|---|---|---|---|\n"
    for each in described:
        yield f"| `{each.name}` | {each.type} | {_listed(each.labels)} | {each.meaning} |\n"


def _listed(labels: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in labels)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    sys.stdout.write("docs/monitoring.md written\n")
