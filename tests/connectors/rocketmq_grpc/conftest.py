import uuid
from collections.abc import Iterator

import pytest

from rocketmq_remoting import Client
from tests.connectors.rocketmq.clusters import Cluster
from tests.servers.rocketmq_grpc.proxy import Proxy
from tests.shared_rocketmq import RocketMQ


@pytest.fixture(scope="session")
def proxy(rocketmq: RocketMQ) -> Iterator[Proxy]:
    """An endpoint of gRPC before the broker that all tests share."""
    with Proxy(rocketmq.name_server, rocketmq.jars).running() as running:
        yield running


@pytest.fixture
def cluster(rocketmq: RocketMQ) -> Iterator[Cluster]:
    """The same cluster, by its name server."""
    with Client(rocketmq.name_server) as client:
        yield Cluster(rocketmq.name_server, client)


@pytest.fixture
def topic() -> str:
    """The name of a topic that is not there."""
    return f"grpc-{uuid.uuid4().hex}"
