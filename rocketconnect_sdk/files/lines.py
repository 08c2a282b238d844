"""Values as lines of a file. Needs msgspec."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from math import isfinite
from typing import Any

import msgspec

from rocketconnect_sdk.columns.compact import Texts
from rocketconnect_sdk.converters.json.forms import Decimals, Form
from rocketconnect_sdk.converters.json.reading import NotJson, check_text
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.schema import Schema, Type, Unit

_FORM = Form(Decimals.NUMERIC, is_plain=True)
_TIMES = (Type.TIME, Type.TIMESTAMP)
_encode = msgspec.json.Encoder(decimal_format="number").encode


def text_lines(values: Sequence[object]) -> bytes:
    """Each value as a line: text and bytes as they are, nothing for None, JSON for everything else.

    Raises:
        RecordError: a value has no such form.
    """
    if not values:
        return b""
    if isinstance(values, Texts):
        return b"\n".join(values.utf8) + b"\n"
    try:
        return ("\n".join(values) + "\n").encode()  # type: ignore[arg-type]  # mostly str; else below
    except (TypeError, UnicodeEncodeError):
        return b"".join(text_line(value) for value in values)


def text_line(value: object) -> bytes:
    """One value as a line. See text_lines."""
    return text_bytes(value) + b"\n"


def text_bytes(value: object) -> bytes:
    """One value without the end of a line. See text_lines."""
    if isinstance(value, str):
        try:
            return value.encode()
        except UnicodeEncodeError as error:
            msg = f"the text cannot be written as UTF-8: {error.reason}"
            raise RecordError(msg) from None
    if isinstance(value, bytes):
        return value
    return b"" if value is None else to_json(value)


def json_lines(values: Sequence[object]) -> bytes:
    """Each value as a line of JSON. Text that is a JSON object or array already is taken as that; other text becomes a JSON string.

    Raises:
        RecordError: a value has no JSON form.
    """
    return b"".join(json_line(value) for value in values)


def json_line(value: object) -> bytes:
    """One value as a line. See json_lines."""
    if isinstance(value, str) and value[:1] in ("{", "["):
        try:
            check_text(value)
        except NotJson:
            return to_json(value) + b"\n"
        # Its digits and names stay as they are.
        return (value.encode() if "\n" not in value else msgspec.json.format(value.encode(), indent=-1)) + b"\n"
    return to_json(value) + b"\n"


def plainly(values: Sequence[object], schema: Schema | None) -> Sequence[object]:
    """Values with what stands in the plain form of JSON for those whose types Python does not tell: see docs/converters.md.

    Raises:
        RecordError: one does not fit its schema.
    """
    if schema is None or not _is_told(schema):
        return values
    try:
        return [_plain(schema, value) for value in values]
    except (TypeError, ValueError, ArithmeticError, AttributeError, msgspec.MsgspecError) as error:
        msg = f"a value does not fit its schema: {error}"
        raise RecordError(msg) from None


@lru_cache(maxsize=256)
def _is_told(schema: Schema) -> bool:
    """Whether a value of it, or in it, has another form than Python's values tell."""
    inner = [*(field.schema for field in schema.fields), *(part for part in (schema.items, schema.keys) if part is not None)]
    return schema.type is Type.JSON or (schema.type in _TIMES and schema.unit is not Unit.MICROSECONDS) or any(map(_is_told, inner))


def _plain(schema: Schema, value: Any) -> Any:
    if value is None:
        return None
    if schema.type is Type.STRUCT and isinstance(value, Mapping):
        return {**value, **{each.name: _plain(each.schema, value.get(each.name)) for each in schema.fields}}
    if schema.type is Type.ARRAY and schema.items is not None:
        return [_plain(schema.items, item) for item in value]
    if schema.type is Type.MAP and schema.items is not None and isinstance(value, Mapping):
        return {key: _plain(schema.items, item) for key, item in value.items()}
    return _FORM.written(schema, value) if schema.type in (Type.JSON, *_TIMES) else value


def to_json(value: object) -> bytes:
    """JSON in one line: bytes as base64, times as ISO 8601, decimals with all their digits, NaN and infinities as strings.

    Raises:
        RecordError: a value has no JSON form.
    """
    try:
        data = _encode(value)
        # msgspec writes what is no number as null.
        return _encode(_without_nan(value)) if b"null" in data else data
    except (TypeError, ValueError, RecursionError, msgspec.MsgspecError) as error:
        msg = f"the value has no JSON form: {error}"
        raise RecordError(msg) from None


def _without_nan(value: object) -> object:
    if isinstance(value, float) and not isfinite(value):
        return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"  # noqa: PLR0124  # that is how NaN is known
    if isinstance(value, Mapping):
        return {key: _without_nan(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_without_nan(item) for item in value]
    return value
