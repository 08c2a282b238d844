"""The barrier: everything stored before it is readable after it."""

from collections.abc import Callable

import pytest

from rocketmq_remoting import Client, MessageQueue, PullStatus, RequestTimeout, encode_batch
from rocketmq_remoting.client import BARRIER_TOPIC

pytestmark = pytest.mark.rocketmq

TopicMaker = Callable[..., list[MessageQueue]]


@pytest.mark.parametrize("topic_type", ["normal", "batch"])
def test_after_a_barrier_the_maximum_counts_every_message_confirmed_before_it(
    client: Client, new_topic: TopicMaker, topic_type: str
) -> None:
    queues = new_topic(queues=4, topic_type=topic_type)
    batch = encode_batch([b"x" * 100] * 2000)
    # What the broker has to dispatch before, so that it is behind when the barrier begins.
    noise = new_topic(queues=4)
    lagged = 0
    for _ in range(20):
        receipts = [one.result() for one in [client.send_batch_async(queue, batch, 10) for queue in noise + queues]]
        ends = [receipt.queue_offset + receipt.count for receipt in receipts[len(noise) :]]
        lagged += [client.max_offset(queue) for queue in queues] != ends
        client.barrier(queues[0].broker, 30)
        assert [client.max_offset(queue) for queue in queues] == ends
        assert client.pull(queues[-1], ends[-1] - 1).status is PullStatus.FOUND
    # Otherwise this test would have shown nothing.
    assert lagged


def test_a_barrier_that_takes_too_long_says_so(client: Client, new_topic: TopicMaker) -> None:
    (queue,) = new_topic()
    client.barrier(queue.broker)

    class Stuck(Client):
        """A client to which nothing ever becomes readable."""

        def max_offset(self, queue: MessageQueue) -> int:
            assert queue.topic == BARRIER_TOPIC
            return 0

    with Stuck(client._routes.servers) as stuck, pytest.raises(RequestTimeout, match="dispatch lags"):
        stuck.barrier(queue.broker, 0.5)
