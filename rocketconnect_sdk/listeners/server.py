"""A port of this machine, and who has connected to it."""

import asyncio
import errno
import socket
import ssl
import threading
from abc import ABC, abstractmethod
from contextlib import suppress
from functools import partial
from logging import Logger
from typing import Any, ClassVar

from rocketconnect_sdk.errors import PermanentError, SystemAway
from rocketconnect_sdk.listeners.inbox import Inbox

_HANDSHAKE_SECONDS = 10.0
_GRACE_SECONDS = 0.2
_END_SECONDS = 10.0
_ANSWER_SECONDS = 30.0
_FLUSH_SECONDS = 5.0
"""So long what was said last may take to reach a client."""
_BACKLOG = 1_000
_HEARD_BYTES = 8 << 20


class Protocol(ABC):
    """What clients speak. Its methods are called on the loop of the listener, and must not block it."""

    too_many: ClassVar[bytes] = b""
    """What a client is told for whom there is no connection left."""

    @abstractmethod
    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, inbox: Inbox) -> None:
        """Speaks with one client until that, or the task, ends. What it raises ends the connection."""


class Datagrams(ABC):
    """What is heard in datagrams (UDP), which nobody answers. Its methods are called on the loop of the listener."""

    @abstractmethod
    async def take(self, data: bytes, client: str, inbox: Inbox) -> None:
        """Takes one. It returns when the topic has it, or when it is known that it will not.

        Args:
            data: Of it.
            client: The address of who has sent it.
            inbox: Where records go.
        """


class Listener:
    """Listens, on a thread of its own.

    Args:
        host: An address of this machine; empty: all.
        port: On it.
        protocol: What is spoken, over TCP, or heard in datagrams.
        inbox: Where records go.
        tls: What connections are taken with; None: without TLS.
        most: So many clients may be connected.
        log: What clients do wrong is told there, quietly.

    Raises:
        SystemAway: the port is taken, for now.
        PermanentError: it can't be had.
    """

    def __init__(
        self, host: str, port: int, protocol: Protocol | Datagrams, inbox: Inbox, tls: ssl.SSLContext | None, most: int, log: Logger
    ) -> None:
        self._protocol = protocol
        self._inbox = inbox
        self._tls = tls
        self._most = most
        self._log = log
        self._clients: set[asyncio.Task[None]] = set()
        self._socket = _bound(host, port, datagrams=isinstance(protocol, Datagrams))
        self._loop = asyncio.new_event_loop()
        self._loop.set_exception_handler(lambda _, told: log.debug("a client: %s", told.get("exception") or told.get("message")))
        self._ending = asyncio.Event()
        self._thread = threading.Thread(target=self._run, name="listener", daemon=True)
        self._thread.start()

    @property
    def is_alive(self) -> bool:
        """Whether it listens."""
        return self._thread.is_alive()

    def close(self) -> None:
        """Ends it: who is being answered gets the answer, and nobody else is heard. Never raises."""
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._ending.set)
        self._thread.join(_END_SECONDS)

    def _run(self) -> None:
        try:
            self._loop.run_until_complete(self._listen())
        except Exception:
            self._log.exception("the listener has ended")
        finally:
            self._loop.close()
            self._socket.close()

    async def _listen(self) -> None:
        if isinstance(self._protocol, Datagrams):
            await self._hear(self._protocol)
        else:
            await self._serve(self._protocol)

    async def _hear(self, datagrams: Datagrams) -> None:
        loop = asyncio.get_running_loop()
        transport, _ = await loop.create_datagram_endpoint(lambda: _Heard(datagrams, self._inbox, self._clients), sock=self._socket)
        await self._ending.wait()
        transport.close()
        await self._end_clients()

    async def _serve(self, protocol: Protocol) -> None:
        handshake = _HANDSHAKE_SECONDS if self._tls else None
        server = await asyncio.start_server(
            partial(self._connected, protocol), sock=self._socket, ssl=self._tls, ssl_handshake_timeout=handshake, backlog=_BACKLOG
        )
        await self._ending.wait()
        server.close()
        await self._end_clients()

    async def _end_clients(self) -> None:
        if self._clients:
            await asyncio.wait(self._clients, timeout=_GRACE_SECONDS)
        for client in list(self._clients):
            client.cancel()
        if self._clients:
            await asyncio.wait(self._clients, timeout=_GRACE_SECONDS)

    async def _connected(self, protocol: Protocol, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - it runs as one
        try:
            if len(self._clients) >= self._most:
                writer.write(protocol.too_many)
                return
            self._clients.add(task)
            await protocol.serve(reader, writer, self._inbox)
        except (OSError, EOFError, ValueError) as error:
            # A client that goes away, or says what nobody understands, is nothing that people have to hear of.
            self._log.debug("a client: %s", error)
        except Exception:
            self._log.exception("a client could not be served, which is a defect of the connector")
        except asyncio.CancelledError:
            # The task ends, and so does what its clients say.
            writer.transport.abort()
        finally:
            self._clients.discard(task)
            with suppress(OSError):
                writer.close()
                # Who reads nothing would hold it for good.
                self._loop.call_later(_FLUSH_SECONDS, writer.transport.abort)


async def drained(writer: asyncio.StreamWriter) -> None:
    """Waits until a client has read enough of what was written to it, or has its connection ended. Protocols wait for it so.

    Raises:
        OSError: the connection has ended.
    """
    try:
        async with asyncio.timeout(_ANSWER_SECONDS):
            await writer.drain()
    except TimeoutError:
        writer.transport.abort()
        msg = f"a client has read nothing for {_ANSWER_SECONDS:g} s"
        raise ConnectionAbortedError(msg) from None


class _Heard(asyncio.DatagramProtocol):
    def __init__(self, datagrams: Datagrams, inbox: Inbox, taking: set[asyncio.Task[None]]) -> None:
        self._datagrams, self._inbox, self._taking = datagrams, inbox, taking

    def datagram_received(self, data: bytes, address: tuple[str | Any, int]) -> None:
        task = asyncio.get_running_loop().create_task(self._datagrams.take(data, str(address[0]), self._inbox))
        self._taking.add(task)
        task.add_done_callback(self._taking.discard)


def _bound(host: str, port: int, *, datagrams: bool = False) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        if datagrams:
            made = socket.socket(family, socket.SOCK_DGRAM)
            try:
                # What comes while the loop is busy waits in the system.
                made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _HEARD_BYTES)
                made.bind((host, port))
            except OSError:
                made.close()
                raise
            return made
        return socket.create_server((host, port), family=family, backlog=_BACKLOG)
    except OSError as error:
        place = f"{host or '*'}:{port}"
        if error.errno == errno.EADDRINUSE:
            msg = (
                f"{place} is taken on this machine, by another program or by a task that is about to end. Free it, or give "
                "another port in `listen`"
            )
            raise SystemAway(msg) from error
        if error.errno == errno.EACCES:
            msg = (
                f"the executor may not listen on {place}: ports below 1024 need a right of their own. Give another port in `listen`"
            )
            raise PermanentError(msg) from error
        # What looks names up has negative numbers.
        if (error.errno or 0) < 0 or error.errno == errno.EADDRNOTAVAIL:
            fix = f"Give one in `listen` that is, or 0.0.0.0:{port} for all"
            msg = f"{host} is no address of the machine that the task runs on. {fix}"
            raise PermanentError(msg) from error
        msg = f"nobody can listen on {place}: {error.strerror or error}"
        raise SystemAway(msg) from error
