from collections.abc import Iterator

import pytest

from tests.servers.redis import Redis


@pytest.fixture(scope="session", params=["valkey", pytest.param("redis", marks=pytest.mark.slow)])
def _server(request: pytest.FixtureRequest) -> Iterator[Redis]:
    with Redis(request.param).running() as server:
        yield server


@pytest.fixture
def redis(_server: Redis) -> Redis:
    """A server with an empty database."""
    return _server.with_database()
