"""Values as text: one way for each type, so that the same value always has the same text."""

import base64
import math
import struct
from collections.abc import Callable, Mapping
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any
from uuid import UUID

from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.schema import Schema, Type
from rocketconnect_sdk.transforms.moments import MOMENTS, iso

_SHOWN = 100
_TEXTS: Mapping[type, Callable[[Any], str]] = {
    str: str,
    bool: lambda value: "true" if value else "false",
    int: str,
    Decimal: lambda value: format(value, "f"),
    bytes: lambda value: base64.b64encode(value).decode(),
    UUID: str,
}


def text_of(value: object, schema: Schema | None) -> str:
    """A value, which is not None, as text: see docs/transforms.md.

    Raises:
        ValueError: it has no text.
    """
    if (schema is not None and schema.type in MOMENTS) or isinstance(value, date | time | datetime):
        return iso(value, schema)
    if isinstance(value, float):
        return _float_text(value, short=schema is not None and schema.type is Type.FLOAT32)
    return _TEXTS.get(type(value), json_text)(value)


def shown(value: object, schema: Schema | None) -> str:
    """A value for people who read an error: its first part."""
    if isinstance(value, str):
        return repr(value[:_SHOWN])
    try:
        return text_of(value, schema)[:_SHOWN]
    except ValueError:
        return repr(value)[:_SHOWN]


def json_text(value: object) -> str:
    """A value as JSON.

    Raises:
        ValueError: it has no JSON form.
    """
    from rocketconnect_sdk.files.lines import to_json

    try:
        return to_json(value).decode()
    except (RecordError, OverflowError) as error:
        raise ValueError(str(error)) from None


def to_float32(value: float) -> float:
    """The nearest number that has 32 bits.

    Raises:
        ValueError: it is too large.
    """
    try:
        return float(struct.unpack("<f", struct.pack("<f", value))[0])
    except OverflowError:
        msg = "is too large for float"
        raise ValueError(msg) from None


def _float_text(value: float, *, short: bool) -> str:
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if not short:
        return repr(value)
    # The shortest that is the same number among those of 32 bits.
    found = next(float(text) for digits in range(6, 18) if to_float32(float(text := f"{value:.{digits}g}")) == value)
    return repr(found)
