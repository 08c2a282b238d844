from collections.abc import Callable
from itertools import count

import pytest

from connectors.amqp.jms_source import JmsSource
from connectors.amqp.sink import AmqpSink
from connectors.amqp.source import AmqpSource
from rocketconnect_sdk.conformance import SinkCase, SinkSuite
from rocketconnect_sdk.conformance.queue import QueueCase, QueueSuite
from rocketconnect_sdk.conformance.sink_case import QUEUES, writing
from tests.servers.amqp.brokers import Artemis, Broker, Classic
from tests.servers.amqp.standin import StandIn
from tests.suites import slow_but

_numbers = count()
_CALLS = ("connectors.amqp.client:got", "connectors.amqp.client:put")


def queue_case(broker: Broker | StandIn, queue: str, **given: str) -> QueueCase:
    source = JmsSource()
    source.drained_seconds = 0.2  # type: ignore[misc]
    return QueueCase(
        source,
        {"url": broker.url, "destinations": queue, **given},
        lambda texts: broker.publish(queue, texts),
        broker.cut,
        calls=_CALLS,
    )


def topic_case(broker: Broker, topic: str, **given: str) -> QueueCase:
    source = AmqpSource()
    source.drained_seconds = 0.2  # type: ignore[misc]
    return QueueCase(
        source,
        {"url": broker.url, "addresses": topic, "address.type": "topic", **given},
        lambda texts: broker.publish(topic, texts, "topic"),
        broker.cut,
        lambda: len(broker.subscriptions(topic)),
        calls=_CALLS,
        every=2,
    )


def sink_case(broker: Broker | StandIn, queue: str, **given: str) -> SinkCase:
    return SinkCase(
        AmqpSink(),
        {"url": broker.url, "address": queue, "address.type": "queue", **given},
        lambda: broker.texts(queue),
        calls=_CALLS,
    )


@slow_but("test_what_is_not_stored_comes_again", "test_what_is_stored_in_part_comes_again_from_there")
class TestStandIn(QueueSuite):
    @pytest.fixture
    def case(self, standin: StandIn) -> QueueCase:
        return queue_case(standin, f"q{next(_numbers)}")


@slow_but()
class TestArtemisQueue(QueueSuite):
    @pytest.fixture
    def case(self, artemis: Artemis) -> QueueCase:
        return queue_case(artemis, artemis.name())


@slow_but()
class TestArtemisTopic(QueueSuite):
    @pytest.fixture
    def case(self, artemis: Artemis) -> QueueCase:
        return topic_case(artemis, artemis.name())


@slow_but()
class TestArtemisSharedTopic(QueueSuite):
    @pytest.fixture
    def case(self, artemis: Artemis) -> QueueCase:
        return topic_case(artemis, artemis.name(), **{"subscription.shared": "true"})


@slow_but()
class TestClassicQueue(QueueSuite):
    @pytest.fixture
    def case(self, classic: Classic) -> QueueCase:
        return queue_case(classic, classic.name())


@slow_but()
class TestClassicTopic(QueueSuite):
    @pytest.fixture
    def case(self, classic: Classic) -> QueueCase:
        return topic_case(classic, classic.name())


@slow_but()
class TestStandInSink(SinkSuite):
    @pytest.fixture
    def case(self, standin: StandIn) -> SinkCase:
        return sink_case(standin, f"q{next(_numbers)}")


@slow_but()
class TestArtemisSink(SinkSuite):
    @pytest.fixture
    def case(self, artemis: Artemis) -> SinkCase:
        return sink_case(artemis, artemis.name())


@slow_but()
class TestClassicSink(SinkSuite):
    @pytest.fixture
    def case(self, classic: Classic) -> SinkCase:
        return sink_case(classic, classic.name())

    @pytest.fixture
    def classic_queue(self, classic: Classic, case: SinkCase) -> Callable[[], int]:
        return lambda: classic.waiting(case.config["address"])

    def test_a_large_batch_is_there_and_in_order(  # type: ignore[override]
        self, case: SinkCase, classic_queue: Callable[[], int]
    ) -> None:
        """So many messages this broker does not show at once: they are counted."""
        with writing(case) as writer:
            writer.start()
            writer.write(30_000)
            writer.write(30_001)
        assert classic_queue() == len(QUEUES) * 30_001
