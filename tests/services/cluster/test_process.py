"""The real process: killed in the middle of everything many times, and complete each time it comes back."""

import asyncio
import random
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import grpc.aio
import pytest
from rocketconnect.cluster.v1 import cluster_service_pb2 as pb
from rocketconnect.cluster.v1 import cluster_service_pb2_grpc as rpc
from rocketconnect.config.v1 import config_service_pb2 as config_pb
from rocketconnect.connector.v1 import connector_pb2

from tests.services.cluster.processes import Config, config_service, service_process

LANES = 4


class Lane:
    """A worker with a connector of its own, and what the service has acknowledged to it."""

    def __init__(self, number: int, used: dict[int, str], chance: random.Random) -> None:
        self.worker = f"w{number}"
        self.connector = f"c{number}"
        self.uid = ""
        self.used = used
        self.chance = chance
        self.epochs: dict[int, int] = {}
        self.generation = 0
        self.given_up: int | None = None
        self.plans = 0

    async def work(self, stub: Any, config: Config) -> None:
        """Plan, give task 0 up for good, have the connector restarted, and so on until the service is gone."""
        with suppress(grpc.RpcError):
            if self.given_up is not None:
                await self.restart(config)
            request = pb.RegisterWorkerRequest(
                worker_id=self.worker, address="h:1", plugins=["p"], labels={"zone": self.worker}, process="1"
            )
            session = (await stub.RegisterWorker(request, timeout=60)).session
            self.note_number(session, f"session of {self.worker}")
            async for answer in stub.WatchAssignments(pb.WatchAssignmentsRequest(worker_id=self.worker, session=session)):
                for one in answer.assignments:
                    await self.handle(stub, config, session, one)

    async def handle(self, stub: Any, config: Config, session: int, one: pb.Assignment) -> None:
        who: dict[str, Any] = {"worker_id": self.worker, "session": session}
        key = pb.AssignmentKey(connector_uid=self.uid, task=one.task)
        if one.revoked:
            await stub.ReleaseAssignment(pb.ReleaseAssignmentRequest(key=key, epoch=one.epoch, **who), timeout=60)
            return
        if self.epochs.get(one.task) == one.epoch:
            return
        assert one.epoch > self.epochs.get(one.task, 0)
        self.epochs[one.task] = one.epoch
        self.note_number(one.epoch, f"task {one.task} of {self.connector}")
        if one.unit == pb.UNIT_PLAN:
            self.plans += 1
            tasks = [pb.PlannedTask(config={"plan": str(self.plans)})] * 3
            report = pb.ReportPlanRequest(connector_uid=self.uid, epoch=one.epoch, tasks=tasks, **who)
            generation = (await stub.ReportPlan(report, timeout=60)).generation
            assert generation > self.generation
            self.generation = generation
        elif one.task == 0:
            failed = pb.ReleaseAssignmentRequest(key=key, epoch=one.epoch, failed=True, permanent=True, **who)
            await stub.ReleaseAssignment(failed, timeout=5)
            self.given_up = one.generation
            if self.chance.random() < 0.9:
                await self.restart(config)

    async def restart(self, config: Config) -> None:
        self.given_up = None
        await config.stub.RestartConnector(config_pb.RestartConnectorRequest(name=self.connector), timeout=60)

    def note_number(self, number: int, use: str) -> None:
        """Sessions and epochs come from one sequence that never gives a number twice."""
        assert number not in self.used, f"{number} is {use}, and was {self.used[number]}"
        self.used[number] = use

    def check(self, listed: list[pb.Assignment]) -> None:
        """Everything that was acknowledged is there."""
        own = {one.task: one for one in listed if one.connector_uid == self.uid}
        assert all(one.generation >= self.generation for one in own.values()), (self.generation, own)
        assert all(one.epoch >= self.epochs.get(task, 0) for task, one in own.items() if one.epoch)
        if self.given_up is not None:
            assert (own[0].generation, own[0].unowned_state) == (self.given_up, connector_pb2.STATE_FAILED)


@pytest.mark.parametrize("rounds", [2, pytest.param(4, marks=pytest.mark.slow)])
async def test_killed_at_any_moment_it_comes_back_with_everything_it_had_acknowledged(
    store_url: str, tmp_path: Path, rounds: int
) -> None:
    chance = random.Random(5)
    used: dict[int, str] = {}
    lanes = [Lane(number, used, chance) for number in range(LANES)]
    given_up = 0
    async with config_service(f"sqlite:///{tmp_path}/config.db") as config:
        flags = ("--store-url", store_url, "--config-address", config.address, "--log-level", "WARNING")
        for lane in lanes:
            lane.uid = (await config.create(lane.connector, worker_labels=f"zone={lane.worker}")).uid
        for _round in range(rounds):
            async with service_process("cluster", *flags) as (process, address), grpc.aio.insecure_channel(address) as channel:
                stub = rpc.ClusterServiceStub(channel)
                listed = await assignments_once_it_leads(stub)
                for lane in lanes:
                    lane.check(listed)
                given_up += sum(lane.given_up is not None for lane in lanes)
                tasks = [asyncio.create_task(lane.work(stub, config)) for lane in lanes]
                await asyncio.sleep(chance.uniform(0.6, 1.2))
                process.kill()
                await asyncio.gather(*tasks)
    assert sum(lane.plans for lane in lanes) > 3 * rounds
    # In two rounds it may be that no kill meets a lane that has given up.
    assert given_up > 0 or rounds == 2


async def assignments_once_it_leads(stub: Any) -> list[pb.Assignment]:
    """The lease of one that was killed runs out first."""
    async with asyncio.timeout(20):
        while True:
            with suppress(grpc.aio.AioRpcError):
                return list((await stub.ListAssignments(pb.ListAssignmentsRequest(page_size=1000), timeout=60)).assignments)
            await asyncio.sleep(0.05)


async def test_a_second_process_on_the_same_file_ends_the_first(tmp_path: Path) -> None:
    flags = ("--store-url", f"sqlite:///{tmp_path}/cluster.db", "--config-address", "127.0.0.1:1")
    async with service_process("cluster", *flags) as (first, _), service_process("cluster", *flags) as (second, _):
        assert await asyncio.wait_for(first.wait(), 10) == 1
        second.send_signal(signal.SIGTERM)
        assert await asyncio.wait_for(second.wait(), 15) == 0


async def test_settings_that_can_not_work_are_all_named_at_once() -> None:
    words = ["--lease-seconds", "1.5", "--retry-limit", "0"]
    ended = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "services.cluster", *words, stderr=asyncio.subprocess.PIPE, env={"PATH": "/usr/bin"}
    )
    _out, err = await asyncio.wait_for(ended.communicate(), 30)
    assert ended.returncode == 2
    said = err.decode()
    assert "--config-address (or ROCKETCONNECT_CONFIG_ADDRESS)" in said
    assert "--retry-limit" in said
    assert "Traceback" not in said
