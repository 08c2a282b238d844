"""Two processes of the state service on one PostgreSQL: what was acknowledged outlives the leader, and states are soon true."""

import asyncio
import signal
import time
from pathlib import Path
from typing import Any

import grpc
import pytest
from rocketconnect.cluster.v1 import cluster_service_pb2 as cluster_pb
from rocketconnect.cluster.v1.cluster_service_pb2_grpc import ClusterServiceStub
from rocketconnect.connector.v1.connector_pb2 import STATE_FAILED, STATE_RUNNING
from rocketconnect.state.v1 import state_service_pb2 as pb
from rocketconnect.state.v1.state_service_pb2_grpc import StateServiceStub

from rocketconnect_kit.calls.channel import channel
from rocketconnect_kit.settings import ServiceSettings
from tests.services.cluster.databases import fresh_database
from tests.services.cluster.processes import config_service, service_process
from tests.services.cluster.worker import PaperWorker, until


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
async def test_an_acknowledged_failure_outlives_the_leader_and_the_next_one_tells_the_truth_within_two_seconds(
    postgres: str, tmp_path: Path, number: signal.Signals
) -> None:
    url = fresh_database(postgres)
    async with (
        config_service(f"sqlite:///{tmp_path}/config.db") as config,
        service_process("cluster", "--data-dir", str(tmp_path), "--config-address", config.address) as (_, cluster_address),
        service_process(
            "state", "--store-url", url, "--config-address", config.address, "--cluster-address", cluster_address
        ) as first,
        service_process(
            "state", "--store-url", url, "--config-address", config.address, "--cluster-address", cluster_address
        ) as second,
        channel(cluster_address, ServiceSettings(), service="cluster") as clusters,
        channel(f"{first[1]},{second[1]}", ServiceSettings(), service="state") as states,
    ):
        stub: Any = StateServiceStub(states)
        worker = PaperWorker("w", clusters, states)
        uids = {name: (await config.create(name, max_tasks="2")).uid for name in ("good", "bad")}

        async def shows(name: str, *expected: int, trace: str = "") -> None:
            answer = await stub.GetConnectorState(pb.GetConnectorStateRequest(connector=name), timeout=1)
            assert [task.state for task in answer.state.tasks] == list(expected)
            assert trace in answer.state.tasks[0].trace

        async with worker.running():
            for name in uids:
                await until(lambda name=name: shows(name, STATE_RUNNING, STATE_RUNNING))  # type: ignore[misc]
            held = worker.held.pop((uids["bad"], 0))
            failed = pb.TaskReport(
                connector_uid=uids["bad"],
                generation=held.generation,
                epoch=held.epoch,
                state=STATE_FAILED,
                trace="the table is gone",
                logs=[pb.TaskLog(level="ERROR", message="it failed")],
            )
            await stub.ReportTasks(pb.ReportTasksRequest(worker_id="w", reports=[failed]), timeout=5)
            # Nobody says it again.
            leader = await leading(first, second)
            leader.send_signal(number)
            key = cluster_pb.AssignmentKey(connector_uid=uids["bad"], task=0)
            release = cluster_pb.ReleaseAssignmentRequest(
                worker_id="w", session=worker.session, key=key, epoch=held.epoch, failed=True, permanent=True
            )
            await ClusterServiceStub(clusters).ReleaseAssignment(release, timeout=5)
            await answered_again(stub)
            await until(lambda: shows("good", STATE_RUNNING, STATE_RUNNING))
            await until(lambda: shows("bad", STATE_FAILED, STATE_RUNNING, trace="the table is gone"))
            logs = (await stub.ListTaskLogs(pb.ListTaskLogsRequest(connector="bad"), timeout=5)).logs
            assert "it failed" in [line.message for line in logs]


async def leading(*replicas: tuple[asyncio.subprocess.Process, str]) -> asyncio.subprocess.Process:
    """The process that takes calls."""
    for process, address in replicas:
        async with grpc.aio.insecure_channel(address, options=[("grpc.enable_retries", 0)]) as opened:
            try:
                await StateServiceStub(opened).ListConnectorStates(pb.ListConnectorStatesRequest(), timeout=5)
            except grpc.RpcError:
                continue
            return process
    pytest.fail("nobody leads")


async def answered_again(stub: Any) -> float:
    """Wait until a replica takes calls; return when it did."""
    async with asyncio.timeout(30):
        while True:
            try:
                await stub.ListConnectorStates(pb.ListConnectorStatesRequest(), timeout=1)
            except grpc.RpcError:
                await asyncio.sleep(0.05)
            else:
                return time.monotonic()
