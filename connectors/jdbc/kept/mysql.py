"""What columns of MySQL and MariaDB keep. Pure."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from connectors.jdbc.kept.checks import Check, fraction, key_spaces, one_json, one_of, rounded, size, some_of, spaces, year

_MOST_DIGITS = 6
_MEMBER = re.compile(r"'((?:[^'\\]|''|\\.)*)'", re.DOTALL)
_ESCAPED = re.compile(r"''|\\(.)", re.DOTALL)
_CHARACTERS = {"n": "\n", "r": "\r", "0": "\0", "t": "\t", "Z": "\x1a"}


class Column(NamedTuple):
    """A column, as information_schema.columns has it.

    Attributes:
        kind: Its data_type.
        shown: Its column_type.
        scale: Digits behind the point; None: there is no limit.
        length: In characters or bytes.
        digits: Of a second.
        collation: Of texts.
    """

    kind: str
    shown: str
    scale: int | None
    length: int | None
    digits: int | None
    collation: str | None


def checks(column: Column) -> Sequence[Check]:
    """What the column would change without an error."""
    shown = column.shown
    made: list[Check] = []
    match column.kind:
        case "time" | "datetime" | "timestamp" if (column.digits or 0) < _MOST_DIGITS:
            made = [fraction(shown, column.digits or 0)]
        case "char":
            made = [spaces(shown)]
        case "binary":
            made = [size(shown, column.length or 0)]
        case "float" | "double" if column.scale is not None:
            made = [rounded(shown, column.scale)]
        case "year":
            made = [year(shown)]
        case "enum":
            made = [one_of(shown, members(shown))]
        case "set":
            made = [some_of(shown, members(shown))]
        case "json":
            # MariaDB's JSON is a text.
            made = [one_json(shown, doubles=True)]
    return made


def key_checks(column: Column) -> Sequence[Check]:
    """What the column, as a part of a key, takes for the same as something else."""
    return [key_spaces(f"{column.shown} collate {column.collation}")] if _pads(column.collation or "") else []


def members(shown: str) -> Sequence[str]:
    """Those of an ENUM or a SET."""
    return [_ESCAPED.sub(_character, found) for found in _MEMBER.findall(shown)]


def _character(escaped: re.Match[str]) -> str:
    return _CHARACTERS.get(escaped[1], escaped[1]) if escaped[1] else "'"


def _pads(collation: str) -> bool:
    """Whether spaces at the end count for nothing. MySQL's newer collations, and some of MariaDB, do not."""
    return bool(collation) and collation != "binary" and "nopad" not in collation and "_0900_" not in collation
