"""The clock of `not_after`: until when a request may be written."""

import time

_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def boot_seconds() -> float:
    """Seconds since this machine started, the time for which it was suspended included; nobody can set it.

    Whoever may write only until a certain time has lost that right while the machine was suspended: the monotonic clock, which
    stands still then, would not tell. Linux counts a suspension; on a system without `CLOCK_BOOTTIME` this is its monotonic clock.
    """
    return time.clock_gettime(_CLOCK)
