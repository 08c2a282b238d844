"""Two processes of the config service on one PostgreSQL, both of them writing."""

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from functools import partial
from typing import TYPE_CHECKING, Any

import grpc
import grpc.aio
import pytest
from rocketconnect.config.v1 import config_service_pb2 as pb
from rocketconnect.config.v1 import config_service_pb2_grpc as rpc
from rocketconnect.connector.v1.connector_pb2 import Connector, Plugin
from rocketconnect.executor.v1.executor_service_pb2_grpc import add_ExecutorServiceServicer_to_server

from rocketconnect_kit.calls.channel import channel
from rocketconnect_kit.serving.status import decode
from rocketconnect_kit.settings import ServiceSettings
from rocketconnect_kit.testing import server_for_test
from tests.services.cluster.databases import fresh_database
from tests.services.cluster.processes import Validator, service_process

if TYPE_CHECKING:
    from rocketconnect.config.v1.config_service_pb2_grpc import ConfigServiceAsyncStub

CONFIG = {"connector.class": "p"}


class Two:
    """A stub to each process, and one that fails over between them."""

    def __init__(self) -> None:
        self.processes: list[asyncio.subprocess.Process] = []
        self.stubs: list[ConfigServiceAsyncStub] = []
        self.either: ConfigServiceAsyncStub

    def create(self, stub: Any, name: str, request_id: str = "") -> Any:
        return stub.CreateConnector(pb.CreateConnectorRequest(name=name, config=CONFIG, request_id=request_id), timeout=15)


@pytest.fixture
async def two(postgres: str) -> AsyncIterator[Two]:
    url = fresh_database(postgres)
    made = Two()
    async with AsyncExitStack() as stack:
        executor = await stack.enter_async_context(server_for_test(partial(add_ExecutorServiceServicer_to_server, Validator())))
        addresses = []
        for _ in range(2):
            process, address = await stack.enter_async_context(service_process("config", "--store-url", url))
            opened = await stack.enter_async_context(grpc.aio.insecure_channel(address))
            made.processes.append(process)
            made.stubs.append(rpc.ConfigServiceStub(opened))
            addresses.append(address)
        either = await stack.enter_async_context(channel(",".join(addresses), ServiceSettings(), service="config"))
        made.either = rpc.ConfigServiceStub(either)
        report = pb.ReportPluginsRequest(worker_id="w", address=executor, plugins=[Plugin(name="p")])
        for stub in made.stubs:
            # Who offers what is heard by each of them.
            await stub.ReportPlugins(report, timeout=15)
        yield made


async def test_the_same_request_to_both_at_once_is_one_create(two: Two) -> None:
    for number in range(10):
        answers = await asyncio.gather(*(two.create(stub, f"c{number}", f"r{number}") for stub in two.stubs * 2))
        assert len({answer.connector.uid for answer in answers}) == 1
        assert {answer.connector.revision for answer in answers} == {1}


async def test_of_creates_of_one_name_at_both_one_succeeds(two: Two) -> None:
    for number in range(10):
        answers = await asyncio.gather(*(two.create(stub, f"c{number}") for stub in two.stubs), return_exceptions=True)
        refused = [decode(answer).code for answer in answers if isinstance(answer, grpc.RpcError)]
        assert refused == ["ALREADY_EXISTS"]


async def test_of_changes_that_know_the_same_etag_one_succeeds_and_no_revision_is_lost(two: Two) -> None:
    made: Connector = (await two.create(two.stubs[0], "c")).connector

    async def change(stub: Any, number: int) -> bool:
        config = {**CONFIG, "n": str(number)}
        try:
            await stub.UpdateConnector(pb.UpdateConnectorRequest(name="c", config=config, etag=made.etag), timeout=15)
        except grpc.RpcError as error:
            assert decode(error).code == "ABORTED"  # noqa: PT017 - whoever is refused, is so for this reason
            return False
        return True

    for number in range(10):
        told = await asyncio.gather(*(change(stub, 2 * number + which) for which, stub in enumerate(two.stubs)))
        assert sum(told) == 1
        made = (await two.stubs[number % 2].GetConnector(pb.GetConnectorRequest(name="c"), timeout=15)).connector
        assert made.revision == number + 2


async def test_a_watch_at_one_tells_what_was_written_at_the_other(two: Two) -> None:
    watch: Any = two.stubs[0].WatchConnectors(pb.WatchConnectorsRequest())
    assert (await watch.read()).snapshot
    uid = (await two.create(two.stubs[1], "c")).connector.uid
    async with asyncio.timeout(10):
        told = await watch.read()
    assert [connector.uid for connector in told.connectors] == [uid]


@pytest.mark.parametrize("number", [signal.SIGKILL, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)])
async def test_creates_go_on_while_one_of_them_ends(two: Two, number: signal.Signals) -> None:
    created: list[str] = []

    async def create_on() -> None:
        for each in range(30):
            created.append((await two.create(two.either, f"c{each}", f"r{each}")).connector.uid)

    creating = asyncio.create_task(create_on())
    async with asyncio.timeout(60):
        while len(created) < 5:
            await asyncio.sleep(0.01)
        two.processes[0].send_signal(number)
        await creating
    assert len(set(created)) == 30
