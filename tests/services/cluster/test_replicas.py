"""Two processes of the cluster service on one PostgreSQL: one leads, and clients find the other one when it is gone."""

import asyncio
import signal
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, suppress
from typing import Any

import grpc
import pytest
import sqlalchemy as sa
from grpc_health.v1 import health_pb2, health_pb2_grpc
from rocketconnect.cluster.v1 import cluster_service_pb2 as pb
from rocketconnect.cluster.v1 import cluster_service_pb2_grpc as rpc

from rocketconnect_kit.calls.channel import channel, full_name, sync_channel
from rocketconnect_kit.serving.status import decode
from rocketconnect_kit.settings import ServiceSettings
from tests import free_ports
from tests.chaos.network import Proxy
from tests.services.cluster.databases import fresh_database
from tests.services.cluster.processes import service_process

LEASE = 5.0
health_stub: Any = health_pb2_grpc.HealthStub


class Replicas:
    """Two processes, and what a worker does to hold its lease."""

    def __init__(self, stack: AsyncExitStack, store_url: str) -> None:
        self._stack = stack
        self._flags = ("--store-url", store_url, "--config-address", "127.0.0.1:1", "--lease-seconds", str(LEASE))
        self.processes: dict[str, asyncio.subprocess.Process] = {}

    async def start(self) -> str:
        process, address = await self._stack.enter_async_context(service_process("cluster", *self._flags))
        self.processes[address] = process
        return address

    async def health(self, address: str, service: str) -> int:
        async with grpc.aio.insecure_channel(address) as opened:
            answer = await health_stub(opened).Check(health_pb2.HealthCheckRequest(service=service), timeout=5)
            return int(answer.status)

    async def leader(self) -> str:
        """The address of the one that takes calls."""
        async with asyncio.timeout(20):
            while True:
                for address in self.processes:
                    if await self.health(address, full_name("cluster")) == health_pb2.HealthCheckResponse.SERVING:
                        return address
                await asyncio.sleep(0.05)


@pytest.fixture
async def replicas(postgres: str) -> AsyncIterator[Replicas]:
    async with AsyncExitStack() as stack:
        made = Replicas(stack, fresh_database(postgres))
        await made.start()
        await made.start()
        yield made
        for process in made.processes.values():
            if process.returncode is None:
                process.send_signal(signal.SIGCONT)


async def test_one_replica_takes_calls_and_the_others_say_so_and_are_well(replicas: Replicas) -> None:
    leader = await replicas.leader()
    [standby] = set(replicas.processes) - {leader}
    assert await replicas.health(standby, full_name("cluster")) == health_pb2.HealthCheckResponse.NOT_SERVING
    assert await replicas.health(standby, "") == health_pb2.HealthCheckResponse.SERVING
    async with grpc.aio.insecure_channel(standby, options=[("grpc.enable_retries", 0)]) as opened:
        with pytest.raises(grpc.RpcError) as refused:
            await rpc.ClusterServiceStub(opened).ListWorkers(pb.ListWorkersRequest(), timeout=5)
    assert decode(refused.value).reason == "NOT_LEADER"
    both = ",".join(replicas.processes)
    # Without a second try: its health keeps calls away from the one that waits.
    async with channel(both, ServiceSettings(), service="cluster", retry=False) as opened:
        for _ in range(10):
            await rpc.ClusterServiceStub(opened).ListWorkers(pb.ListWorkersRequest(), timeout=5)

    def ask_in_a_thread() -> None:
        with sync_channel(both, ServiceSettings(), service="cluster") as blocking:
            stub: Any = rpc.ClusterServiceStub(blocking)
            for _ in range(10):
                stub.ListWorkers(pb.ListWorkersRequest(), timeout=5)

    await asyncio.to_thread(ask_in_a_thread)


@pytest.mark.parametrize(
    "number",
    [signal.SIGSTOP, *(pytest.param(number, marks=pytest.mark.slow) for number in (signal.SIGKILL, signal.SIGTERM))],
)
async def test_a_worker_keeps_its_session_when_the_leader_is_gone(replicas: Replicas, number: signal.Signals) -> None:
    leader = await replicas.leader()
    async with channel(",".join(replicas.processes), ServiceSettings(), service="cluster") as opened:
        stub = rpc.ClusterServiceStub(opened)
        session = (await stub.RegisterWorker(pb.RegisterWorkerRequest(worker_id="w", address="h:1"), timeout=5)).session
        watch: Any = stub.WatchAssignments(pb.WatchAssignmentsRequest(worker_id="w", session=session))
        assert (await watch.read()).snapshot
        replicas.processes[leader].send_signal(number)
        began = time.monotonic()
        broke = asyncio.create_task(watch.read())
        request = pb.HeartbeatRequest(worker_id="w", session=session)
        beats = 0
        while beats < 3:
            # As a worker does it: a call that hangs leaves time for others.
            with suppress(grpc.RpcError):
                await stub.Heartbeat(request, timeout=1)
                beats += 1
            assert time.monotonic() - began < LEASE + 60
            await asyncio.sleep(0.1)
        with pytest.raises(grpc.RpcError) as broken:
            await asyncio.wait_for(broke, 10)
        assert decode(broken.value).code == "UNAVAILABLE"
        again: Any = stub.WatchAssignments(pb.WatchAssignmentsRequest(worker_id="w", session=session))
        assert (await again.read()).snapshot
    if number is signal.SIGSTOP:
        # It finds its lease over when it runs again, and does not take calls.
        replicas.processes[leader].send_signal(signal.SIGCONT)
        assert await replicas.leader() != leader
        async with grpc.aio.insecure_channel(leader, options=[("grpc.enable_retries", 0)]) as opened:
            with pytest.raises(grpc.RpcError) as refused:
                await rpc.ClusterServiceStub(opened).Heartbeat(request, timeout=5)
        assert decode(refused.value).reason == "NOT_LEADER"


@pytest.mark.slow
async def test_a_new_leader_gives_a_known_worker_a_full_lease(replicas: Replicas) -> None:
    leader = await replicas.leader()
    async with channel(",".join(replicas.processes), ServiceSettings(), service="cluster") as opened:
        stub = rpc.ClusterServiceStub(opened)
        await stub.RegisterWorker(pb.RegisterWorkerRequest(worker_id="w", address="h:1"), timeout=5)
        await asyncio.sleep(LEASE - 1)
        replicas.processes[leader].kill()
        replicas.processes.pop(leader)
        await replicas.leader()
        [worker] = (await stub.ListWorkers(pb.ListWorkersRequest(), timeout=10)).workers
        assert worker.alive
        left = worker.lease_until.ToNanoseconds() / 1e9 - time.time()
        assert left > LEASE / 2


@pytest.mark.slow
async def test_a_replica_without_others_takes_heartbeats_for_as_long_as_it_is_told_while_the_database_is_away(
    postgres: str,
) -> None:
    url = sa.make_url(fresh_database(postgres))
    assert url.port is not None
    proxy = Proxy({("127.0.0.1", port := free_ports.choose()): ("127.0.0.1", url.port)})
    store = url.set(port=port).render_as_string(hide_password=False)
    flags = ("--store-url", store, "--config-address", "127.0.0.1:1", "--leader-lease-seconds", "60")
    async with (
        service_process("cluster", *flags) as (_, address),
        grpc.aio.insecure_channel(address, options=[("grpc.enable_retries", 0)]) as opened,
    ):
        stub = rpc.ClusterServiceStub(opened)
        session = (await stub.RegisterWorker(pb.RegisterWorkerRequest(worker_id="w", address="h:1"), timeout=10)).session
        proxy.hold()
        try:
            for _ in range(8):
                await asyncio.sleep(0.5)
                await stub.Heartbeat(pb.HeartbeatRequest(worker_id="w", session=session), timeout=5)
        finally:
            proxy.release()
