"""What tasks and their libraries log is changed while they run."""

from pathlib import Path

import grpc
import pytest
from rocketconnect.connector.v1 import connector_pb2
from rocketconnect.executor.v1 import executor_service_pb2 as pb
from rocketconnect.executor.v1.executor_service_pb2_grpc import ExecutorServiceStub
from rocketconnect.logging.v1 import logging_service_pb2 as levels
from rocketconnect.logging.v1.logging_service_pb2_grpc import LoggingServiceStub
from rocketconnect.state.v1 import state_service_pb2 as states

from tests.services.executor.system import System

pytestmark = [pytest.mark.rocketmq, pytest.mark.e2e]


def test_a_level_counts_in_running_tasks_of_its_connector_and_no_others_and_can_be_given_back(
    system: System, tmp_path: Path
) -> None:
    system.start("worker-1", tasks_per_host="2", native_hosts="1")
    for name in ("one", "two"):
        system.create(name, connector_class="monitorable_source", topic=f"{name}-{tmp_path.name}")
    system.until(lambda: all(each.state == connector_pb2.STATE_IDLE for each in map(system.state, ("one", "two"))))
    opened = grpc.insecure_channel(system.addresses["worker-1"])
    executor, loggers = ExecutorServiceStub(opened), LoggingServiceStub(opened)

    def told(name: str) -> None:
        executor.SignalTask(pb.SignalTaskRequest(connector=name, task=0, signal="more", arguments={"records": "1"}), timeout=60)

    def seen(connector: str, text: str) -> int:
        found = (system.folder / "worker-1.log").read_text().splitlines()
        return sum(f"connector={connector}" in line and text in line and "[debug" in line for line in found)

    for name in ("one", "two"):
        told(name)
    for logger in ("rocketconnect.task", "a.library"):
        loggers.SetLogLevel(levels.SetLogLevelRequest(logger=logger, level=levels.LOG_LEVEL_DEBUG, connector="one"), timeout=60)
    for name in ("one", "two"):
        told(name)
    system.until(lambda: seen("one", "was told") == 1 and seen("one", "was heard") == 1)
    for logger in ("rocketconnect.task", "a.library"):
        answer = loggers.SetLogLevel(levels.SetLogLevelRequest(logger=logger, connector="one"), timeout=60)
    assert [(each.logger, each.level) for each in answer.processes[0].levels] == [("root", levels.LOG_LEVEL_INFO)]
    assert answer.processes[0].worker_id == "worker-1"
    told("one")
    loggers.SetLogLevel(levels.SetLogLevelRequest(logger="rocketconnect", level=levels.LOG_LEVEL_DEBUG), timeout=60)
    told("two")
    system.until(lambda: seen("two", "was told") == 1)

    assert [seen("one", text) for text in ("was told", "was heard")] == [1, 1]
    assert seen("two", "was heard") == 0
    logs = system.states.ListTaskLogs(states.ListTaskLogsRequest(connector="one"), timeout=60).logs
    assert [line.message for line in logs if line.level == "DEBUG"] == ["part-0 was told"]
