from collections.abc import Iterator

import pytest

from tests.servers.redis import Redis


@pytest.fixture(scope="session")
def _server() -> Iterator[Redis]:
    with Redis().running() as server:
        yield server


@pytest.fixture
def redis(_server: Redis) -> Redis:
    """A server with an empty database."""
    return _server.with_database()
