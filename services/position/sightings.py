"""How long ago this replica first saw what is stored of leases, by a clock of its own that nobody can set."""

import secrets
from collections.abc import Callable

MAXIMUM = 65_536
"""Invariant 7: more are not remembered. What is forgotten counts as just seen, so it is waited for longer, never shorter."""


class Sightings:
    """To be used in one thread.

    Ids are drawn rather than counted: what a transaction that failed, or a store before its backup was put back, has had is never
    taken for what came later.

    Args:
        clock: microseconds, going on while the machine is suspended.
        draw: returns a number above 0 that nobody has had before.
    """

    def __init__(self, clock: Callable[[], int], draw: Callable[[], int] = lambda: secrets.randbits(62) + 1) -> None:
        self._clock = clock
        self._draw = draw
        self._first: dict[int, int] = {}

    def new(self) -> int:
        """Return a new id, seen from now on."""
        drawn = self._draw()
        self.age(drawn)
        return drawn

    def age(self, seen: int) -> int:
        """Return for how many microseconds the id has been known here; 0 when it is met for the first time."""
        now = self._clock()
        if seen not in self._first and len(self._first) >= MAXIMUM:
            del self._first[next(iter(self._first))]
        return now - self._first.setdefault(seen, now)
