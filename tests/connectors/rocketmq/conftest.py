import uuid
from collections.abc import Iterator

import pytest

from rocketmq_remoting import Client
from tests.connectors.rocketmq.clusters import Cluster
from tests.shared_rocketmq import RocketMQ


@pytest.fixture
def cluster(rocketmq: RocketMQ) -> Iterator[Cluster]:
    """The one that all tests share."""
    with Client(rocketmq.name_server) as client:
        yield Cluster(rocketmq.name_server, client)


@pytest.fixture
def topic() -> str:
    """The name of a topic that is not there."""
    return f"replicated-{uuid.uuid4().hex}"
