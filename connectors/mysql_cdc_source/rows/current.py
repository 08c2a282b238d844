"""What the log leaves out of rows that got another key, where its images are no whole rows: columns that did not change.

Who reads by key takes such a row for a new one, which no other record has these values of. They are read from the table: if they
have changed again since, the log says that later, too.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from uuid import UUID

from connectors.mysql_cdc_source.binlog.row_reading.column import Column
from connectors.mysql_cdc_source.binlog.row_reading.column import Type as Stored
from connectors.mysql_cdc_source.binlog.server import Connection, Login, Position
from connectors.mysql_cdc_source.rows.beginning import NoGtids, begin
from connectors.mysql_cdc_source.rows.snapshot import NO_COLUMN, NO_TABLE
from connectors.mysql_cdc_source.rows.table_rows import path_of, quoted
from connectors.mysql_cdc_source.rows.text_query import QueryRefused, TableAltered, TextQueries
from connectors.mysql_cdc_source.rows.text_rows import selected, split, values
from connectors.mysql_cdc_source.rows.window import Seen
from connectors.mysql_cdc_source.tables import Table
from connectors.mysql_cdc_source.watermark import BinlogCoordinate
from rocketconnect_sdk.changes.gathered import Row
from rocketconnect_sdk.errors import RetriableError, SystemAway

_LONGEST = 30.0
_WAIT = 0.01
_NUMBER = Column(Stored.LONG)
_AT_A_TIME = 100


def current_values(
    login: Login, place: Callable[[Position], BinlogCoordinate], table: Table, keys: Sequence[Row], names: Sequence[str], seen: Seen
) -> Mapping[int, Row]:
    """The values of columns of rows as they are now, by the numbers of the keys; of rows that are gone there are none.

    Args:
        login: The server.
        place: The place in the log of a position of it.
        table: The table, as the log has it.
        keys: Of the rows.
        names: Of the columns.
        seen: The change whose rows they are. Without GTIDs on MySQL nothing tells when others see it: nothing is found.

    Raises:
        RetriableError: others do not see the change yet, as it waits for a replica.
        ConnectorError: the server does not answer, or refuses.
    """
    if seen.gtid is None:
        return {}
    until = time.monotonic() + _LONGEST
    # The log has a transaction before others see it.
    while True:
        try:
            begun = begin(login, place)
        except NoGtids:
            return {}
        if begun.shown(seen):
            break
        begun.connection.close()
        if time.monotonic() > until:
            msg = f"the transaction {seen.gtid} of {table.name} is in the log, and not seen yet: does the server wait for others?"
            raise RetriableError(msg)
        time.sleep(_WAIT)
    kinds = {column.name: column for column in table.columns}
    columns = [kinds[name] for name in names]
    found: dict[int, Row] = {}
    with TextQueries(begun.connection, login.server) as queries:
        texts = [_query(begun.connection, table, number, key, columns) for number, key in enumerate(keys)]
        try:
            for start in range(0, len(texts), _AT_A_TIME):
                packets = _packets(queries, " UNION ALL ".join(texts[start : start + _AT_A_TIME]), login.server)
                if packets:
                    kept = [_NUMBER, *columns]
                    read = [values(column, text) for column, text in zip(kept, split(packets, kept), strict=True)]
                    found |= {row[0]: row[1:] for row in zip(*read, strict=True)}
        except QueryRefused as error:
            if not isinstance(error, TableAltered) and error.code not in {NO_COLUMN, NO_TABLE}:
                raise
            # It is another table by now, or gone.
            return {}
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
