"""The workloads by name, one module each."""

from collections.abc import Mapping

from bench.workload import Workload
from bench.workloads import (
    assignment,
    capture,
    capture_latency,
    commits,
    control,
    converters,
    database_sink,
    failover,
    files,
    flights,
    idle,
    latency,
    peers,
    rest,
    session,
    sizes,
    standalone,
    start,
    ways,
)

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
    "start": start.WORKLOAD,
    "rest": rest.WORKLOAD,
    "assignment": assignment.WORKLOAD,
    "control": control.WORKLOAD,
    "capture": capture.WORKLOAD,
    "capture-latency": capture_latency.WORKLOAD,
    "database-sink": database_sink.WORKLOAD,
    "commits": commits.WORKLOAD,
    "converters": converters.WORKLOAD,
    "idle": idle.WORKLOAD,
    "failover": failover.WORKLOAD,
}
