"""More tasks on one executor than the position service takes connections."""

import time
from pathlib import Path

import psutil
import pytest
from rocketconnect.connector.v1 import connector_pb2 as connectors

from tests.services.executor.system import System

pytestmark = [pytest.mark.rocketmq, pytest.mark.e2e, pytest.mark.slow]

CONNECTORS, TASKS, HOSTS = 24, 50, 16


def connections(system: System, service: str) -> int:
    """How many the process of a service has been opened."""
    port = int(system.addresses[service].rpartition(":")[2])
    seen = psutil.Process(system.processes[service].pid).net_connections(kind="tcp")
    return sum(each.status == psutil.CONN_ESTABLISHED and each.laddr.port == port for each in seen)


def test_more_tasks_than_a_service_takes_connections_need_one_for_each_process(system: System, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "1.txt").write_text("the line\n")
    system.start("worker-1", max_tasks="0", native_hosts=str(HOSTS))
    for number in range(CONNECTORS):
        files = {"filename": str(tmp_path / "in" / "*.txt"), "max_tasks": str(TASKS)}
        system.create(f"many-{number}", connector_class="file_source", topic=f"many-{number}-{time.time_ns()}", **files)

    def rest(number: int) -> bool:
        state = system.state(f"many-{number}")
        return len(state.tasks) == TASKS and all(task.state == connectors.STATE_IDLE for task in state.tasks)

    for number in range(CONNECTORS):
        system.until(lambda number=number: rest(number), 1_200)  # type: ignore[misc]
    # Beside the hosts: the executor, and who asks for positions before a plan.
    assert connections(system, "position") <= HOSTS + 10
