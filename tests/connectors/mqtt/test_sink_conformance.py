from collections.abc import Iterator

import pytest

from connectors.mqtt.sink import MqttSink
from rocketconnect_sdk.conformance import SinkCase, SinkSuite
from tests.servers.mqtt.mosquitto import Mosquitto
from tests.suites import slow_but


def case_of(broker: Mosquitto, seen: list[str], **given: str) -> SinkCase:
    config = {"url": broker.url, "target.topic": f"{broker.root}/all", **given}

    def read() -> list[str]:
        broker.settle(f"{broker.root}/end", seen)
        return [text for text in seen if text != "end"]

    return SinkCase(MqttSink(), config, read, calls=("connectors.mqtt.client:sent",))


@slow_but(
    "test_every_record_is_there_and_in_order", "test_it_goes_on_where_it_was", "test_a_start_that_is_made_again_changes_nothing"
)
class TestConfirmed(SinkSuite):
    @pytest.fixture
    def seen(self, broker: Mosquitto) -> Iterator[list[str]]:
        with broker.listening(f"{broker.root}/#") as seen:
            yield seen

    @pytest.fixture
    def case(self, broker: Mosquitto, seen: list[str]) -> SinkCase:
        return case_of(broker, seen)


@slow_but("test_it_goes_on_where_it_was")
class TestTwice(TestConfirmed):
    @pytest.fixture
    def case(self, broker: Mosquitto, seen: list[str]) -> SinkCase:
        return case_of(broker, seen, qos="2")


@slow_but("test_it_goes_on_where_it_was")
class TestOlder(TestConfirmed):
    @pytest.fixture
    def case(self, broker: Mosquitto, seen: list[str]) -> SinkCase:
        return case_of(broker, seen, version="3.1.1")
