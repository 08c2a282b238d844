import asyncio
import math
from collections.abc import AsyncIterator
from typing import Any

from rocketconnect.config.v1 import config_service_pb2 as pb
from rocketconnect.config.v1 import config_service_pb2_grpc as rpc

from rocketconnect_kit.calls.channel import channel
from rocketconnect_kit.calls.watch import Watch
from rocketconnect_kit.settings import ServiceSettings
from rocketconnect_kit.testing import server_for_test


class Counting(rpc.ConfigServiceServicer):
    """Sends a snapshot, then one change for every item put into `changes`."""

    def __init__(self, first: int) -> None:
        self.first = first
        self.changes: asyncio.Queue[int] = asyncio.Queue()

    async def WatchConnectors(self, request: pb.WatchConnectorsRequest, context: Any) -> AsyncIterator[pb.WatchConnectorsResponse]:
        yield pb.WatchConnectorsResponse(snapshot=True, sequence=self.first)
        while True:
            yield pb.WatchConnectorsResponse(sequence=await self.changes.get())


async def until(condition: Any) -> None:
    async with asyncio.timeout(10):
        while not condition():
            await asyncio.sleep(0.01)


def add(service: Counting) -> Any:
    return lambda server: rpc.add_ConfigServiceServicer_to_server(service, server)


async def test_hands_on_the_snapshot_and_then_every_change() -> None:
    got: list[tuple[bool, int]] = []
    service = Counting(1)
    async with server_for_test(add(service)) as address, channel(address, ServiceSettings()) as opened:
        stub = rpc.ConfigServiceStub(opened)
        watch: Watch[pb.WatchConnectorsResponse] = Watch(
            "connectors",
            lambda: stub.WatchConnectors(pb.WatchConnectorsRequest()),
            lambda message: got.append((message.snapshot, message.sequence)),
        )
        assert watch.stale_for == math.inf
        async with watch:
            assert await watch.wait_connected(60)
            service.changes.put_nowait(2)
            await until(lambda: got == [(True, 1), (False, 2)])
            assert watch.stale_for == 0


async def test_reconnects_to_a_restarted_service_and_gets_its_snapshot() -> None:
    got: list[int] = []
    async with server_for_test(add(Counting(1))) as address:
        opened = channel(address, ServiceSettings())
        stub = rpc.ConfigServiceStub(opened)
        watch: Watch[pb.WatchConnectorsResponse] = Watch(
            "connectors", lambda: stub.WatchConnectors(pb.WatchConnectorsRequest()), lambda message: got.append(message.sequence)
        )
        running = asyncio.create_task(watch.run())
        assert await watch.wait_connected(60)
    await until(lambda: not watch.connected)
    await asyncio.sleep(0.2)
    assert 0.1 < watch.stale_for < 5
    async with server_for_test(add(Counting(7)), port=int(address.rpartition(":")[2])):
        assert await watch.wait_connected(60)
        assert got == [1, 7]
        running.cancel()
        await asyncio.wait([running])
    await opened.close()


async def test_a_message_that_can_not_be_applied_starts_over_with_a_snapshot() -> None:
    service = Counting(1)
    got: list[int] = []

    def apply(message: pb.WatchConnectorsResponse) -> None:
        if message.sequence == 2:
            msg = "can't apply"
            raise ValueError(msg)
        got.append(message.sequence)

    async with server_for_test(add(service)) as address, channel(address, ServiceSettings()) as opened:
        stub = rpc.ConfigServiceStub(opened)
        async with Watch("connectors", lambda: stub.WatchConnectors(pb.WatchConnectorsRequest()), apply) as watch:
            assert await watch.wait_connected(60)
            service.changes.put_nowait(2)
            await until(lambda: got == [1, 1])


async def test_waiting_for_a_service_that_is_away_ends_in_time_and_connects_when_it_comes() -> None:
    async with server_for_test(add(Counting(1))) as address:
        pass
    async with channel(address, ServiceSettings()) as opened:
        stub = rpc.ConfigServiceStub(opened)
        async with Watch("c", lambda: stub.WatchConnectors(pb.WatchConnectorsRequest()), lambda _: None) as watch:
            assert not await watch.wait_connected(0.3)
            async with server_for_test(add(Counting(2)), port=int(address.rpartition(":")[2])):
                assert await watch.wait_connected(60)
