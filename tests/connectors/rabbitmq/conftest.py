from collections.abc import Iterator

import pytest

from tests.servers.rabbitmq import Rabbitmq


@pytest.fixture(scope="session")
def _server() -> Iterator[Rabbitmq]:
    with Rabbitmq().running() as server:
        yield server


@pytest.fixture
def server(_server: Rabbitmq, request: pytest.FixtureRequest) -> Rabbitmq:
    """A server in which names that begin with `server.root` are of this test alone."""
    _server.begin(request.node.name)
    return _server
