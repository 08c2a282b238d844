"""Clients of real brokers, and topics of their own for each test."""

import uuid
from collections.abc import Callable, Iterator

import pytest

from rocketmq_remoting import Client, MessageQueue, encode_batch
from tests.shared_rocketmq import RocketMQ


@pytest.fixture(scope="session")
def client(rocketmq: RocketMQ) -> Iterator[Client]:
    """A client of the session's broker."""
    with Client(rocketmq.name_server, timeout=10) as made:
        yield made


TopicMaker = Callable[..., list[MessageQueue]]


@pytest.fixture
def new_topic(client: Client) -> TopicMaker:
    """Create a topic of this test's own; returns its queues."""
    return topic_maker(client)


def topic_maker(client: Client) -> TopicMaker:
    """What creates topics by this client, each with a name of its own."""

    def make(queues: int = 1, topic_type: str = "normal") -> list[MessageQueue]:
        topic = f"test_{uuid.uuid4().hex}"
        client.create_topic(topic, queues=queues, topic_type=topic_type)
        return client.queues(topic, writable=True)

    return make


Filler = Callable[..., None]


@pytest.fixture
def fill() -> Filler:
    """Send messages whose bodies are their numbers, and wait until they can be pulled."""

    def send(client: Client, queue: MessageQueue, count: int, *, per_batch: int = 500, size: int = 20, start: int = 0) -> None:
        for first in range(start, start + count, per_batch):
            numbers = range(first, min(first + per_batch, start + count))
            client.send_batch(queue, encode_batch([b"%0*d" % (size, number) for number in numbers], b"k\x01v\x02"))
        client.barrier(queue.broker, 10)

    return send
