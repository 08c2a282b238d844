"""What the log says of a table while rows of it are read in a transaction of their own. Pure.

https://www.postgresql.org/docs/current/functions-info.html#FUNCTIONS-PG-SNAPSHOT
"""

from connectors.postgres_cdc_source.tables import Table
from rocketconnect_sdk.changes.snapshots.chunks import Window

_EPOCH = 1 << 32
_HALF = 1 << 31


class Shown:
    """Which transactions a transaction sees.

    Args:
        snapshot: As pg_current_snapshot() says it: xmin:xmax:xip_list.
    """

    def __init__(self, snapshot: str) -> None:
        _, end, running = snapshot.split(":")
        self._end = int(end)
        self._running = frozenset(int(number) % _EPOCH for number in running.split(",") if number)

    def __call__(self, xid: int) -> bool:
        """Whether it sees one that has committed by now; the log has 32 bits of its number."""
        ahead = (xid - self._end) % _EPOCH
        return ahead >= _HALF and xid not in self._running


class TableWindow(Window[int]):
    """See Window: of a table, with the numbers of transactions as places.

    Args:
        table: As its rows are read.
        shown: What their transaction sees.

    Attributes:
        spoiled: The table has changed, so that keys of rows can't be compared.
    """

    def __init__(self, table: Table, shown: Shown) -> None:
        super().__init__(shown)
        self.name = table.name
        self.spoiled = False
        self._table = table
        self._shown = shown

    def saw_table(self, xid: int, table: Table) -> None:
        """The log has changes of the table, which has these columns."""
        same = (table.columns, table.key) == (self._table.columns, self._table.key)
        self.spoiled |= not same and not self._shown(xid)

    def needs(self, xid: int, key: object) -> bool:
        """Whether a change that leaves values out must come behind the rows: nothing else has them."""
        return not self._shown(xid) and self.left([key]) == [True]
