"""How long a connector takes for so many records, by its own counters."""

import time

from bench.measuring.instance import LIMIT_SECONDS, Instance
from bench.workload import BenchFailed
from rocketconnect_cli.states import counter, get_state

POLL_SECONDS = 0.1


def until_moved(it: Instance, name: str, rows: int) -> float:
    """Until so many records are through; the seconds from when the task began to read.

    Raises:
        BenchFailed: they are not, or a task was started again, so that what it counts is not all.
    """
    began, deadline = 0.0, time.monotonic() + LIMIT_SECONDS
    while True:
        tasks = get_state(it.api, name).get("tasks", [])
        now = time.monotonic()
        if any(task.get("restarts") for task in tasks):
            msg = f"{name}: a task was started again; {it.states()}"
            raise BenchFailed(msg)
        if not began and any(counter(task, "recordsIn") for task in tasks):
            began = now
        if sum(counter(task, "recordsOut") for task in tasks) >= rows:
            return now - began
        if now > deadline:
            msg = f"{name}: not all of {rows:,} rows came through; {it.states()}"
            raise BenchFailed(msg)
        time.sleep(POLL_SECONDS)
