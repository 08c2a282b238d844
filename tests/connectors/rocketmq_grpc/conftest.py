import uuid
from collections.abc import Iterator

import pytest

from tests.connectors.rocketmq.conftest import cluster
from tests.servers.rocketmq_grpc.proxy import Proxy
from tests.shared_rocketmq import RocketMQ

__all__ = ["cluster"]


@pytest.fixture(scope="session")
def proxy(rocketmq: RocketMQ) -> Iterator[Proxy]:
    """An endpoint of gRPC before the broker that all tests share."""
    with Proxy(rocketmq.name_server, rocketmq.jars).running() as running:
        yield running


@pytest.fixture
def topic() -> str:
    """The name of a topic that is not there."""
    return f"grpc-{uuid.uuid4().hex}"
