"""The workloads by name, one module each."""

from collections.abc import Mapping

from bench.workload import Workload
from bench.workloads import assignment, commits, control, failover, files, flights, latency, peers, sizes, start

WORKLOADS: Mapping[str, Workload] = {
    "files": files.WORKLOAD,
    "peers": peers.WORKLOAD,
    "flights": flights.WORKLOAD,
    "latency": latency.WORKLOAD,
    "records": sizes.RECORDS,
    "growth": sizes.GROWTH,
    "queues": sizes.QUEUE_COUNTS,
    "start": start.WORKLOAD,
    "assignment": assignment.WORKLOAD,
    "control": control.WORKLOAD,
    "commits": commits.WORKLOAD,
    "failover": failover.WORKLOAD,
}
