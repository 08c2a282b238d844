"""Passes the bytes of a connection on to the gateway's own gRPC server, and back, no faster than the slower one takes them."""

import asyncio
import socket
from contextlib import suppress

from rocketconnect_kit.logs import get_logger
from services.gateway.rpc.peers import LOOPBACK, Peer, Peers

FLUSH_SECONDS = 5.0
"""So long what was said last may take to reach a client, once the server has closed."""

_log = get_logger(__name__)


class _Side(asyncio.Protocol):
    """One end. What it reads the other end writes. Invariant 7: it rests while the other one has more than it gets rid of."""

    def __init__(self) -> None:
        self.transport: asyncio.Transport | None = None
        self.other: _Side | None = None
        self.early: list[bytes] = []
        """What was read before there was another end."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        if isinstance(transport, asyncio.Transport):
            self.transport = transport

    def data_received(self, data: bytes) -> None:
        if self.other is not None and self.other.transport is not None:
            self.other.transport.write(data)
        else:
            self.early.append(data)

    def pause_writing(self) -> None:
        if self.other is not None and self.other.transport is not None:
            self.other.transport.pause_reading()

    def resume_writing(self) -> None:
        if self.other is not None and self.other.transport is not None:
            self.other.transport.resume_reading()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - the signature of asyncio
        if self.other is not None and self.other.transport is not None:
            _close(self.other.transport)


class _Client(_Side):
    """The end of the client; when that has gone, so has the way to the server."""

    def __init__(self, transport: asyncio.Transport) -> None:
        super().__init__()
        self.transport = transport
        self.lost = asyncio.Event()

    def connection_lost(self, exc: Exception | None) -> None:
        self.lost.set()
        super().connection_lost(exc)


class Splices:
    """All connections that are passed on. For one event loop.

    Args:
        port: Where the gRPC server listens on this machine.
        peers: Is told who is behind each.
        most: So many are held; further ones are closed.
    """

    def __init__(self, port: int, peers: Peers, most: int) -> None:
        self._port = port
        self._peers = peers
        self._most = most
        self._running: set[asyncio.Task[None]] = set()

    def take(self, transport: asyncio.Transport, begun: bytes, peer: Peer) -> None:
        """Pass a connection on, of which this much was read."""
        if len(self._running) >= self._most:
            _log.warning("too many connections of gRPC: one is closed", connections=self._most, address=peer.address)
            transport.abort()
            return
        client = _Client(transport)
        client.early.append(begun)
        transport.set_protocol(client)
        transport.pause_reading()
        task = asyncio.create_task(self._pass_on(client, transport, peer))
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    async def close(self) -> None:
        """Cut all of them."""
        for task in self._running:
            task.cancel()
        if self._running:
            await asyncio.wait(self._running)

    async def _pass_on(self, client: _Client, transport: asyncio.Transport, peer: Peer) -> None:
        loop = asyncio.get_running_loop()
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as way:
            way.setblocking(False)
            way.bind((LOOPBACK, 0))
            port = way.getsockname()[1]
            self._peers.add(port, peer)
            server = _Side()
            try:
                await loop.sock_connect(way, (LOOPBACK, self._port))
                # The transport closes what it is given: the port is to stay bound until nobody is known by it.
                inner, _ = await loop.create_connection(lambda: server, sock=way.dup())
                server.other, client.other = client, server
                inner.write(b"".join(client.early))
                client.early.clear()
                transport.resume_reading()
                await client.lost.wait()
            except OSError as error:
                _log.warning("a connection can't be passed on", cause=str(error), address=peer.address)
            finally:
                self._peers.remove(port)
                transport.abort()
                if server.transport is not None:
                    server.transport.abort()


def _close(transport: asyncio.Transport) -> None:
    """Close it when what is left for it has been sent, and soon in any case: who reads nothing would hold it for good."""
    transport.close()
    with suppress(RuntimeError):
        asyncio.get_running_loop().call_later(FLUSH_SECONDS, transport.abort)
