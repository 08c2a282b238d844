"""The connections of one client: one for each server and lane, made when first needed."""

from __future__ import annotations

import math
import threading
import time
from enum import Enum
from typing import TYPE_CHECKING, TypeVar

from rocketmq_remoting.connections.connection import Connection
from rocketmq_remoting.connections.transport import connect
from rocketmq_remoting.errors import ClientClosed, InvalidRequest, NotSent

if TYPE_CHECKING:
    from collections.abc import Callable

    from rocketmq_remoting.connections.pending import Pending
    from rocketmq_remoting.model import TlsOptions
    from rocketmq_remoting.protocol.frame import Frame
    from rocketmq_remoting.protocol.requests import Request
    from rocketmq_remoting.protocol.signature import Credentials

T = TypeVar("T")
_SHORTEST_TICK, _LONGEST_TICK = 0.05, 0.5


class Lane(Enum):
    """Connections to one server are split by use, so that a large answer to a pull holds up no confirmation."""

    CONTROL = "control"
    PULL = "pull"


class Network:
    """Safe for concurrent use. A thread of its own expires requests whose deadline has passed."""

    def __init__(
        self,
        credentials: Credentials | None,
        tls: TlsOptions | None,
        connect_timeout: float,
        unacknowledged: float,
        locate: Callable[[str, int], str] | None = None,
    ) -> None:
        self._credentials = credentials
        self._tls = tls
        self._connect_timeout = connect_timeout
        self._unacknowledged = unacknowledged
        self._locate = locate
        self._connections: dict[tuple[str, Lane], Connection] = {}
        self._lock = threading.Lock()
        self._connecting: dict[tuple[str, Lane], threading.Lock] = {}
        self._closed = threading.Event()
        self._expirer = threading.Thread(target=self._expire, name="rocketmq deadlines", daemon=True)
        self._expirer.start()

    def connection(self, address: str, lane: Lane = Lane.CONTROL) -> Connection:
        """Return an open connection, a new one if needed.

        Raises:
            NotSent: the server can't be reached.
            ClientClosed: the client is closed.
        """
        key = (address, lane)
        found = self._connections.get(key)
        if found is not None and found.is_open:
            return found
        with self._lock:
            guard = self._connecting.setdefault(key, threading.Lock())
        with guard:
            found = self._connections.get(key)
            if found is not None and found.is_open:
                return found
            if self._closed.is_set():
                raise ClientClosed("the client is closed")
            host, port = split_address(address)
            try:
                at = self._locate(host, port) if self._locate is not None else None
                transport = connect(host, port, self._connect_timeout, self._tls, self._unacknowledged, at)
            except OSError as error:
                msg = f"can't connect to {address}: {error}"
                raise NotSent(msg) from error
            with self._lock:
                if self._closed.is_set():
                    transport.close()
                    raise ClientClosed("the client is closed")
                connection = Connection(address, transport, self._credentials)
                self._connections[key] = connection
            return connection

    def open_connections(self) -> list[Connection]:
        """Return the connections that are open now."""
        with self._lock:
            return [connection for connection in self._connections.values() if connection.is_open]

    def call(self, address: str, request: Request, read: Callable[[Frame], T], *, timeout: float, what: str) -> T:
        """Send a request and wait for its answer.

        Raises:
            RocketMQError: as `Connection.submit` and `read`.
        """
        return self.submit(address, request, read, timeout=timeout, what=what).result()

    def submit(
        self,
        address: str,
        request: Request,
        read: Callable[[Frame], T],
        *,
        timeout: float,
        what: str,
        lane: Lane = Lane.CONTROL,
        not_after: float | None = None,
    ) -> Pending[T]:
        """Send a request; see `Connection.submit`."""
        connection = self.connection(address, lane)
        return connection.submit(request, read, timeout=timeout, what=what, not_after=not_after)

    def close(self) -> None:
        """End all connections; nothing can be sent after it."""
        self._closed.set()
        with self._lock:
            connections = list(self._connections.values())
        for connection in connections:
            connection.close()
        self._expirer.join(timeout=5)

    def _expire(self) -> None:
        tick = _LONGEST_TICK
        while not self._closed.wait(tick):
            now = time.monotonic()
            next_deadline = min((connection.expire(now) for connection in self.open_connections()), default=math.inf)
            # A request that is sent meanwhile, with an earlier deadline than all others, is found late by this much at most.
            tick = min(max(next_deadline - now, _SHORTEST_TICK), _LONGEST_TICK)


def split_address(address: str) -> tuple[str, int]:
    """Split `host:port`, with an IPv6 host in brackets.

    Raises:
        InvalidRequest: it has another form.
    """
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal() or not 0 < int(port) < 1 << 16:
        msg = f"{address!r} is no address: write host:port, such as 127.0.0.1:9876"
        raise InvalidRequest(msg)
    return host.removeprefix("[").removesuffix("]"), int(port)
