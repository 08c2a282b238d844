"""Backoff between attempts. Pure."""

import random
from collections.abc import Callable


class Backoff:
    """Growing pauses with jitter: the longest that is possible doubles up to `longest`, and each is between half and all of it.

    Used by one thread.

    Args:
        first: Seconds.
        longest: Seconds.
        chance: Gives numbers in [0, 1).
    """

    def __init__(self, first: float = 0.05, longest: float = 60.0, chance: Callable[[], float] = random.random) -> None:
        self._first = min(first, longest)
        self._longest = longest
        self._chance = chance
        self._next = self._first
        self.attempts = 0

    def pause(self) -> float:
        """Seconds to wait before the next attempt."""
        pause = self._next * (0.5 + self._chance() / 2)
        self._next = min(self._next * 2, self._longest)
        self.attempts += 1
        return pause

    def reset(self) -> None:
        """It worked."""
        self._next = self._first
        self.attempts = 0
