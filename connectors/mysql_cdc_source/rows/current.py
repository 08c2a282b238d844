"""What the log leaves out of rows that got another key, where its images are no whole rows: columns that did not change.

Who reads by key takes such a row for a new one, which no other record has these values of. They are read from the table: if they
have changed again since, the log says that later, too.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from uuid import UUID

from connectors.mysql_cdc_source.binlog.row_reading.column import Column
from connectors.mysql_cdc_source.binlog.row_reading.column import Type as Stored
from connectors.mysql_cdc_source.binlog.server import Connection, Login, Position, explained
from connectors.mysql_cdc_source.rows.beginning import NoGtids, begin
from connectors.mysql_cdc_source.rows.snapshot import NO_COLUMN, NO_TABLE
from connectors.mysql_cdc_source.rows.table_rows import path_of, quoted
from connectors.mysql_cdc_source.rows.text_query import QueryRefused, TableAltered, TextQueries
from connectors.mysql_cdc_source.rows.text_rows import selected, split, values
from connectors.mysql_cdc_source.rows.window import Seen
from connectors.mysql_cdc_source.tables import Table
from connectors.mysql_cdc_source.watermark import BinlogCoordinate
from rocketconnect_sdk.changes.gathered import Row
from rocketconnect_sdk.database_logs.locked import LOCK_SECONDS
from rocketconnect_sdk.errors import RetriableError, SystemAway

_LONGEST = 30.0
_WAIT = 0.01
_NUMBER = Column(Stored.LONG)
_AT_A_TIME = 100
_KEPT = 10.0


class CurrentValues:
    """Reads such values, each time in a transaction of its own, on a connection that it keeps while they are asked for often.

    Args:
        login: The server.
        place: The place in the log of a position of it.
    """

    def __init__(self, login: Login, place: Callable[[Position], BinlogCoordinate]) -> None:
        self._login = login
        self._place = place
        self._kept: tuple[Connection, TextQueries] | None = None
        self._used = 0.0

    def __call__(self, table: Table, keys: Sequence[Row], names: Sequence[str], seen: Seen) -> Mapping[int, Row]:
        """The values of columns of rows as they are now, by the numbers of the keys; of rows that are gone there are none.

        Args:
            table: The table, as the log has it.
            keys: Of the rows.
            names: Of the columns.
            seen: The change whose rows they are. Without GTIDs on MySQL nothing tells when others see it: nothing is found.

        Raises:
            RetriableError: others do not see the change yet, as it waits for a replica.
            TableLocked: others hold a lock on the table, or wait for one.
            ConnectorError: the server does not answer, or refuses.
        """
        if seen.gtid is None:
            return {}
        # What stands between may have forgotten a connection on which nothing was said.
        if time.monotonic() - self._used > _KEPT:
            self.close()
        try:
            connection, queries = self._behind(table, seen)
            found = _found(connection, queries, table, keys, names, self._login.server)
            # A transaction that goes on keeps others from altering the table.
            with explained(self._login):
                connection.rollback()
        except NoGtids:
            self.close()
            return {}
        except QueryRefused as error:
            self.close()
            if not isinstance(error, TableAltered) and error.code not in {NO_COLUMN, NO_TABLE}:
                raise
            # It is another table by now, or gone.
            return {}
        except BaseException:
            self.close()
            raise
        self._used = time.monotonic()
        return found

    def _behind(self, table: Table, seen: Seen) -> tuple[Connection, TextQueries]:
        """A transaction that shows a change: the log has it before others see it."""
        until = time.monotonic() + _LONGEST
        while True:
            begun = begin(self._login, self._place, self._kept and self._kept[0])
            if self._kept is None:
                self._kept = begun.connection, TextQueries(begun.connection, self._login.server)
                with explained(self._login), begun.connection.cursor() as cursor:
                    cursor.execute(f"SET SESSION lock_wait_timeout = {LOCK_SECONDS}")
            if begun.shown(seen):
                return self._kept
            if time.monotonic() > until:
                msg = (
                    f"the transaction {seen.gtid} of {table.name} is in the log, and not seen yet: does the server wait for others?"
                )
                raise RetriableError(msg)
            time.sleep(_WAIT)

    def close(self) -> None:
        """Ends the connection. Calling it again does nothing, and the next call makes a new one."""
        if self._kept is not None:
            self._kept[1].close()
        self._kept = None


def _found(
    connection: Connection, queries: TextQueries, table: Table, keys: Sequence[Row], names: Sequence[str], server: str
) -> Mapping[int, Row]:
    kinds = {column.name: column for column in table.columns}
    columns = [kinds[name] for name in names]
    kept = [_NUMBER, *columns]
    texts = [_query(connection, table, number, key, columns) for number, key in enumerate(keys)]
    found: dict[int, Row] = {}
    for start in range(0, len(texts), _AT_A_TIME):
        packets = _packets(queries, " UNION ALL ".join(texts[start : start + _AT_A_TIME]), server)
        if packets:
            read = [values(column, text) for column, text in zip(kept, split(packets, kept), strict=True)]
            found |= {row[0]: row[1:] for row in zip(*read, strict=True)}
    return found


def _packets(queries: TextQueries, query: str, server: str) -> list[bytes]:
    until = time.monotonic() + _LONGEST
    rows = queries.run(query)
    packets: list[bytes] = []
    while not rows.finished:
        packets += rows.read(_AT_A_TIME + 1, 1 << 62, _WAIT)
        if time.monotonic() > until:
            msg = f"{server} has not answered {query[:200]!r} for {_LONGEST:.0f} s"
            raise SystemAway(msg)
    return packets


def _query(connection: Connection, table: Table, number: int, key: Row, columns: Sequence[Column]) -> str:
    wanted = ", ".join(selected(column, quoted(str(column.name))) for column in columns)
    literals = [connection.escape(str(value) if isinstance(value, UUID) else value) for value in key]
    condition = " AND ".join(f"{quoted(name)} = {literal}" for name, literal in zip(table.key, literals, strict=True))
    return f"SELECT {number}, {wanted} FROM {path_of(table.name)} WHERE {condition}"  # noqa: S608 - quoted
