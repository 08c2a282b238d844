"""How many connections tasks have to the position service, and what they say when it takes no more."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import grpc
import psutil
import pytest
from rocketconnect.position.v1 import position_service_pb2 as pb
from rocketconnect.position.v1 import position_service_pb2_grpc as rpc

from rocketconnect_kit.serving.server import CallLimits, make_server
from services.executor.contract.endpoints import Endpoints
from services.executor.contract.task import Kind, TaskSpec
from services.executor.runtime.positions.client import PositionClient, PositionsAway
from services.executor.runtime.positions.stored import Stored


class Positions(rpc.PositionServiceServicer):
    """Takes everything; commits end when they may."""

    def __init__(self) -> None:
        self.may_end = asyncio.Event()
        self.may_end.set()
        self.begun = 0
        self.given_up = 0

    async def OpenTask(self, _request: pb.OpenTaskRequest, _context: Any) -> pb.OpenTaskResponse:
        return pb.OpenTaskResponse()

    async def CommitPositions(self, _request: pb.CommitPositionsRequest, _context: Any) -> pb.CommitPositionsResponse:
        self.begun += 1
        try:
            await self.may_end.wait()
        except asyncio.CancelledError:
            self.given_up += 1
            raise
        return pb.CommitPositionsResponse()


@asynccontextmanager
async def served(service: Positions, *options: tuple[str, Any]) -> AsyncIterator[str]:
    server = make_server(CallLimits(30), options=options)
    rpc.add_PositionServiceServicer_to_server(service, server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        yield f"127.0.0.1:{port}"
    finally:
        await server.stop(0)


def client(address: str, task: int, tls_ca: str | None = None) -> PositionClient:
    spec = TaskSpec(Kind.SOURCE, "c", "c", revision=1, generation=1, task=task, epoch=1, tasks=30, config={})
    return PositionClient(Endpoints("", address, tls_ca), spec)


def connections(address: str) -> int:
    port = int(address.rpartition(":")[2])
    seen = psutil.Process().net_connections(kind="tcp")
    return sum(each.status == psutil.CONN_ESTABLISHED and each.laddr.port == port for each in seen)


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not condition():
            await asyncio.sleep(0.02)


async def test_all_tasks_of_a_process_have_one_connection_which_goes_with_the_last_of_them() -> None:
    async with served(Positions()) as address:
        tasks = [client(address, task) for task in range(30)]
        await asyncio.gather(*(asyncio.to_thread(task.open) for task in tasks))
        assert connections(address) == 1
        for task in tasks[:-1]:
            task.close()
            task.close()
        await asyncio.to_thread(tasks[-1].store, {"p": Stored((1,))})
        assert connections(address) == 1
        tasks[-1].close()
        await until(lambda: connections(address) == 0)


async def test_a_task_that_ends_gives_its_own_commit_up_and_none_of_the_others() -> None:
    service = Positions()
    async with served(service) as address:
        ends, stays = client(address, 1), client(address, 2)
        service.may_end.clear()
        positions = {"p": Stored((1,))}
        given_up, kept = ends.commit(positions, seconds=60), stays.commit(positions, seconds=60)
        await until(lambda: service.begun == 2)
        ends.close()
        await until(lambda: service.given_up == 1)
        assert given_up.cancelled()
        service.may_end.set()
        await asyncio.to_thread(stays.settled, kept, positions)
        stays.close()


async def test_a_file_of_tls_that_was_renewed_is_used_by_the_tasks_that_begin_then(tmp_path: Path) -> None:
    trusted = tmp_path / "ca.pem"
    trusted.write_text("one")
    before, same = client("127.0.0.1:1", 1, tls_ca=str(trusted)), client("127.0.0.1:1", 2, tls_ca=str(trusted))
    trusted.write_text("another one")
    after = client("127.0.0.1:1", 3, tls_ca=str(trusted))
    channels = [each.channel for each in (before, same, after)]
    assert channels[0] is channels[1] is not channels[2]
    for each in (before, same, after):
        each.close()


async def test_a_service_that_takes_no_more_connections_is_told_with_the_setting_that_bounds_them() -> None:
    async with (
        served(Positions(), ("grpc.max_allowed_incoming_connections", 1)) as address,
        grpc.aio.insecure_channel(address) as first,
    ):
        await rpc.PositionServiceStub(first).OpenTask(pb.OpenTaskRequest(), timeout=60)
        task = client(address, 1)
        with pytest.raises(PositionsAway, match=r"as many connections as it takes: see --connections there"):
            await asyncio.to_thread(task.open)
        task.close()
