"""Values as Avro's binary form has them. What is written is checked, and what is read is as long as it says, whatever it is.

A writer appends to a bytearray; a reader is given bytes and where to begin, and gives a value and where it ends. Behind the end of
the bytes a reader raises IndexError.
"""

import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from rocketconnect_sdk.converters.checked import checked_struct, dict_of
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

Write = Callable[[bytearray, Any], None]
Read = Callable[[bytes, int], tuple[Any, int]]

_INT, _LONG = WHOLE[Type.INT32], WHOLE[Type.INT64]


@dataclass(frozen=True, slots=True)
class Layout:
    """How values of a type stand in bytes.

    Attributes:
        kind: Avro's word for it.
        null: Of a union of null and this type, which of the two is null; None: it is no union.
        parts: Of a record those of its fields, of an array that of its items. A map is an array of records of a key and a value.
        size: Of a fixed: its bytes.
        symbols: Of an enum.
    """

    kind: str
    null: int | None = None
    parts: "tuple[Layout, ...]" = ()
    size: int = 0
    symbols: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Codec:
    """How values of a type are written and read.

    Attributes:
        layout: For whoever does many at once; None: they are done one by one.
    """

    write: Write
    read: Read
    layout: Layout | None = None


@dataclass(frozen=True, slots=True)
class Part:
    """A field of a record.

    Attributes:
        name: Its name.
        codec: Of its values.
        missing: Stands for it where a value has none.
        required: A value has to have it.
    """

    name: str
    codec: Codec
    missing: object
    required: bool


def put_long(out: bytearray, number: int) -> None:
    """Writes a whole number of 64 bits."""
    number = (number << 1) ^ (number >> 63)
    while number > 127:
        out.append((number & 127) | 128)
        number >>= 7
    out.append(number)


def take_long(data: bytes, at: int) -> tuple[int, int]:
    """Reads a whole number of 64 bits."""
    byte = data[at]
    at += 1
    number = byte & 127
    shift = 7
    while byte > 127:
        byte = data[at]
        at += 1
        number |= (byte & 127) << shift
        shift += 7
        if shift > 70:
            break
    if number >> 64 or byte > 127:
        msg = f"a number of more than 64 bits ends at byte {at}"
        raise RecordError(msg)
    return (number >> 1) ^ -(number & 1), at


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


def record(parts: Sequence[Part]) -> Codec:
    """Of a struct."""
    known = {part.name for part in parts}
    writers = [(part.name, part.codec.write, part.missing, part.required) for part in parts]
    readers = [(part.name, part.codec.read) for part in parts]

    def write(out: bytearray, value: Any) -> None:
        value = checked_struct(value, known)
        for name, put, missing, required in writers:
            if required and name not in value:
                msg = f"{name} is missing, and there is no default"
                raise RecordError(msg)
            try:
                put(out, value.get(name, missing))
            except RecordError as error:
                msg = f"{name}: {error}"
                raise RecordError(msg) from None

    def read(data: bytes, at: int) -> tuple[Any, int]:
        value = {}
        for name, take in readers:
            value[name], at = take(data, at)
        return value, at

    return Codec(write, read, _made_of("record", [part.codec for part in parts]))


def array(items: Codec) -> Codec:
    """Of arrays. Every item takes at least a byte, so that no message says that it has more of them than it has bytes."""

    def write(out: bytearray, value: Any) -> None:
        if not isinstance(value, (list, tuple)):
            msg = f"a {type(value).__name__} is no array, which is a list"
            raise RecordError(msg)
        if value:
            put_long(out, len(value))
            put = items.write
            for item in value:
                put(out, item)
        out.append(0)

    def read(data: bytes, at: int) -> tuple[Any, int]:
        found: list[Any] = []
        take = items.read
        count, at = _block(data, at)
        while count:
            for _ in range(count):
                item, at = take(data, at)
                found.append(item)
            count, at = _block(data, at)
        return found, at

    return Codec(write, read, _made_of("array", [items]))


def mapping(items: Codec) -> Codec:
    """Of maps whose keys are text."""
    entries = array(record([Part("key", _TEXT, None, required=True), Part("value", items, None, required=True)]))
    return map_of(entries)


def map_of(entries: Codec) -> Codec:
    """Of maps that are arrays of a key and a value each."""

    def write(out: bytearray, value: Any) -> None:
        if not isinstance(value, dict):
            msg = f"a {type(value).__name__} is no map, which is a dict"
            raise RecordError(msg)
        entries.write(out, [{"key": key, "value": item} for key, item in value.items()])

    def read(data: bytes, at: int) -> tuple[Any, int]:
        found, at = entries.read(data, at)
        return dict_of([(entry["key"], entry["value"]) for entry in found]), at

    return Codec(write, read, entries.layout)


def optional(codec: Codec, null: int) -> Codec:
    """Of a union of null, which is its branch of that number, and one type."""
    put, take, other = codec.write, codec.read, 1 - null

    def write(out: bytearray, value: Any) -> None:
        if value is None:
            out.append(null << 1)
        else:
            out.append(other << 1)
            put(out, value)

    def read(data: bytes, at: int) -> tuple[Any, int]:
        branch, at = take_long(data, at)
        if branch == other:
            return take(data, at)
        if branch != null:
            _no_branch(branch, 2)
        return None, at

    return Codec(write, read, codec.layout and replace(codec.layout, null=null))


def union(branches: Sequence[tuple[str, Codec | None]]) -> Codec:
    """Of a union of several types, which is a struct with a field for each; a branch without a codec is null."""
    by_name = {name: (number, codec) for number, (name, codec) in enumerate(branches) if codec is not None}
    null = next((number for number, (_, codec) in enumerate(branches) if codec is None), None)

    def write(out: bytearray, value: Any) -> None:
        if value is None and null is not None:
            return put_long(out, null)
        given = [name for name, item in value.items() if item is not None] if isinstance(value, dict) else []
        if len(given) != 1 or given[0] not in by_name:
            msg = f"of a union exactly one of {', '.join(by_name)} is given"
            raise RecordError(msg)
        number, codec = by_name[given[0]]
        put_long(out, number)
        return codec.write(out, value[given[0]])

    def read(data: bytes, at: int) -> tuple[Any, int]:
        branch, at = take_long(data, at)
        if not 0 <= branch < len(branches):
            _no_branch(branch, len(branches))
        name, codec = branches[branch]
        if codec is None:
            return None, at
        item, at = codec.read(data, at)
        return {**dict.fromkeys(by_name), name: item}, at

    return Codec(write, read)


def enumeration(symbols: Sequence[str]) -> Codec:
    """Of enums, which are text."""
    numbers = {symbol: number for number, symbol in enumerate(symbols)}

    def write(out: bytearray, value: Any) -> None:
        number = numbers.get(value) if isinstance(value, str) else None
        if number is None:
            msg = f"{str(value)[:60]!r} is none of the enum's symbols {', '.join(symbols)[:300]}"
            raise RecordError(msg)
        put_long(out, number)

    def read(data: bytes, at: int) -> tuple[Any, int]:
        number, at = take_long(data, at)
        if not 0 <= number < len(symbols):
            msg = f"the enum has no symbol {number}"
            raise RecordError(msg)
        return symbols[number], at

    return Codec(write, read, Layout("enum", symbols=tuple(symbols)))


def _made_of(kind: str, codecs: Sequence[Codec]) -> Layout | None:
    parts = tuple(codec.layout for codec in codecs if codec.layout is not None)
    return Layout(kind, parts=parts) if len(parts) == len(codecs) else None


def _block(data: bytes, at: int) -> tuple[int, int]:
    """How many items a block has; 0: there is no more block."""
    count, at = take_long(data, at)
    if count < 0:
        _, at = take_long(data, at)
    return abs(count), at


def _no_branch(branch: int, count: int) -> None:
    msg = f"a union of {count} types has no branch {branch}"
    raise RecordError(msg)


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
    return _over(_TEXT, lambda value: str(_uuid(value)), _read_uuid)


_TEXT = Codec(_put_text, _take_text, Layout("string"))

_LEAVES: Mapping[Type, Callable[[Schema, int | None], Codec]] = {
    Type.BOOLEAN: lambda _, __: Codec(_put_boolean, _take_boolean),
    Type.FLOAT32: lambda _, __: _real(struct.Struct("<f")),
    Type.FLOAT64: lambda _, __: _real(struct.Struct("<d")),
    Type.STRING: lambda _, __: _TEXT,
    Type.JSON: lambda _, __: _TEXT,
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
