import pytest

from connectors.redis.sink import RedisSink
from rocketconnect_sdk.conformance import SinkCase, SinkSuite
from rocketconnect_sdk.conformance.write import WriteSuite
from tests.servers.redis import Redis

_CALLS = ("connectors.redis.connection:executed",)


class TestList(SinkSuite):
    @pytest.fixture
    def case(self, redis: Redis) -> SinkCase:
        config = {"url": redis.url, "type": "list", "key": "all"}
        return SinkCase(RedisSink(), config, lambda: redis.client.lrange("all", 0, -1), calls=_CALLS)


class TestString(WriteSuite):
    @pytest.fixture
    def case(self, redis: Redis) -> SinkCase:
        def read() -> list[str]:
            keys = [key for key in redis.client.scan_iter() if not key.startswith("rocketconnect:")]
            return [redis.client.get(key) for key in sorted(keys, key=lambda key: int(key.rpartition("-")[2]))]

        keyed = {"key": "${key}", "delete.enabled": "true"}
        return SinkCase(RedisSink(), {"url": redis.url, "key": "${queue}-${offset}"}, read, calls=_CALLS, keyed=keyed)
