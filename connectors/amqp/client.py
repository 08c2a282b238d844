"""A connection with one session, for one thread, which reads and writes the network when it is asked and at no other time.

proton's own reactor would own the thread, and its sockets are not those of Python, which the operator of an executor can limit. So
its engine, which knows the protocol and no network, is fed here.
"""

import select
import socket
import ssl
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any
from urllib.parse import urlsplit

import proton
from proton import UNDESCRIBED, Array, Collector, Connection, Data, Event, Transport, symbol

from connectors.amqp.faults import fault_of, login_refused, refused
from rocketconnect_sdk.errors import ConnectorError, RetriableError, SystemAway
from rocketconnect_sdk.http.options import tls_of
from rocketconnect_sdk.options import Config

_PORT, _TLS_PORT = 5672, 5671
_CHUNK = 1 << 16
_FRAME = 1 << 15
"""So large a frame may be that comes to us."""
_WINDOW = 1 << 24
"""So many bytes the broker sends before they are taken."""
_END_SECONDS = 2.0
_OK = 0


class Client:
    """A connection. After an error it is ended.

    Args:
        config: Has options.BROKER.
        name: Who we are, for the broker: its container id, which JMS knows as the client id.
        seconds: In the place of request.timeout.

    Attributes:
        place: The URL of the broker, for messages.
        ping_seconds: So often `turn` is to be called, that the connection is kept.

    Raises:
        SystemAway: the broker does not answer, or takes nobody now.
        RetriableError: what answers is no broker of AMQP 1.0.
        PermanentError: it does not take us.
    """

    def __init__(self, config: Config, name: str, *, seconds: float = 0.0) -> None:
        self.place: str = config["url"]
        self.seconds: float = seconds or config["request.timeout"]
        self._fault: ConnectorError | None = None
        self._attaching = ""
        """The link of which `attach` itself wants to know."""
        self._calls: dict[Any, Callable[[Any], object]] = {}
        self._socket: socket.socket | None = None
        self._mechanisms = (
            "PLAIN" if config["user"] else "EXTERNAL ANONYMOUS" if config["ssl.certificate.location"] else "ANONYMOUS"
        )
        self._collector = Collector()
        self._connection = Connection()
        self._transport = self._made(config, name)
        try:
            self._socket = self._connected(config)
            self._session: Any = self._connection.session()
            self._session.incoming_capacity = _WINDOW
            self._session.open()
            self.wait(lambda: self._is_there(self._connection) and self._is_there(self._session))
        except BaseException:
            self.end()
            raise
        limits = [each for each in (config["heartbeat"], self._transport.remote_idle_timeout) if each]
        self.ping_seconds: float = min(limits, default=90.0) / 3

    @property
    def has_ended(self) -> bool:
        """Whether it is of no use any more."""
        return self._fault is not None

    def turn(self, done: Callable[[], object] = lambda: False, seconds: float = 0.0) -> bool:
        """Reads and writes, at least once, until it is done or for so many seconds; returns whether it is done.

        Reads a few KiB at a time, and no more than it takes.

        Raises:
            ConnectorError: the connection or a link has ended.
        """
        end = time.monotonic() + seconds
        wait = 0.0
        while True:
            self._exchange(wait)
            if self._fault is not None:
                raise self._fault
            if done():
                self._flush()
                return True
            if time.monotonic() >= end:
                return False
            wait = max(0.0, min(end - time.monotonic(), self._until_tick()))

    def wait(self, done: Callable[[], object], what: str = "does not answer") -> None:
        """Reads and writes until it is done.

        Raises:
            SystemAway: that takes too long.
        """
        if not self.turn(done, self.seconds):
            msg = f"{self.place}: the broker {what} within {self.seconds:g} s"
            raise SystemAway(msg)

    def prefix(self, kind: str) -> str:
        """What the broker wants before the name of a queue or a topic, as it has said."""
        told = self._connection.remote_properties or {}
        return str(told.get(f"{kind}-prefix", "")) if kind else ""

    def receiver(self, name: str) -> Any:
        """A link on which messages come; it is not attached yet."""
        return self._session.receiver(name)

    def sender(self, name: str) -> Any:
        """A link on which messages go; it is not attached yet."""
        return self._session.sender(name)

    @staticmethod
    def say(terminus: Any, *capabilities: str) -> None:
        """What an end of a link is to be."""
        undescribed: Any = UNDESCRIBED
        if any(capabilities):
            terminus.capabilities.put_object(Array(undescribed, Data.SYMBOL, *map(symbol, filter(None, capabilities))))

    def attach(self, link: Any, what: str) -> None:
        """Attaches a link.

        Raises:
            ConnectorError: the broker refuses it.
        """
        self._attaching = link.name
        link.open()
        self.wait(lambda: self._is_there(link), f"does not answer for {what}")
        terminus = link.remote_target if link.is_sender else link.remote_source
        if terminus.type == proton.Terminus.UNSPECIFIED:
            # The protocol refuses so: the end of the link, with its reason, comes right behind.
            self.turn(lambda: link.state & proton.Endpoint.REMOTE_CLOSED, min(self.seconds, _END_SECONDS))
        self._attaching = ""
        if link.state & proton.Endpoint.REMOTE_CLOSED or terminus.type == proton.Terminus.UNSPECIFIED:
            error = refused(link.remote_condition, self.place, what)
            link.close()
            raise error

    def on(self, event: Any, call: Callable[[Any], object]) -> None:
        """What is called with such an event of proton, within `turn`. Errors of it are those of the connection."""
        self._calls[event] = call

    def fail(self, error: ConnectorError) -> None:
        """What ends whatever is waited for."""
        # The first one says why.
        if self._fault is None:
            self._fault = error

    def end(self) -> None:
        """Says goodbye, and what was sent before is done first. Never raises, and takes some seconds at most."""
        mine, self._socket = self._socket, None
        if mine is None:
            return
        self._calls.clear()
        if self._fault is None:
            with suppress(ConnectorError):
                self._socket = mine
                self._connection.close()
                self.turn(lambda: self._connection.state & proton.Endpoint.REMOTE_CLOSED, min(self.seconds, _END_SECONDS))
            self._socket = None
        with suppress(OSError):
            mine.close()

    def _made(self, config: Config, name: str) -> Any:
        """What speaks the protocol."""
        connection = self._connection
        connection.collect(self._collector)
        connection.container = name
        connection.hostname = config["virtual.host"] or urlsplit(config["url"]).hostname
        connection.properties = {symbol("product"): "RocketConnect"}
        if config["user"]:
            connection.user, connection.password = config["user"], config["password"] or ""
        transport = Transport()
        sasl = transport.sasl()
        sasl.allowed_mechs(self._mechanisms)
        # TLS is none of its business: it is around it, where the URL says so.
        sasl.allow_insecure_mechs = True
        transport.max_frame_size = _FRAME
        transport.idle_timeout = config["heartbeat"]
        connection.open()
        transport.bind(connection)
        return transport

    def _connected(self, config: Config) -> socket.socket:
        parts = urlsplit(config["url"])
        host, port = parts.hostname or "", parts.port or (_TLS_PORT if parts.scheme == "amqps" else _PORT)
        try:
            mine = socket.create_connection((host, port), self.seconds)
            try:
                mine.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                if parts.scheme == "amqps":
                    mine = tls_of(config).context().wrap_socket(mine, server_hostname=host)
                mine.setblocking(False)
            except BaseException:
                mine.close()
                raise
        except OSError as error:
            raise fault_of(error, self.place, self.seconds) from error
        return mine

    def _exchange(self, seconds: float) -> None:
        """Writes what there is to write, reads what has come, or comes within so many seconds, and tells who wants to know."""
        assert self._socket is not None  # noqa: S101 - it is, until the end
        self._transport.tick(time.monotonic())
        try:
            is_full = self._flush()
            if self._transport.capacity() > 0 and self._has_come(seconds, is_full=is_full):
                self._read()
            self._flush()
        except OSError as error:
            self.fail(fault_of(error, self.place, self.seconds))
        except proton.TransportException as error:
            self.fail(RetriableError(f"{self.place}: what the broker has sent can't be read: {error}"))
        self._tell()

    def _has_come(self, seconds: float, *, is_full: bool) -> bool:
        mine = self._socket
        if isinstance(mine, ssl.SSLSocket) and mine.pending():
            return True
        poll = select.poll()
        poll.register(mine, select.POLLIN | (select.POLLOUT if is_full else 0))  # type: ignore[arg-type]
        return any(found & ~select.POLLOUT for _, found in poll.poll(seconds * 1000))

    def _read(self) -> None:
        with suppress(ssl.SSLWantReadError, BlockingIOError):
            data = got(self._socket, min(self._transport.capacity(), _CHUNK))
            if data:
                self._transport.push(data)
                return
            self._tell()
            self.fail(SystemAway(f"{self.place}: the broker has ended the connection"))

    def _flush(self) -> bool:
        """Writes; returns whether there is more than the network takes now."""
        while self._socket is not None and (size := self._transport.pending()) > 0:
            try:
                self._transport.pop(put(self._socket, self._transport.peek(size)))
            except (ssl.SSLWantWriteError, ssl.SSLWantReadError, BlockingIOError):
                return True
        return False

    def _until_tick(self) -> float:
        """How long nothing has to be done for a connection on which nothing comes."""
        deadline = self._transport.tick(now := time.monotonic())
        return max(0.001, deadline - now) if deadline else 60.0

    def _tell(self) -> None:
        peek: Callable[[], Any] = self._collector.peek
        while (event := peek()) is not None:
            kind = event.type
            if (call := self._calls.get(kind)) is not None:
                call(event)
            elif kind in (Event.LINK_REMOTE_CLOSE, Event.LINK_REMOTE_DETACH):
                if self._is_ours(event.link) and event.link.name != self._attaching:
                    self.fail(refused(event.link.remote_condition, self.place, event.link.name))
            elif kind == Event.SESSION_REMOTE_CLOSE and self._is_ours(event.session):
                self.fail(refused(event.session.remote_condition, self.place))
            elif kind == Event.CONNECTION_REMOTE_CLOSE and self._is_ours(event.connection):
                self.fail(refused(event.connection.remote_condition, self.place))
            elif kind == Event.TRANSPORT_ERROR:
                self.fail(self._of_transport())
            self._collector.pop()

    def _of_transport(self) -> ConnectorError:
        outcome, condition = self._transport.sasl().outcome, self._transport.condition
        if condition is not None and condition.name == "amqp:unauthorized-access":
            return login_refused(self.place, outcome, self._mechanisms)
        if condition is not None and "idle-timeout" in (condition.description or ""):
            return SystemAway(f"{self.place}: nothing is heard of the broker any more")
        return refused(condition, self.place)

    @staticmethod
    def _is_there(endpoint: Any) -> bool:
        return bool(endpoint.state & (proton.Endpoint.REMOTE_ACTIVE | proton.Endpoint.REMOTE_CLOSED))

    @staticmethod
    def _is_ours(endpoint: Any) -> bool:
        """Whether we have not ended it ourselves, nor are waiting for it to begin."""
        return bool(endpoint.state & proton.Endpoint.LOCAL_ACTIVE)


def got(mine: Any, size: int) -> bytes:
    """Reads from the network."""
    data: bytes = mine.recv(size)
    return data


def put(mine: Any, data: Any) -> int:
    """Writes to the network; returns how much."""
    size: int = mine.send(data)
    return size


@contextmanager
def looking(config: Config, seconds: float) -> Iterator[Client]:
    """A client for a check, which waits for so many seconds at most."""
    client = Client(config, "rocketconnect-check", seconds=min(seconds, config["request.timeout"]))
    try:
        yield client
    finally:
        client.end()
