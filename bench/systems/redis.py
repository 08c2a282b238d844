"""Strings and a stream of Valkey."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import redis

from bench.systems import moved
from bench.systems.driving import sinking, sourcing
from bench.systems.system import Compared, Move
from connectors.redis.sink import RedisSink
from connectors.redis.source import RedisSource
from tests.servers.redis import Redis

_PIPELINE = 1_000
_STREAM = "stream"
_FIELD = "value"


@contextmanager
def compared(records: int) -> Iterator[list[Compared]]:
    """The sink in both deliveries, and the source of streams, until the end of the block."""
    with Redis().running() as server:
        other = server.with_database()
        _fill(other.client, records)
        reading = {"url": other.url, "streams": _STREAM, "value.field": _FIELD, "value.format": "string"}

        def sink(name: str, **config: str) -> Compared:
            return Compared(
                name,
                "redis-py",
                lambda: sinking(RedisSink(), {"url": server.url, "key": "${key}", **config}, records),
                lambda: _set(server, records),
                lambda: _values(server.client),
                server.client.flushdb,
            )

        yield [
            sink("redis_sink"),
            sink("redis_sink, at least once", delivery="at_least_once"),
            Compared("redis_source", "redis-py", lambda: sourcing(RedisSource(), reading, records), lambda: _read(other, records)),
        ]


@contextmanager
def _set(server: Redis, records: int) -> Iterator[Move]:
    pairs = [(moved.key(number), moved.text(number)) for number in range(records)]
    with redis.Redis.from_url(server.url) as client:
        client.ping()

        def move() -> tuple[str, ...]:
            for begin in range(0, records, _PIPELINE):
                with client.pipeline(transaction=False) as pipe:
                    for key, text in pairs[begin : begin + _PIPELINE]:
                        pipe.set(key, text)
                    pipe.execute()
            return ()

        yield move


@contextmanager
def _read(server: Redis, records: int) -> Iterator[Move]:
    with redis.Redis.from_url(server.url) as client:
        client.ping()

        def move() -> list[bytes]:
            found: list[bytes] = []
            last: Any = "0"
            while len(found) < records:
                answer: Any = client.xread({_STREAM: last}, count=_PIPELINE)
                ((_, entries),) = answer
                last = entries[-1][0]
                found += [fields[_FIELD.encode()] for _, fields in entries]
            return found

        yield move


def _fill(client: Any, records: int) -> None:
    for begin in range(0, records, _PIPELINE):
        with client.pipeline(transaction=False) as pipe:
            for number in range(begin, min(begin + _PIPELINE, records)):
                pipe.xadd(_STREAM, {_FIELD: moved.text(number)})
            pipe.execute()


def _values(client: Any) -> Iterator[str]:
    """Of all keys but those that hold positions."""
    keys = [key for key in client.scan_iter(count=_PIPELINE) if not key.startswith("rocketconnect:")]
    for begin in range(0, len(keys), _PIPELINE):
        yield from client.mget(keys[begin : begin + _PIPELINE])
