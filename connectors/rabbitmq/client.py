"""A connection with one channel, for one thread, which reads and writes the network when it is asked and at no other time.

pika's own connection for one thread waits without a limit for a server that hangs, and for the confirmation of each message before
it sends the next one. So its loop is turned here. https://pika.readthedocs.io/en/stable/modules/adapters/select.html
"""

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any
from urllib.parse import urlsplit

import pika
from pika.adapters.select_connection import IOLoop, SelectConnection
from pika.exceptions import AMQPError, ChannelClosedByClient, ConnectionClosedByClient

from connectors.rabbitmq import fields
from connectors.rabbitmq.faults import fault_of
from connectors.rabbitmq.options import CHECK_SECONDS, PORTS
from rocketconnect_sdk.errors import ConnectorError, SystemAway
from rocketconnect_sdk.http.options import tls_of
from rocketconnect_sdk.options import Config
from rocketconnect_sdk.permissions import connections

_END_SECONDS = 2.0
_ABORT_SECONDS = 1.0
# What goes wrong is told by our errors, once.
logging.getLogger("pika").setLevel(logging.CRITICAL)
fields.install()


class Client:
    """A connection. After an error it is ended; `reopen` begins anew after one of its channel.

    Args:
        config: Has options.SERVER.
        name: Who we are, for those who look at the server.
        heartbeat: After so many seconds of silence, about, the connection is given up; 0: never. `turn` is called more often.
        seconds: In the place of request.timeout.

    Attributes:
        channel: pika's.
        frame: So many bytes the properties of a message may have, about.

    Raises:
        SystemAway: the server does not answer, or takes nobody now.
        RetriableError: what answers is no server of RabbitMQ.
        PermanentError: it does not take us.
    """

    def __init__(self, config: Config, name: str, *, heartbeat: float = 0.0, seconds: float = 0.0) -> None:
        self.place: str = config["url"]
        self.seconds: float = seconds or config["request.timeout"]
        self._fault: ConnectorError | None = None
        self._connection: Any = None
        self._blocked = ""
        """Why the server takes no messages, in its words."""
        self._loop = IOLoop()
        self._loop.activate_poller()
        try:
            self._connection = self._connected(config, name, heartbeat)
            self._connection.add_on_close_callback(lambda _, error: self.fail(error))
            self._connection.add_on_connection_blocked_callback(lambda _, frame: self._block(frame.method.reason))
            self._connection.add_on_connection_unblocked_callback(lambda *_: self._block(""))
            self.frame: int = self._connection.params.frame_max
            self._open_channel()
        except BaseException:
            self.end()
            raise

    def turn(self, done: Callable[[], object] = lambda: False, seconds: float = 0.0) -> bool:
        """Reads and writes, at least once, until it is done or for so many seconds; returns whether it is done.

        Reads a few KiB at a time, and no more than it takes.

        Raises:
            ConnectorError: the channel or the connection has ended.
        """
        end = time.monotonic() + seconds
        while True:
            wake = self._loop.call_later(0.0 if done() else max(0.0, end - time.monotonic()), lambda: None)
            turned(self._loop)
            self._loop.remove_timeout(wake)
            if self._fault is not None:
                raise self._fault
            if done():
                return True
            if time.monotonic() >= end:
                return False

    def wait(self, done: Callable[[], object]) -> None:
        """Reads and writes until it is done.

        Raises:
            SystemAway: that takes too long.
        """
        if not self.turn(done, self.seconds):
            why = f"takes no messages for now: {self._blocked}" if self._blocked else f"does not answer within {self.seconds:g} s"
            msg = f"{self.place}: the server {why}"
            raise SystemAway(msg)

    def call(self, method: str, **given: Any) -> Any:
        """Calls a method of the channel that the server answers; returns what it says.

        Raises:
            NotThere: it has no such queue or exchange.
            PermanentError: it refuses this. The channel is closed.
        """
        answers: list[Any] = []
        self.send(method, callback=answers.append, **given)
        self.wait(lambda: answers)
        return answers[0].method

    def send(self, method: str, **given: Any) -> None:
        """Calls a method of the channel, which is sent when `turn` is called."""
        try:
            sent(getattr(self.channel, method), **given)
        except AMQPError as error:
            raise self._fault or fault_of(error, self.place, self.seconds) from error

    def reopen(self) -> None:
        """Another channel, after the server has closed one."""
        if self._connection.is_open:
            self._fault = None
            self._open_channel()
        elif self._fault is not None:
            raise self._fault

    def fail(self, error: BaseException) -> None:
        """What ends whatever is waited for."""
        # The first one says why.
        if self._fault is None and not isinstance(error, ConnectionClosedByClient | ChannelClosedByClient):
            self._fault = fault_of(error, self.place, self.seconds)

    def end(self) -> None:
        """Says goodbye, and what was sent before is done first. Never raises, and takes some seconds at most."""
        connection, self._connection = self._connection, None
        # Whatever has happened, it is ended in order if it can be.
        self._fault = None
        if connection is not None:
            with suppress(ConnectorError, AMQPError):
                if connection.is_open:
                    connection.close()
                    self.turn(lambda: connection.is_closed, min(self.seconds, _END_SECONDS))
            if not connection.is_closed:
                # Nothing else of pika ends a connection whose server hangs.
                self._fault = None
                connection._terminate_stream(TimeoutError())  # noqa: SLF001 - as above
                with suppress(ConnectorError):
                    self.turn(lambda: connection.is_closed, _ABORT_SECONDS)
        if self._loop is not None:
            self._loop.close()
            self._loop = None

    def _connected(self, config: Config, name: str, heartbeat: float) -> Any:
        parts = urlsplit(config["url"])
        host, port = parts.hostname or "", parts.port or PORTS[parts.scheme]
        connections.check(host, port)
        user, password = config["user"] or "guest", config["password"] or ("" if config["user"] else "guest")
        given = pika.ConnectionParameters(
            host,
            port,
            config["virtual.host"],
            pika.PlainCredentials(user, password),
            heartbeat=max(1, round(heartbeat)) if heartbeat else 0,
            socket_timeout=self.seconds,
            stack_timeout=self.seconds,
            client_properties={"connection_name": name, "product": "RocketConnect"},
            ssl_options=pika.SSLOptions(tls_of(config).context(), host) if parts.scheme == "amqps" else None,
        )
        found: list[Any] = []
        opening = SelectConnection.create_connection([given], on_done=found.append, custom_ioloop=self._loop)
        # A name that is looked up has no limit of its own.
        if not self.turn(lambda: found, self.seconds + _ABORT_SECONDS):
            opening.abort()
            self.turn(lambda: found, _ABORT_SECONDS)
            raise fault_of(TimeoutError(), self.place, self.seconds)
        if isinstance(found[0], BaseException):
            raise fault_of(found[0], self.place, self.seconds)
        return found[0]

    def _block(self, why: str) -> None:
        self._blocked = why

    def _open_channel(self) -> None:
        opened: list[Any] = []
        self.channel = self._connection.channel(on_open_callback=opened.append)
        self.channel.add_on_close_callback(lambda _, error: self.fail(error))
        self.wait(lambda: opened)


def turned(loop: Any) -> None:
    """Reads and writes what can be, and does what is due."""
    loop.poll()
    loop.process_timeouts()


def sent(method: Any, **given: Any) -> None:
    """Calls a method that sends something."""
    method(**given)


@contextmanager
def looking(config: Config) -> Iterator[Client]:
    """A client for a check."""
    client = Client(config, "rocketconnect-check", seconds=min(CHECK_SECONDS, config["request.timeout"]))
    try:
        yield client
    finally:
        client.end()
