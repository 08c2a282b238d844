"""Binary JSON of MySQL is the text that MySQL shows. Made by hand from the documents: not run against a server."""

import json
import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectors.mysql_cdc_source.binlog.errors import MalformedEvent
from connectors.mysql_cdc_source.binlog.values.json_binary import json_text


def _sized(raw: bytes) -> bytes:
    size, out = len(raw), b""
    while size > 0x7F:
        out, size = out + bytes([size & 0x7F | 0x80]), size >> 7
    return out + bytes([size]) + raw


def _document(value: Any, *, large: bool) -> tuple[int, bytes]:
    """The type and the bytes of a value, as the documents describe them."""
    if value is None or isinstance(value, bool):
        return 4, bytes([{None: 0, True: 1, False: 2}[value]])
    if isinstance(value, int):
        kind, size, signed = next(
            (kind, size, signed)
            for kind, size, signed in [(5, 2, True), (6, 2, False), (7, 4, True), (8, 4, False), (9, 8, True), (10, 8, False)]
            if (-(1 << size * 8 - 1) <= value < 1 << size * 8 - 1 if signed else 0 <= value < 1 << size * 8)
        )
        return kind, value.to_bytes(size, "little", signed=signed)
    if isinstance(value, float):
        return 11, struct.pack("<d", value)
    if isinstance(value, str):
        return 12, _sized(value.encode())
    return _container(value, large=large)


def _container(value: Any, *, large: bool) -> tuple[int, bytes]:
    wide = 4 if large else 2
    is_object = isinstance(value, dict)
    keys = sorted((key.encode() for key in value), key=lambda key: (len(key), key)) if is_object else []
    values = [value[key.decode()] for key in keys] if is_object else value
    at = 2 * wide + len(keys) * (wide + 2) + len(values) * (1 + wide)
    head, tail = b"", b""
    for key in keys:
        head += at.to_bytes(wide, "little") + len(key).to_bytes(2, "little")
        at, tail = at + len(key), tail + key
    for each in values:
        kind, raw = _document(each, large=large)
        if kind == 4 or (kind in {5, 6, 7, 8} and len(raw) <= wide):
            sign = b"\xff" if kind in {5, 7} and raw[-1] & 0x80 else b"\0"
            head += bytes([kind]) + raw + sign * (wide - len(raw))
        else:
            head += bytes([kind]) + at.to_bytes(wide, "little")
            at, tail = at + len(raw), tail + raw
    size = 2 * wide + len(head) + len(tail)
    kind = (0 if is_object else 2) + large
    return kind, len(values).to_bytes(wide, "little") + size.to_bytes(wide, "little") + head + tail


_TEXT = st.text(st.characters(codec="utf-8"), max_size=200)
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False, allow_infinity=False) | _TEXT,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(_TEXT, inner, max_size=5),
    max_leaves=20,
)


@given(_VALUES, st.booleans())
def test_a_document_is_the_value_that_it_was_made_of(value: Any, large: bool) -> None:
    kind, raw = _document(value, large=large)
    assert json.loads(json_text(bytes([kind]) + raw)) == value


def test_the_text_has_the_form_of_mysql() -> None:
    kind, raw = _document({"bb": [1, None, {"ü": 'a"\n'}], "a": True}, large=False)
    assert json_text(bytes([kind]) + raw) == '{"a": true, "bb": [1, null, {"ü": "a\\"\\n"}]}'


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (1.0, "1.0"),
        (-0.0, "-0.0"),
        (0.1, "0.1"),
        (1e14, "100000000000000.0"),
        (1e16, "1e16"),
        (1234567890123456.7, "1234567890123456.8"),
        (6.02214076e23, "6.02214076e23"),
        (1.5e-5, "0.000015"),
        (1e-20, "1e-20"),
        (-2.5e-300, "-2.5e-300"),
    ],
)
def test_a_double_is_written_as_mysql_does(number: float, text: str) -> None:
    assert json_text(b"\x0b" + struct.pack("<d", number)) == text


def _opaque(kind: int, raw: bytes) -> bytes:
    return b"\x0f" + bytes([kind]) + _sized(raw)


_DAY = (2024 * 13 + 2 << 5 | 29) << 17 | 12 << 12 | 34 << 6 | 56


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (_opaque(246, b"\4\2\x8c\x22"), "12.34"),
        (_opaque(12, (_DAY << 24 | 7890).to_bytes(8, "little")), '"2024-02-29 12:34:56.007890"'),
        (_opaque(7, (_DAY << 24).to_bytes(8, "little")), '"2024-02-29 12:34:56.000000"'),
        (_opaque(10, (_DAY >> 17 << 41).to_bytes(8, "little")), '"2024-02-29"'),
        (_opaque(11, (-((838 << 12 | 59 << 6 | 58) << 24 | 5)).to_bytes(8, "little", signed=True)), '"-838:59:58.000005"'),
        (_opaque(15, b"\0\1"), '"base64:type15:AAE="'),
    ],
    ids=["decimal", "datetime", "timestamp", "date", "time", "other"],
)
def test_what_json_has_no_type_for_is_shown_as_mysql_does(raw: bytes, text: str) -> None:
    assert json_text(raw) == text


def test_an_empty_column_is_null() -> None:
    assert json_text(b"") == "null"


@pytest.mark.parametrize(
    "raw",
    [
        b"\x0d",
        b"\4\3",
        b"\5\1",
        b"\x0b\0\0\0\0\0\0\xf0\x7f",
        b"\x0c\x80\x80\x80\x80\x80\1",
        b"\x0c\2\xff\xff",
        b"\2\1\0\7\0\5\1",
        b"\2\xff\xff\7\0\5\1\0",
    ],
)
def test_what_is_no_document_is_named(raw: bytes) -> None:
    with pytest.raises(MalformedEvent):
        json_text(raw)


def test_a_document_deeper_than_any_server_stores_is_named() -> None:
    raw = b"\4\0"
    value: Any = None
    for _ in range(101):
        value = [value]
    kind, raw = _document(value, large=True)
    with pytest.raises(MalformedEvent, match="deeper than 100"):
        json_text(bytes([kind]) + raw)
