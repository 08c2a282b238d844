"""What the bytes of one value look like, and the expression that makes the value of them.

Integers, BIT and YEAR are int, DECIMAL Decimal, FLOAT and DOUBLE float, DATE date, DATETIME datetime without a zone, TIMESTAMP
datetime in UTC, TIME timedelta, text and JSON str, bytes bytes, ENUM and SET what SELECT shows (the number when the log has no
labels), geometry `Geometry`, UUID uuid.UUID, INET4 and INET6 str. Days of no calendar are InvalidDate.
"""

import ipaddress
import uuid
from collections.abc import Callable
from typing import Any, NamedTuple

from connectors.mysql_cdc_source.binlog.compression import unpack_column
from connectors.mysql_cdc_source.binlog.errors import MalformedEvent
from connectors.mysql_cdc_source.binlog.row_reading.column import Column, Type
from connectors.mysql_cdc_source.binlog.values import temporal
from connectors.mysql_cdc_source.binlog.values.charsets import BINARY, is_utf8, text_of
from connectors.mysql_cdc_source.binlog.values.decimals import decimal, size_of
from connectors.mysql_cdc_source.binlog.values.json_binary import json_text

_REMEMBERED = 10_000
_LENGTHS = {1: ("B", "{0}"), 2: ("H", "{0}"), 3: ("HB", "{0}|{1}<<16"), 4: ("I", "{0}")}
_INTEGERS = {Type.TINY: "b", Type.SHORT: "h", Type.LONG: "i", Type.LONGLONG: "q"}


class Geometry(NamedTuple):
    """A spatial value.

    Attributes:
        srid: Of its reference system.
        wkb: Well-known binary.
    """

    srid: int
    wkb: bytes


class Part(NamedTuple):
    """How to read one value.

    Attributes:
        format: Of struct, little-endian: the value itself, or the length of what follows.
        value: The expression of the value, with {0} and {1} for what `format` gives, or {s} for the bytes that follow.
        length: The expression of the length of the bytes that follow; empty when none do.
        function: What `value` calls `f`.
    """

    format: str
    value: str
    length: str = ""
    function: object = None


class Remembered(dict[Any, Any]):
    """Values by their bytes, made when they are first asked for; it forgets all when it is full."""

    def __init__(self, make: Callable[[Any], object]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, raw: Any) -> object:
        """Makes the value."""
        if len(self) >= _REMEMBERED:
            self.clear()
        value = self[raw] = self._make(raw)
        return value


def part_of(column: Column) -> Part:
    """How to read the values of a column.

    Raises:
        MalformedEvent: there is no such column.
    """
    if (form := _INTEGERS.get(column.type)) is not None:
        return Part(form.upper() if column.unsigned else form, "{0}")
    if column.extension is not None:
        return _extension(column)
    return _PARTS[column.type](column)


def _extension(column: Column) -> Part:
    size = column.length
    # Zeros at the end are not in the log.
    make: dict[str, Callable[[bytes], object]] = {
        "uuid": lambda raw: uuid.UUID(bytes=raw.ljust(size, b"\0")),
        "inet6": lambda raw: _inet6(raw.ljust(size, b"\0")),
        "inet4": lambda raw: str(ipaddress.IPv4Address(raw.ljust(size, b"\0"))),
    }
    return Part("B", "f({s})", "{0}", _within(size, make[column.extension or ""]))


def _inet6(raw: bytes) -> str:
    """As MariaDB shows it: unlike others it leaves out a single group of zeros too."""
    groups = [int.from_bytes(raw[at : at + 2], "big") for at in range(0, 16, 2)]
    start = size = 0
    for at in range(8):
        zeros = next((place for place in range(at, 8) if groups[place]), 8) - at
        if zeros > size:
            start, size = at, zeros
    words = [f"{group:x}" for group in groups]
    if start == 0 and (size == 6 or (size == 5 and groups[5] == 0xFFFF)):
        words[6:] = [str(ipaddress.IPv4Address(raw[12:]))]
    return f"{':'.join(words[:start])}::{':'.join(words[start + size :])}" if size else ":".join(words)


def _within(size: int, make: Callable[[bytes], object]) -> Callable[[bytes], object]:
    def read(raw: bytes) -> object:
        if len(raw) > size:
            msg = f"a value of {size} bytes has {len(raw)}"
            raise MalformedEvent(msg)
        return make(raw)

    return read


def _int24(column: Column) -> Part:
    return Part("HB" if column.unsigned else "Hb", "{1}<<16|{0}")


def _string(column: Column) -> Part:
    form = "B" if column.length < 256 else "H"
    if column.charset in {None, BINARY}:
        # The server pads BINARY, and only the log leaves the zeros out.
        pad = f".ljust({column.length}, b'\\0')" if column.type is Type.STRING and column.charset == BINARY else ""
        return Part(form, "{s}" + pad, "{0}")
    return Part(form, *_text(column.charset or ""))


def _text(charset: str) -> tuple[str, str, object]:
    return ("{s}.decode()", "{0}", None) if is_utf8(charset) else ("f({s})", "{0}", text_of(charset))


def _blob(column: Column) -> Part:
    form, length = _length(column)
    if column.charset in {None, BINARY}:
        return Part(form, "{s}", length)
    value, _, function = _text(column.charset or "")
    return Part(form, value, length, function)


def _length(column: Column) -> tuple[str, str]:
    try:
        return _LENGTHS[column.length]
    except KeyError:
        msg = f"a column says that the length of its values has {column.length} bytes; it has 1 to 4"
        raise MalformedEvent(msg) from None


def _compressed_string(column: Column) -> Part:
    return Part("B" if column.length < 256 else "H", "f({s})", "{0}", _unpacked(column))


def _compressed_blob(column: Column) -> Part:
    form, length = _length(column)
    return Part(form, "f({s})", length, _unpacked(column))


def _unpacked(column: Column) -> Callable[[bytes], object]:
    if column.charset in {None, BINARY}:
        return unpack_column
    read = text_of(column.charset or "")
    return lambda raw: read(unpack_column(raw))


def _json(column: Column) -> Part:
    form, length = _length(column)
    return Part(form, "f({s})", length, json_text)


def _geometry(column: Column) -> Part:
    form, length = _length(column)

    def read(raw: bytes) -> Geometry:
        if len(raw) < 9:
            msg = f"a geometry has {len(raw)} bytes; it has at least 9"
            raise MalformedEvent(msg)
        return Geometry(int.from_bytes(raw[:4], "little"), raw[4:])

    return Part(form, "f({s})", length, read)


def _vector(column: Column) -> Part:
    form, length = _length(column)
    return Part(form, "{s}", length)


def _enum(column: Column) -> Part:
    form = _LENGTHS.get(column.length, ("?", ""))[0]
    if column.length > 2 or form == "?":
        msg = f"an ENUM says that its values have {column.length} bytes; they have 1 or 2"
        raise MalformedEvent(msg)
    # Number 0 is the empty text that stands for a value that was refused.
    return Part(form, "{0}") if column.labels is None else Part(form, "f[{0}]", function=("", *column.labels))


def _set(column: Column) -> Part:
    if not 1 <= column.length <= 8:
        msg = f"a SET says that its values have {column.length} bytes; they have 1 to 8"
        raise MalformedEvent(msg)
    labels = column.labels

    def read(raw: bytes) -> object:
        bits = int.from_bytes(raw, "little")
        if labels is None:
            return bits
        if bits >> len(labels):
            msg = f"a SET has the bits {bits:#x}, and {len(labels)} labels"
            raise MalformedEvent(msg)
        return ",".join(label for place, label in enumerate(labels) if bits >> place & 1)

    return Part(f"{column.length}s", "f[{0}]", function=Remembered(read))


def _bits(column: Column) -> Part:
    if not 1 <= column.length <= 8:
        msg = f"a BIT says that its values have {column.length} bytes; they have 1 to 8"
        raise MalformedEvent(msg)
    return Part("B", "{0}") if column.length == 1 else Part(f"{column.length}s", "int.from_bytes({0}, 'big')")


def _decimal(column: Column) -> Part:
    size = size_of(column.precision, column.scale)
    return Part(f"{size}s", "f({0})", function=decimal(column.precision, column.scale))


def _seconds(size: int, make: Callable[[int], Callable[[bytes], object]]) -> Callable[[Column], Part]:
    def part(column: Column) -> Part:
        read = make(column.scale)
        form = f"{size + temporal.fraction_bytes(column.scale)}s"
        # Whole seconds come again and again, fractions hardly ever.
        return Part(form, "f({0})", function=read) if column.scale else Part(form, "f[{0}]", function=Remembered(read))

    return part


def _date(_: Column) -> Part:
    return Part("3s", "f[{0}]", function=Remembered(temporal.read_date))


_PARTS: dict[Type, Callable[[Column], Part]] = {
    Type.INT24: _int24,
    Type.FLOAT: lambda _: Part("f", "{0}"),
    Type.DOUBLE: lambda _: Part("d", "{0}"),
    Type.NULL: lambda _: Part("", "None"),
    Type.YEAR: lambda _: Part("B", "{0} and {0}+1900"),
    Type.NEWDECIMAL: _decimal,
    Type.BIT: _bits,
    Type.DATE: _date,
    Type.NEWDATE: _date,
    Type.TIME: lambda _: Part("3s", "f({0})", function=temporal.read_time),
    Type.DATETIME: lambda _: Part("Q", "f({0})", function=temporal.read_datetime),
    Type.TIMESTAMP: lambda _: Part("I", "f({0})", function=temporal.read_timestamp),
    Type.TIME2: _seconds(3, temporal.time2),
    Type.DATETIME2: _seconds(5, temporal.datetime2),
    Type.TIMESTAMP2: _seconds(4, temporal.timestamp2),
    Type.STRING: _string,
    Type.VARCHAR: _string,
    Type.VAR_STRING: _string,
    Type.BLOB: _blob,
    Type.TINY_BLOB: _blob,
    Type.MEDIUM_BLOB: _blob,
    Type.LONG_BLOB: _blob,
    Type.VARCHAR_COMPRESSED: _compressed_string,
    Type.BLOB_COMPRESSED: _compressed_blob,
    Type.ENUM: _enum,
    Type.SET: _set,
    Type.JSON: _json,
    Type.GEOMETRY: _geometry,
    Type.VECTOR: _vector,
}
