"""How many examples a property test tries: a part of them each time, all of them in `make test-all`."""

from hypothesis import settings

SHORT = "same"
"""The profile of `make test`."""
_PART = 10
_FEWEST = 15


def some(count: int, fewest: int = _FEWEST) -> int:
    """Return how many of so many examples the profile has: all, or a tenth and no fewer than the fewest."""
    if settings.get_current_profile_name() != SHORT:
        return count
    return min(count, max(count // _PART, fewest))
