"""MySQL's binary JSON as the text that MySQL shows. Not run against a server.

https://dev.mysql.com/doc/dev/mysql-server/latest/json__binary_8h.html
"""

import base64
import json
import math
from decimal import Decimal
from struct import Struct

from connectors.mysql_cdc_source.binlog.errors import MalformedEvent
from connectors.mysql_cdc_source.binlog.row_reading.column import Type
from connectors.mysql_cdc_source.binlog.values.decimals import decimal, size_of

_SMALL_OBJECT, _LARGE_OBJECT, _SMALL_ARRAY, _LARGE_ARRAY, _LITERAL = range(5)
_DOUBLE, _STRING, _OPAQUE = 11, 12, 15
_INTEGERS = {5: (2, True), 6: (2, False), 7: (4, True), 8: (4, False), 9: (8, True), 10: (8, False)}
_LITERALS = ("null", "true", "false")
_DEEPEST = 100
"""No server stores a document that is deeper."""
_REAL = Struct("<d")


def json_text(raw: bytes) -> str:
    """The text of a document; none, as a column of an old server may hold, is null.

    Raises:
        MalformedEvent: it is none.
    """
    return _Document(raw).text() if raw else "null"


class _Document:
    """Reads a document. No part of it is read twice, so that the text is never much longer than the bytes are."""

    def __init__(self, raw: bytes) -> None:
        self._raw = raw
        self._left = len(raw)

    def text(self) -> str:
        """The document."""
        return self._value(self._raw[0], 1, 0)

    def _take(self, at: int, size: int) -> bytes:
        self._left -= size
        if at + size > len(self._raw) or self._left < 0:
            msg = f"a JSON document of {len(self._raw)} bytes has a part at byte {at} that ends behind it, or parts that overlap"
            raise MalformedEvent(msg)
        return self._raw[at : at + size]

    def _uint(self, at: int, size: int) -> int:
        return int.from_bytes(self._take(at, size), "little")

    def _value(self, kind: int, at: int, depth: int) -> str:
        if kind <= _LARGE_ARRAY:
            return self._container(kind, at, depth)
        if kind == _LITERAL:
            return self._literal(self._uint(at, 1))
        if kind in _INTEGERS:
            size, signed = _INTEGERS[kind]
            return str(int.from_bytes(self._take(at, size), "little", signed=signed))
        if kind == _DOUBLE:
            return _number(_REAL.unpack(self._take(at, 8))[0])
        if kind == _STRING:
            return _quoted(self._sized(at))
        if kind == _OPAQUE:
            return _opaque(self._uint(at, 1), self._sized(at + 1))
        msg = f"a JSON document has a value of the type {kind}, which is unknown"
        raise MalformedEvent(msg)

    def _literal(self, number: int) -> str:
        if number >= len(_LITERALS):
            msg = f"a JSON document has the literal {number}, which is unknown"
            raise MalformedEvent(msg)
        return _LITERALS[number]

    def _sized(self, at: int) -> bytes:
        """Bytes behind their length, of which each byte has seven bits, the lowest first."""
        size = 0
        for place in range(5):
            byte = self._uint(at + place, 1)
            size |= (byte & 0x7F) << 7 * place
            if byte < 0x80:
                return self._take(at + place + 1, size)
        msg = "a JSON document has a length of more than five bytes"
        raise MalformedEvent(msg)

    def _container(self, kind: int, at: int, depth: int) -> str:
        if depth >= _DEEPEST:
            msg = f"a JSON document is deeper than {_DEEPEST}"
            raise MalformedEvent(msg)
        wide = 4 if kind in {_LARGE_OBJECT, _LARGE_ARRAY} else 2
        count = self._uint(at, wide)
        self._take(at + wide, wide)
        is_object = kind in {_SMALL_OBJECT, _LARGE_OBJECT}
        keys = at + 2 * wide
        values = keys + count * (wide + 2) if is_object else keys
        parts = []
        for index in range(count):
            text = self._entry(values + index * (1 + wide), at, wide, depth + 1)
            if is_object:
                entry = keys + index * (wide + 2)
                text = f"{_quoted(self._take(at + self._uint(entry, wide), self._uint(entry + wide, 2)))}: {text}"
            parts.append(text)
        return f"{{{', '.join(parts)}}}" if is_object else f"[{', '.join(parts)}]"

    def _entry(self, entry: int, start: int, wide: int, depth: int) -> str:
        kind = self._uint(entry, 1)
        # Small values stand where the place of others stands.
        if kind == _LITERAL:
            return self._literal(self._uint(entry + 1, wide) & 0xFF)
        if kind in _INTEGERS and _INTEGERS[kind][0] <= wide:
            size, signed = _INTEGERS[kind]
            return str(int.from_bytes(self._take(entry + 1, wide)[:size], "little", signed=signed))
        return self._value(kind, start + self._uint(entry + 1, wide), depth)


def _quoted(raw: bytes) -> str:
    try:
        return json.dumps(raw.decode(), ensure_ascii=False)
    except UnicodeDecodeError as error:
        msg = f"a JSON document has text that is no UTF-8: {raw[:100]!r}"
        raise MalformedEvent(msg) from error


def _number(number: float) -> str:
    if not math.isfinite(number):
        msg = f"a JSON document has the number {number}, which is none in JSON"
        raise MalformedEvent(msg)
    sign, digits, exponent = Decimal(repr(number)).normalize().as_tuple()
    assert isinstance(exponent, int)  # noqa: S101 - it is finite
    point = len(digits) + exponent
    if point >= -14 and (point <= 15 or len(digits) > point):
        text = f"{Decimal(repr(number)):f}"
        return text if "." in text else text + ".0"
    head = str(digits[0]) + ("." + "".join(map(str, digits[1:])) if len(digits) > 1 else "")
    return f"{'-' if sign else ''}{head}e{point - 1}"


def _opaque(kind: int, raw: bytes) -> str:
    if kind == Type.NEWDECIMAL and len(raw) >= 2 and len(raw) - 2 == size_of(raw[0], raw[1]):
        return str(decimal(raw[0], raw[1])(raw[2:]))
    if kind in {Type.DATE, Type.TIME, Type.DATETIME, Type.TIMESTAMP} and len(raw) == 8:
        return f'"{_moment(kind, int.from_bytes(raw, "little", signed=True))}"'
    return f'"base64:type{kind}:{base64.b64encode(raw).decode()}"'


def _moment(kind: int, packed: int) -> str:
    sign, packed = ("-", -packed) if packed < 0 else ("", packed)
    micro, clock, day = packed & 0xFFFFFF, packed >> 24 & 0x1FFFF, packed >> 41
    if kind == Type.TIME:
        hours = packed >> 36 & 0x3FF
        return f"{sign}{hours:02}:{clock >> 6 & 63:02}:{clock & 63:02}.{micro:06}"
    month = day >> 5
    date = f"{month // 13:04}-{month % 13:02}-{day & 31:02}"
    return date if kind == Type.DATE else f"{date} {clock >> 12:02}:{clock >> 6 & 63:02}:{clock & 63:02}.{micro:06}"
