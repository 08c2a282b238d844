"""The clock by which leases and waits are counted, and the floor of numbers that never go back."""

import time

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


def boot_nanoseconds() -> int:
    """Nanoseconds since this machine started, the time for which it was suspended included; nobody can set it.

    Linux counts a suspension. On a system without `CLOCK_BOOTTIME` this is its monotonic clock, which may not.
    """
    return time.clock_gettime_ns(_CLOCK)


def boot_seconds() -> float:
    """As `boot_nanoseconds`, in seconds. The same in all processes of a machine."""
    return boot_nanoseconds() / 1e9
