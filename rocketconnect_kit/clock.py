"""The clock by which leases and waits are counted, and the floor of numbers that never go back."""

import time
from datetime import UTC, datetime

_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


_NUMBERS_BEGIN = 1_767_225_600
"""Seconds since 1970 at the start of 2026: epochs and incarnations are in every message, so they are short."""


def number_floor(seconds_since_1970: float) -> int:
    """What each epoch, plan generation and incarnation that is drawn now is above (invariant 3): the milliseconds since 2026 began.

    A store that was restored from a backup, or a standby that took over and lags, does not know the last ones. Counted on from
    there they would come a second time: a sink drops what comes under an epoch below one that it has seen, or under an incarnation
    that it knows, and two plans of one generation would give a partition to two tasks, neither of which shuts the other out. Time
    has gone on.
    """
    return max(0, int((seconds_since_1970 - _NUMBERS_BEGIN) * 1000))


DAY = 86_400.0
"""Seconds. A clock may be ahead of another one by so much: whoever has set it to the wrong zone has lost nothing."""

LONGEST_JUMP = 366 * DAY
"""Seconds by which a clock may be ahead of the numbers that were drawn before, unless told otherwise: so long nobody drew any."""


def bounded_floor(seconds: float, last: int, *, longest_jump: float = LONGEST_JUMP, other: float | None = None) -> tuple[int, str]:
    """As `number_floor`, by a clock that may be wrong; and what is wrong with it, for people, empty: nothing.

    What was drawn once is never taken back, so a clock that is wrong for a moment would raise all numbers for good: until that
    time has come, no floor would hold what a restored store has forgotten.

    Args:
        seconds: Since 1970, by the clock.
        last: The highest number that was drawn before. One of less than a day was counted, so nothing is known, and the clock is
            believed.
        longest_jump: By so many seconds the clock may be ahead of that. Beyond it counts nothing: numbers count on from there.
        other: Seconds since 1970 by another clock, the database's; None: there is none. Where both differ the earlier one counts.
    """
    wrong = ""
    if other is not None and abs(seconds - other) > DAY:
        wrong = f"the clock of this machine says {_moment(seconds)}, and that of the database {_moment(other)}"
        seconds = min(seconds, other)
    floor = number_floor(seconds)
    if last > DAY * 1000 and floor - last > longest_jump * 1000:
        known = _moment(_NUMBERS_BEGIN + last / 1000)
        return last, wrong or f"the clock says {_moment(seconds)}, and the last number was given out at {known}"
    return floor, wrong


def days_ahead(number: int, seconds: float) -> float:
    """By how many days a number that was drawn is ahead of a clock, in seconds since 1970; below 0: it is behind it."""
    return (number - number_floor(seconds)) / (DAY * 1000)


def _moment(seconds: float) -> str:
    try:
        return datetime.fromtimestamp(seconds, UTC).isoformat(" ", "minutes")
    except (ValueError, OverflowError, OSError):
        # A clock may be beyond the years that there are here.
        return f"{seconds:.0f} s after 1970"


def boot_nanoseconds() -> int:
    """Nanoseconds since this machine started, the time for which it was suspended included; nobody can set it.

    Linux counts a suspension. On a system without `CLOCK_BOOTTIME` this is its monotonic clock, which may not.
    """
    return time.clock_gettime_ns(_CLOCK)


def boot_seconds() -> float:
    """As `boot_nanoseconds`, in seconds. The same in all processes of a machine."""
    return boot_nanoseconds() / 1e9
