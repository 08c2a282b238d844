"""Real service processes for tests."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import grpc.aio
from rocketconnect.config.v1 import config_service_pb2 as config_pb
from rocketconnect.config.v1.config_service_pb2_grpc import ConfigServiceStub
from rocketconnect.connector.v1.connector_pb2 import CONNECTOR_TYPE_SOURCE, Connector, Plugin
from rocketconnect.executor.v1.executor_service_pb2 import ValidateConnectorResponse
from rocketconnect.executor.v1.executor_service_pb2_grpc import ExecutorServiceServicer, add_ExecutorServiceServicer_to_server

from rocketconnect_kit.testing import server_for_test
from tests import stores

if TYPE_CHECKING:
    from rocketconnect.config.v1.config_service_pb2_grpc import ConfigServiceAsyncStub


_SQLITE = "sqlite:///"


@asynccontextmanager
async def service_process(service: str, *flags: str) -> AsyncIterator[tuple[asyncio.subprocess.Process, str]]:
    """Run `python -m services.<service>` until the end of the block, where it is killed if it still runs; give its address."""
    for flag in flags:
        if flag.startswith(_SQLITE):
            stores.prepare(Path(flag.removeprefix(_SQLITE)).parent)
    read, write = os.pipe()
    words = ["-m", f"services.{service}", "--announce-fd", str(write), *flags]
    started = await asyncio.create_subprocess_exec(sys.executable, *words, pass_fds=[write])
    os.close(write)
    try:
        with os.fdopen(read) as pipe:
            line = await asyncio.wait_for(asyncio.to_thread(pipe.readline), 240)
        yield started, json.loads(line)["address"]
    finally:
        if started.returncode is None:
            started.kill()
        await started.wait()


class Validator(ExecutorServiceServicer):
    """An executor server that finds nothing wrong with any configuration."""

    async def ValidateConnector(self, request: Any, context: Any) -> ValidateConnectorResponse:
        return ValidateConnectorResponse(plugin="p", type=CONNECTOR_TYPE_SOURCE)


class Config:
    """The real config service, with plugin `p` offered."""

    def __init__(self, address: str, stub: "ConfigServiceAsyncStub") -> None:
        self.address = address
        self.stub = stub

    async def create(self, name: str, **config: str) -> Connector:
        config = {"connector.class": "p"} | {key.replace("_", "."): value for key, value in config.items()}
        request = config_pb.CreateConnectorRequest(name=name, config=config)
        return (await self.stub.CreateConnector(request, timeout=60)).connector

    async def update(self, name: str, **config: str) -> Connector:
        config = {"connector.class": "p"} | {key.replace("_", "."): value for key, value in config.items()}
        request = config_pb.UpdateConnectorRequest(name=name, config=config)
        return (await self.stub.UpdateConnector(request, timeout=60)).connector


@asynccontextmanager
async def config_service(store_url: str, *flags: str) -> AsyncIterator[Config]:
    """Run a real config service until the end of the block."""
    add = partial(add_ExecutorServiceServicer_to_server, Validator())
    async with (
        server_for_test(add) as executor,
        service_process("config", "--store-url", store_url, *flags) as (_process, address),
        grpc.aio.insecure_channel(address) as channel,
    ):
        stub = ConfigServiceStub(channel)
        report = config_pb.ReportPluginsRequest(worker_id="w", address=executor, plugins=[Plugin(name="p")])
        await stub.ReportPlugins(report, timeout=60)
        yield Config(address, stub)
