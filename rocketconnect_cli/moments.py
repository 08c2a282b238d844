"""Times as people write them who look back."""

from datetime import UTC, datetime, timedelta, tzinfo

from rocketconnect_cli import durations
from rocketconnect_cli.api import ApiError, Exit


def moment(text: str, now: datetime, zone: tzinfo | None = UTC) -> datetime:
    """The time that a text names: 2026-01-31T10:00:00Z, or so long before now: 10m.

    Args:
        text: What was written behind --since.
        now: The present, with its zone.
        zone: That of a time which names none; None: that of this machine.

    Raises:
        ApiError: WRONG, when it names none.
    """
    # A number alone is a date, 20260131, or nothing.
    ago = None if text[-1:].isdigit() else durations.seconds(text)
    try:
        if ago is not None:
            return now - timedelta(seconds=ago)
        named = datetime.fromisoformat(text)
    except (ValueError, OverflowError):
        detail = f"--since {text!r} is no time: write 2026-01-31T10:00:00Z, or how long ago, such as 10m, 2h or 1d"
        raise ApiError(Exit.WRONG, {"detail": detail}) from None
    if named.tzinfo:
        return named
    return named.replace(tzinfo=zone) if zone else named.astimezone()
