"""How many rows of a first snapshot are left, by what a database's statistics say of its tables. Pure."""

from collections.abc import Mapping

from rocketconnect_sdk.record import SourceBatch


class Expected:
    """Counts down. Statistics are of some time ago, so it is about so many; a table that has more than they say counts as read.

    Args:
        rows: By the source partition of each table about how many rows it has; None: its statistics do not say.
    """

    def __init__(self, rows: Mapping[str, int | None]) -> None:
        self._left = dict(rows)

    def saw(self, batch: SourceBatch) -> None:
        """These rows of a table were read; a batch without any ends the table."""
        left = self._left.get(batch.partition, 0)
        if not len(batch):
            self._left[batch.partition] = 0
        elif left is not None:
            self._left[batch.partition] = max(0, left - len(batch))

    @property
    def left(self) -> int | None:
        """How many rows; None: of a table that is not done the statistics say nothing."""
        found = [left for left in self._left.values() if left is not None]
        return sum(found) if len(found) == len(self._left) else None
