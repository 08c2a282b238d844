"""The types that texts have, where nobody has named them. Pure.

Nothing is lost under an inferred type: a number keeps its value to the last digit, everything else its text. What would not stays a
string: leading zeros, a plus, offsets from UTC.
"""

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from decimal import Decimal
from math import isfinite

from rocketconnect_sdk.columns.declared import is_writable
from rocketconnect_sdk.columns.texts import read_text
from rocketconnect_sdk.schema import DIGITS, STRING, WHOLE, Schema, Type, Unit, decimal, struct, timestamp

_WHOLE = re.compile(r"0|-?[1-9][0-9]{0,99}")
# A code such as 12E3 is no number: what writes numbers gives the exponent a sign, or the number a point.
_NUMBER = re.compile(r"-?(0|[1-9][0-9]{0,99})(\.[0-9]{1,99}([eE][+-]?[0-9]{1,3})?|[eE][+-][0-9]{1,3})?")
_BOOLEANS = ("true", "false")
_TIMES = (
    Schema(Type.DATE),
    timestamp(zone=False),
    timestamp(),
    timestamp(Unit.NANOSECONDS, zone=False),
    timestamp(Unit.NANOSECONDS),
)
_INT64 = Schema(Type.INT64)
_FLOAT64 = Schema(Type.FLOAT64)
_NULLS = ("NA", "N/A", "NULL", "null", "\\N", "NaN", "nan", "None")
"""What programs write for a value that is not there."""


def inferred_type(texts: Collection[str]) -> Schema:
    """The narrowest of boolean, int64, double, decimal, date and timestamp that loses nothing of any text; otherwise string."""
    if not texts:
        return STRING
    if _all(texts, _BOOLEANS.__contains__):
        return Schema(Type.BOOLEAN)
    if _all(texts, _NUMBER.fullmatch):
        return _number(texts)
    return next((schema for schema in _TIMES if all(_is_time(schema, text) for text in texts)), STRING)


def inferred_columns(columns: Mapping[str, Collection[str]]) -> Schema:
    """A struct of columns by name, from the texts that each has where it is not null.

    A column whose name the option `columns` cannot write stays a string, as it would if somebody named the types.
    """
    return struct([(name, inferred_type(texts) if is_writable(name) else STRING) for name, texts in columns.items()])


def null_text(columns: Mapping[str, Collection[str]]) -> tuple[str, Sequence[str]]:
    """The text that keeps the most columns from having a type, and which ones; ("", ()): there is none."""
    strings = {name: set(texts) for name, texts in columns.items() if is_writable(name) and inferred_type(texts) == STRING}
    held = {null: [name for name, texts in strings.items() if null in texts and _has_type(texts - {null})] for null in _NULLS}
    null = max(_NULLS, key=lambda each: len(held[each]))
    return (null, held[null]) if held[null] else ("", ())


def _all(texts: Collection[str], fits: Callable[[str], object]) -> bool:
    return all(map(fits, texts))


def _has_type(texts: Collection[str]) -> bool:
    return inferred_type(texts) != STRING


def _number(texts: Collection[str]) -> Schema:
    are_whole = _all(texts, _WHOLE.fullmatch)
    least, most = WHOLE[Type.INT64]
    if are_whole and all(least <= int(text) <= most for text in texts):
        return _INT64
    if not are_whole and _all(texts, _is_exact_double):
        return _FLOAT64
    parts = [Decimal(text).as_tuple() for text in texts]
    behind = max(0, *(-int(exponent) for _, _, exponent in parts))
    before = max(len(digits) + int(exponent) for _, digits, exponent in parts)
    return decimal(behind, precision=DIGITS) if max(before, 0) + behind <= DIGITS else STRING


def _is_exact_double(text: str) -> bool:
    number = float(text)
    return isfinite(number) and Decimal(repr(number)) == Decimal(text)


def _is_time(schema: Schema, text: str) -> bool:
    if schema.zone and not text.endswith("Z"):
        return False
    try:
        read_text(schema, text)
    except ValueError:
        return False
    return True


def inferred_fields(objects: Iterable[Mapping[str, object]]) -> Schema:
    """A struct of the fields of JSON objects, in the order in which they come up; without those that `columns` cannot name."""
    found: dict[str, list[object]] = {}
    for each in objects:
        for name, value in each.items():
            found.setdefault(name, []).append(value)
    return struct([(name, _type_of(values)) for name, values in found.items() if is_writable(name)])


def _type_of(values: Sequence[object]) -> Schema:
    kinds = {type(value) for value in values} - {type(None)}
    if not kinds:
        return STRING
    if kinds == {bool}:
        return Schema(Type.BOOLEAN)
    there = [value for value in values if value is not None]
    if kinds <= {int, float}:
        return _of_numbers([repr(value) for value in there])
    if kinds == {str}:
        found = inferred_type([str(value) for value in there])
        return found if found.type in (Type.DATE, Type.TIMESTAMP) else STRING
    return Schema(Type.JSON)


def _of_numbers(texts: Sequence[str]) -> Schema:
    found = inferred_type(texts)
    return _FLOAT64 if found == STRING or (found.type is Type.DECIMAL and found.scale) else found
