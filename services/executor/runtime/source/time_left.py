"""What a source has left, and how long it will take for that. Pure."""

from collections import deque

_WINDOW = 30.0
_SAMPLE = 1.0
_LEAST = 3.0
"""Seconds: what was seen for less says nothing."""
_MOST = 365 * 86_400.0
"""Seconds: what would take longer comes no nearer."""


def left_with(left: int | None, unit: str, unsent: int) -> tuple[int | None, str]:
    """What is left, and of what, as people are told: what was read and is in no topic yet is left, too, in bytes.

    Args:
        left: To read; None: not known.
        unit: Of what.
        unsent: Bytes that were read and not sent.
    """
    return (unsent, "bytes") if left == 0 and unsent else (left, unit)


class TimeLeft:
    """Judges by how much nearer to its end a source has come lately: what comes anew meanwhile counts against it."""

    def __init__(self) -> None:
        self._unit = ""
        self._seen: deque[tuple[float, int]] = deque()

    def of(self, now: float, left: int | None, unit: str) -> float | None:
        """Seconds until nothing is left; None: not known, or it comes no nearer. Call it often.

        Args:
            now: Monotonic time.
            left: How much there is to read; None: not known.
            unit: Of what. Another one begins anew.
        """
        if left is None or unit != self._unit:
            self._seen.clear()
            self._unit = unit
        if left is None:
            return None
        if not self._seen or now - self._seen[-1][0] >= _SAMPLE:
            self._seen.append((now, left))
        while now - self._seen[0][0] > _WINDOW and len(self._seen) > 1:
            self._seen.popleft()
        since, before = self._seen[0]
        if left == 0:
            return 0.0
        if now - since < _LEAST or before <= left:
            return None
        seconds = left * (now - since) / (before - left)
        return seconds if seconds < _MOST else None
