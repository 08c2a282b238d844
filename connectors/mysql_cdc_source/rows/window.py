"""What the log says of a table while rows of it are read in a transaction of their own. Pure."""

from collections.abc import Iterable
from typing import NamedTuple, Protocol

from connectors.mysql_cdc_source.binlog.gtid import Gtid, MysqlGtid, MysqlGtidSet
from connectors.mysql_cdc_source.tables import Name
from connectors.mysql_cdc_source.watermark import BinlogCoordinate
from rocketconnect_sdk.changes.snapshots.chunks import Window


class Seen(NamedTuple):
    """Where a change stands in the log.

    Attributes:
        place: Just behind it.
        gtid: Of its transaction; None: it has none.
    """

    place: BinlogCoordinate
    gtid: Gtid | None


class Shown(Protocol):
    """Which changes a transaction shows."""

    def __call__(self, seen: Seen) -> bool:
        """Whether it surely shows a change that the log has."""
        ...

    def missing(self, last: Seen | None, gtid_set: str) -> str:
        """What it may not show of a log that was read up to there, for people; empty: it shows all of it.

        Args:
            last: The last event of a transaction; None: there was none yet.
            gtid_set: The transactions that were read as a whole.
        """
        ...


class ShownBefore:
    """What a transaction of MariaDB shows, which tells its place in the log: what is before that, and nothing else.

    Args:
        place: Of the transaction.
    """

    def __init__(self, place: BinlogCoordinate) -> None:
        self._place = place

    def __call__(self, seen: Seen) -> bool:
        """See Shown."""
        return seen.place <= self._place

    def missing(self, last: Seen | None, gtid_set: str) -> str:
        """See Shown."""
        del gtid_set
        return "" if last is None or self(last) else str(last.gtid)


class ShownDone:
    """What a transaction of MySQL surely shows: what was done just before it began. It may show more.

    A server has a transaction among those that are done only when all others see it. Not run against a server.

    Args:
        done: The value of gtid_executed before the transaction began.
    """

    def __init__(self, done: MysqlGtidSet) -> None:
        self._done = done

    def __call__(self, seen: Seen) -> bool:
        """See Shown."""
        return isinstance(seen.gtid, MysqlGtid) and seen.gtid in self._done

    def missing(self, last: Seen | None, gtid_set: str) -> str:
        """See Shown."""
        whole = MysqlGtidSet.parse(gtid_set).without(self._done)
        return str(whole) or ("" if last is None or self(last) else str(last.gtid))


class TableWindow(Window[Seen]):
    """See Window: of a table.

    Args:
        name: The table.
        key: The names of the columns of its key, when its rows are read.
        shown: What the transaction shows in which they are.

    Attributes:
        spoiled: The table has changed, so that keys of rows can't be compared, or the log leaves out what only the rows have.
    """

    def __init__(self, name: Name, key: tuple[str, ...], shown: Shown) -> None:
        super().__init__(shown)
        self.name = name
        self.spoiled = False
        self._key = key
        self._shown = shown

    def saw_rows(self, seen: Seen, key: tuple[str, ...], keys: Iterable[object], *, whole: bool) -> None:
        """The log has changes of rows with these keys, whose columns have these names; whole: with all their values."""
        self.spoiled |= key != self._key or not (whole or self._shown(seen))
        for each in keys:
            self.saw(seen, each)

    def saw_definition(self, seen: Seen, statement: str) -> None:
        """The log has a statement that changes definitions."""
        self.spoiled |= self.name.table.lower() in statement.replace("``", "`").lower() and not self._shown(seen)
