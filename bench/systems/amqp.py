"""Queues of Artemis."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from proton import Message
from proton.handlers import MessagingHandler
from proton.reactor import Container

from bench.systems import moved
from bench.systems.driving import sinking, sourcing
from bench.systems.system import Compared, Move
from connectors.amqp.sink import AmqpSink
from connectors.amqp.source import AmqpSource
from tests.servers.amqp.brokers import Artemis, OfKind

_QUEUE, _FULL = "orders", "full"
_IS = OfKind("queue")
_PREFETCH = 1_000
"""As many as the source takes by itself."""


@contextmanager
def compared(records: int) -> Iterator[list[Compared]]:
    """The sink and the source, until the end of the block."""
    with Artemis().running() as server:
        writing = {"url": server.url, "address": _QUEUE, "address.type": "queue", "body": "text"}
        reading = {"url": server.url, "addresses": _FULL, "address.type": "queue"}
        yield [
            Compared(
                "amqp_sink",
                "proton",
                lambda: sinking(AmqpSink(), writing, records),
                lambda: _send(server.url, records),
                lambda: _emptied(server, _QUEUE),
                lambda: _empty(server, _QUEUE),
            ),
            Compared(
                "amqp_source",
                "proton",
                lambda: sourcing(AmqpSource(), reading, records),
                lambda: _receive(server.url, records),
                clear=lambda: _fill(server, records),
            ),
        ]


class _Connected(MessagingHandler):  # type: ignore[misc]  # it may not be there when types are looked at
    """A connection, of which the loop of the client is turned by who uses it."""

    def __init__(self, url: str) -> None:
        super().__init__(prefetch=_PREFETCH)
        self._url = url
        self._is_open = False
        self.connection: Any = None
        self.container: Any = Container(self)
        self.container.start()
        self.turn(lambda: self._is_open)

    def turn(self, done: Any) -> None:
        """Reads and writes until it is done."""
        while not done():
            assert self.container.process(), "the connection has ended"

    def close(self) -> None:
        """Says goodbye, behind all that was said before."""
        self.connection.close()
        while self.container.process():
            pass

    def on_start(self, event: Any) -> None:
        """Connects."""
        self.connection = event.container.connect(self._url, allowed_mechs="ANONYMOUS", reconnect=False)

    def on_connection_opened(self, event: Any) -> None:
        """The broker has let it in."""
        del event
        self._is_open = True


class _Sender(_Connected):
    """Sends as many messages as the broker takes, and counts what it has accepted."""

    def send(self, queue: str, texts: Sequence[str]) -> None:
        """Returns when the broker has accepted all."""
        self._left, self._accepted = iter(texts), 0
        self._sender = self.container.create_sender(self.connection, queue, options=_IS)
        self.turn(lambda: self._accepted == len(texts))

    def on_sendable(self, event: Any) -> None:
        """There is room for some."""
        del event
        while self._sender.credit and (text := next(self._left, None)) is not None:
            self._sender.send(Message(text, durable=True))

    def on_accepted(self, event: Any) -> None:
        """The broker has one."""
        del event
        self._accepted += 1


class _Receiver(_Connected):
    """Takes messages, each of which the client accepts by itself."""

    def receive(self, queue: str, count: int) -> list[str]:
        """So many, when the broker knows that they are here."""
        self._found: list[str] = []
        self.container.create_receiver(self.connection, queue, options=_IS)
        self.turn(lambda: len(self._found) >= count)
        self.close()
        return self._found

    def on_message(self, event: Any) -> None:
        """One has come."""
        self._found.append(event.message.body)


@contextmanager
def _send(url: str, records: int) -> Iterator[Move]:
    texts, sender = [moved.text(number) for number in range(records)], _Sender(url)

    def move() -> tuple[str, ...]:
        sender.send(_QUEUE, texts)
        return ()

    yield move


@contextmanager
def _receive(url: str, records: int) -> Iterator[Move]:
    receiver = _Receiver(url)
    yield lambda: receiver.receive(_FULL, records)


def _fill(server: Artemis, records: int) -> None:
    _empty(server, _FULL)
    sender = _Sender(server.url)
    sender.send(_FULL, [moved.text(number) for number in range(records)])
    sender.close()


def _emptied(server: Artemis, queue: str) -> Iterable[str]:
    waiting = server.waiting(queue)
    return _Receiver(server.url).receive(queue, waiting) if waiting else ()


def _empty(server: Artemis, queue: str) -> None:
    _emptied(server, queue)
