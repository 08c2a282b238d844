"""The real process: killed in the middle of reports many times, and complete each time it comes back."""

import asyncio
import random
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import grpc.aio
import pytest
from rocketconnect.connector.v1 import connector_pb2
from rocketconnect.state.v1 import state_service_pb2 as pb
from rocketconnect.state.v1 import state_service_pb2_grpc as rpc

from tests.services.cluster.processes import config_service, service_process

ROUNDS = 4
LANES = 4


class Lane:
    """A worker with a connector of its own that changes its state all the time, and what was acknowledged to it."""

    def __init__(self, number: int) -> None:
        self.worker = f"w{number}"
        self.connector = f"c{number}"
        self.uid = ""
        self.epoch = 0
        self.acknowledged = 0
        self.lines: list[str] = []

    async def work(self, stub: Any) -> None:
        """Report under one epoch after the other, each with a log line, until the service is gone."""
        with suppress(grpc.RpcError):
            while True:
                self.epoch += 1
                report = self.report(self.epoch)
                line = report.logs.add(level="INFO", message=f"line {self.epoch}")
                line.time.FromSeconds(self.epoch)
                answer = await stub.ReportTasks(pb.ReportTasksRequest(worker_id=self.worker, reports=[report]), timeout=60)
                assert not answer.refused
                self.acknowledged = self.epoch
                self.lines.append(line.message)

    def report(self, epoch: int) -> pb.TaskReport:
        return pb.TaskReport(connector_uid=self.uid, task=0, generation=1, epoch=epoch, state=connector_pb2.STATE_RUNNING)

    async def check(self, stub: Any) -> None:
        """Everything that was acknowledged is there, and nothing is shown as running that was not heard of."""
        answer = await stub.ListTaskLogs(pb.ListTaskLogsRequest(connector=self.connector, page_size=1000), timeout=60)
        found = [line.message for line in answer.logs]
        assert len(found) == len(set(found))
        assert set(self.lines[-900:]) <= set(found)
        if not self.acknowledged:
            return
        state = (await stub.GetConnectorState(pb.GetConnectorStateRequest(connector=self.connector), timeout=60)).state
        [task] = state.tasks
        assert (task.state, state.state) == (connector_pb2.STATE_UNASSIGNED, connector_pb2.STATE_UNASSIGNED)
        assert task.trace == f"worker {self.worker} has not reported since the state service was started"
        old = pb.ReportTasksRequest(worker_id=self.worker, reports=[self.report(self.acknowledged - 1)])
        [refused] = (await stub.ReportTasks(old, timeout=5)).refused
        assert refused.current_epoch >= self.acknowledged


@pytest.mark.slow
async def test_killed_at_any_moment_it_comes_back_with_everything_it_had_acknowledged(store_url: str, tmp_path: Path) -> None:
    chance = random.Random(3)
    lanes = [Lane(number) for number in range(LANES)]
    async with config_service(f"sqlite:///{tmp_path}/config.db") as config:
        addresses = ("--config-address", config.address, "--cluster-address", "127.0.0.1:1")
        flags = ("--store-url", store_url, "--log-level", "WARNING", *addresses)
        for lane in lanes:
            lane.uid = (await config.create(lane.connector)).uid
        for _round in range(ROUNDS):
            async with service_process("state", *flags) as (process, address), grpc.aio.insecure_channel(address) as channel:
                stub = rpc.StateServiceStub(channel)
                await until_known(stub, lanes[-1].connector)
                for lane in lanes:
                    await lane.check(stub)
                tasks = [asyncio.create_task(lane.work(stub)) for lane in lanes]
                await asyncio.sleep(chance.uniform(0.2, 0.8))
                process.kill()
                await asyncio.gather(*tasks)
    assert all(len(lane.lines) > ROUNDS for lane in lanes)


async def until_known(stub: Any, connector: str) -> None:
    async with asyncio.timeout(10):
        while True:
            with suppress(grpc.RpcError):
                await stub.GetConnectorState(pb.GetConnectorStateRequest(connector=connector), timeout=60)
                return
            await asyncio.sleep(0.05)


async def test_it_ends_with_0_after_a_signal(tmp_path: Path) -> None:
    flags = ("--data-dir", str(tmp_path), "--config-address", "127.0.0.1:1", "--cluster-address", "127.0.0.1:1")
    async with service_process("state", *flags) as (process, _address):
        process.send_signal(signal.SIGTERM)
        assert await asyncio.wait_for(process.wait(), 15) == 0


async def test_settings_that_can_not_work_are_all_named_at_once() -> None:
    words = ["-m", "services.state", "--lease-seconds", "0"]
    ended = await asyncio.create_subprocess_exec(sys.executable, *words, stderr=asyncio.subprocess.PIPE, env={"PATH": "/usr/bin"})
    _out, err = await asyncio.wait_for(ended.communicate(), 30)
    assert ended.returncode == 2
    for flag in ("--config-address", "--cluster-address", "--lease-seconds"):
        assert flag in err.decode()
    assert "Traceback" not in err.decode()
