"""Avro's types that are not made of others."""

import struct
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any
from uuid import UUID

from rocketconnect_sdk.converters.avro.codec import Codec, Layout, put_long, take_long
from rocketconnect_sdk.converters.counts import (
    count_of_time,
    count_of_timestamp,
    date_of,
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

_INT, _LONG = WHOLE[Type.INT32], WHOLE[Type.INT64]


def leaf(schema: Schema, kind: str, size: int | None = None) -> Codec:
    """Of a type that is not made of others.

    Args:
        schema: The type.
        kind: Avro's: boolean, int, long, float, double, string, bytes or fixed.
        size: Bytes of a fixed.
    """
    make = _LEAVES.get(schema.type)
    if make is not None:
        codec = make(schema, size)
    elif schema.type in _COUNTED:
        codec = _over(_number(_INT if kind == "int" else _LONG), *_COUNTED[schema.type](schema))
    else:
        codec = _number(WHOLE[schema.type])
    return replace(codec, layout=Layout(kind, size=size or 0))


def _over(codec: Codec, form: Callable[[Any], Any], value_of: Callable[[Any], Any]) -> Codec:
    put, take = codec.write, codec.read

    def read(data: bytes, at: int) -> tuple[Any, int]:
        found, at = take(data, at)
        return value_of(found), at

    return Codec(lambda out, value: put(out, form(value)), read)


def _put_boolean(out: bytearray, value: Any) -> None:
    if not isinstance(value, bool):
        msg = f"a {type(value).__name__} is no boolean"
        raise RecordError(msg)
    out.append(value)


def _take_boolean(data: bytes, at: int) -> tuple[Any, int]:
    if data[at] > 1:
        msg = f"a boolean is 0 or 1, and byte {at} is {data[at]}"
        raise RecordError(msg)
    return data[at] == 1, at + 1


def _number(limits: tuple[int, int]) -> Codec:
    least, most = limits
    what = f"{(most - least).bit_length()} bits"

    def write(out: bytearray, value: Any) -> None:
        put_long(out, whole(value, least, most, what))

    def read(data: bytes, at: int) -> tuple[Any, int]:
        number, at = take_long(data, at)
        if not least <= number <= most:
            msg = f"{number} is not from {least} to {most}"
            raise RecordError(msg)
        return number, at

    return Codec(write, take_long if limits == _LONG else read)


def _real(form: struct.Struct) -> Codec:
    def write(out: bytearray, value: Any) -> None:
        if not isinstance(value, float):
            value = _as_float(value)
        try:
            out += form.pack(value)
        except OverflowError:
            msg = f"{value} is too large for {form.size * 8} bits"
            raise RecordError(msg) from None

    def read(data: bytes, at: int) -> tuple[Any, int]:
        if at + form.size > len(data):
            raise IndexError
        return form.unpack_from(data, at)[0], at + form.size

    return Codec(write, read)


def _as_float(value: Any) -> float:
    """A whole number as a floating point number, if it is the same number."""
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) <= 1 << 53:
        return float(value)
    msg = f"a {type(value).__name__} is no floating point number"
    raise RecordError(msg)


def _put_text(out: bytearray, value: Any) -> None:
    if not isinstance(value, str):
        msg = f"a {type(value).__name__} is no text"
        raise RecordError(msg)
    data = value.encode()
    put_long(out, len(data))
    out += data


def _take_text(data: bytes, at: int) -> tuple[Any, int]:
    found, at = _take_bytes(data, at)
    return found.decode(), at


def _put_bytes(out: bytearray, value: Any) -> None:
    if not isinstance(value, (bytes, bytearray, memoryview)):
        msg = f"a {type(value).__name__} is no bytes"
        raise RecordError(msg)
    put_long(out, len(bytes(value)))
    out += value


def _take_bytes(data: bytes, at: int) -> tuple[bytes, int]:
    size, at = take_long(data, at)
    if size < 0:
        msg = f"a length of {size} bytes"
        raise RecordError(msg)
    if at + size > len(data):
        raise IndexError
    return data[at : at + size], at + size


def _raw(size: int | None) -> Codec:
    if size is None:
        return Codec(_put_bytes, _take_bytes)

    def write(out: bytearray, value: Any) -> None:
        if not isinstance(value, (bytes, bytearray, memoryview)) or len(bytes(value)) != size:
            msg = f"a {type(value).__name__} is not the {size} bytes that the schema has"
            raise RecordError(msg)
        out += value

    def read(data: bytes, at: int) -> tuple[Any, int]:
        if at + size > len(data):
            raise IndexError
        return data[at : at + size], at + size

    return Codec(write, read)


def _padded(number: int, size: int | None) -> bytes:
    """The bytes of a decimal; of a fixed all of them."""
    if size is None:
        return decimal_bytes(number)
    try:
        return number.to_bytes(size, "big", signed=True)
    except OverflowError:
        msg = f"a decimal takes more than the {size} bytes that the schema has"
        raise RecordError(msg) from None


def _uuid(value: Any) -> UUID:
    if isinstance(value, UUID):
        return value
    msg = f"a {type(value).__name__} is no UUID"
    raise RecordError(msg)


def _read_uuid(text: str) -> UUID:
    found = UUID(text)
    if str(found) != text.lower():
        msg = f"{text[:60]!r} is no UUID as Avro writes it"
        raise RecordError(msg)
    return found


def _decimal_leaf(schema: Schema, size: int | None) -> Codec:
    return _over(
        _raw(size), lambda value: _padded(unscaled(value, schema), size), lambda data: scaled(decimal_number(data), schema)
    )


def _uint64_leaf(_: Schema, size: int | None) -> Codec:
    def checked(value: Any) -> int:
        return whole(value, 0, (1 << 64) - 1, "uint64")

    return _over(_raw(size), lambda value: _padded(checked(value), size), lambda data: checked(decimal_number(data)))


def _uuid_leaf(_: Schema, size: int | None) -> Codec:
    if size is not None:
        return _over(_raw(size), lambda value: _uuid(value).bytes, lambda data: UUID(bytes=data))
    return _over(TEXT, lambda value: str(_uuid(value)), _read_uuid)


TEXT = Codec(_put_text, _take_text, Layout("string"))


_LEAVES: Mapping[Type, Callable[[Schema, int | None], Codec]] = {
    Type.BOOLEAN: lambda _, __: Codec(_put_boolean, _take_boolean),
    Type.FLOAT32: lambda _, __: _real(struct.Struct("<f")),
    Type.FLOAT64: lambda _, __: _real(struct.Struct("<d")),
    Type.STRING: lambda _, __: TEXT,
    Type.JSON: lambda _, __: TEXT,
    Type.BYTES: lambda _, size: _raw(size),
    Type.DECIMAL: _decimal_leaf,
    Type.UINT64: _uint64_leaf,
    Type.UUID: _uuid_leaf,
}


_COUNTED: Mapping[Type, Callable[[Schema], tuple[Callable[[Any], int], Callable[[int], Any]]]] = {
    Type.DATE: lambda _: (days_of, date_of),
    Type.TIME: lambda schema: (lambda value: count_of_time(value, schema.unit), lambda count: time_of(count, schema.unit)),
    Type.TIMESTAMP: lambda schema: (lambda value: count_of_timestamp(value, schema), lambda count: timestamp_of(count, schema)),
}
