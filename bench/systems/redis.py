"""Strings and a stream of Valkey, which is read by places and in a group."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import redis

from bench.systems import moved
from bench.systems.driving import sinking, sourcing
from bench.systems.system import Compared, Move
from connectors.redis.group_source import RedisGroupSource
from connectors.redis.keys_source import RedisKeysSource
from connectors.redis.sink import RedisSink
from connectors.redis.source import RedisSource
from tests.servers.redis import Redis

_PIPELINE = 1_000
_STREAM = "stream"
_FIELD = "value"
_GROUP = "group"
_POSITIONS = "rocketconnect:"
"""What keys begin with that hold positions."""


@contextmanager
def compared(records: int) -> Iterator[list[Compared]]:
    """The sink in both deliveries, and the sources of streams, of a group and of keys, until the end of the block."""
    with Redis().running() as server:
        other, keys = server.with_database(), server.with_database()
        _fill(other.client, records)
        _send(keys.client, _pairs(records))
        reading = {"url": other.url, "streams": _STREAM, "value.field": _FIELD, "value.format": "string"}
        in_group = {"url": other.url, "streams": _STREAM, "value.field": _FIELD, "group": _GROUP}

        def sink(name: str, **config: str) -> Compared:
            return Compared(
                name,
                "redis-py",
                lambda: sinking(RedisSink(), {"url": server.url, "key": "${key}", **config}, records),
                lambda: _set(server, records),
                lambda: _values(server.client, _POSITIONS),
                server.client.flushdb,
            )

        yield [
            sink("redis_sink"),
            sink("redis_sink, at least once", delivery="at_least_once"),
            Compared("redis_source", "redis-py", lambda: sourcing(RedisSource(), reading, records), lambda: _read(other, records)),
            Compared(
                "redis_group_source",
                "redis-py",
                lambda: sourcing(RedisGroupSource(), in_group, records),
                lambda: _take(other, records),
                clear=lambda: _begin_group(other.client),
            ),
            Compared(
                "redis_keys_source",
                "redis-py",
                lambda: sourcing(RedisKeysSource(), {"url": keys.url}, records, _held),
                lambda: _scan(keys),
            ),
        ]


@contextmanager
def _set(server: Redis, records: int) -> Iterator[Move]:
    pairs = _pairs(records)
    with redis.Redis.from_url(server.url) as client:
        client.ping()

        def move() -> tuple[str, ...]:
            _send(client, pairs)
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


@contextmanager
def _take(server: Redis, records: int) -> Iterator[Move]:
    """In a group, with an acknowledgement of each entry."""
    with redis.Redis.from_url(server.url) as client:
        client.ping()

        def move() -> list[bytes]:
            found: list[bytes] = []
            while len(found) < records:
                answer: Any = client.xreadgroup(_GROUP, "alone", {_STREAM: ">"}, count=_PIPELINE)
                ((_, entries),) = answer
                client.xack(_STREAM, _GROUP, *(entry for entry, _ in entries))
                found += [fields[_FIELD.encode()] for _, fields in entries]
            return found

        yield move


@contextmanager
def _scan(server: Redis) -> Iterator[Move]:
    """Page by page; that a page may come twice is nothing that this database does."""
    with redis.Redis.from_url(server.url) as client:
        client.ping()
        yield lambda: list(_values(client))


def _held(value: Any) -> str:
    """What a key holds, by the record of redis_keys_source."""
    text: str = value["value"]
    return text


def _pairs(records: int) -> list[tuple[str, str]]:
    return [(moved.key(number), moved.text(number)) for number in range(records)]


def _send(client: Any, pairs: list[tuple[str, str]]) -> None:
    for begin in range(0, len(pairs), _PIPELINE):
        with client.pipeline(transaction=False) as pipe:
            for key, text in pairs[begin : begin + _PIPELINE]:
                pipe.set(key, text)
            pipe.execute()


def _begin_group(client: Any) -> None:
    """A group that was given nothing yet."""
    client.xgroup_destroy(_STREAM, _GROUP)
    client.xgroup_create(_STREAM, _GROUP, "0")


def _fill(client: Any, records: int) -> None:
    for begin in range(0, records, _PIPELINE):
        with client.pipeline(transaction=False) as pipe:
            for number in range(begin, min(begin + _PIPELINE, records)):
                pipe.xadd(_STREAM, {_FIELD: moved.text(number)})
            pipe.execute()


def _values(client: Any, without: str = "") -> Iterator[str | bytes]:
    """Of all keys but those that begin so."""
    keys = [key for key in client.scan_iter(count=_PIPELINE) if not without or not key.startswith(without)]
    for begin in range(0, len(keys), _PIPELINE):
        yield from client.mget(keys[begin : begin + _PIPELINE])
