"""Clients of real brokers, and topics of their own for each test."""

import uuid
from collections.abc import Callable, Iterator, Mapping

import pytest

from rocketconnect_cli.embedded import EmbeddedRocketMQ
from rocketmq_remoting import Client, MessageQueue, encode_batch


@pytest.fixture(scope="session")
def client(rocketmq: EmbeddedRocketMQ) -> Iterator[Client]:
    """A client of the session's broker."""
    with Client(rocketmq.name_server, timeout=10) as made:
        yield made


@pytest.fixture(scope="module")
def frugal(rocketmq_factory: Callable[[Mapping[str, str]], EmbeddedRocketMQ]) -> EmbeddedRocketMQ:
    """A broker with RocketMQ's own limits for a pull (32 messages or 256 KiB) and without SQL filters."""
    return rocketmq_factory(
        {
            "maxTransferCountOnMessageInMemory": "32",
            "maxTransferCountOnMessageInDisk": "8",
            "maxTransferBytesOnMessageInMemory": str(256 << 10),
            "maxTransferBytesOnMessageInDisk": str(64 << 10),
            "enablePropertyFilter": "false",
        }
    )


@pytest.fixture(scope="module")
def frugal_client(frugal: EmbeddedRocketMQ) -> Iterator[Client]:
    """A client of the broker with RocketMQ's own limits."""
    with Client(frugal.name_server, timeout=10) as made:
        yield made


TopicMaker = Callable[..., list[MessageQueue]]


@pytest.fixture
def new_topic(client: Client) -> TopicMaker:
    """Create a topic of this test's own; returns its queues."""
    return _topic_maker(client)


@pytest.fixture
def new_frugal_topic(frugal_client: Client) -> TopicMaker:
    """Create a topic of this test's own on the broker with RocketMQ's own limits; returns its queues."""
    return _topic_maker(frugal_client)


def _topic_maker(client: Client) -> TopicMaker:
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
