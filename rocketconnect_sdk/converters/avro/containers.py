"""Avro's types that are made of others: records, arrays, maps, unions, enums."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from rocketconnect_sdk.converters.avro.codec import Codec, Layout, put_long, take_long
from rocketconnect_sdk.converters.avro.leaves import TEXT
from rocketconnect_sdk.converters.checked import checked_struct, dict_of
from rocketconnect_sdk.errors import RecordError


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
    entries = array(record([Part("key", TEXT, None, required=True), Part("value", items, None, required=True)]))
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
