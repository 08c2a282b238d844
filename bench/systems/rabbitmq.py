"""Queues of RabbitMQ."""

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import pika

from bench.systems import moved
from bench.systems.driving import sinking, sourcing
from bench.systems.system import Compared, Move
from connectors.rabbitmq.sink import RabbitmqSink
from connectors.rabbitmq.source import RabbitmqSource
from tests.servers.rabbitmq import Rabbitmq

_QUEUE, _FULL = "orders", "full"
_PREFETCH = 1_000
"""As many as the source takes by itself; half of them are acknowledged at once, so that the server need not wait."""
_PATIENCE = 60.0


@contextmanager
def compared(records: int) -> Iterator[list[Compared]]:
    """The sink and the source, until the end of the block."""
    with Rabbitmq().running() as server:
        for name in (_QUEUE, _FULL):
            server.make(name)
        config = {"url": server.url, "routing.key": _QUEUE}
        reading = {"url": server.url, "queues": _FULL}
        yield [
            Compared(
                "rabbitmq_sink",
                "pika",
                lambda: sinking(RabbitmqSink(), config, records),
                lambda: _publish(server.port, records),
                lambda: _found(server, records),
                lambda: _empty(server, _QUEUE),
            ),
            Compared(
                "rabbitmq_source",
                "pika",
                lambda: sourcing(RabbitmqSource(), reading, records),
                lambda: _consume(server.port, records),
                clear=lambda: _fill(server, records),
            ),
        ]


@contextmanager
def _publish(port: int, records: int) -> Iterator[Move]:
    """Without confirmations, for each of which pika would wait by itself; an answer of the server comes behind all messages."""
    texts = [moved.text(number) for number in range(records)]
    with pika.BlockingConnection(pika.ConnectionParameters("localhost", port)) as connection:
        channel: Any = connection.channel()

        def move() -> tuple[str, ...]:
            _send(channel, _QUEUE, texts)
            return ()

        yield move


@contextmanager
def _consume(port: int, records: int) -> Iterator[Move]:
    with pika.BlockingConnection(pika.ConnectionParameters("localhost", port)) as connection:
        channel: Any = connection.channel()
        channel.basic_qos(prefetch_count=_PREFETCH)

        def move() -> list[bytes]:
            found: list[bytes] = []
            for method, _, body in channel.consume(_FULL):
                found.append(body)
                if len(found) % (_PREFETCH // 2) == 0 or len(found) == records:
                    channel.basic_ack(method.delivery_tag, multiple=True)
                if len(found) == records:
                    break
            channel.queue_declare(_FULL, passive=True)
            return found

        yield move


def _send(channel: Any, queue: str, texts: Iterable[str]) -> None:
    for number, text in enumerate(texts):
        channel.basic_publish("", queue, text, pika.BasicProperties(delivery_mode=2, message_id=str(number)))
    channel.queue_declare(queue, passive=True)


def _fill(server: Rabbitmq, records: int) -> None:
    _empty(server, _FULL)
    with server.channel() as channel:
        _send(channel, _FULL, map(moved.text, range(records)))


def _found(server: Rabbitmq, records: int) -> Iterator[bytes]:
    """What is in the queue, once all is there: what was not confirmed may still be on its way."""
    until = time.monotonic() + _PATIENCE
    while server.waiting(_QUEUE) < records and time.monotonic() < until:
        time.sleep(0.05)
    return (body for _, _, body in server.read(_QUEUE))


def _empty(server: Rabbitmq, queue: str) -> None:
    with server.channel() as channel:
        channel.queue_purge(queue)
