import pytest

from connectors.mqtt.source import MqttSource
from rocketconnect_sdk.conformance.queue import QueueCase, QueueSuite
from tests.servers.mqtt.mosquitto import Mosquitto
from tests.suites import slow_but

_CALLS = ("connectors.mqtt.client:sent",)


def case_of(broker: Mosquitto, every: int = 1, **given: str) -> QueueCase:
    source = MqttSource()
    source.drained_seconds = 0.2  # type: ignore[misc]
    config = {"url": broker.url, "filters": f"{broker.root}/#", **{key.replace("_", "."): value for key, value in given.items()}}
    return QueueCase(
        source,
        config,
        lambda texts: broker.publish(f"{broker.root}/a", texts, 2),
        broker.cut,
        broker.sessions,
        _CALLS,
        every=every,
        seconds=15,
    )


class TestShared(QueueSuite):
    @pytest.fixture
    def case(self, broker: Mosquitto) -> QueueCase:
        return case_of(broker, every=4, share_group="us")


@slow_but("test_what_is_stored_in_part_comes_again_from_there", "test_a_connection_that_ends_loses_nothing")
class TestExactlyOnceFromPublishers(QueueSuite):
    @pytest.fixture
    def case(self, broker: Mosquitto) -> QueueCase:
        return case_of(broker, qos="2")


@slow_but("test_what_is_acknowledged_is_given_once_and_in_order")
class TestOlderVersion(QueueSuite):
    @pytest.fixture
    def case(self, broker: Mosquitto) -> QueueCase:
        return case_of(broker, version="3.1.1")
