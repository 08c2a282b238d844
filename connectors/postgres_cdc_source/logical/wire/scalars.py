r"""Texts of single values as values.

https://www.postgresql.org/docs/current/datatype.html, with the settings that connection.py makes: DateStyle ISO, IntervalStyle
iso_8601, TimeZone UTC, lc_monetary C, extra_float_digits 3. Each raises ValueError for what is no text of its type.
"""

import re
from collections.abc import Callable
from datetime import date, datetime, time
from decimal import Decimal
from struct import Struct
from typing import TypeVar

from connectors.postgres_cdc_source.logical.wire.values import Beyond

T = TypeVar("T")

BOOLEANS = {"t": True, "f": False}
_FLOAT32 = Struct(">f")
_MONEY = re.compile(r"(-?)\$([0-9,]+)\.([0-9]{2})")
_BC = r"(?: BC)?"
_DATE = re.compile(rf"[0-9]{{4,7}}-[0-9]{{2}}-[0-9]{{2}}{_BC}")
_TIME = re.compile(r"24:00:00")
_TIMESTAMP = re.compile(rf"[0-9]{{4,6}}-[0-9]{{2}}-[0-9]{{2}} [0-9:.]{{8,15}}(?:\+00)?{_BC}")
_NONE = re.compile(r"(?!)")
_INTERVAL = re.compile(
    r"P(?:(-?\d+)Y)?(?:(-?\d+)M)?(?:(-?\d+)D)?(?:T(?:(-?\d+)H)?(?:(-?\d+)M)?(?:(-?)(\d+)(?:\.(\d{1,6}))?S)?)?", re.ASCII
)
_ESCAPE_FORM = re.compile(rb"(?:[^\\]|\\(?:\\|[0-3][0-7]{2}))*")
_ESCAPED = re.compile(rb"\\(\\|[0-3][0-7]{2})")


def float32(text: str) -> float:
    """A number of 32 bits."""
    number: float = _FLOAT32.unpack(_FLOAT32.pack(float(text)))[0]
    return number


def money(text: str, scale: int) -> Decimal:
    """An amount; the text has it in hundredths, whatever the smallest unit of the server's currency is."""
    found = _MONEY.fullmatch(text)
    if found is None:
        msg = "is no amount such as -$1,234.56"
        raise ValueError(msg)
    return Decimal(f"{found[1]}{found[2].replace(',', '')}{found[3]}").scaleb(-scale)


def day(text: str) -> date | Beyond:
    """A date."""
    return _read(text, date.fromisoformat, _DATE)


def clock(text: str) -> time | Beyond:
    """A time of the day."""
    return _read(text, time.fromisoformat, _TIME)


def moment(text: str) -> datetime | Beyond:
    """A timestamp; in UTC if it is one with a zone."""
    return _read(text, datetime.fromisoformat, _TIMESTAMP)


def interval(text: str) -> dict[str, int] | Beyond:
    """The three numbers that an interval is made of: a month has no fixed number of days, nor a day of hours."""
    found = _INTERVAL.fullmatch(text)
    if found is None:
        return _beyond(text, _NONE)
    years, months, days, hours, minutes = (int(part or 0) for part in found.groups()[:5])
    seconds = int(found[7] or 0) * 1_000_000 + int((found[8] or "").ljust(6, "0"))
    clocked = (hours * 60 + minutes) * 60_000_000
    return {"months": years * 12 + months, "days": days, "microseconds": clocked + (-seconds if found[6] else seconds)}


def binary(text: str) -> bytes:
    r"""Bytes, of both forms of bytea_output: \xdeadbeef and escape."""
    if text.startswith("\\x"):
        return bytes.fromhex(text[2:])
    data = text.encode("ascii")
    if not _ESCAPE_FORM.fullmatch(data):
        msg = "is no bytea of the forms hex and escape"
        raise ValueError(msg)
    return _ESCAPED.sub(lambda found: b"\\" if found[1] == b"\\" else bytes([int(found[1], 8)]), data)


def _read(text: str, read: Callable[[str], T], far: re.Pattern[str]) -> T | Beyond:
    try:
        return read(text)
    except ValueError:
        return _beyond(text, far)


def _beyond(text: str, far: re.Pattern[str]) -> Beyond:
    if text in ("infinity", "-infinity") or far.fullmatch(text):
        return Beyond(text)
    msg = "is no date, time or interval as PostgreSQL writes them with DateStyle ISO and IntervalStyle iso_8601"
    raise ValueError(msg)
