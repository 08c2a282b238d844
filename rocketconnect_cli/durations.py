"""Durations as people write them."""

import re
from typing import Any

import typer

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)", re.ASCII)
_WHOLE = re.compile(rf"(?:{_PART.pattern})+", re.ASCII)
_NUMBER = re.compile(r"\d+(?:\.\d+)?", re.ASCII)


def seconds(text: str) -> float | None:
    """The seconds of "90", "90s", "500ms", "1m30s" or "2h"; None: it is no duration."""
    text = text.strip()
    if _NUMBER.fullmatch(text):
        return float(text)
    if not _WHOLE.fullmatch(text):
        return None
    return sum(float(number) * _UNITS[unit] for number, unit in _PART.findall(text))


def parse(value: str | float, least: float = 0.0) -> float:
    """The seconds of what an option was given, or of its default.

    Raises:
        BadParameter: it is no duration, or less than the least.
    """
    found = seconds(value) if isinstance(value, str) else value
    if found is None:
        msg = f"{value!r} is no duration; write seconds (90), or a number with its unit: 500ms, 90s, 5m, 2h, 1d."
        raise typer.BadParameter(msg)
    if found < least:
        msg = f"{value!r} is too short: give {least:g}s at least."
        raise typer.BadParameter(msg)
    return found


def option(help_text: str, name: str = "--timeout", least: float = 0.0, default: str = "") -> Any:
    """An option that takes a duration; its value is seconds. `default`: what it is without, for help."""

    def parsed(value: str | float) -> float:
        return parse(value, least)

    shown = default or False
    return typer.Option(
        name, parser=parsed, metavar="DURATION", show_default=shown, help=f"{help_text} (90s, 5m, 1h; a number: seconds)"
    )
