"""Checks of values that a column would change. Pure."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc

_MICROSECONDS = 6
_SHOWN = 5


class _Lost(Exception):
    """Something would be."""


@dataclass(frozen=True, slots=True)
class Check:
    """A kind of value that a column does not keep.

    Attributes:
        why: What is wrong with such a value; stands behind the column and the value.
        found: Which values of a column are such; null where that is not known.
    """

    why: str
    found: Callable[[pa.Array], pa.Array]


def fraction(kind: str, digits: int) -> Check:
    """Times with more digits of a second than a column has."""
    step = 10 ** (_MICROSECONDS - digits)

    def found(column: pa.Array) -> pa.Array:
        if not pa.types.is_temporal(column.type):
            return pa.repeat(False, len(column))
        ticks = column.cast(pa.int64())
        return pc.not_equal(pc.multiply(pc.divide(ticks, step), step), ticks)

    return Check(f"has more digits of a second than the {digits} that its column of {kind} keeps", found)


def text_fraction(kind: str, digits: int) -> Check:
    """The same of numbers and times that are texts."""
    return pattern(
        f"has more digits behind the point than the {digits} that its column of {kind} keeps", rf"\.\d{{{digits}}}\d*[1-9]"
    )


def pattern(why: str, regex: str) -> Check:
    """Texts that have what a regular expression finds."""
    return Check(why, lambda column: pc.match_substring_regex(column, regex))


def spaces(kind: str, shown: int = 0) -> Check:
    """Texts with spaces at the end.

    Args:
        kind: The type, for people.
        shown: So many characters a value is filled up to where it is shown; such a text is kept. 0: it is cut off.
    """

    def found(column: pa.Array) -> pa.Array:
        ends = pc.ends_with(column, " ")
        return pc.and_(ends, pc.not_equal(pc.utf8_length(column), shown)) if shown else ends

    return Check(f"ends in spaces, which its column of {kind} does not keep", found)


def key_spaces(kind: str, shown: int = 0) -> Check:
    """Texts in keys with spaces at the end, which count for nothing where keys are compared."""
    return Check(f"ends in spaces, and a key in a column of {kind} is the same without them", spaces(kind, shown).found)


def size(kind: str, count: int) -> Check:
    """Bytes that are fewer than a column fills up to, or more."""
    return Check(
        f"has other than the {count} bytes of its column of {kind}, which fills up with zeros",
        lambda column: pc.not_equal(pc.binary_length(column), count),
    )


def longest(kind: str, count: int) -> Check:
    """Texts of more bytes than a column keeps."""
    return Check(
        f"has more than the {count} bytes that its column of {kind} keeps",
        lambda column: pc.greater(pc.binary_length(column.cast(pa.binary())), count),
    )


def rounded(kind: str, digits: int) -> Check:
    """Floats that are others with so many digits behind the point."""

    def found(column: pa.Array) -> pa.Array:
        made = [None if value is None else float(f"{value:.{digits}f}") for value in column.to_pylist()]
        return pc.not_equal(pa.array(made, pa.float64()).cast(column.type), column)

    return Check(f"has more digits behind the point than the {digits} that its column of {kind} keeps", found)


def year(kind: str) -> Check:
    """Numbers that are taken for a year of another century."""

    def found(column: pa.Array) -> pa.Array:
        is_year = pc.and_(pc.greater_equal(column, 1901), pc.less_equal(column, 2155))
        return pc.invert(pc.or_(is_year, pc.equal(column, 0)))

    return Check(f"is no year of a column of {kind}: 0, or 1901 to 2155", found)


def other_than(why: str, is_kept: Callable[[str], bool]) -> Check:
    """Texts of which a function says that they are not kept."""

    def found(column: pa.Array) -> pa.Array:
        there = pc.unique(column.drop_null())
        bad = [text for text in there.to_pylist() if not is_kept(text)]
        return pc.is_in(column, pa.array(bad, column.type)) if bad else pa.repeat(False, len(column))

    return Check(why, found)


def one_of(kind: str, members: Sequence[str]) -> Check:
    """Texts that are no member of an ENUM, but taken for one: by case, spaces, or its number."""
    known = frozenset(members)
    return other_than(f"is none of {_told(members)}, which its column of {kind} has", known.__contains__)


def some_of(kind: str, members: Sequence[str]) -> Check:
    """Texts that are no members of a SET, each once and in its order."""

    def is_kept(text: str) -> bool:
        given = text.split(",")
        return text == ",".join(each for each in members if each in given)

    return other_than(f"is not some of {_told(members)} in this order, which its column of {kind} has", is_kept)


def one_json(kind: str, *, doubles: bool = False) -> Check:
    """JSON of which a column that keeps no text would keep less.

    Args:
        kind: The type, for people.
        doubles: Numbers that are not whole, or have more than 64 bits, become doubles.
    """
    what = "a name twice in an object" + ", or a number of more digits" * doubles
    why = f"has {what}, of which its column of {kind} keeps less"
    return other_than(why, lambda text: _is_whole(text, doubles=doubles))


def decimal_digits(kind: str, scale: int) -> Check:
    """Decimals, as texts, with more digits than a column keeps."""
    step = Decimal(1).scaleb(-scale)

    def is_kept(text: str) -> bool:
        value = _decimal(text)
        return value is None or not value.is_finite() or value.is_zero() or _lowest(value) >= -scale

    def found(column: pa.Array) -> pa.Array:
        # Whatever number it is.
        return texts.found(column.cast(pa.string()))

    behind = f"behind the point than the {scale}" if scale >= 0 else f"than multiples of {step.normalize():f}"
    texts = other_than(f"has more digits {behind} that its column of {kind} keeps", is_kept)
    return Check(texts.why, found)


def number(kind: str, *, spelled: bool) -> Check:
    """Texts that SQLite takes for numbers, and that are others then.

    Args:
        kind: The type, for people.
        spelled: They are also others where they are written otherwise.
    """

    def is_kept(text: str) -> bool:
        try:
            real = float(text)
        except ValueError:
            return True
        # So many digits a number of SQLite has: 64 bits, or those of a double.
        is_int = text.strip().removeprefix("-").removeprefix("+").isdigit() and abs(int(text)) < 1 << 63
        is_whole = real.is_integer() and abs(real) < 1 << 63
        shown = str(int(text)) if is_int else str(int(real)) if is_whole else repr(real)
        return text == shown if spelled else _decimal(text) == _decimal(shown)

    why = "is written otherwise as" if spelled else "has more digits than"
    return other_than(f"{why} the number that it becomes in its column of {kind}", is_kept)


def _decimal(text: str) -> Decimal | None:
    try:
        return Decimal(text)
    except ArithmeticError:
        return None


def _lowest(value: Decimal) -> int:
    """The power of ten of the last digit that is not zero. Not `normalize`, which rounds to 28 digits."""
    _, digits, exponent = value.as_tuple()
    return int(exponent) + len(digits) - len("".join(map(str, digits)).rstrip("0"))


def _is_whole(text: str, *, doubles: bool) -> bool:
    def members(found: list[tuple[str, object]]) -> object:
        if len({name for name, _ in found}) < len(found):
            raise _Lost
        return None

    def real(digits: str) -> object:
        if doubles and Decimal(digits) != Decimal(repr(float(digits))):
            raise _Lost
        return None

    def whole(digits: str) -> object:
        if doubles and not -(1 << 63) <= int(digits) < 1 << 64:
            raise _Lost
        return None

    try:
        json.loads(text, object_pairs_hook=members, parse_float=real, parse_int=whole)
    except _Lost:
        return False
    except (ValueError, RecursionError):
        # The database says what is wrong with it.
        return True
    return True


def _told(members: Sequence[str]) -> str:
    shown = ", ".join(map(repr, members[:_SHOWN]))
    return shown if len(members) <= _SHOWN else f"{shown} and {len(members) - _SHOWN} more"
