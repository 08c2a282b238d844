"""Options that name a time zone."""

from zoneinfo import ZoneInfo

FIX = "Give a name of the IANA time zone database, such as Asia/Shanghai, Europe/Paris or UTC."


def zone_problem(name: str) -> str | None:
    """What is wrong with the name of a time zone."""
    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        return "is no time zone that is known here"
    return None
