import pytest

from connectors.rocketmq_grpc.sink import RocketmqGrpcSink
from connectors.rocketmq_grpc.source import RocketmqGrpcSource
from rocketconnect_sdk.conformance import SinkCase, SinkSuite
from rocketconnect_sdk.conformance.queue import QueueCase, QueueSuite
from rocketconnect_sdk.conformance.sink_case import expected, seen, writing
from tests.connectors.rocketmq.clusters import Cluster
from tests.connectors.rocketmq_grpc.cases import group_of, make_group, make_topic, options, reading
from tests.servers.rocketmq_grpc.proxy import Proxy
from tests.suites import slow_but


def queue_case(proxy: Proxy, cluster: Cluster, topic: str) -> QueueCase:
    return QueueCase(
        RocketmqGrpcSource(),
        reading(proxy, topic),
        lambda texts: cluster.put(topic, [text.encode() for text in texts]),
        calls=("connectors.rocketmq_grpc.client:called",),
        every=3,
        flags=False,
        seconds=120,
    )


def sink_case(proxy: Proxy, cluster: Cluster, topic: str) -> SinkCase:
    make_topic(cluster, topic, "FIFO")

    def read() -> list[str]:
        found = cluster.read(topic)
        return [message.body.decode() for queue in sorted(found) for message in found[queue]]

    config = options(proxy, target_topic=topic, message_group="${queue}")
    return SinkCase(RocketmqGrpcSink(), config, read, calls=("connectors.rocketmq_grpc.client:called",))


@slow_but()
@pytest.mark.rocketmq
class TestOrderedGroup(QueueSuite):
    @pytest.fixture
    def case(self, proxy: Proxy, cluster: Cluster, topic: str) -> QueueCase:
        make_topic(cluster, topic)
        make_group(cluster, group_of(topic), consumeMessageOrderly=True)
        return queue_case(proxy, cluster, topic)


@slow_but()
@pytest.mark.rocketmq
class TestSink(SinkSuite):
    @pytest.fixture
    def case(self, proxy: Proxy, cluster: Cluster, topic: str) -> SinkCase:
        return sink_case(proxy, cluster, topic)

    def test_a_large_batch_is_there_and_in_order(self, case: SinkCase) -> None:
        """A message goes in a request of its own, so the batch is a smaller one."""
        with writing(case) as writer:
            writer.start()
            writer.write(2_000)
            writer.write(2_001)
        assert seen(case, 2_001) == expected(case, 2_001)
