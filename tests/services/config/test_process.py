"""The real process: announced, killed in the middle of writes many times, and complete each time it comes back."""

import asyncio
import json
import os
import random
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import grpc.aio
import pytest
from rocketconnect.config.v1 import config_service_pb2 as pb
from rocketconnect.config.v1 import config_service_pb2_grpc as rpc
from rocketconnect.connector.v1 import connector_pb2
from rocketconnect.executor.v1 import executor_service_pb2_grpc as executor_rpc

from rocketconnect_kit.testing import server_for_test

ROUNDS = 8


@asynccontextmanager
async def process(store_url: str, *flags: str) -> AsyncIterator[tuple[asyncio.subprocess.Process, str]]:
    read, write = os.pipe()
    words = ["-m", "services.config", "--store-url", store_url, "--announce-fd", str(write), *flags]
    started = await asyncio.create_subprocess_exec(sys.executable, *words, pass_fds=[write], stderr=asyncio.subprocess.DEVNULL)
    os.close(write)
    try:
        with os.fdopen(read) as pipe:
            line = await asyncio.wait_for(asyncio.to_thread(pipe.readline), 240)
        yield started, json.loads(line)["address"]
    finally:
        if started.returncode is None:
            started.kill()
        await started.wait()


@pytest.fixture
async def executor_address() -> AsyncIterator[str]:
    class Executor(executor_rpc.ExecutorServiceServicer):
        async def ValidateConnector(self, request: Any, context: Any) -> Any:
            from rocketconnect.executor.v1 import executor_service_pb2

            return executor_service_pb2.ValidateConnectorResponse(plugin="p")

    async with server_for_test(lambda server: executor_rpc.add_ExecutorServiceServicer_to_server(Executor(), server)) as address:
        yield address


@pytest.mark.slow
async def test_killed_at_any_moment_it_comes_back_with_everything_it_had_acknowledged(
    store_url: str, executor_address: str
) -> None:
    acknowledged: dict[str, int] = {}
    deleted: set[str] = set()
    uids: dict[str, str] = {}
    chance = random.Random(7)
    number = writes = 0

    async def write_until_killed(stub: Any, lane: int) -> None:
        nonlocal number, writes
        names: list[str] = []
        while True:
            number += 1
            name = f"c{lane}-{number}"
            try:
                made = await stub.CreateConnector(
                    pb.CreateConnectorRequest(name=name, config={"connector.class": "p", "n": "1"}, request_id=name), timeout=5
                )
                acknowledged[name] = 1
                writes += 1
                uids[name] = made.connector.uid
                names.append(name)
                other = chance.choice(names)
                config = {"connector.class": "p", "n": str(number)}
                updated = await stub.UpdateConnector(pb.UpdateConnectorRequest(name=other, config=config), timeout=60)
                acknowledged[other] = updated.connector.revision
                if chance.random() < 0.2:
                    names.remove(other)
                    # Asked for is perhaps done: only what was acknowledged is promised either way.
                    revision = acknowledged.pop(other)
                    await stub.DeleteConnector(pb.DeleteConnectorRequest(name=other), timeout=60)
                    deleted.add(other)
                    assert revision >= 1
            except grpc.RpcError:
                return

    for _round in range(ROUNDS):
        async with process(store_url) as (running, address), grpc.aio.insecure_channel(address) as channel:
            stub = rpc.ConfigServiceStub(channel)
            await verify(stub, acknowledged, deleted, uids)
            report = pb.ReportPluginsRequest(worker_id="w", address=executor_address, plugins=[connector_pb2.Plugin(name="p")])
            await stub.ReportPlugins(report, timeout=60)
            writers = [asyncio.create_task(write_until_killed(stub, lane)) for lane in range(8)]
            # In the middle of writes, wherever that is; not at a moment by the clock, which a busy machine would not reach.
            goal = writes + chance.randint(5, 60)
            async with asyncio.timeout(60):
                while writes < goal:
                    await asyncio.sleep(0.001)
            running.kill()
            await running.wait()
            await asyncio.gather(*writers)
    async with process(store_url) as (_running, address), grpc.aio.insecure_channel(address) as channel:
        await verify(rpc.ConfigServiceStub(channel), acknowledged, deleted, uids)
    assert writes >= 5 * ROUNDS


async def verify(stub: Any, acknowledged: dict[str, int], deleted: set[str], uids: dict[str, str]) -> None:
    found: dict[str, connector_pb2.Connector] = {}
    token = ""
    while True:
        page = await stub.ListConnectors(pb.ListConnectorsRequest(page_size=500, page_token=token), timeout=60)
        found.update({connector.name: connector for connector in page.connectors})
        token = page.next_page_token
        if not token:
            break
    for name, revision in acknowledged.items():
        assert found[name].revision >= revision
        assert found[name].uid == uids[name]
    assert not deleted & found.keys()


async def test_a_store_that_can_not_be_opened_ends_with_1_and_says_what_to_do() -> None:
    for url, said in (("mysql://u:hunter2@h/d", "sqlite:///FILE or postgresql://"), ("sqlite:////proc/no/x.db", "can't be made")):
        ended = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "services.config", "--store-url", url, stderr=asyncio.subprocess.PIPE
        )
        _out, err = await asyncio.wait_for(ended.communicate(), 30)
        assert ended.returncode == 1
        assert said in err.decode()
        assert "hunter2" not in err.decode()
        assert "Traceback" not in err.decode()
