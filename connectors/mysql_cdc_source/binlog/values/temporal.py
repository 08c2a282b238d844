"""Dates and times as rows have them.

A day that is on no calendar (0000-00-00, 2024-00-10, 2024-02-30) is an `InvalidDate`, never None and never another day.
https://dev.mysql.com/doc/dev/mysql-server/latest/classmysql_1_1binlog_1_1event_1_1Table__map__event.html and
https://dev.mysql.com/doc/internals/en/date-and-time-data-type-representation.html
"""

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta

from connectors.mysql_cdc_source.binlog.errors import MalformedEvent

_DATETIME_BIAS = 1 << 39
_TIME_BIAS = 1 << 23
MICROSECONDS = (1, 10_000, 100, 1)
"""Of one unit of the fraction, by its bytes."""


class InvalidDate(str):
    """A date, or date and time, that no calendar has; the text is what the server shows."""

    __slots__ = ()


def fraction_bytes(digits: int) -> int:
    """How many bytes a fraction of a second of so many digits has.

    Raises:
        MalformedEvent: there is none of so many.
    """
    if digits > 6:
        msg = f"a column says that its seconds have {digits} digits behind the point; 6 are the most"
        raise MalformedEvent(msg)
    return (digits + 1) // 2


def read_date(raw: bytes) -> date | InvalidDate:
    """DATE: three bytes, little-endian."""
    packed = int.from_bytes(raw, "little")
    year, month, day = packed >> 9, packed >> 5 & 15, packed & 31
    try:
        return date(year, month, day)
    except ValueError:
        return InvalidDate(f"{year:04}-{month:02}-{day:02}")


def datetime2(digits: int) -> Callable[[bytes], datetime | InvalidDate]:
    """Reads DATETIME of MySQL 5.6 and later, with so many digits behind the point."""
    size = fraction_bytes(digits)
    unit, bits, mask = MICROSECONDS[size], 8 * size, (1 << 8 * size) - 1

    def read(raw: bytes) -> datetime | InvalidDate:
        packed = int.from_bytes(raw, "big")
        fraction = (packed & mask) * unit
        packed = (packed >> bits) - _DATETIME_BIAS
        if packed < 0:
            msg = f"a DATETIME has the bytes {raw.hex()}, which are none"
            raise MalformedEvent(msg)
        month = packed >> 22
        return _datetime(
            (month // 13, month % 13, packed >> 17 & 31, packed >> 12 & 31, packed >> 6 & 63, packed & 63), fraction, digits
        )

    return read


def read_datetime(packed: int) -> datetime | InvalidDate:
    """DATETIME of before MySQL 5.6: the decimal digits YYYYMMDDhhmmss."""
    day, second = divmod(packed, 1_000_000)
    parts = (day // 10_000, day // 100 % 100, day % 100, second // 10_000, second // 100 % 100, second % 100)
    return _datetime(parts, 0, 0)


def _datetime(parts: tuple[int, int, int, int, int, int], fraction: int, digits: int) -> datetime | InvalidDate:
    try:
        return datetime(*parts, fraction)  # noqa: DTZ001 - a DATETIME has no zone
    except ValueError:
        year, month, day, hour, minute, second = parts
        text = f"{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}"
        return InvalidDate(text + _fraction_text(fraction, digits))


def timestamp2(digits: int) -> Callable[[bytes], datetime | InvalidDate]:
    """Reads TIMESTAMP of MySQL 5.6 and later; a point in time, so in UTC."""
    size = fraction_bytes(digits)
    unit = MICROSECONDS[size]

    def read(raw: bytes) -> datetime | InvalidDate:
        seconds, fraction = int.from_bytes(raw[:4], "big"), int.from_bytes(raw[4:], "big") * unit
        if not seconds and not fraction:
            return InvalidDate("0000-00-00 00:00:00" + _fraction_text(0, digits))
        try:
            return datetime.fromtimestamp(seconds, UTC).replace(microsecond=fraction)
        except ValueError as error:
            msg = f"a TIMESTAMP has the bytes {raw.hex()}, which are none"
            raise MalformedEvent(msg) from error

    return read


def read_timestamp(seconds: int) -> datetime | InvalidDate:
    """TIMESTAMP of before MySQL 5.6."""
    return datetime.fromtimestamp(seconds, UTC) if seconds else InvalidDate("0000-00-00 00:00:00")


def time2(digits: int) -> Callable[[bytes], timedelta]:
    """Reads TIME of MySQL 5.6 and later: from -838:59:59 to 838:59:59."""
    size = fraction_bytes(digits)
    unit, bits, mask, bias = MICROSECONDS[size], 8 * size, (1 << 8 * size) - 1, _TIME_BIAS << 8 * size

    def read(raw: bytes) -> timedelta:
        packed = int.from_bytes(raw, "big") - bias
        fraction = (abs(packed) & mask) * unit
        whole = abs(packed) >> bits
        seconds = (whole >> 12 & 1023) * 3600 + (whole >> 6 & 63) * 60 + (whole & 63)
        time = timedelta(seconds=seconds, microseconds=fraction)
        return -time if packed < 0 else time

    return read


def read_time(raw: bytes) -> timedelta:
    """TIME of before MySQL 5.6: three bytes, the decimal digits hhmmss."""
    packed = int.from_bytes(raw, "little", signed=True)
    whole = abs(packed)
    time = timedelta(seconds=whole // 10_000 * 3600 + whole // 100 % 100 * 60 + whole % 100)
    return -time if packed < 0 else time


def _fraction_text(microseconds: int, digits: int) -> str:
    return f".{microseconds:06}"[: digits + 1] if digits else ""
