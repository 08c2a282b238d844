"""A queue of RabbitMQ."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pika

from bench.systems import moved
from bench.systems.driving import sinking
from bench.systems.system import Compared, Move
from connectors.rabbitmq.sink import RabbitmqSink
from tests.servers.rabbitmq import Rabbitmq

_QUEUE = "orders"
_PATIENCE = 60.0


@contextmanager
def compared(records: int) -> Iterator[list[Compared]]:
    """The sink, until the end of the block."""
    with Rabbitmq().running() as server:
        server.make(_QUEUE)
        config = {"url": server.url, "routing.key": _QUEUE}
        yield [
            Compared(
                "rabbitmq_sink",
                "pika",
                lambda: sinking(RabbitmqSink(), config, records),
                lambda: _publish(server.port, records),
                lambda: _found(server, records),
                lambda: _empty(server),
            )
        ]


@contextmanager
def _publish(port: int, records: int) -> Iterator[Move]:
    """Without confirmations, for each of which pika would wait by itself; an answer of the server comes behind all messages."""
    texts = [moved.text(number) for number in range(records)]
    with pika.BlockingConnection(pika.ConnectionParameters("localhost", port)) as connection:
        channel: Any = connection.channel()

        def move() -> tuple[str, ...]:
            for number, text in enumerate(texts):
                properties = pika.BasicProperties(delivery_mode=2, message_id=str(number))
                channel.basic_publish("", _QUEUE, text, properties)
            channel.queue_declare(_QUEUE, passive=True)
            return ()

        yield move


def _found(server: Rabbitmq, records: int) -> Iterator[bytes]:
    """What is in the queue, once all is there: what was not confirmed may still be on its way."""
    until = time.monotonic() + _PATIENCE
    while server.waiting(_QUEUE) < records and time.monotonic() < until:
        time.sleep(0.05)
    return (body for _, _, body in server.read(_QUEUE))


def _empty(server: Rabbitmq) -> None:
    with server.channel() as channel:
        channel.queue_purge(_QUEUE)
