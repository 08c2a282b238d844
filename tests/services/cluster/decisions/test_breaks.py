"""Which breaks of a worker's stream are taken for the end of its process: a real server, real sockets."""

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest
from rocketconnect.cluster.v1 import cluster_service_pb2 as pb
from rocketconnect.cluster.v1 import cluster_service_pb2_grpc as rpc

from rocketconnect_kit.store import database
from rocketconnect_kit.testing import serve_for_test
from services.cluster.coordinator import Coordinator
from services.cluster.decisions.leases import Timing
from services.cluster.service import ClusterService
from services.cluster.state import Policy
from services.cluster.store import ClusterStore

if TYPE_CHECKING:
    import grpc

TIMING = Timing(lease=30.0, heartbeat_interval=1.0, send_deadline=0.5)


class Cluster:
    """A cluster service with leases that do not end in a test."""

    def __init__(self, stub: "rpc.ClusterServiceAsyncStub", coordinator: Coordinator) -> None:
        self.stub = stub
        self.coordinator = coordinator

    async def join(self, address: str) -> int:
        answer = await self.stub.RegisterWorker(pb.RegisterWorkerRequest(worker_id="a", address=address), timeout=60)
        return int(answer.session)

    async def follow(self, session: int) -> "grpc.aio.UnaryStreamCall[pb.WatchAssignmentsRequest, pb.WatchAssignmentsResponse]":
        call = self.stub.WatchAssignments(pb.WatchAssignmentsRequest(worker_id="a", session=session))
        first = await call.read()
        assert isinstance(first, pb.WatchAssignmentsResponse)
        assert first.snapshot
        return call

    def left(self) -> float:
        """Seconds that the lease of the worker still runs."""
        return (self.coordinator.state.leases.until("a") or 0.0) - time.monotonic()

    async def ends(self, session: int) -> float:
        """Seconds until the session has ended."""
        began = time.monotonic()
        async with asyncio.timeout(10):
            while not self.coordinator.state.tables.workers["a"].ended:
                await asyncio.sleep(0.02)
        assert self.coordinator.state.tables.workers["a"].session == session
        return time.monotonic() - began


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[Cluster]:
    engine = database.engine(f"sqlite:///{tmp_path}/cluster.db")
    database.migrate(engine, "cluster")
    coordinator = Coordinator(ClusterStore(engine, 0), Policy(TIMING), time.monotonic, Random(0))
    service = ClusterService(coordinator, TIMING)
    async with coordinator.running(), serve_for_test(lambda s: rpc.add_ClusterServiceServicer_to_server(service, s)) as channel:
        yield Cluster(rpc.ClusterServiceStub(channel), coordinator)
    engine.dispose()


class Listener:
    """What listens at a worker's address."""

    def __init__(self) -> None:
        self.calls = asyncio.Queue[None]()
        self._server: asyncio.Server | None = None
        self.port = 0

    async def open(self) -> None:
        self._server = await asyncio.start_server(self._called, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()
            await self._server.wait_closed()

    async def _called(self, _reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()
        await self.calls.put(None)


@pytest.fixture
async def listener() -> AsyncIterator[Listener]:
    made = Listener()
    await made.open()
    yield made
    await made.close()


async def called(listener: Listener) -> None:
    async with asyncio.timeout(5):
        await listener.calls.get()


async def test_a_worker_whose_stream_broke_and_whose_address_refuses_ends_after_the_send_deadline(
    cluster: Cluster, listener: Listener
) -> None:
    session = await cluster.join(f"127.0.0.1:{listener.port}")
    stream = await cluster.follow(session)
    await called(listener)
    await listener.close()
    stream.cancel()
    assert TIMING.send_deadline <= await cluster.ends(session) < TIMING.send_deadline + 3


async def test_a_worker_whose_address_still_answers_at_the_break_and_refuses_soon_after_ends_as_well(
    cluster: Cluster, listener: Listener
) -> None:
    session = await cluster.join(f"127.0.0.1:{listener.port}")
    stream = await cluster.follow(session)
    await called(listener)
    stream.cancel()
    await called(listener)
    await listener.close()
    await cluster.ends(session)


async def test_a_worker_that_still_listens_keeps_its_lease(cluster: Cluster, listener: Listener) -> None:
    session = await cluster.join(f"127.0.0.1:{listener.port}")
    stream = await cluster.follow(session)
    await called(listener)
    stream.cancel()
    await called(listener)
    await asyncio.sleep(0.5)
    assert cluster.left() > 20


async def test_an_address_that_never_answered_proves_nothing(cluster: Cluster, listener: Listener) -> None:
    await listener.close()
    session = await cluster.join(f"127.0.0.1:{listener.port}")
    stream = await cluster.follow(session)
    stream.cancel()
    await asyncio.sleep(1)
    assert cluster.left() > 20


async def test_a_worker_that_came_back_meanwhile_is_left_alone(cluster: Cluster, listener: Listener) -> None:
    session = await cluster.join(f"127.0.0.1:{listener.port}")
    stream = await cluster.follow(session)
    await called(listener)
    await listener.close()
    again = await cluster.join(f"127.0.0.1:{listener.port}")
    stream.cancel()
    await asyncio.sleep(1)
    assert again > session
    assert cluster.left() > 20


async def test_a_worker_that_left_is_not_called(cluster: Cluster, listener: Listener) -> None:
    session = await cluster.join(f"127.0.0.1:{listener.port}")
    stream = await cluster.follow(session)
    await called(listener)
    await cluster.stub.DeregisterWorker(pb.DeregisterWorkerRequest(worker_id="a", session=session), timeout=60)
    stream.cancel()
    await asyncio.sleep(0.5)
    assert listener.calls.empty()
