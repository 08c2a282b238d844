"""The clock by which leases and waits are counted."""

import time

_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def boot_nanoseconds() -> int:
    """Nanoseconds since this machine started, the time for which it was suspended included; nobody can set it.

    Linux counts a suspension. On a system without `CLOCK_BOOTTIME` this is its monotonic clock, which may not.
    """
    return time.clock_gettime_ns(_CLOCK)


def boot_seconds() -> float:
    """As `boot_nanoseconds`, in seconds. The same in all processes of a machine."""
    return boot_nanoseconds() / 1e9
