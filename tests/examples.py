"""How many examples a property test tries: a part of them each time, all of them in `make test-all`."""

from hypothesis import settings

SHORT = "same"
"""The profile of `make test`."""
_PART = 10
_FEWEST = 15


def some(count: int) -> int:
    """Return how many of so many examples the profile has: all, or a tenth, but fifteen where there are as many."""
    if settings.get_current_profile_name() != SHORT:
        return count
    return min(count, max(count // _PART, _FEWEST))
