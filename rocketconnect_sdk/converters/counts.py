"""Times and decimals as whole numbers, which is what binary forms have for them: exactly, or not at all."""

from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.schema import Schema, Unit

_LONGEST = 1_600
"""Bytes of a decimal. Turning longer ones into digits takes time that grows with the square of their length."""

_DAY_ONE = date(1970, 1, 1)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def days_of(value: Any) -> int:
    """Days since 1970 of a date. Raises RecordError: it is none."""
    if not isinstance(value, date) or isinstance(value, datetime):
        msg = f"a {type(value).__name__} is no date"
        raise RecordError(msg)
    return (value - _DAY_ONE).days


def date_of(days: int) -> date:
    """The date so many days after 1970 began. Raises OverflowError: beyond the years 1 to 9999."""
    return _DAY_ONE + timedelta(days=days)


def count_of_time(value: Any, unit: Unit) -> int:
    """A time of the day as so many since midnight. Raises RecordError: it is none, or has parts smaller than the unit."""
    if unit is Unit.NANOSECONDS:
        number = whole(value, 0, 86_400 * unit.in_second - 1, "nanoseconds since midnight")
    elif isinstance(value, time) and value.tzinfo is None:
        seconds = (value.hour * 60 + value.minute) * 60 + value.second
        number = _count(seconds, value.microsecond, unit)
    else:
        msg = f"a {type(value).__name__} is no time of the day" + (" without a zone" if isinstance(value, time) else "")
        raise RecordError(msg)
    return number


def time_of(count: int, unit: Unit) -> time | int:
    """The time of the day that is so many after midnight. Raises RecordError: there is none."""
    if not 0 <= count < 86_400 * unit.in_second:
        msg = f"{count} {unit.value} since midnight are no time of the day"
        raise RecordError(msg)
    if unit is Unit.NANOSECONDS:
        return count
    seconds, parts = divmod(count, unit.in_second)
    return time(seconds // 3600, seconds // 60 % 60, seconds % 60, parts * (1_000_000 // unit.in_second))


def count_of_timestamp(value: Any, schema: Schema) -> int:
    """A timestamp as so many since 1970. Raises RecordError: it is none of the schema, or has parts smaller than its unit."""
    if schema.unit is Unit.NANOSECONDS:
        return whole(value, -(1 << 63), (1 << 63) - 1, "nanoseconds since 1970")
    if not isinstance(value, datetime):
        msg = f"a {type(value).__name__} is no datetime"
        raise RecordError(msg)
    if (value.tzinfo is None) is schema.zone:
        has, wanted = ("no", "one") if schema.zone else ("a", "none")
        msg = f"{value} has {has} time zone, and the schema says that there is {wanted}"
        raise RecordError(msg)
    since = (value if schema.zone else value.replace(tzinfo=UTC)) - _EPOCH
    return _count(since.days * 86_400 + since.seconds, since.microseconds, schema.unit)


def timestamp_of(count: int, schema: Schema) -> datetime | int:
    """The timestamp so many after 1970 began. Raises OverflowError: beyond the years 1 to 9999."""
    if schema.unit is Unit.NANOSECONDS:
        return count
    found = _EPOCH + timedelta(microseconds=count * (1_000_000 // schema.unit.in_second))
    return found if schema.zone else found.replace(tzinfo=None)


def unscaled(value: Any, schema: Schema) -> int:
    """A decimal without its point. Raises RecordError: it does not fit its schema."""
    if isinstance(value, int) and not isinstance(value, bool):
        value = Decimal(value)
    if not isinstance(value, Decimal) or not value.is_finite():
        msg = f"a {type(value).__name__} is no finite decimal"
        raise RecordError(msg)
    sign, digits, exponent = value.as_tuple()
    shift = int(exponent) + schema.scale
    if len(digits) + max(shift, 0) > schema.precision and any(digits) and value.adjusted() + schema.scale >= schema.precision:
        msg = f"a decimal of more than {schema.precision} digits, {schema.scale} of them behind the point"
        raise RecordError(msg)
    if not any(digits):
        return 0
    number: int = int("".join(map(str, digits)))
    # A number with so many digits behind the point that none is left above it has a rest in any case.
    number, rest = (number * 10**shift, 0) if shift >= 0 else divmod(number, 10 ** min(-shift, len(digits)))
    if rest:
        msg = f"{str(value)[:60]} has more digits behind its point than the schema's scale of {schema.scale}"
        raise RecordError(msg)
    return -number if sign else number


def scaled(number: int, schema: Schema) -> Decimal:
    """The decimal of a number without its point. Raises RecordError: it has more digits than its schema."""
    digits = str(abs(number))
    if len(digits) > schema.precision:
        msg = f"a decimal of {len(digits)} digits, and its schema has {schema.precision}"
        raise RecordError(msg)
    return Decimal((int(number < 0), tuple(map(int, digits)), -schema.scale))


def decimal_bytes(number: int) -> bytes:
    """A number as the fewest bytes of two's complement, as Java's BigInteger writes it."""
    return number.to_bytes((number + (number < 0)).bit_length() // 8 + 1, "big", signed=True)


def decimal_number(data: bytes) -> int:
    """The number of such bytes. Raises RecordError: they are too many, or none."""
    if not 0 < len(data) <= _LONGEST:
        msg = f"a decimal of {len(data)} bytes, and 1 to {_LONGEST} can be read"
        raise RecordError(msg)
    return int.from_bytes(data, "big", signed=True)


def whole(value: Any, least: int, most: int, what: str) -> int:
    """A whole number within limits. Raises RecordError: it is none of them."""
    if isinstance(value, bool) or not isinstance(value, int):
        msg = f"a {type(value).__name__} is no whole number ({what})"
        raise RecordError(msg)
    if not least <= value <= most:
        shown = value if abs(value) < 1 << 128 else "a longer number"
        msg = f"{shown} is not from {least} to {most} ({what})"
        raise RecordError(msg)
    return int(value)


def _count(seconds: int, microseconds: int, unit: Unit) -> int:
    parts, rest = divmod(microseconds, 1_000_000 // unit.in_second)
    if rest:
        msg = f"{microseconds} microseconds cannot be written as whole milliseconds, which is all that the schema holds"
        raise RecordError(msg)
    return seconds * unit.in_second + parts
