"""Where a value does not fit its schema, for those who read the error. Pure.

Converters check values in their own ways, many at a time; this looks for the place once one has refused a value.
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import date, datetime, time
from decimal import Decimal
from math import isfinite
from typing import Any
from uuid import UUID

from rocketconnect_sdk.columns.declared import type_name
from rocketconnect_sdk.columns.floats import float_of
from rocketconnect_sdk.columns.inference import inferred_type
from rocketconnect_sdk.schema import DIGITS, WHOLE, Schema, Type, Unit

_CLASSES: dict[Type, type] = {
    Type.BOOLEAN: bool,
    Type.STRING: str,
    Type.JSON: str,
    Type.BYTES: bytes,
    Type.UUID: UUID,
}
_LONGEST = 40
_FORMS: Mapping[Type, str] = {
    Type.BOOLEAN: "true or false",
    Type.FLOAT32: "a number of 32 bits",
    Type.FLOAT64: "a number",
    Type.STRING: "text",
    Type.JSON: "JSON",
    Type.BYTES: "base64 text",
    Type.DATE: "a date such as 2024-02-29",
    Type.UUID: "a UUID such as 12345678-1234-5678-1234-567812345678",
}
_KINDS: Mapping[type, str] = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    Decimal: "a number",
    str: "this text",
    dict: "an object",
    list: "a list",
}
"""What JSON has, in words."""
_WIDER = (Type.INT16, Type.INT32, Type.INT64, Type.UINT64)
_WIDEST = (Type.INT64, Type.UINT64)
_SAME = {
    "double": (Type.FLOAT64,),
    "string": (Type.STRING,),
    "json": (Type.JSON,),
    "boolean": (Type.BOOLEAN,),
}
"""Of a name of a type those that it stands for: no advice to whoever has it."""
_WHOLE = "the value"
_SECRET = (Type.STRING, Type.JSON, Type.BYTES)
"""Whose values are not shown: an error goes into logs."""


def misfit(schema: Schema, value: object) -> str:
    """The first part of a value that does not fit: "after.born is '0000-00-00': no date"; empty: all of it seems to fit."""
    return next(_misfits(schema, value, ""), "")


def misfit_of_column(name: str, schema: Schema, value: object, *, advise: bool = True) -> str:
    """Why a value of JSON, or what a text in CSV looks like, is none of a column, and which type of such options would take it.

    "the column `year` is a whole number, and `12.5` is not; make it `double`". Without advice, where the type is given, less:
    "the column `year` is a whole number, and `12.5` is not".
    """
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    is_hidden = schema.type in _SECRET or isinstance(value, dict | list)
    shown = _KINDS.get(type(value), "the value") if is_hidden else f"`{_json(value)[:_LONGEST]}`"
    made = _taking(schema, value)
    said = f"the column `{name}` is {_in_words(schema, is_whole=is_whole)}, and {shown} is not"
    return f"{said}; make it `{made}`" if made and advise else said


def _json(value: object) -> str:
    if isinstance(value, str):
        return f'"{value}"'
    return str(value).lower() if isinstance(value, bool) else str(value)


def _in_words(schema: Schema, *, is_whole: bool) -> str:
    kind = schema.type
    if kind in WHOLE:
        least, most = WHOLE[kind]
        return f"a whole number from {least} to {most}" if is_whole else "a whole number"
    if kind in (Type.FLOAT32, Type.FLOAT64) and is_whole:
        return f"a floating point number of {32 if kind is Type.FLOAT32 else 64} bits"
    if kind is Type.DECIMAL:
        return f"a decimal of {schema.precision} digits, {schema.scale} of them behind the point"
    if kind is Type.TIME:
        return f"a time such as 23:59:59{_fraction(schema)}"
    if kind is Type.TIMESTAMP:
        range_of_64_bits = " from 1678 to 2261" if schema.unit is Unit.NANOSECONDS else ""
        return f"a time{range_of_64_bits} such as 2024-02-29T23:59:59{_fraction(schema)}{'Z' if schema.zone else ''}"
    return _FORMS.get(kind, str(kind.value))


def _fraction(schema: Schema) -> str:
    return "." + "1" * (len(str(schema.unit.in_second)) - 1)


def _taking(schema: Schema, value: object) -> str:
    """The type that takes a value of JSON and is not that of the column; empty: there is none to name."""
    if isinstance(value, bool):
        found = "boolean"
    elif isinstance(value, int | float | Decimal) and schema.type is Type.DECIMAL:
        return _decimal_taking(schema, value)
    elif isinstance(value, int):
        found = _whole_taking(value, _WIDER if schema.type in WHOLE else _WIDEST)
    elif isinstance(value, float | Decimal):
        found = "double"
    elif isinstance(value, str):
        found = _text_taking(value)
    else:
        found = "json" if isinstance(value, dict | list) else ""
    return "" if schema.type in _SAME.get(found, ()) else found


def _text_taking(text: str) -> str:
    """A date or a time is more than text."""
    found = inferred_type([text])
    return type_name(found) if found.type in (Type.DATE, Type.TIMESTAMP) else "string"


def _whole_taking(value: int, kinds: Iterable[Type]) -> str:
    for kind in kinds:
        least, most = WHOLE[kind]
        if least <= value <= most:
            return str(kind.value)
    digits = len(Decimal(value).as_tuple().digits)
    return f"decimal({digits},0)" if digits <= DIGITS else "string"


def _decimal_taking(schema: Schema, value: float | Decimal) -> str:
    number = Decimal(str(value))
    if not number.is_finite():
        return ""
    _, digits, exponent = number.as_tuple()
    behind = max(schema.scale, -int(exponent))
    before = max(schema.precision - schema.scale, len(digits) + int(exponent))
    return f"decimal({before + behind},{behind})" if before + behind <= DIGITS else ""


def _misfits(schema: Schema, value: Any, path: str) -> Iterator[str]:
    if value is None:
        if not schema.optional and schema.default is None:
            yield f"{path or _WHOLE} is null, which its type {type_name(schema)} does not take"
    elif schema.type is Type.STRUCT:
        if not isinstance(value, dict):
            yield _said(schema, value, path)
            return
        for field in schema.fields:
            yield from _misfits(field.schema, value.get(field.name), f"{path}.{field.name}" if path else field.name)
    elif schema.type is Type.ARRAY and schema.items is not None and isinstance(value, list | tuple):
        for number, item in enumerate(value):
            yield from _misfits(schema.items, item, f"{path or _WHOLE}[{number}]")
    elif schema.type is Type.MAP and schema.items is not None and isinstance(value, dict):
        for item in value.values():
            yield from _misfits(schema.items, item, f"{path or _WHOLE}[...]")
    elif not _fits(schema, value):
        yield _said(schema, value, path)


def _fits(schema: Schema, value: Any) -> bool:  # noqa: PLR0911 - one for each kind
    kind = schema.type
    if kind in WHOLE:
        least, most = WHOLE[kind]
        return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most
    if kind in (Type.FLOAT32, Type.FLOAT64):
        return _is_float(value, kind)
    if kind is Type.DECIMAL:
        return isinstance(value, Decimal) and value.is_finite() and _has_digits(schema, value)
    if kind is Type.DATE:
        return isinstance(value, date) and not isinstance(value, datetime)
    if kind in (Type.TIME, Type.TIMESTAMP) and schema.unit is Unit.NANOSECONDS:
        return isinstance(value, int)
    if kind is Type.TIME:
        return isinstance(value, time)
    if kind is Type.TIMESTAMP:
        return isinstance(value, datetime) and (value.tzinfo is not None) == schema.zone
    return isinstance(value, _CLASSES.get(kind, object))


def _is_float(value: Any, kind: Type) -> bool:
    if not isinstance(value, int):
        return isinstance(value, float) and isfinite(value)
    try:
        float_of(value, kind)
    except (ValueError, OverflowError):
        return False
    return True


def _has_digits(schema: Schema, value: Decimal) -> bool:
    _, digits, exponent = value.as_tuple()
    behind = max(0, -int(exponent))
    return behind <= schema.scale and len(digits) + int(exponent) + schema.scale <= schema.precision


def _said(schema: Schema, value: object, path: str) -> str:
    shown = f"a {type(value).__name__}" if schema.type in _SECRET else repr(str(value)[:_LONGEST])
    return f"{path or _WHOLE} is {shown}: no {type_name(schema)}"
