"""Aids for tests of services: a real server on a free port, and a channel to it."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import grpc.aio

from rocketconnect_kit.calls.channel import channel
from rocketconnect_kit.serving.server import CallLimits, make_server
from rocketconnect_kit.settings import ServiceSettings


@asynccontextmanager
async def server_for_test(add: Callable[[grpc.aio.Server], None], *, port: int = 0) -> AsyncIterator[str]:
    """Run a real server with the interceptors of all services on 127.0.0.1; give its "host:port". Port 0: a free one."""
    limits = CallLimits(30)
    server = make_server(limits)
    add(server)
    bound = server.add_insecure_port(f"127.0.0.1:{port}")
    await server.start()
    try:
        yield f"127.0.0.1:{bound}"
    finally:
        limits.end_streams()
        await server.stop(1)


@asynccontextmanager
async def serve_for_test(add: Callable[[grpc.aio.Server], None]) -> AsyncIterator[grpc.aio.Channel]:
    """Run a real server as `server_for_test` does, and give a channel to it."""
    async with server_for_test(add) as address, channel(address, ServiceSettings()) as opened:
        yield opened
