"""Flow control: a real broker that refuses what it has no room for."""

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor

import pytest

from rocketconnect_cli.embedded import EmbeddedRocketMQ
from rocketmq_remoting import BrokerBusy, Client, encode_batch

pytestmark = pytest.mark.rocketmq


def test_a_busy_broker_refuses_without_effect_and_sends_get_through_by_waiting(
    rocketmq_factory: Callable[[Mapping[str, str]], EmbeddedRocketMQ],
) -> None:
    # Asynchronous sends answer through the very queue that is full here, and their answers would be lost with it.
    server = rocketmq_factory({"sendThreadPoolQueueCapacity": "1", "sendMessageThreadPoolNums": "1", "asyncSendEnable": "false"})
    batch = encode_batch([b"x" * 1000] * 200)
    with Client(server.name_server, timeout=10) as client:
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
