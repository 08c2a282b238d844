from collections.abc import Iterator
from typing import Any

import pytest
from redis import ConnectionPool

from tests.servers.redis import Redis


@pytest.fixture(scope="session", params=["valkey", pytest.param("redis", marks=pytest.mark.slow)])
def _server(request: pytest.FixtureRequest) -> Iterator[Redis]:
    with Redis(request.param).running() as server:
        yield server


@pytest.fixture
def redis(_server: Redis) -> Redis:
    """A server with an empty database."""
    return _server.with_database()


@pytest.fixture(autouse=True)
def _ended(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Connections end with the test: what it has caught holds tasks that have failed."""
    pools: list[ConnectionPool] = []
    make = ConnectionPool.__init__

    def made(pool: ConnectionPool, *given: Any, **named: Any) -> None:
        make(pool, *given, **named)
        pools.append(pool)

    monkeypatch.setattr(ConnectionPool, "__init__", made)
    yield
    for pool in pools:
        pool.disconnect()
