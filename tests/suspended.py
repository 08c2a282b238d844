"""What processes see after their machine was suspended: the clock since its start has gone on, the monotonic one has not."""

import time

import pytest


def suspend(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """Let the clock since the start of the machine be so many seconds ahead, for the rest of the test."""
    in_seconds, in_nanoseconds = time.clock_gettime, time.clock_gettime_ns

    def ahead(clock: int) -> float:
        return in_seconds(clock) + (seconds if clock == time.CLOCK_BOOTTIME else 0)

    def ahead_ns(clock: int) -> int:
        return in_nanoseconds(clock) + (int(seconds * 1e9) if clock == time.CLOCK_BOOTTIME else 0)

    monkeypatch.setattr(time, "clock_gettime", ahead)
    monkeypatch.setattr(time, "clock_gettime_ns", ahead_ns)
