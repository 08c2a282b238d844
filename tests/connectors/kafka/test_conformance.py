from typing import TYPE_CHECKING

import pytest

from connectors.kafka.source import KafkaSource
from rocketconnect_sdk.conformance import SourceCase, SourceSuite
from tests.connectors.kafka.stand_in import Cluster

if TYPE_CHECKING:
    from tests.servers.kafka.broker import Kafka

VALUES = [None if n % 7 == 0 else b"%d" % n for n in range(60)]


class TestStandIn(SourceSuite):
    @pytest.fixture
    def case(self, cluster: Cluster) -> SourceCase:
        cluster.make("orders", 3)
        cluster.put("orders", VALUES[:20], partition=0)
        cluster.commit("orders", VALUES[20:40], partition=1)
        cluster.commit("orders", VALUES[40:50], partition=0)
        cluster.commit("orders", VALUES[50:], partition=0)
        return SourceCase(KafkaSource(), {"bootstrap.servers": cluster.servers, "kafka.topics": "orders"}, VALUES)


@pytest.mark.slow
@pytest.mark.kafka
class TestKafka(SourceSuite):
    @pytest.fixture
    def case(self, kafka: "Kafka", topic: str) -> SourceCase:
        kafka.make(topic, 3)
        kafka.put(topic, VALUES[:20])
        for partition, values in ((1, VALUES[20:40]), (0, VALUES[40:50]), (0, VALUES[50:])):
            kafka.commit(topic, values, partition)
        return SourceCase(KafkaSource(), {"bootstrap.servers": kafka.servers, "kafka.topics": topic}, VALUES)
