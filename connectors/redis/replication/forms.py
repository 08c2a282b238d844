"""The forms of the values of keys in a snapshot. Redis and Valkey have one form with the same number.

https://github.com/redis/redis and https://github.com/valkey-io/valkey: rdbLoadObject in src/rdb.c.
"""

from collections.abc import Callable, Iterator, Mapping
from struct import unpack
from typing import Any

from connectors.redis.replication.packed import intset, listpack, ziplist, zipmap
from connectors.redis.replication.reader import Reader
from connectors.redis.replication.stream_entries import entries_of

MODULE = 7
_PLAIN_NODE = 1


def _unpacked(reader: Reader, unpack_all: Callable[[bytes], Iterator[bytes]]) -> list[bytes]:
    data = reader.string()
    return list(unpack_all(data)) if reader.budget >= 0 else []


def _nodes(reader: Reader, unpack_all: Callable[[bytes], Iterator[bytes]], *, tells: bool) -> list[bytes]:
    found: list[bytes] = []
    for _ in range(reader.length()):
        is_plain = tells and reader.length() == _PLAIN_NODE
        found += [reader.string()] if is_plain else _unpacked(reader, unpack_all)
    return found


def _scores(reader: Reader, *, binary: bool) -> list[tuple[bytes, float]]:
    read = _double if binary else _score_text
    return sorted(((reader.string(), read(reader)) for _ in range(reader.length())), key=_by_score)


def _double(reader: Reader) -> float:
    return float(unpack("<d", reader.take(8))[0])


def _score_text(reader: Reader) -> float:
    size = reader.byte()
    return {253: float("nan"), 254: float("inf"), 255: float("-inf")}.get(size) or float(reader.take(size))


def _hash_of_valkey(reader: Reader) -> dict[bytes, bytes]:
    """A hash with fields that expire: -1 is never."""
    found = {}
    for _ in range(reader.length()):
        name = reader.string()
        found[name] = reader.string()
        if (moment := reader.moment()) >= 0:
            reader.expire[name] = moment
    return found


def _hash_of_redis(reader: Reader, *, relative: bool) -> dict[bytes, bytes]:
    """The same of Redis 7.4: each time is one more than what it is behind the earliest one; 0 is never."""
    first = reader.moment() - 1 if relative else 0
    found = {}
    for _ in range(reader.length()):
        moment = reader.length()
        name = reader.string()
        found[name] = reader.string()
        if moment:
            reader.expire[name] = first + moment
    return found


def _triples(reader: Reader, *, relative: bool) -> dict[bytes, bytes]:
    """The same, packed: names, values and times in turns."""
    if relative:
        reader.moment()
    parts = _unpacked(reader, listpack)
    reader.expire = {name: int(moment) for name, moment in zip(parts[::3], parts[2::3], strict=True) if int(moment)}
    return dict(zip(parts[::3], parts[1::3], strict=True))


def _stream(reader: Reader, version: int) -> list[tuple[bytes, list[bytes]]]:
    found: list[tuple[bytes, list[bytes]]] = []
    for _ in range(reader.length()):
        node, data = reader.string(), reader.string()
        if reader.budget >= 0:
            found += entries_of(node, list(listpack(data)))
    # Counts and ids, and what groups of consumers have.
    for _ in range(3 if version == 1 else 8):
        reader.length()
    for _ in range(reader.length()):
        _group(reader, version)
    return found


def _group(reader: Reader, version: int) -> None:
    reader.string()
    for _ in range(2 if version == 1 else 3):
        reader.length()
    for _ in range(reader.length()):
        reader.take(24)
        reader.length()
    for _ in range(reader.length()):
        reader.string()
        reader.take(16 if version == 3 else 8)
        for _ in range(reader.length()):
            reader.take(16)


def _pairs(parts: list[bytes]) -> dict[bytes, bytes]:
    return dict(zip(parts[::2], parts[1::2], strict=True))


def _by_score(member: tuple[bytes, float]) -> tuple[float, bytes]:
    return member[1], member[0]


def _scored(parts: list[bytes]) -> list[tuple[bytes, float]]:
    return [(member, float(score)) for member, score in zip(parts[::2], parts[1::2], strict=True)]


READS: Mapping[tuple[int, bool | None], Callable[[Reader], Any]] = {
    (0, None): Reader.string,
    (1, None): Reader.strings,
    (2, None): Reader.strings,
    (3, None): lambda it: _scores(it, binary=False),
    (4, None): lambda it: _pairs(it.strings(2)),
    (5, None): lambda it: _scores(it, binary=True),
    (9, None): lambda it: _pairs(_unpacked(it, zipmap)),
    (10, None): lambda it: _unpacked(it, ziplist),
    (11, None): lambda it: _unpacked(it, intset),
    (12, None): lambda it: _scored(_unpacked(it, ziplist)),
    (13, None): lambda it: _pairs(_unpacked(it, ziplist)),
    (14, None): lambda it: _nodes(it, ziplist, tells=False),
    (15, None): lambda it: _stream(it, 1),
    (16, None): lambda it: _pairs(_unpacked(it, listpack)),
    (17, None): lambda it: _scored(_unpacked(it, listpack)),
    (18, None): lambda it: _nodes(it, listpack, tells=True),
    (19, None): lambda it: _stream(it, 2),
    (20, None): lambda it: _unpacked(it, listpack),
    (21, None): lambda it: _stream(it, 3),
    (22, True): _hash_of_valkey,
    (22, False): lambda it: _hash_of_redis(it, relative=False),
    (23, False): lambda it: _triples(it, relative=False),
    (24, False): lambda it: _hash_of_redis(it, relative=True),
    (25, False): lambda it: _triples(it, relative=True),
}
"""By the number of a form, and whether it is Valkey's, where that differs."""
KINDS = {
    code: kind
    for kind, codes in {
        "string": (0,),
        "list": (1, 10, 14, 18),
        "set": (2, 11, 20),
        "zset": (3, 5, 12, 17),
        "hash": (4, 9, 13, 16, 22, 23, 24, 25),
        "stream": (15, 19, 21),
    }.items()
    for code in codes
}
"""By the number of a form the type, as TYPE answers it."""
