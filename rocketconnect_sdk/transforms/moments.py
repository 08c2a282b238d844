"""Dates, times and timestamps as one number: nanoseconds since 1970, or since midnight. Nothing is rounded."""

import re
from datetime import UTC, date, datetime, time, timedelta

from rocketconnect_sdk.schema import Schema, Type, Unit

MOMENTS = frozenset({Type.DATE, Type.TIME, Type.TIMESTAMP})
DAY = 86_400 * 10**9

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST_DAY = date(1970, 1, 1).toordinal()
_TIME = r"(\d{2}:\d{2}(?::\d{2})?)(?:[.,](\d{1,9}))?"
_TIME_TEXT = re.compile(_TIME, re.ASCII)
_TIMESTAMP_TEXT = re.compile(rf"(\d{{4}}-\d{{2}}-\d{{2}})[T ]{_TIME}(Z|[+-]\d{{2}}:?\d{{2}})?", re.ASCII | re.IGNORECASE)


def nanoseconds(value: object, schema: Schema | None) -> int:
    """What a date, time or timestamp is: since 1970, a time since midnight. What has no zone counts as UTC.

    Raises:
        ValueError: it is none.
    """
    if isinstance(value, datetime):
        return (value.replace(tzinfo=value.tzinfo or UTC) - _EPOCH) // timedelta(microseconds=1) * 1000
    if isinstance(value, date):
        return (value.toordinal() - _FIRST_DAY) * DAY
    if isinstance(value, time):
        return ((value.hour * 60 + value.minute) * 60 + value.second) * 10**9 + value.microsecond * 1000
    if isinstance(value, int) and schema is not None and schema.type in MOMENTS:
        return value  # nanoseconds, the only unit whose values are whole numbers
    msg = "is no date, time or timestamp"
    raise ValueError(msg)


def moment(count: int, schema: Schema) -> object:
    """What Python has for it, by a schema of a date, time or timestamp.

    Raises:
        ValueError: it does not fit.
    """
    step = DAY if schema.type is Type.DATE else 10**9 // schema.unit.in_second
    if count % step:
        what = "a day" if schema.type is Type.DATE else f"what {schema.unit.value} can tell"
        msg = f"is finer than {what}"
        raise ValueError(msg)
    if schema.type is Type.TIME and not 0 <= count < DAY:
        msg = "is no time of a day"
        raise ValueError(msg)
    if schema.type is not Type.DATE and schema.unit is Unit.NANOSECONDS:
        if not -(1 << 63) <= count < 1 << 63:
            msg = "is beyond what nanoseconds can tell, the years 1678 to 2261"
            raise ValueError(msg)
        return count
    try:
        found = _EPOCH + timedelta(microseconds=count // 1000)
    except OverflowError:
        msg = "is beyond the years 1 to 9999"
        raise ValueError(msg) from None
    if schema.type is Type.DATE:
        return found.date()
    if schema.type is Type.TIME:
        return found.time()
    return found if schema.zone else found.replace(tzinfo=None)


def in_unit(count: int, schema: Schema | None) -> int:
    """The number that a value of this schema stands for: days, or its unit; without a schema microseconds."""
    if schema is None:
        return count // 1000
    return count // (DAY if schema.type is Type.DATE else 10**9 // schema.unit.in_second)


def iso(value: object, schema: Schema | None) -> str:
    """As ISO 8601: 2024-05-01, 12:30:00.5 with 3, 6 or 9 digits where it has a fraction, 2024-05-01T12:30:00Z.

    Raises:
        ValueError: it can't be written so.
    """
    count = nanoseconds(value, schema)
    kind = schema.type if schema is not None and schema.type in MOMENTS else _kind(value)
    whole, part = divmod(count, 10**9)
    try:
        found = _EPOCH + timedelta(seconds=whole)
    except OverflowError:
        msg = "is beyond the years 1 to 9999"
        raise ValueError(msg) from None
    if kind is Type.DATE:
        return found.date().isoformat()
    digits = next(digits for digits in (0, 3, 6, 9) if part % 10 ** (9 - digits) == 0)
    fraction = f".{part // 10 ** (9 - digits):0{digits}}" if digits else ""
    if kind is Type.TIME:
        return found.time().isoformat() + fraction
    zone = schema.zone if schema is not None else isinstance(value, datetime) and value.tzinfo is not None
    return found.replace(tzinfo=None).isoformat() + fraction + ("Z" if zone else "")


def from_iso(text: str, schema: Schema) -> int:
    """The number of a text as ISO 8601.

    Raises:
        ValueError: it is none.
    """
    if schema.type is Type.DATE:
        return nanoseconds(_read_date(text), None)
    if schema.type is Type.TIME:
        found = _TIME_TEXT.fullmatch(text)
        if found is None:
            msg = "is no time such as 12:30:00"
            raise ValueError(msg)
        return nanoseconds(time.fromisoformat(found[1]), None) + _part(found[2])
    found = _TIMESTAMP_TEXT.fullmatch(text)
    if found is None or bool(found[4]) is not schema.zone:
        msg = f"is no timestamp such as 2024-05-01T12:30:00{'Z, with a zone' if schema.zone else ', without a zone'}"
        raise ValueError(msg)
    zone = (found[4] or "Z").upper().replace("Z", "+00:00")
    try:
        return nanoseconds(datetime.fromisoformat(f"{found[1]}T{found[2]}{zone}"), None) + _part(found[3])
    except OverflowError:
        msg = "is beyond the years 1 to 9999"
        raise ValueError(msg) from None


def _read_date(text: str) -> date:
    if len(text) != len("2024-05-01") or not text.isascii():
        msg = "is no date such as 2024-05-01"
        raise ValueError(msg)
    return date.fromisoformat(text)


def _part(digits: str | None) -> int:
    return int((digits or "").ljust(9, "0"))


def _kind(value: object) -> Type:
    if isinstance(value, time):
        return Type.TIME
    return Type.TIMESTAMP if isinstance(value, datetime) else Type.DATE
