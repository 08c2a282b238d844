"""One port for two protocols: neither is taken for the other, and nobody comes in beside it."""

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, suppress
from typing import Any

import grpc.aio
import httpx
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from rocketconnect.cluster.v1 import cluster_service_pb2 as cluster
from rocketconnect.cluster.v1.cluster_service_pb2_grpc import ClusterServiceStub

from services.gateway.rpc import splice
from services.gateway.rpc.preface import PREFACE
from services.gateway.settings import GatewaySettings

Serving = Callable[[GatewaySettings], AbstractAsyncContextManager[httpx.AsyncClient]]
Dialled = Callable[[httpx.AsyncClient], grpc.aio.Channel]
SETTINGS = b"\x00\x00\x00\x04\x00\x00\x00\x00\x00"
REQUEST = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"


async def said(rest: httpx.AsyncClient, *sent: bytes, until: bytes = b"") -> bytes:
    """What comes back until the connection is closed, or this has come."""
    reader, writer = await asyncio.open_connection(rest.base_url.host, rest.base_url.port)
    answer = b""
    with suppress(ConnectionError):
        for each in sent:
            writer.write(each)
            await writer.drain()
        async with asyncio.timeout(60):
            while (not until or until not in answer) and (more := await reader.read(65536)):
                answer += more
    writer.close()
    return answer


async def test_the_preface_may_come_byte_by_byte(rest: httpx.AsyncClient) -> None:
    reader, writer = await asyncio.open_connection(rest.base_url.host, rest.base_url.port)
    for byte in PREFACE + SETTINGS:
        writer.write(bytes([byte]))
        await writer.drain()
        await asyncio.sleep(0)
    async with asyncio.timeout(60):
        # A frame of settings: the server speaks HTTP/2.
        assert (await reader.readexactly(9))[3] == 4
    writer.close()


async def test_an_upgrade_to_http2_in_the_clear_is_not_followed(rest: httpx.AsyncClient) -> None:
    upgrade = (
        b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade, HTTP2-Settings, close\r\nUpgrade: h2c\r\n"
        b"HTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n"
    )
    answer = await said(rest, upgrade + PREFACE + SETTINGS)
    assert answer.startswith(b"HTTP/1.1 200")
    assert b"101" not in answer.split(b"\r\n")[0]
    assert answer.count(b"HTTP/1.1 ") == 1


async def test_a_connection_stays_with_the_protocol_that_it_began_with(rest: httpx.AsyncClient) -> None:
    answer = await said(rest, REQUEST + PREFACE + SETTINGS)
    assert answer.startswith(b"HTTP/1.1 200")
    assert b"HTTP/1.1 400" in answer
    answer = await said(rest, PREFACE + SETTINGS + REQUEST * 100)
    assert b"HTTP/1.1" not in answer
    assert b"alive" not in answer


@pytest.mark.parametrize("begun", [b"PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n", b"PRI /v1/connectors HTTP/1.1\r\nHost: localhost\r\n\r\n"])
async def test_what_only_begins_as_the_preface_does_is_refused_by_rest(rest: httpx.AsyncClient, begun: bytes) -> None:
    assert (await said(rest, begun, until=b"\r\n\r\n")).startswith(b"HTTP/1.1 4")


async def test_rest_over_http2_is_no_way_around_its_guards(rest: httpx.AsyncClient, dialled: Dialled) -> None:
    async with dialled(rest) as opened:
        made: Any = opened.unary_unary("/v1/connectors")
        with pytest.raises(grpc.aio.AioRpcError) as raised:
            await made(b"")
    assert raised.value.code() is grpc.StatusCode.UNIMPLEMENTED


async def test_nobody_is_answered_who_has_found_the_port_behind_it(
    system: Any, serving: Serving, dialled: Dialled, monkeypatch: pytest.MonkeyPatch
) -> None:
    ports = []
    made = splice.Splices.__init__

    def noted(self: Any, port: int, *rest: Any) -> None:
        ports.append(port)
        made(self, port, *rest)

    monkeypatch.setattr(splice.Splices, "__init__", noted)
    async with serving(system.settings()) as rest, dialled(rest) as opened:
        # Somebody is there who is known.
        await ClusterServiceStub(opened).ListWorkers(cluster.ListWorkersRequest())
        async with grpc.aio.insecure_channel(f"127.0.0.1:{ports[0]}") as beside:
            stub: Any = health_pb2_grpc.HealthStub(beside)
            for call in (
                ClusterServiceStub(beside).ListWorkers(cluster.ListWorkersRequest()),
                stub.Check(health_pb2.HealthCheckRequest()),
            ):
                with pytest.raises(grpc.aio.AioRpcError) as raised:
                    await call
                assert raised.value.code() is grpc.StatusCode.UNAUTHENTICATED


async def test_connections_beyond_the_limit_are_closed_and_rest_is_answered(
    system: Any, serving: Serving, dialled: Dialled
) -> None:
    async with serving(system.settings(connections=2)) as rest, dialled(rest) as first, dialled(rest) as second:
        for opened in (first, second):
            await ClusterServiceStub(opened).ListWorkers(cluster.ListWorkersRequest())
        async with dialled(rest) as third:
            with pytest.raises(grpc.aio.AioRpcError) as raised:
                await ClusterServiceStub(third).ListWorkers(cluster.ListWorkersRequest(), timeout=2)
            assert raised.value.code() in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED)
        assert (await rest.get("/v1/workers")).status_code == 200
        await first.close()
        async with asyncio.timeout(60):
            while True:
                async with dialled(rest) as fourth:
                    with suppress(grpc.aio.AioRpcError):
                        await ClusterServiceStub(fourth).ListWorkers(cluster.ListWorkersRequest(), timeout=2)
                        break


@pytest.mark.slow
async def test_who_says_nothing_after_the_preface_is_cut_off(rest: httpx.AsyncClient) -> None:
    """gRPC waits five seconds for settings."""
    await said(rest, PREFACE)
