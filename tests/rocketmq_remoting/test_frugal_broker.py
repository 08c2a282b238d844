"""A real broker with little room: it refuses what it has none for, gives little at once, and has no SQL filters."""

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor

import pytest

from rocketconnect_cli.embedded import EmbeddedRocketMQ
from rocketmq_remoting import BrokerBusy, Client, InvalidFilter, PullStream, SqlFilter, encode_batch
from tests.rocketmq_remoting.conftest import Filler, TopicMaker, topic_maker
from tests.rocketmq_remoting.pulls.test_stream import read

pytestmark = pytest.mark.rocketmq


@pytest.fixture(scope="module")
def frugal(rocketmq_factory: Callable[[Mapping[str, str]], EmbeddedRocketMQ]) -> EmbeddedRocketMQ:
    return rocketmq_factory(
        {
            # RocketMQ's own limits for a pull.
            "maxTransferCountOnMessageInMemory": "32",
            "maxTransferCountOnMessageInDisk": "8",
            "maxTransferBytesOnMessageInMemory": str(256 << 10),
            "maxTransferBytesOnMessageInDisk": str(64 << 10),
            "enablePropertyFilter": "false",
            "sendThreadPoolQueueCapacity": "1",
            "sendMessageThreadPoolNums": "1",
            # Asynchronous sends answer through the very queue that is full here, and their answers would be lost with it.
            "asyncSendEnable": "false",
        }
    )


@pytest.fixture(scope="module")
def frugal_client(frugal: EmbeddedRocketMQ) -> Iterator[Client]:
    with Client(frugal.name_server, timeout=10) as made:
        yield made


@pytest.fixture
def new_frugal_topic(frugal_client: Client) -> TopicMaker:
    return topic_maker(frugal_client)


def test_a_busy_broker_refuses_without_effect_and_sends_get_through_by_waiting(frugal: EmbeddedRocketMQ) -> None:
    batch = encode_batch([b"x" * 1000] * 200)
    with Client(frugal.name_server, timeout=10) as client:
        client.create_topic("busy", queues=8)
        queues = client.queues("busy", writable=True)
        stored = refused = 0
        for pending in [client.send_batch_async(queue, batch) for _ in range(20) for queue in queues]:
            try:
                stored += pending.result().count
            except BrokerBusy:
                refused += 1
        assert refused
        assert stored
        with ThreadPoolExecutor(8) as threads:
            receipts = list(threads.map(lambda queue: client.send_batch(queue, batch, 30), queues * 4))
        stored += sum(receipt.count for receipt in receipts)
        client.barrier(queues[0].broker, 30)
        assert sum(client.max_offset(queue) for queue in queues) == stored


@pytest.mark.slow
@pytest.mark.parametrize("topic_type", ["normal", "batch"])
@pytest.mark.parametrize(("per_batch", "start"), [(500, 0), (33, 40), (7, 3)])
def test_all_messages_come_once_and_in_order_from_a_broker_that_gives_little_at_once(
    frugal_client: Client,
    new_frugal_topic: TopicMaker,
    fill: Filler,
    topic_type: str,
    per_batch: int,
    start: int,
) -> None:
    (queue,) = new_frugal_topic(topic_type=topic_type)
    fill(frugal_client, queue, 3000, per_batch=per_batch)
    with PullStream(frugal_client, queue, start) as stream:
        assert read(stream, 3000) == list(range(start, 3000))
        assert stream.next(0.1) is None


def test_answers_shorter_than_foreseen_leave_nothing_out(frugal_client: Client, new_frugal_topic: TopicMaker) -> None:
    (queue,) = new_frugal_topic()
    # 32 small ones are an answer; of the large ones only two fit into 256 KiB.
    bodies = [b"%020d" % number if number % 100 < 60 else b"%0100000d" % number for number in range(500)]
    for first in range(0, 500, 25):
        frugal_client.send_batch(queue, encode_batch(bodies[first : first + 25]))
    frugal_client.barrier(queue.broker, 10)
    with PullStream(frugal_client, queue, 0) as stream:
        assert read(stream, 500) == list(range(500))


def test_an_sql_filter_on_a_broker_without_them_is_told(frugal_client: Client, new_frugal_topic: TopicMaker) -> None:
    (queue,) = new_frugal_topic()
    with pytest.raises(InvalidFilter, match="enablePropertyFilter=true"):
        frugal_client.pull(queue, 0, message_filter=SqlFilter("n > 3"))
