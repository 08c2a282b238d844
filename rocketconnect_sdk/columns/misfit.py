"""Where a value does not fit its schema, for those who read the error. Pure.

Converters check values in their own ways, many at a time; this looks for the place once one has refused a value.
"""

from collections.abc import Iterator
from datetime import date, datetime, time
from decimal import Decimal
from math import isfinite
from typing import Any
from uuid import UUID

from rocketconnect_sdk.schema import Schema, Type, Unit

_BITS = {
    Type.INT8: (-(1 << 7), (1 << 7) - 1),
    Type.INT16: (-(1 << 15), (1 << 15) - 1),
    Type.INT32: (-(1 << 31), (1 << 31) - 1),
    Type.INT64: (-(1 << 63), (1 << 63) - 1),
    Type.UINT8: (0, (1 << 8) - 1),
    Type.UINT16: (0, (1 << 16) - 1),
    Type.UINT32: (0, (1 << 32) - 1),
    Type.UINT64: (0, (1 << 64) - 1),
}
_CLASSES: dict[Type, type] = {
    Type.BOOLEAN: bool,
    Type.STRING: str,
    Type.JSON: str,
    Type.BYTES: bytes,
    Type.UUID: UUID,
}
_LONGEST = 40
_WHOLE = "the value"
_SECRET = (Type.STRING, Type.JSON, Type.BYTES)
"""Whose values are not shown: an error goes into logs."""


def misfit(schema: Schema, value: object) -> str:
    """The first part of a value that does not fit: "after.born is '0000-00-00': no date"; empty: all of it seems to fit."""
    return next(_misfits(schema, value, ""), "")


def _misfits(schema: Schema, value: Any, path: str) -> Iterator[str]:
    if value is None:
        if not schema.optional and schema.default is None:
            yield f"{path or _WHOLE} is null, which its type {schema.type.value} does not take"
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
    if kind in _BITS:
        least, most = _BITS[kind]
        return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most
    if kind in (Type.FLOAT32, Type.FLOAT64):
        return isinstance(value, int | float) and isfinite(value)
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


def _has_digits(schema: Schema, value: Decimal) -> bool:
    _, digits, exponent = value.as_tuple()
    behind = max(0, -int(exponent))
    return behind <= schema.scale and len(digits) + int(exponent) + schema.scale <= schema.precision


def _said(schema: Schema, value: object, path: str) -> str:
    shown = f"a {type(value).__name__}" if schema.type in _SECRET else repr(str(value)[:_LONGEST])
    return f"{path or _WHOLE} is {shown}: no {schema.type.value}"
