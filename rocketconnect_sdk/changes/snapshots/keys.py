"""Keys of rows as integers, for the offsets of a snapshot: reading goes on behind a key. Pure.

Integers of an offset are not negative, and have fewer than 20 digits. Those of a key can be turned back into it; where their order
is that of the keys (`is_ordered`) a snapshot that is taken up again gives what it gave before.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date
from typing import Any
from uuid import UUID

from rocketconnect_sdk.schema import WHOLE, Schema, Type
from rocketconnect_sdk.wording.counts import counted

_GROUP = 7
"""Bytes in an integer, beside how many of them there are."""
_LONGEST = 1_000
"""Characters of an offset: the position service keeps 1,024, and a source may add a number."""
_HALF = 1 << 32
_ORDERED = frozenset({*WHOLE, Type.DATE, Type.BOOLEAN})


def is_ordered(schemas: Sequence[Schema], more: Sequence[Type] = ()) -> bool:
    """Whether the integers of keys of these types are in the order of the keys in any database.

    Args:
        schemas: Of the columns of a key.
        more: Other types whose values the database orders by their bytes: BYTES, UUID, STRING with a binary collation.
    """
    return all(schema.type in _ORDERED or schema.type in more for schema in schemas)


def fits(offset: Sequence[int]) -> bool:
    """Whether an offset is short enough to be stored; texts of more than about 350 bytes make it too long."""
    return sum(map(len, map(str, offset))) + len(offset) <= _LONGEST


def to_integers(schemas: Sequence[Schema], key: Sequence[Any]) -> tuple[int, ...]:
    """A key as integers.

    Args:
        schemas: Of its columns.
        key: Their values, as rocketconnect_sdk.schema.Type says; of types not named in `is_ordered` their texts.
    """
    integers: list[int] = []
    for schema, value in zip(schemas, key, strict=True):
        integers += _written(schema, value)
    return tuple(integers)


def from_integers(schemas: Sequence[Schema], integers: Sequence[int]) -> tuple[Any, ...]:
    """The key that `to_integers` was given; of types not named in `is_ordered` texts.

    Raises:
        ValueError: they are of other columns.
    """
    left = iter(integers)
    try:
        key = [_READERS.get(schema.type, _text)(schema, left) for schema in schemas]
    except (StopIteration, ValueError, OverflowError) as error:
        msg = f"{list(integers)} is no key of {counted(schemas, 'column')}"
        raise ValueError(msg) from error
    if any(True for _ in left):
        msg = f"{list(integers)} is a key of other columns"
        raise ValueError(msg)
    return tuple(key)


def _written(schema: Schema, value: Any) -> list[int]:
    if schema.type in WHOLE:
        low, high = WHOLE[schema.type]
        raised = int(value) - low
        # Two of 64 bits have 20 digits.
        return [raised] if high - low < _HALF else [raised // _HALF, raised % _HALF]
    match schema.type:
        case Type.BOOLEAN:
            return [int(value)]
        case Type.DATE:
            return [value.toordinal()]
        case Type.UUID:
            return _grouped(value.bytes)
        case Type.BYTES:
            return _grouped(bytes(value))
        case _:
            return _grouped(str(value).encode())


def _grouped(data: bytes) -> list[int]:
    """In the order of the bytes: a group that is not full ends them."""
    groups = [data[start : start + _GROUP] for start in range(0, len(data) + 1, _GROUP)]
    return [int.from_bytes(group.ljust(_GROUP, b"\0"), "big") * (_GROUP + 1) + len(group) for group in groups]


def _bytes(_: Schema, integers: Iterator[int]) -> bytes:
    data = b""
    while True:
        group, length = divmod(next(integers), _GROUP + 1)
        data += group.to_bytes(_GROUP, "big")[:length]
        if length < _GROUP:
            return data


def _text(schema: Schema, integers: Iterator[int]) -> str:
    return _bytes(schema, integers).decode()


def _whole(schema: Schema, integers: Iterator[int]) -> int:
    low, high = WHOLE[schema.type]
    raised = next(integers)
    return low + (raised if high - low < _HALF else raised * _HALF + next(integers))


_READERS: Mapping[Type, Callable[[Schema, Iterator[int]], Any]] = {
    **dict.fromkeys(WHOLE, _whole),
    Type.BOOLEAN: lambda _, integers: bool(next(integers)),
    Type.DATE: lambda _, integers: date.fromordinal(next(integers)),
    Type.UUID: lambda schema, integers: UUID(bytes=_bytes(schema, integers)),
    Type.BYTES: _bytes,
}
