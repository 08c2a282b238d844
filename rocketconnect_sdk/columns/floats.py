"""Numbers as floating point numbers. Of whole ones, few of the large are held: the same number, or none. Of others digits go."""

import struct
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal, InvalidOperation

import numpy as np

from rocketconnect_sdk.columns.declared import type_name, write_columns
from rocketconnect_sdk.errors import Problem
from rocketconnect_sdk.schema import Field, Schema, Type

CERTAIN: Mapping[Type, float] = {Type.FLOAT32: 2.0**24, Type.FLOAT64: 2.0**53}
"""Every whole number below it, and above its negative, is one of the type."""
_LARGEST = float(np.finfo(np.float32).max)
_GIVEN, _PASTED, _SHOWN, _NUMBER = 200, 8000, 10, 40
_BITS = {Type.FLOAT32: 32, Type.FLOAT64: 64}


def float_of(number: int, kind: Type) -> float:
    """A whole number as one of a floating point type: it is one, or its digits are those that such a one is written with.

    (2^60 is 1152921504606846976, and JavaScript writes 1152921504606847000 for it.)

    Raises:
        ValueError, OverflowError: it would be another number.
    """
    found = float(number)
    if -CERTAIN[kind] < found < CERTAIN[kind]:
        return found
    if kind is Type.FLOAT32:
        found = struct.unpack("f", struct.pack("f", found))[0]
    if found != number and Decimal(str(np.float32(found) if kind is Type.FLOAT32 else found)) != number:
        fix = "make it int64, decimal or string"
        msg = f"{str(number)[:40]} would be another number in the {_BITS[kind]} bits of a {type_name(Schema(kind))}: {fix}"
        raise ValueError(msg)
    return found


def rounded(value: object) -> str:
    """What is left of a number in 32 bits, as it is written then; empty: all of its digits, or it is no number of JSON or CSV.

    Args:
        value: A number, or its text.
    """
    try:
        number = Decimal(value if isinstance(value, str) else repr(value)) if isinstance(value, float | str) else Decimal("NaN")
    except InvalidOperation:
        return ""
    if not number.is_finite() or abs(number) > _LARGEST:
        return ""
    kept = str(np.float32(float(number)))
    if Decimal(kept) == number:
        return ""
    plain = f"{Decimal(kept):f}"
    return plain if len(plain) <= _NUMBER else kept


def rounding_problem(columns: Schema, values: Callable[[str], Iterable[object]], rows: str) -> Problem | None:
    """A warning of columns of 32 bits in which values lose digits; None: there are none.

    Args:
        columns: What the option `columns` says.
        values: Those of the field of this name, as rounded() takes them.
        rows: Whose they are, for people.
    """
    told: dict[str, str] = {}
    for field in columns.fields:
        if field.schema.type is Type.FLOAT32:
            lost = next(((value, kept) for value in values(field.name) if (kept := rounded(value))), None)
            if lost is not None:
                told[field.name] = f"{str(lost[0])[:_NUMBER]} becomes {lost[1]} in {field.name}"
    if not told:
        return None
    wide = Schema(Type.FLOAT64)
    made = Schema(
        Type.STRUCT, fields=tuple(Field(each.name, wide if each.name in told else each.schema) for each in columns.fields)
    )
    text = write_columns(made)
    reason = f"has float, which keeps 7 digits, for more of them in {rows}: {'; '.join(list(told.values())[:_SHOWN])}"
    fix = f"Set columns={text} to keep them." if len(text) <= _PASTED else f"Make {', '.join(told)} double to keep them."
    return Problem("columns", write_columns(columns)[:_GIVEN], reason, fix, is_warning=True)
