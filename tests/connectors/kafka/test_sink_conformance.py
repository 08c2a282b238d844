from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from connectors.kafka.sink import KafkaSink
from rocketconnect_sdk.conformance import SinkCase, SinkSuite
from rocketconnect_sdk.sink import Guarantee
from tests.connectors.kafka.stand_in import MARKER, Cluster
from tests.suites import slow_but

if TYPE_CHECKING:
    from tests.servers.kafka.broker import Kafka

_CALLS = (
    "connectors.kafka.connection:begun",
    "connectors.kafka.connection:committed",
    "connectors.kafka.sending:flushed",
)


def case_of(kafka: "Kafka", topic: str, **given: str) -> SinkCase:
    config = {"bootstrap.servers": kafka.servers, "target.topic": topic, "positions.topic": f"{topic}.positions", **given}

    def read() -> list[str]:
        return [message.value().decode() for message in kafka.read(topic)]

    return SinkCase(KafkaSink(), config, read, calls=_CALLS)


@slow_but(
    "test_every_record_is_there_and_in_order",
    "test_it_goes_on_where_it_was",
    "test_a_start_that_is_made_again_changes_nothing",
    "test_a_batch_that_is_written_again_is_there_once",
    "test_what_is_there_already_is_refused",
    "test_positions_are_kept_whole_and_an_older_era_is_refused",
    "test_an_older_owner_is_refused",
    "test_a_record_that_cannot_be_written_is_refused_alone",
)
class TestStandIn(SinkSuite):
    """It is in this process alone, so nothing is killed here."""

    @pytest.fixture
    def case(self, cluster: Cluster) -> SinkCase:
        def read() -> list[str]:
            return [slot[0].decode() for part in cluster.topics["orders"][1] for slot in part.slots if slot is not MARKER]

        return SinkCase(KafkaSink(), {"bootstrap.servers": cluster.servers}, read)


class AtLeastOnce(KafkaSink):
    """As it is with delivery=at_least_once."""

    guarantee = Guarantee.AT_LEAST_ONCE


@pytest.mark.slow
@pytest.mark.kafka
class TestAtLeastOnce(SinkSuite):
    @pytest.fixture
    def case(self, kafka: "Kafka", topic: str) -> SinkCase:
        kafka.make(topic)
        return replace(case_of(kafka, topic, delivery="at_least_once"), sink=AtLeastOnce())


@pytest.mark.slow
@pytest.mark.kafka
class TestExactlyOnce(SinkSuite):
    @pytest.fixture
    def case(self, kafka: "Kafka", topic: str) -> SinkCase:
        kafka.make(topic)
        return case_of(kafka, topic)


@pytest.mark.slow
@pytest.mark.kafka
class TestPartitions(SinkSuite):
    @pytest.fixture
    def case(self, kafka: "Kafka", topic: str) -> SinkCase:
        return case_of(kafka, topic, **{"target.partitions": "3", "compression.type": "lz4", "partition.by": "queue"})
