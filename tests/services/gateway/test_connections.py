"""Clients that say nothing, or too slowly, or too much, do not keep others from being answered."""

import asyncio
import socket
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, suppress
from typing import Any

import httpx
import pytest

from services.gateway import app, connections
from services.gateway.settings import GatewaySettings

Serving = Callable[[GatewaySettings], AbstractAsyncContextManager[httpx.AsyncClient]]


async def opened(rest: httpx.AsyncClient) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    return await asyncio.open_connection(rest.base_url.host, rest.base_url.port)


async def is_closed(reader: asyncio.StreamReader) -> bool:
    with suppress(ConnectionError):
        return await reader.read(1) == b""
    return True


async def test_a_flood_of_sockets_that_say_nothing_leaves_room_for_those_that_ask(
    rest: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "MOST", 20)
    silent = [await opened(rest) for _ in range(60)]
    for _ in range(20):
        assert (await rest.get("/healthz", headers={"Connection": "close"})).status_code == 200
    closed = [reader for reader, _ in silent if reader.at_eof() or reader.exception() is not None]
    assert len(closed) >= 40
    for _, writer in silent:
        writer.close()


@pytest.mark.parametrize("begun", [b"", b"GET /healthz HT", b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: "])
async def test_who_does_not_end_the_head_of_a_request_is_cut_off(
    rest: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch, begun: bytes
) -> None:
    monkeypatch.setattr(connections, "HEAD_SECONDS", 0.3)
    reader, writer = await opened(rest)
    writer.write(begun)
    async with asyncio.timeout(30):
        assert await is_closed(reader)
    writer.close()


async def test_who_never_reads_the_answers_is_cut_off(rest: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "READ_SECONDS", 0.3)
    with socket.socket() as client:
        client.setblocking(False)
        loop = asyncio.get_running_loop()
        await loop.sock_connect(client, (rest.base_url.host, rest.base_url.port))
        async with asyncio.timeout(60):
            with pytest.raises(ConnectionError):
                while True:
                    await loop.sock_sendall(client, b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n" * 100)
    assert (await rest.get("/healthz")).status_code == 200


async def test_a_further_request_on_a_connection_is_waited_for_and_a_slow_body_is_not_cut_off(
    rest: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "HEAD_SECONDS", 0.3)
    reader, writer = await opened(rest)
    head = b"POST /v1/connectors HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n"
    for _ in range(2):
        writer.write(head + b"{")
        await asyncio.sleep(0.6)  # longer than a head may take
        writer.write(b"}")
        async with asyncio.timeout(30):
            answer = await reader.readuntil(b"\r\n\r\n")
            assert answer.startswith(b"HTTP/1.1 400")
            length = next(int(line[15:]) for line in answer.lower().split(b"\r\n") if line.startswith(b"content-length:"))
            await reader.readexactly(length)
    writer.write(b"GET /healthz HT")
    async with asyncio.timeout(30):
        assert await is_closed(reader)
    writer.close()


async def test_what_comes_while_too_much_is_under_way_is_refused_and_probes_are_answered(
    system: Any, serving: Serving, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app, "MOST_REQUESTS", 0)
    async with serving(system.settings()) as rest:
        answer = await rest.get("/v1/connectors")
        assert (answer.status_code, answer.json()["reason"], answer.headers["Retry-After"]) == (503, "BUSY", "2")
        assert (await rest.get("/healthz")).status_code == 200
