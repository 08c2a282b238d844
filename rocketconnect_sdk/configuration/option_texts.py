"""What the texts of options stand for, by their kind."""

import math
import re
from collections.abc import Mapping
from fractions import Fraction

_SIZE = re.compile(r"(\d{1,30}(?:\.\d{1,30})?)\s*([kmgt]?)(i?b)?", re.IGNORECASE)
_DURATION = re.compile(r"(\d{1,30}(?:\.\d{1,30})?)\s*(ms|s|m|h|d)?")
SECONDS: Mapping[str | None, float] = {"ms": 0.001, None: 1.0, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
"""Of a duration by its unit."""


def number(text: str, of: type[int] | type[float]) -> int | float:
    """A number. Raises ValueError: what is wrong."""
    try:
        found = of(text.strip())
    except ValueError:
        kind = "a whole number" if of is int else "a number"
        msg = f"is not {kind}"
        raise ValueError(msg) from None
    if of is float and not math.isfinite(found):
        msg = "is not a finite number"
        raise ValueError(msg)
    return found


def boolean(text: str) -> bool:
    """True or false. Raises ValueError: what is wrong."""
    if text.strip().lower() not in ("true", "false"):
        msg = "is neither true nor false"
        raise ValueError(msg)
    return text.strip().lower() == "true"


def size(text: str) -> int:
    """So many bytes. Raises ValueError: what is wrong."""
    match = _SIZE.fullmatch(text.strip())
    if not match:
        msg = "is not a size such as 1048576, 64KiB or 10MB"
        raise ValueError(msg)
    base = 1024 if (match[3] or "").lower() == "ib" else 1000
    return int(Fraction(match[1]) * base ** " kmgt".index(match[2].lower() or " "))


def duration(text: str) -> float:
    """So many seconds. Raises ValueError: what is wrong."""
    match = _DURATION.fullmatch(text.strip())
    if not match:
        msg = "is not a duration such as 500ms, 10s or 5m"
        raise ValueError(msg)
    return float(match[1]) * SECONDS[match[2]]


def items(text: str) -> tuple[str, ...]:
    """What is in a list, without what is empty."""
    return tuple(part.strip() for part in re.split(r"[,;]", text) if part.strip())
