from itertools import count

import pytest

from connectors.rabbitmq.sink import RabbitmqSink
from connectors.rabbitmq.source import RabbitmqSource
from rocketconnect_sdk.conformance import SinkCase, SinkSuite
from rocketconnect_sdk.conformance.queue import QueueCase, QueueSuite
from tests.servers.rabbitmq import Rabbitmq
from tests.suites import slow_but

_numbers = count()


def source_case(server: Rabbitmq, **arguments: str) -> QueueCase:
    queue = server.make(f"{server.root}-{next(_numbers)}", arguments=arguments)
    source = RabbitmqSource()
    source.drained_seconds = 0.2  # type: ignore[misc]
    return QueueCase(
        source,
        {"url": server.url, "queues": queue},
        lambda texts: server.publish(queue, texts),
        server.cut,
        calls=("connectors.rabbitmq.client:turned",),
    )


@slow_but()
class TestClassic(QueueSuite):
    @pytest.fixture
    def case(self, server: Rabbitmq) -> QueueCase:
        return source_case(server)


@slow_but()
class TestQuorum(QueueSuite):
    @pytest.fixture
    def case(self, server: Rabbitmq) -> QueueCase:
        return source_case(server, **{"x-queue-type": "quorum"})


@slow_but()
class TestSink(SinkSuite):
    @pytest.fixture
    def case(self, server: Rabbitmq) -> SinkCase:
        queue = server.make(f"{server.root}-{next(_numbers)}")
        return SinkCase(
            RabbitmqSink(),
            {"url": server.url, "routing.key": queue},
            lambda: [body.decode() for _, _, body in server.read(queue)],
            calls=("connectors.rabbitmq.client:sent",),
        )
