"""Sizes and times as people say them. Pure."""

from rocketconnect_sdk.wording.counts import counted

_THOUSAND = 1_000
_SIZES = ("kB", "MB", "GB", "TB", "PB")
_TIMES = ((86_400.0, "d"), (3_600.0, "h"), (60.0, "min"), (1.0, "s"))
_ROUND = 10
"""From so many of a unit on its parts are no matter."""


def size(number: int) -> str:
    """Bytes as people say them: "1 byte", "999 bytes", "1.2 GB", "34 MB"."""
    if number < _THOUSAND:
        return counted(number, "byte")
    amount, units = number / _THOUSAND, iter(_SIZES)
    unit = next(units)
    while round(amount) >= _THOUSAND and (larger := next(units, "")):
        amount, unit = amount / _THOUSAND, larger
    return f"{_rounded(amount)} {unit}"


def about(seconds: float) -> str:
    """A time that is not known better: "about 3 min", "about 1.5 h"."""
    length, unit = next((each for each in _TIMES if seconds >= each[0]), _TIMES[-1])
    return f"about {max(1, round(seconds))} s" if unit == "s" else f"about {_rounded(seconds / length)} {unit}"


def _rounded(amount: float) -> str:
    return f"{amount:,.0f}" if round(amount, 1) >= _ROUND else f"{amount:.1f}".removesuffix(".0")
