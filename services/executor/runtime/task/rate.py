"""Limits of records and bytes a second."""

from collections.abc import Callable


class TokenBucket:
    """Lets through a rate that is exact over long runs, whatever the size of the pieces.

    What was taken is a debt that time pays off; nothing more is let through while there is one. What is not used is saved up
    for `burst` seconds.

    Args:
        rate: Units a second.
        now: The monotonic clock, seconds.
        burst: Seconds.
    """

    def __init__(self, rate: float, now: Callable[[], float], burst: float = 0.1) -> None:
        self.rate = rate
        self._now = now
        self._most = rate * burst
        self._credit = self._most
        self._at = now()

    def delay(self) -> float:
        """Seconds until something may pass; 0: now."""
        self._advance()
        return max(0.0, -self._credit / self.rate)

    def take(self, units: float) -> None:
        """So much has passed."""
        self._advance()
        self._credit -= units

    def _advance(self) -> None:
        now = self._now()
        self._credit = min(self._most, self._credit + (now - self._at) * self.rate)
        self._at = now


class RateLimit:
    """The limits of a task, in records and in bytes.

    Args:
        records: A second; None: no limit.
        size: Bytes a second; None: no limit.
        now: The monotonic clock, seconds.
    """

    def __init__(self, records: float | None, size: float | None, now: Callable[[], float]) -> None:
        self._records = TokenBucket(records, now) if records else None
        self._size = TokenBucket(size, now) if size else None

    def delay(self) -> float:
        """Seconds until the next piece may be read; 0: now."""
        if self._records is None and self._size is None:
            return 0.0
        return max(bucket.delay() for bucket in (self._records, self._size) if bucket is not None)

    def take(self, records: int, size: int) -> None:
        """A piece was read."""
        if self._records is not None:
            self._records.take(records)
        if self._size is not None:
            self._size.take(size)

    def piece(self, records: int, size: int) -> tuple[int, int]:
        """The limits of one piece, so that a slow rate flows instead of coming in bursts: a tenth of a second's worth."""
        if self._records is not None:
            records = min(records, max(1, int(self._records.rate / 10)))
        if self._size is not None:
            size = min(size, max(1, int(self._size.rate / 10)))
        return records, size
