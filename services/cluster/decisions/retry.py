"""When a unit that failed is given out again."""

from dataclasses import dataclass
from random import Random


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Seconds between attempts: from `first`, doubling up to `longest`, spread by a quarter either way.

    After `limit` consecutive failures the unit is given up. An attempt that lasted for `healthy_after` begins a new count.
    """

    first: float = 1.0
    longest: float = 60.0
    limit: int = 20
    healthy_after: float = 60.0

    def count(self, failures: int, lasted: float) -> int:
        """Return the consecutive failures, this one included, after an attempt that lasted so many seconds."""
        return 1 if lasted >= self.healthy_after else failures + 1

    def delay(self, failures: int, random: Random) -> float:
        """Return the seconds to wait after so many consecutive failures (at least one)."""
        doubled = self.first * 2.0 ** min(failures - 1, 60)
        # The spread keeps tasks that failed together (a broker went away) from coming back together.
        return min(doubled, self.longest) * random.uniform(0.75, 1.25)
