"""The families' suites against a stand-in, which is there at once; those against the proxy itself are in test_conformance.py."""

import time
import uuid
from collections.abc import Iterator, Sequence

import pytest

from connectors.rocketmq_grpc.sink import RocketmqGrpcSink
from connectors.rocketmq_grpc.source import RocketmqGrpcSource
from rocketconnect_sdk.conformance.queue import QueueCase, QueueSuite
from rocketconnect_sdk.errors import SystemAway
from tests.connectors.amqp.driving import write, writing
from tests.connectors.rocketmq_grpc.cases import options
from tests.servers.rocketmq_grpc.standin import StandIn
from tests.suites import slow_but

CALLS = ("connectors.rocketmq_grpc.client:called",)


@pytest.fixture(scope="module")
def standin() -> Iterator[StandIn]:
    with StandIn().running() as running:
        yield running


def queue_case(standin: StandIn, topic: str) -> QueueCase:
    def publish(texts: Sequence[str]) -> None:
        end = time.monotonic() + 60
        while True:
            try:
                with writing(RocketmqGrpcSink(), **options(standin, target_topic=topic, message_group="one")) as task:
                    assert write(task, texts) == {}
                    return
            except SystemAway:
                # Its connection is cut with the others: it is not there yet, so nothing was written.
                assert time.monotonic() < end

    given = options(standin, topics=topic, group="readers", invisible_duration="10s", topic_template="", source_cluster="B")
    return QueueCase(
        RocketmqGrpcSource(), {**given, "target.cluster": "C"}, publish, standin.cut, calls=CALLS, every=4, flags=False, seconds=60
    )


@slow_but("test_what_is_acknowledged_is_given_once_and_in_order", "test_what_is_not_stored_comes_again")
class TestSource(QueueSuite):
    @pytest.fixture
    def case(self, standin: StandIn) -> QueueCase:
        return queue_case(standin, f"loose-{uuid.uuid4().hex}-FIFO")
