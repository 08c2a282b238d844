"""Services whose PostgreSQL takes no changes any more, and takes them again: they live on, say so, and go on."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from rocketconnect.cluster.v1 import cluster_service_pb2 as cluster_pb
from rocketconnect.cluster.v1.cluster_service_pb2_grpc import ClusterServiceStub
from rocketconnect.config.v1 import config_service_pb2 as config_pb
from rocketconnect.config.v1.config_service_pb2_grpc import ConfigServiceStub
from rocketconnect.position.v1 import position_service_pb2 as position_pb
from rocketconnect.position.v1.position_service_pb2_grpc import PositionServiceStub
from rocketconnect.state.v1 import state_service_pb2 as state_pb
from rocketconnect.state.v1.state_service_pb2_grpc import StateServiceStub

from rocketconnect_kit.serving.status import decode
from tests.servers.postgres import Postgres
from tests.services.cluster.databases import fresh_database
from tests.services.cluster.processes import service_process

pytestmark = pytest.mark.postgres

SERVING, NOT_SERVING = health_pb2.HealthCheckResponse.SERVING, health_pb2.HealthCheckResponse.NOT_SERVING
health_stub: Any = health_pb2_grpc.HealthStub
_PEERS = {
    "cluster": ("--config-address", "127.0.0.1:1"),
    "state": ("--config-address", "127.0.0.1:1", "--cluster-address", "127.0.0.1:1"),
    "position": (),
    "config": (),
}


def fence(epoch: int) -> position_pb.TaskFence:
    return position_pb.TaskFence(connector_uid="c", task=0, generation=1, epoch=epoch)


def ask(service: str, opened: grpc.aio.Channel) -> Awaitable[Any]:
    """Something that this service can answer only when its store takes changes."""
    match service:
        case "cluster":
            return ClusterServiceStub(opened).RegisterWorker(
                cluster_pb.RegisterWorkerRequest(worker_id="w", address="h:1"), timeout=30
            )
        case "state":
            return StateServiceStub(opened).ListConnectorStates(state_pb.ListConnectorStatesRequest(), timeout=30)
        case "position":
            return PositionServiceStub(opened).OpenTask(position_pb.OpenTaskRequest(fence=fence(1)), timeout=30)
        case _:
            request = config_pb.ReportPluginsRequest(worker_id="w", address="h:1")
            return ConfigServiceStub(opened).ReportPlugins(request, timeout=30)


class Running:
    """A service that runs."""

    def __init__(self, service: str, process: asyncio.subprocess.Process, opened: grpc.aio.Channel) -> None:
        self.service = service
        self.process = process
        self.opened = opened

    async def health(self, wanted: int) -> None:
        """Return when the service says this of itself."""
        async with asyncio.timeout(240):
            while (await health_stub(self.opened).Check(health_pb2.HealthCheckRequest(), timeout=30)).status != wanted:
                await asyncio.sleep(0.1)

    async def answers(self) -> None:
        """Return when it does what it is asked for."""
        async with asyncio.timeout(240):
            while await self.refusal() is not None:
                await asyncio.sleep(0.1)

    async def refusal(self) -> tuple[str, str] | None:
        """What a call is refused with: code and reason."""
        try:
            await ask(self.service, self.opened)
        except grpc.RpcError as error:
            cause = decode(error)
            return cause.code, cause.reason
        return None

    async def lives_through(self, ends: Callable[[], None], begins: Callable[[], None]) -> None:
        """The store is away between both, and the service tells it and goes on."""
        await self.answers()
        await asyncio.to_thread(ends)
        await self.health(NOT_SERVING)
        async with asyncio.timeout(240):
            # What is in memory is answered until the leader's lease is over.
            while (refusal := await self.refusal()) is None:
                await asyncio.sleep(0.1)
        assert refusal in {("UNAVAILABLE", "STORE_UNAVAILABLE"), ("UNAVAILABLE", "NOT_LEADER")}
        await asyncio.to_thread(begins)
        await self.health(SERVING)
        await self.answers()
        assert self.process.returncode is None


@asynccontextmanager
async def running(service: str, store_url: str) -> AsyncIterator[Running]:
    async with AsyncExitStack() as stack:
        flags = ("--store-url", store_url, *_PEERS[service])
        process, address = await stack.enter_async_context(service_process(service, *flags))
        options = [("grpc.enable_retries", 0)]
        yield Running(service, process, await stack.enter_async_context(grpc.aio.insecure_channel(address, options=options)))


@pytest.fixture
def server() -> Iterator[Postgres]:
    made = Postgres(fsync="off")
    with made.running("test"):
        yield made


async def test_a_service_lives_on_beside_a_primary_that_becomes_a_standby(server: Postgres) -> None:
    async with running("cluster", fresh_database(server.url())) as cluster:
        await cluster.lives_through(server.demote, server.promote)


@pytest.mark.slow
@pytest.mark.parametrize("service", ["state", "position", "config"])
async def test_so_does_each_other_one(server: Postgres, service: str) -> None:
    async with running(service, fresh_database(server.url())) as other:
        await other.lives_through(server.demote, server.promote)


@pytest.mark.slow
@pytest.mark.parametrize("service", ["cluster", "state", "position", "config"])
async def test_each_lives_on_beside_a_database_that_is_read_only_for_a_while(server: Postgres, service: str) -> None:
    async with running(service, fresh_database(server.url())) as each:
        await each.lives_through(partial(server.take_changes, False), partial(server.take_changes, True))


@pytest.mark.slow
async def test_what_was_stored_is_there_behind_a_failover_to_the_other_server_of_the_url(server: Postgres) -> None:
    database = "test"
    standby = Postgres(server, fsync="off")
    with standby.running(database):
        # The standby first: it is passed over while it is one.
        url = f"postgresql://postgres@127.0.0.1:{standby.port},127.0.0.1:{server.port}/{database}"
        server.say("ALTER SYSTEM SET synchronous_standby_names = '*'", "SELECT pg_reload_conf()")
        async with running("position", url) as position:
            await position.answers()
            stub = PositionServiceStub(position.opened)
            commit = position_pb.CommitPositionsRequest(fence=fence(1))
            position_of_a = commit.updates.add().position
            position_of_a.partition, position_of_a.offset = "a", "[7]"
            await stub.CommitPositions(commit, timeout=30)
            await position.lives_through(server.kill, standby.promote)
            opened = await stub.OpenTask(position_pb.OpenTaskRequest(fence=fence(2)), timeout=30)
            assert [(each.partition, each.offset) for each in opened.positions] == [("a", "[7]")]
