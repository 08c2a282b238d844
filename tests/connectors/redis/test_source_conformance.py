import pytest

from connectors.redis.source import RedisSource
from rocketconnect_sdk.conformance import SourceCase, SourceSuite
from tests.servers.redis import Redis


class TestStreams(SourceSuite):
    @pytest.fixture
    def case(self, redis: Redis, monkeypatch: pytest.MonkeyPatch) -> SourceCase:
        """Two streams: one with several entries in a millisecond, with holes, the last one deleted; one that was trimmed."""
        monkeypatch.setattr("connectors.redis.streams._WAIT_MS", 5)
        with redis.client.pipeline() as pipe:
            for number in range(13):
                pipe.xadd("s:a", {"n": number}, id=f"{1000 + number // 3}-{number % 3 * 2}")
            pipe.xdel("s:a", "1001-2", "1004-0")
            for number in range(7):
                pipe.xadd("s:b", {"n": f"b{number}"})
            pipe.xtrim("s:b", maxlen=5, approximate=False)
            pipe.set("s:no", "stream")
            pipe.execute()
        expected = [{"n": str(number)} for number in range(12) if number != 4] + [{"n": f"b{number}"} for number in range(2, 7)]
        return SourceCase(RedisSource(), {"url": redis.url, "streams.pattern": "s:*"}, expected)
