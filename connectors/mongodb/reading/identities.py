"""The _ids of documents as integers in the order in which MongoDB has them, for the offsets of a snapshot. Pure.

https://www.mongodb.com/docs/manual/reference/bson-type-comparison-order/
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any

from bson.binary import Binary
from bson.datetime_ms import DatetimeMS
from bson.decimal128 import Decimal128
from bson.min_key import MinKey
from bson.objectid import ObjectId
from bson.timestamp import Timestamp

from rocketconnect_sdk.changes.snapshots.keys import to_integers
from rocketconnect_sdk.schema import BYTES, STRING

TYPES = ("minKey", "null", "number", "string", "object", "array", "binData", "objectId", "bool", "date", "timestamp", "maxKey")
"""By their order; the first number of an _id is the place here."""
MOST = 40
"""Of an _id with more numbers these alone count: about 280 bytes of a text."""
_DIGITS = 15
_GROUP = 10**_DIGITS
_MIDDLE = 10_000
_NAN, _LEAST, _NEGATIVE, _ZERO, _POSITIVE, _GREATEST = range(6)
_BIAS = 1 << 63


def rank(identity: object) -> int:
    """The place of its type in TYPES."""
    return integers(identity)[0]


def integers(identity: Any) -> tuple[int, ...]:
    """An _id as integers that are not negative, and are compared as MongoDB compares the _ids."""
    for kind, made in _KINDS:
        if isinstance(identity, kind):
            return made(identity)
    return (len(TYPES) - 1,)


def _fields(document: Mapping[str, Any]) -> list[int]:
    """Types are compared first, then names, then values; a document that ends comes before one that goes on."""
    made: list[int] = []
    for name, value in document.items():
        kind, *rest = integers(value)
        made += [kind + 1, *to_integers([STRING], [name]), *rest]
    return [*made, 0]


def _entered(item: tuple[int, ...]) -> tuple[int, ...]:
    return item[0] + 1, *item[1:]


def _halves(number: int) -> tuple[int, int]:
    return divmod(number + _BIAS, 1 << 32)


def _number(value: float | Decimal128) -> list[int]:
    """All kinds of numbers are compared with each other, exactly."""
    exact = value.to_decimal() if isinstance(value, Decimal128) else Decimal(value)
    if exact.is_nan():
        return [_NAN]
    if exact.is_infinite():
        return [_GREATEST if exact > 0 else _LEAST]
    if not exact:
        return [_ZERO]
    sign, digits, _ = exact.as_tuple()
    text = "".join(map(str, digits)).rstrip("0")
    groups = [int(text[at : at + _DIGITS].ljust(_DIGITS, "0")) + 1 for at in range(0, len(text), _DIGITS)]
    size = exact.adjusted() + _MIDDLE
    if sign:
        return [_NEGATIVE, 2 * _MIDDLE - size, *(_GROUP + 1 - group for group in groups), _GROUP + 1]
    return [_POSITIVE, size, *groups, 0]


def _binary(value: bytes) -> tuple[int, ...]:
    """The length is compared first."""
    return 6, len(value), value.subtype if isinstance(value, Binary) else 0, *to_integers([BYTES], [bytes(value)])


_KINDS: Sequence[tuple[type | tuple[type, ...], Callable[[Any], tuple[int, ...]]]] = (
    (MinKey, lambda _: (0,)),
    (type(None), lambda _: (1,)),
    (bool, lambda value: (8, int(value))),
    ((int, float, Decimal128), lambda value: (2, *_number(value))),
    (str, lambda value: (3, *to_integers([STRING], [value]))),
    (Mapping, lambda value: (4, *_fields(value))),
    (list, lambda value: (5, *(part for item in value for part in _entered(integers(item))), 0)),
    (bytes, _binary),
    (ObjectId, lambda value: (7, *to_integers([BYTES], [value.binary]))),
    ((datetime, DatetimeMS), lambda value: (9, *_halves(int(DatetimeMS(value) if isinstance(value, datetime) else value)))),
    (Timestamp, lambda value: (10, value.time, value.inc)),
)
