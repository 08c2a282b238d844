"""Objects and files that were read and are no more: when their positions are forgotten."""

import time
from collections import deque
from collections.abc import Iterable

from rocketconnect_sdk.options import Kind, Option


def forget_after(default: str) -> Option:
    """For how long the position of an object or a file that is gone is kept."""
    return Option(
        "positions.forget.after",
        "The position of what was read, and that no look has found for so long, is forgotten: else those of what is removed "
        "stay for ever. What comes back later with the same content is read again. 0s: never.",
        Kind.DURATION,
        default,
        minimum=0,
    )


class GoneObjects:
    """Counts for how long no look has found an object.

    Nothing is lost by it (invariant 1): a partition is an object with its tag, and its position is forgotten when all of it is in
    the topic. What comes back under the same name with other content is another partition; with the same content it is read again
    from its beginning, under the same offsets, and sinks that remember it drop it. Whoever is killed begins to count anew.

    A look that finds nothing at all tells nothing, unless what was read is taken away: what is there may be hidden, as behind a
    folder that is not mounted.

    Args:
        after: Of an object that is gone for so many seconds the position is forgotten; 0: of none.
        may_be_empty: Whether looks that find nothing are what is to be expected.
    """

    def __init__(self, after: float, *, may_be_empty: bool = False) -> None:
        self._after = after
        self.may_be_empty = may_be_empty
        self._since: dict[str, float] = {}
        self.over: deque[str] = deque()
        """Partitions whose positions are to be forgotten now."""

    def clear(self) -> None:
        """Forget what was counted."""
        self._since.clear()
        self.over.clear()

    def look(self) -> "Listing":
        """A look begins."""
        return Listing(self)

    def missing(self, partitions: Iterable[str]) -> None:
        """These, and no others, were not found by a look that has found something."""
        if self._after:
            now = time.monotonic()
            self._since = {partition: self._since.get(partition, now) for partition in partitions}
            over = [partition for partition, since in self._since.items() if now - since >= self._after]
            for partition in over:
                del self._since[partition]
            self.over.extend(over)


class Listing:
    """What one look finds."""

    def __init__(self, gone: GoneObjects) -> None:
        self._gone = gone
        self._there: set[str] = set()

    def saw(self, partition: str) -> None:
        """This is there, whether it is read or not."""
        self._there.add(partition)

    def ended(self, known: Iterable[str]) -> None:
        """All was looked at; these are known, and all in the topic."""
        if self._there or self._gone.may_be_empty:
            self._gone.missing(partition for partition in known if partition not in self._there)
        else:
            self._gone.clear()
