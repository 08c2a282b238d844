"""Single values as Protobuf's own library has them: what is written is checked, and so is what is read."""

import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any
from uuid import UUID

from rocketconnect_sdk.converters.counts import (
    count_of_time,
    count_of_timestamp,
    days_of,
    decimal_bytes,
    decimal_number,
    scaled,
    time_of,
    timestamp_of,
    unscaled,
    whole,
)
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.schema import WHOLE, Schema, Type

_NANOS = 1_000_000_000
_SINGLE = struct.Struct("<f")


@dataclass(frozen=True, slots=True)
class Scalar:
    """How values are written and read that are no messages. Both raise RecordError, ValueError or OverflowError."""

    write: Callable[[Any], Any]
    read: Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class Whole:
    """How values are written and read that are messages. Both raise RecordError, ValueError or OverflowError.

    Attributes:
        fill: Writes a value into an empty message.
        read: The value of a message.
    """

    fill: Callable[[Any, Any], None]
    read: Callable[[Any], Any]


def scalar(schema: Schema) -> Scalar:
    """Of a type that is no message."""
    if schema.type in WHOLE:
        least, most = WHOLE[schema.type]
        return _number(least, most, schema.type.value)
    if schema.type is Type.TIMESTAMP:
        return Scalar(lambda value: count_of_timestamp(value, schema), lambda count: timestamp_of(count, schema))
    return _SCALARS[schema.type]


def message(schema: Schema) -> Whole:
    """Of a decimal, a date, a time of the day, a timestamp with a zone."""
    return _MESSAGES[schema.type](schema)


def enumeration(numbers: Mapping[str, int], symbols: Mapping[int, str]) -> Scalar:
    """Of enums, which are text."""

    def write(value: Any) -> int:
        number = numbers.get(value) if isinstance(value, str) else None
        if number is None:
            msg = f"{str(value)[:60]!r} is none of the enum's symbols {', '.join(numbers)[:300]}"
            raise RecordError(msg)
        return number

    def read(number: int) -> str:
        if number not in symbols:
            msg = f"the enum has no symbol for {number}"
            raise RecordError(msg)
        return symbols[number]

    return Scalar(write, read)


def _number(least: int, most: int, what: str) -> Scalar:
    def checked(value: Any) -> int:
        return whole(value, least, most, what)

    return Scalar(checked, checked)


def _of_type(kind: type | tuple[type, ...], what: str, made: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def write(value: Any) -> Any:
        if not isinstance(value, kind):
            msg = f"a {type(value).__name__} is no {what}"
            raise RecordError(msg)
        return made(value)

    return write


def _real(value: Any) -> float:
    if isinstance(value, float):
        return value
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) <= 1 << 53:
        return float(value)
    msg = f"a {type(value).__name__} is no floating point number"
    raise RecordError(msg)


def _single(value: Any) -> float:
    number = _real(value)
    # Protobuf's library makes infinity of what is too large.
    _SINGLE.pack(number)
    return number


def _text(value: str) -> str:
    value.encode()
    return value


def _read_text(text: Any) -> str:
    # Of proto2 the library gives bytes where there is no Unicode.
    if not isinstance(text, str):
        msg = f"text holds bytes that are no Unicode: {text[:60]!r}"
        raise RecordError(msg)
    return text


def _read_uuid(text: Any) -> UUID:
    found = UUID(_read_text(text))
    if str(found) != text.lower():
        msg = f"{text[:60]!r} is no UUID"
        raise RecordError(msg)
    return found


def _same(value: Any) -> Any:
    return value


_SCALARS: Mapping[Type, Scalar] = {
    Type.BOOLEAN: Scalar(_of_type(bool, "boolean", _same), _same),
    Type.FLOAT32: Scalar(_single, _same),
    Type.FLOAT64: Scalar(_real, _same),
    Type.STRING: Scalar(_of_type(str, "text", _text), _read_text),
    Type.JSON: Scalar(_of_type(str, "text", _text), _read_text),
    Type.BYTES: Scalar(_of_type((bytes, bytearray, memoryview), "bytes", bytes), _same),
    Type.UUID: Scalar(_of_type(UUID, "UUID", str), _read_uuid),
}


def _decimal(schema: Schema) -> Whole:
    def fill(out: Any, value: Any) -> None:
        number = unscaled(value, schema)
        out.value, out.precision, out.scale = decimal_bytes(number), len(str(abs(number))), schema.scale

    def read(found: Any) -> Decimal:
        number = decimal_number(found.value)
        if found.scale != schema.scale:
            digits = tuple(map(int, str(abs(number))))
            number = unscaled(Decimal((int(number < 0), digits, -found.scale)), schema)
        return scaled(number, schema)

    return Whole(fill, read)


def _date(_: Schema) -> Whole:
    def fill(out: Any, value: Any) -> None:
        days_of(value)
        out.year, out.month, out.day = value.year, value.month, value.day

    return Whole(fill, lambda found: date(found.year, found.month, found.day))


def _time(schema: Schema) -> Whole:
    step = _NANOS // schema.unit.in_second

    def fill(out: Any, value: Any) -> None:
        seconds, parts = divmod(count_of_time(value, schema.unit), schema.unit.in_second)
        out.hours, out.minutes, out.seconds, out.nanos = seconds // 3600, seconds // 60 % 60, seconds % 60, parts * step

    def read(found: Any) -> Any:
        hours, minutes, seconds, nanos = found.hours, found.minutes, found.seconds, found.nanos
        if not (0 <= hours < 24 and 0 <= minutes < 60 and 0 <= seconds < 60 and 0 <= nanos < _NANOS):
            msg = f"{hours}:{minutes}:{seconds} and {nanos} nanoseconds are no time of the day"
            raise RecordError(msg)
        return time_of(((hours * 60 + minutes) * 60 + seconds) * schema.unit.in_second + _parts(nanos, schema), schema.unit)

    return Whole(fill, read)


def _timestamp(schema: Schema) -> Whole:
    step = _NANOS // schema.unit.in_second

    def fill(out: Any, value: Any) -> None:
        seconds, parts = divmod(count_of_timestamp(value, schema), schema.unit.in_second)
        out.seconds, out.nanos = seconds, parts * step

    def read(found: Any) -> Any:
        if not 0 <= found.nanos < _NANOS:
            msg = f"a timestamp has {found.nanos} nanoseconds within its second"
            raise RecordError(msg)
        count = found.seconds * schema.unit.in_second + _parts(found.nanos, schema)
        least, most = WHOLE[Type.INT64]
        return timestamp_of(whole(count, least, most, f"{schema.unit.value} since 1970"), schema)

    return Whole(fill, read)


def _parts(nanos: int, schema: Schema) -> int:
    """Nanoseconds in the unit of a schema."""
    parts, rest = divmod(nanos, _NANOS // schema.unit.in_second)
    if rest:
        msg = (
            f"{nanos} nanoseconds cannot be had as whole {schema.unit.value}, which is all that the schema holds: "
            "where it does not say its unit itself, time.unit=ns reads them"
        )
        raise RecordError(msg)
    return parts


_MESSAGES: Mapping[Type, Callable[[Schema], Whole]] = {
    Type.DECIMAL: _decimal,
    Type.DATE: _date,
    Type.TIME: _time,
    Type.TIMESTAMP: _timestamp,
}
