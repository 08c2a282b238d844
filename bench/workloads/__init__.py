"""The workloads by name, one module each."""

from collections.abc import Mapping

from bench.workload import Workload
from bench.workloads import (
    capture,
    capture_latency,
    converters,
    database_sink,
    files,
    flights,
    guarded,
    lakes,
    latency,
    peers,
    session,
    sizes,
    standalone,
    systems,
    ways,
)
from bench.workloads.rocketmq import clients
from bench.workloads.services import assignment, commits, control, failover, idle, rest, start, traced

WORKLOADS: Mapping[str, Workload] = {
    "files": files.WORKLOAD,
    "peers": peers.WORKLOAD,
    "flights": flights.WORKLOAD,
    "latency": latency.WORKLOAD,
    "records": sizes.RECORDS,
    "growth": sizes.GROWTH,
    "queues": sizes.QUEUE_COUNTS,
    "ways": ways.WORKLOAD,
    "session": session.WORKLOAD,
    "standalone": standalone.WORKLOAD,
    "guarded": guarded.WORKLOAD,
    "traced": traced.WORKLOAD,
    "start": start.WORKLOAD,
    "rest": rest.WORKLOAD,
    "assignment": assignment.WORKLOAD,
    "control": control.WORKLOAD,
    "capture": capture.WORKLOAD,
    "capture-latency": capture_latency.WORKLOAD,
    "database-sink": database_sink.WORKLOAD,
    "lakes": lakes.WORKLOAD,
    "commits": commits.WORKLOAD,
    "clients": clients.WORKLOAD,
    "converters": converters.WORKLOAD,
    "systems": systems.WORKLOAD,
    "idle": idle.WORKLOAD,
    "failover": failover.WORKLOAD,
}
