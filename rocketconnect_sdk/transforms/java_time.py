"""Times as text by the patterns of Java's SimpleDateFormat: the letters that are met in configurations, in English and UTC.

    y    the year; yy: its last two digits    H    the hour, 0 to 23       E    the day of the week: Wed; EEEE: Wednesday
    M    the month; MMM: May; MMMM: whole     h    the hour, 1 to 12       a    AM or PM
    d    the day of the month                 m    the minute              X    the zone: +02; XX: +0200; XXX: +02:00; Z for UTC
    D    the day of the year                  s    the second              Z    the zone: +0200
    '…'  the text itself; '' an apostrophe    SSS  the milliseconds        z    UTC

As often as a letter stands, so many digits it has at least; yyyy always four, SSS always three.
"""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from functools import lru_cache

_MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December")
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_TOKEN = re.compile(r"'((?:[^']|'')*)'|([A-Za-z])\2*|[^A-Za-z']+")
_CENTURY = 2000
"""Of years of two digits."""
_DATES = (
    *("yyyy/MM/dd", "yyyy-MM-dd", "yyyy.MM.dd"),
    *("dd.MM.yyyy", "dd/MM/yyyy", "MM/dd/yyyy", "dd-MM-yyyy", "MM-dd-yyyy", "d MMM yyyy"),
)
_LONGEST = 40
"""No text of these patterns is longer."""
_CLOCKS = ("", " HH:mm:ss", " HH:mm", "'T'HH:mm:ss", "'T'HH:mm", " HH:mm:ss.SSS", " hh:mm a", " hh:mm:ss a")

_NUMBERS: Mapping[str, Callable[[datetime], int]] = {
    "d": lambda at: at.day,
    "D": lambda at: at.timetuple().tm_yday,
    "H": lambda at: at.hour,
    "h": lambda at: (at.hour - 1) % 12 + 1,
    "m": lambda at: at.minute,
    "s": lambda at: at.second,
}
_ZONES: Mapping[str, tuple[str, str]] = {
    "X": ("Z", r"Z|[+-]\d{2}"),
    "XX": ("Z", r"Z|[+-]\d{4}"),
    "XXX": ("Z", r"Z|[+-]\d{2}:\d{2}"),
    "Z": ("+0000", r"[+-]\d{4}"),
    "z": ("UTC", "UTC|GMT"),
}
"""What UTC is written as, and what is read."""


@dataclass(frozen=True, slots=True)
class _Part:
    """A piece of a pattern: how it is written, and what is read for it under which letter.

    `digits`: it is a number, and has exactly so many where another one is right beside it.
    """

    write: Callable[[datetime], str]
    pattern: str
    letter: str = ""
    digits: int = 0


class JavaTime:
    """A pattern.

    Raises:
        ValueError: it is none, or has letters that are not known.
    """

    def __init__(self, pattern: str) -> None:
        self._parts = _parts(pattern)
        letters = [part.letter for part in self._parts if part.letter]
        self._doubled = sorted({letter for letter in letters if letters.count(letter) > 1})
        around = zip([None, *self._parts], [*self._parts[1:], None], strict=False)
        read = "".join(_read(part, *beside) for part, beside in zip(self._parts, around, strict=True))
        self._pattern = None if self._doubled else re.compile(read, re.ASCII | re.IGNORECASE)

    def write(self, at: datetime) -> str:
        """A time in UTC as text. What is finer than the pattern is left out."""
        return "".join(part.write(at) for part in self._parts)

    def read(self, text: str) -> datetime:
        """The time of a text, in UTC; what the pattern does not have is that of 1970-01-01T00:00:00.

        Raises:
            ValueError: the text does not have the form of the pattern, or there is no such time.
        """
        found = None if self._pattern is None else self._pattern.fullmatch(text)
        if found is None:
            msg = f"is no time of that format{f', which has {self._doubled} twice' if self._doubled else ''}"
            raise ValueError(msg)
        try:
            return _time_of(found.groupdict())
        except OverflowError:
            msg = "is beyond the years 1 to 9999"
            raise ValueError(msg) from None
        except ValueError as error:
            msg = f"is no time: {error}"
            raise ValueError(msg) from None


def format_problem(pattern: str) -> str | None:
    """What is wrong with a pattern, for Option.check."""
    try:
        JavaTime(pattern)
    except ValueError as error:
        return str(error)
    return None


def patterns_of(texts: Collection[str]) -> Sequence[str]:
    """The usual patterns of dates, and of dates with a time of day, under which each of the texts is a time.

    More than one where the texts do not say what is the day and what the month.
    """
    first = next(iter(texts), None)
    if first is None or len(first) > _LONGEST:
        return []
    return [name for name, pattern in _usual() if all(_is_of(pattern, text) for text in texts)]


@lru_cache(maxsize=1)
def _usual() -> Sequence[tuple[str, JavaTime]]:
    return [(f"{day}{clock}", JavaTime(f"{day}{clock}")) for clock in _CLOCKS for day in _DATES]


def _is_of(pattern: JavaTime, text: str) -> bool:
    try:
        pattern.read(text)
    except ValueError:
        return False
    return True


def _parts(pattern: str) -> list[_Part]:
    parts = []
    end = 0
    for found in _TOKEN.finditer(pattern):
        if found.start() != end:
            break
        end = found.end()
        if found[1] is not None:
            parts.append(_plain(found[1].replace("''", "'") or "'"))
        elif found[2]:
            parts.append(_lettered(found[0]))
        else:
            parts.append(_plain(found[0]))
    if end != len(pattern) or not parts:
        msg = "has an apostrophe without another one" if parts or pattern else "is empty"
        raise ValueError(msg)
    return parts


def _read(part: _Part, *beside: _Part | None) -> str:
    in_row = part.digits and any(each is not None and each.digits for each in beside)
    pattern = rf"\d{{{part.digits}}}" if in_row else part.pattern
    return f"(?P<{part.letter}>{pattern})" if part.letter else pattern


def _plain(text: str) -> _Part:
    return _Part(lambda _: text, re.escape(text))


def _lettered(letters: str) -> _Part:
    letter, count = letters[0], len(letters)
    if letter in _NUMBERS and count <= 9:
        number = _NUMBERS[letter]
        return _Part(lambda at: f"{number(at):0{count}}", rf"\d{{1,{max(count, 3 if letter == 'D' else 2)}}}", letter, count)
    if letters in _ZONES:
        utc, read = _ZONES[letters]
        return _Part(lambda _: utc, read, "X")
    if letter in "yM" and count <= 9:
        return _year(count) if letter == "y" else _month(count)
    if letter == "E" and count <= 9:
        cut = None if count >= 4 else 3
        names = "|".join(day[:cut] for day in _DAYS)
        return _Part(lambda at: _DAYS[at.weekday()][:cut], names, "E")
    if letter == "a":
        return _Part(lambda at: "AM" if at.hour < 12 else "PM", "AM|PM", "a")
    if letters == "SSS":
        return _Part(lambda at: f"{at.microsecond // 1000:03}", r"\d{3}", "S", 3)
    known = "y, M, d, D, H, h, m, s, SSS, a, E, X, Z and z"
    msg = f"has {letters}, and the letters that are known are {known}; other letters stand in apostrophes: 'T'"
    raise ValueError(msg)


def _year(count: int) -> _Part:
    if count == 2:
        return _Part(lambda at: f"{at.year % 100:02}", r"\d{2}", "y", 2)
    return _Part(lambda at: f"{at.year:0{count}}", rf"\d{{{min(count, 4)},{max(count, 4)}}}", "y", max(count, 4))


def _month(count: int) -> _Part:
    if count < 3:
        return _Part(lambda at: f"{at.month:0{count}}", r"\d{1,2}", "M", count)
    cut = 3 if count == 3 else None
    return _Part(lambda at: _MONTHS[at.month - 1][:cut], "|".join(month[:cut] for month in _MONTHS), "M")


def _time_of(found: Mapping[str, str]) -> datetime:
    year = int(found.get("y", "1970"))
    year += _CENTURY if len(found.get("y", "1970")) == 2 else 0
    at = datetime(year, _month_of(found.get("M", "1")), int(found.get("d", "1")), tzinfo=UTC)
    if "D" in found:
        at = datetime(year, 1, 1, tzinfo=UTC) + timedelta(days=int(found["D"]) - 1)
    hour = int(found.get("H", "0"))
    if "h" in found:
        hour = int(found["h"]) % 12 + (12 if found.get("a", "AM").upper() == "PM" else 0)
    at = at.replace(hour=hour, minute=int(found.get("m", "0")), second=int(found.get("s", "0")))
    at = at.replace(microsecond=int(found.get("S", "0")) * 1000, tzinfo=_zone_of(found.get("X", "Z")))
    return at.astimezone(UTC)


def _month_of(text: str) -> int:
    if text.isdigit():
        return int(text)
    return next(number for number, month in enumerate(_MONTHS, 1) if month[:3].lower() == text[:3].lower())


def _zone_of(text: str) -> timezone:
    if text[0] not in "+-":
        return UTC
    digits = text[1:].replace(":", "").ljust(4, "0")
    size = timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
    return timezone(size if text[0] == "+" else -size)
