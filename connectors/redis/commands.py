"""The commands that change what a record is stored as. Pure.

https://redis.io/docs/latest/commands/
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from math import isnan

from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.writes import Op, Operation, field_values

NOTES = "rocketconnect"
_NOTE = re.compile(rf"{NOTES}:.*:(plan|task-[0-9]+)", re.DOTALL)
"""The keys of the notes of connectors: no record names one."""
Command = tuple[str | bytes | int | float, ...]


@dataclass(frozen=True, slots=True)
class StoredAs:
    """What records become.

    Attributes:
        kind: One of TYPES.
        one_field: Of a hash: the key of an operation is a field, and not all of the hash.
        ttl: Seconds until a key expires; 0: it does not.
        most: Of a stream: so many entries are kept, about; 0: all.
    """

    kind: str
    one_field: bool = False
    ttl: float = 0.0
    most: int = 0

    def key(self, operation: Operation) -> str:
        """The key that an operation changes."""
        return operation.target or operation.key

    @property
    def needs_type(self) -> str:
        """The type that a key must have for its commands; empty: they replace whatever is there."""
        return "" if self.kind == "string" or (self.kind == "hash" and not self.one_field) else _NAMES[self.kind]

    def commands(self, operation: Operation) -> Iterator[Command]:
        """What is sent for an operation.

        Raises:
            RecordError: its value can't be stored so, or its key is not for records.
        """
        if _NOTE.fullmatch(self.key(operation)):
            msg = f"the key {self.key(operation)[:200]} is one of those that keep positions"
            raise RecordError(msg)
        yield from TYPES[self.kind](self, operation)
        if self.ttl and operation.op is not Op.DELETE:
            yield "PEXPIRE", self.key(operation), max(1, round(self.ttl * 1000))


def _string(stored: StoredAs, operation: Operation) -> Iterator[Command]:
    del stored
    yield ("DEL", operation.key) if operation.op is Op.DELETE else ("SET", operation.key, operation.value)


def _hash(stored: StoredAs, operation: Operation) -> Iterator[Command]:
    if stored.one_field:
        gone = operation.op is Op.DELETE
        yield ("HDEL", operation.target, operation.key) if gone else ("HSET", operation.target, operation.key, operation.value)
        return
    if operation.op is Op.DELETE:
        yield "DEL", operation.key
        return
    fields = field_values(operation.value)
    if operation.unchanged:
        # What the change does not tell stays; what it says is null goes.
        if nulls := [name for name, value in operation.value.items() if value is None]:
            yield "HDEL", operation.key, *nulls
    else:
        yield "DEL", operation.key
    if fields:
        yield "HSET", operation.key, *_flat(fields)


def _list(stored: StoredAs, operation: Operation) -> Iterator[Command]:
    del stored
    yield "RPUSH", operation.target, operation.value


def _set(stored: StoredAs, operation: Operation) -> Iterator[Command]:
    del stored
    yield "SREM" if operation.op is Op.DELETE else "SADD", operation.target, operation.key


def _sorted_set(stored: StoredAs, operation: Operation) -> Iterator[Command]:
    del stored
    if operation.op is Op.DELETE:
        yield "ZREM", operation.target, operation.key
        return
    try:
        score = float(operation.more["score"])
    except ValueError:
        score = float("nan")
    if isnan(score):
        msg = f"its score {operation.more['score']!r} is no number"
        raise RecordError(msg)
    yield "ZADD", operation.target, score, operation.key


def _stream(stored: StoredAs, operation: Operation) -> Iterator[Command]:
    fields = field_values(operation.value)
    if not fields:
        msg = "it has no field, and an entry of a stream needs one"
        raise RecordError(msg)
    kept = ("MAXLEN", "~", stored.most) if stored.most else ()
    yield "XADD", operation.target, *kept, "*", *_flat(fields)


def _flat(fields: Mapping[str, str | bytes]) -> list[str | bytes]:
    return [part for pair in fields.items() for part in pair]


TYPES: Mapping[str, Callable[[StoredAs, Operation], Iterator[Command]]] = {
    "string": _string,
    "hash": _hash,
    "list": _list,
    "set": _set,
    "sorted_set": _sorted_set,
    "stream": _stream,
}
_NAMES = {"hash": "hash", "list": "list", "set": "set", "sorted_set": "zset", "stream": "stream"}
"""What TYPE answers."""
