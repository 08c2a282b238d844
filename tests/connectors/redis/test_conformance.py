import pytest

from connectors.redis.sink import RedisSink
from rocketconnect_sdk.conformance import SinkCase, SinkSuite
from tests.servers.redis import Redis

_CALLS = ("connectors.redis.connection:executed",)


class TestList(SinkSuite):
    @pytest.fixture
    def case(self, redis: Redis) -> SinkCase:
        config = {"url": redis.url, "type": "list", "key": "all"}
        return SinkCase(RedisSink(), config, lambda: redis.client.lrange("all", 0, -1), calls=_CALLS)
