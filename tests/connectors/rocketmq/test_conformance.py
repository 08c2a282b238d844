import pytest

from connectors.rocketmq.sink import RocketmqSink
from connectors.rocketmq.source import RocketmqSource
from rocketconnect_sdk.conformance import SinkCase, SinkSuite, SourceCase, SourceSuite
from tests.connectors.rocketmq.clusters import Cluster, options
from tests.suites import slow_but

VALUES = [b"%d" % n for n in range(60)]


@slow_but("test_a_replay_gives_the_same_records_with_the_same_offsets", "test_it_accepts_its_configuration")
@pytest.mark.rocketmq
class TestSource(SourceSuite):
    @pytest.fixture
    def case(self, cluster: Cluster, topic: str) -> SourceCase:
        cluster.make(topic, 3)
        cluster.put(topic, VALUES[:40])
        cluster.put(topic, VALUES[40:], queue=1)
        return SourceCase(RocketmqSource(), options(cluster, {"topics": topic}), VALUES)


@slow_but("test_every_record_is_there_and_in_order", "test_a_record_that_cannot_be_written_is_refused_alone")
@pytest.mark.rocketmq
class TestSink(SinkSuite):
    @pytest.fixture
    def case(self, cluster: Cluster, topic: str) -> SinkCase:
        def read() -> list[str]:
            found = cluster.read(topic)
            return [message.body.decode() for queue in sorted(found) for message in found[queue]]

        config = options(cluster, {"target.topic": topic, "target.queues": "1"})
        return SinkCase(RocketmqSink(), config, read, calls=("connectors.rocketmq.connection:encoded",))
