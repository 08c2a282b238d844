"""What columns of PostgreSQL keep. Pure."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from connectors.jdbc.kept.checks import (
    Check,
    decimal_digits,
    fraction,
    key_spaces,
    longest,
    one_json,
    other_than,
    pattern,
    spaces,
    text_fraction,
)

_MOST_DIGITS = 6
_NAME_BYTES = 63
_ALL_FIELDS = 0x7FFF
_FIELDS = {2: "years?", 1: "mons?|months?", 3: "days?", 10: "hours?", 11: "mins?|minutes?", 12: "secs?|seconds?"}
"""By bit of the modifier of an interval what a text calls a field."""
_HOUR, _MINUTE, _SECOND = 10, 11, 12


class Column(NamedTuple):
    """A column, as pg_attribute has it.

    Attributes:
        kind: The name of its type.
        modifier: Its atttypmod.
        shown: The type, for people.
    """

    kind: str
    modifier: int
    shown: str


def checks(column: Column) -> Sequence[Check]:
    """What the column would change without an error."""
    kind, modifier, shown = column
    if kind.startswith("_"):
        return _of_elements(column)
    made: list[Check] = []
    match kind:
        case "time" | "timestamp" | "timestamptz" if 0 <= modifier < _MOST_DIGITS:
            made = [fraction(shown, modifier)]
        case "timetz" if 0 <= modifier < _MOST_DIGITS:
            made = [text_fraction(shown, modifier)]
        case "interval" if modifier >= 0:
            made = _of_interval(column)
        case "bpchar" if modifier > 4:
            made = [spaces(shown, modifier - 4)]
        case "money":
            made = [text_fraction(shown, 2)]
        case "name":
            made = [longest(shown, _NAME_BYTES)]
        case "char":
            made = [longest(shown, 1)]
        case "jsonb":
            made = [one_json(shown)]
        case "numeric" if modifier >= 0:
            made = [decimal_digits(shown, scale(modifier))]
    return made


def key_checks(column: Column) -> Sequence[Check]:
    """What the column, as a part of a key, takes for the same as something else."""
    return [key_spaces(column.shown, max(column.modifier - 4, 0))] if column.kind == "bpchar" else []


def scale(modifier: int) -> int:
    """Of a numeric: eleven bits, with a sign."""
    bits = (modifier - 4) & 0x7FF
    return bits - 0x800 if bits & 0x400 else bits


def _of_elements(column: Column) -> Sequence[Check]:
    kind, modifier, shown = column
    if modifier < 0:
        return []
    match kind.removeprefix("_"):
        case "time" | "timestamp" | "timestamptz" | "timetz":
            return [text_fraction(shown, modifier)]
        case "interval":
            return _of_interval(column)
        case "numeric":
            digits = max(scale(modifier), 0)
            return [text_fraction(shown, digits), pattern(f"has an exponent in a column of {shown}", r"\d[eE][-+]?\d")]
        case "varchar" | "bpchar":
            return [pattern(f"has spaces at the end of an element, which its column of {shown} does not keep", r' ["},]')]
        case _:
            return []


def _of_interval(column: Column) -> list[Check]:
    digits, fields = column.modifier & 0xFFFF, column.modifier >> 16 & _ALL_FIELDS
    found = [text_fraction(column.shown, digits)] if digits < _MOST_DIGITS else []
    if fields != _ALL_FIELDS and not column.kind.startswith("_"):
        found.append(_only(column.shown, [bit for bit in _FIELDS if fields & 1 << bit]))
    return found


def _only(shown: str, bits: Sequence[int]) -> Check:
    """Intervals that say nothing but what a column keeps; others, and what is written in another way, are not taken."""
    units = rf"[-+]?\d+(\.\d+)? ({'|'.join(_FIELDS[bit] for bit in bits)})"
    clock = r"[-+]?\d+:\d\d(:\d\d(\.\d+)?)?" if _SECOND in bits else r"[-+]?\d+:\d\d(:00)?"
    form = rf"{units}( {units})*" + (rf"( {clock})?|{clock}" if {_HOUR, _MINUTE, _SECOND} & {*bits} else "")
    kept = re.compile(form, re.IGNORECASE)
    why = f"has more than its column of {shown} keeps, or is not written as 1 year 2 mons 3 days 04:05:06"
    return other_than(why, lambda text: kept.fullmatch(text) is not None)
