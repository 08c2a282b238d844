"""The field by which new items are known: how it is read, compared, and asked for. Pure, but for the clock."""

import time
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from rocketconnect_sdk.cursors import AHEAD_SECONDS, Mark

FORMS = ("iso", "seconds", "milliseconds", "number", "text")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_IN_SECOND = {"iso": 1_000_000, "seconds": 1, "milliseconds": 1_000, "number": 1, "text": 1}
_MICROS = 1_000_000


class NoMark(ValueError):
    """An item has none. The text says what it has."""


def mark_of(value: Any, form: str) -> Mark:
    """What an item is compared by: of times as ISO 8601 has them microseconds since 1970.

    Raises:
        NoMark: it can't be.
    """
    if form == "text" and isinstance(value, str):
        return value
    if form == "iso" and isinstance(value, str):
        try:
            moment = datetime.fromisoformat(value)
        except ValueError:
            msg = f"{value[:60]!r} is no time as ISO 8601 has it"
            raise NoMark(msg) from None
        since = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - _EPOCH
        return (since.days * 86_400 + since.seconds) * _MICROS + since.microseconds
    if form not in ("iso", "text") and not isinstance(value, bool) and isinstance(value, int | float | Decimal):
        number = Decimal(str(value))
        return int(number) if number == number.to_integral_value() else float(number)
    msg = f"{value!r:.60} is no {'number' if form not in ('iso', 'text') else 'text'}"
    raise NoMark(msg)


def earlier(mark: Mark, form: str, seconds: float) -> Mark:
    """A mark that is so many seconds before another one; of texts it is the same, and of numbers that are no times so much less."""
    if isinstance(mark, str) or not seconds:
        return mark
    less = float(seconds * _IN_SECOND[form])
    return mark - (int(less) if isinstance(mark, int) and less.is_integer() else less)


def latest(form: str) -> Mark | None:
    """The newest mark that an item can have now; None: any."""
    if form not in ("iso", "seconds", "milliseconds"):
        return None
    return int((time.time() + AHEAD_SECONDS) * _IN_SECOND[form])


def written(mark: Mark, form: str) -> str:
    """As it is asked for."""
    if form == "iso" and isinstance(mark, int | float):
        moment = _EPOCH + timedelta(microseconds=int(mark))
        return moment.isoformat(timespec="microseconds" if moment.microsecond else "seconds").replace("+00:00", "Z")
    return str(mark)


def time_of(mark: Mark, form: str) -> int | None:
    """The time in milliseconds; None: it is none."""
    if isinstance(mark, str) or form == "number":
        return None
    return int(mark * 1_000 // _IN_SECOND[form])
