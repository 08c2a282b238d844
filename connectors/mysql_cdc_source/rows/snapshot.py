"""The rows that are there before the log: in one transaction, table by table, in the order of their keys.

Offsets are those of table_rows; (run, 2) when the table is done.
"""

import time
from collections.abc import Iterator, Sequence

from connectors.mysql_cdc_source.binlog.server import Connection, Login, Position, connect, explained, gtids_at, is_mariadb, rows_of
from connectors.mysql_cdc_source.rows.table_rows import Places, batch_of, query_of
from connectors.mysql_cdc_source.rows.text_query import QueryRefused, TableAltered, TextQueries
from connectors.mysql_cdc_source.rows.text_rows import split
from connectors.mysql_cdc_source.tables import Filter, Name, Table, now
from rocketconnect_sdk.changes.snapshots.expected import Expected
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.database_logs.making import Making, snapshot_partition
from rocketconnect_sdk.record import Offset, SourceBatch

RUN = 1
_DONE = 2
_SESSION = (
    "SET SESSION time_zone = '+00:00', sql_mode = '', sql_select_limit = 18446744073709551615, "
    "net_write_timeout = 86400, wait_timeout = 86400"
)
_SECONDS = 0.05
NO_COLUMN, NO_TABLE = 1054, 1146
"""Errors of a query."""


def is_done(offset: Offset) -> bool:
    """Whether a table's rows were all read."""
    return offset[:2] == (RUN, _DONE)


def transaction(login: Login) -> tuple[Connection, Position | None]:
    """A connection with a transaction that sees the database as it is now, and the place in the log that this is.

    The place is None where only MariaDB can tell: take the end of the log before.

    Raises:
        SystemAway, PermanentError: as connect.
    """
    connection = opened(login)
    try:
        with explained(login):
            place = started(connection)
            return connection, place and place._replace(gtid_set=gtids_at(connection, place.file, place.offset) or "")
    except BaseException:
        connection.close()
        raise


def opened(login: Login) -> Connection:
    """A connection for a transaction that reads rows.

    Raises:
        SystemAway, PermanentError: as connect.
    """
    connection = connect(login)
    try:
        with explained(login), connection.cursor() as cursor:
            cursor.execute(_SESSION)
            cursor.execute("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ")
    except BaseException:
        connection.close()
        raise
    return connection


def started(connection: Connection) -> Position | None:
    """Begins the transaction; its place in the log, without the GTIDs there, for which the server reads the file up to it."""
    with connection.cursor() as cursor:
        cursor.execute("START TRANSACTION WITH CONSISTENT SNAPSHOT")
    if not is_mariadb(connection):
        return None
    found = dict(rows_of(connection, "SHOW STATUS LIKE 'binlog_snapshot_%%'"))
    file, offset = found.get("Binlog_snapshot_file", ""), int(found.get("Binlog_snapshot_position") or 0)
    return Position(file, offset) if file else None


class Snapshot:
    """Reads tables.

    Args:
        connection: With the transaction; it belongs to this object from now on.
        login: Of the server.
        tables: In their order.
        chosen: What of them is captured.
        making: What becomes of rows.
        place: Where the log goes on, for the field source.
        context: Of the task.
    """

    def __init__(
        self,
        connection: Connection,
        login: Login,
        tables: Sequence[Name],
        chosen: Filter,
        making: Making[Name],
        place: Position,
        context: TaskContext,
    ) -> None:
        self._login = login
        self._making = making
        self._place = place
        self._context = context
        left = [name for name in tables if not is_done(making.positions.get(snapshot_partition(name), ()))]
        try:
            with explained(login):
                # A table that is gone by now has its end in the log.
                self._tables = [table for name in left if (table := now(connection, name, chosen)) is not None]
                counted = {table.name: _counted(connection, table.name) for table in self._tables}
            self._expected = Expected({snapshot_partition(name): rows for name, rows in counted.items()})
            self._queries = TextQueries(connection, login.server)
        except BaseException:
            connection.close()
            raise
        self._batches = self._all()
        self.finished = False

    def poll(self) -> SourceBatch | None:
        """The next rows; None: none have come yet, or there are no more.

        Raises:
            SystemAway: the connection is lost: begin again behind the positions.
            TableAltered: the transaction can't read the next table any more: likewise.
            PermanentError: the server refuses.
        """
        batch = next(self._batches, self)
        if isinstance(batch, Snapshot):
            self.finished = True
            return None
        if batch is not None:
            self._expected.saw(batch)
        return batch

    @property
    def left(self) -> int | None:
        """About how many rows there are still to read, by the statistics of the server; None: these do not say."""
        return self._expected.left

    def close(self) -> None:
        """Ends the transaction. Calling it again does nothing."""
        self._queries.close()

    def _all(self) -> Iterator[SourceBatch | None]:
        for table in self._tables:
            partition = snapshot_partition(table.name)
            self._context.log.info("the snapshot of %s begins", table.name)
            try:
                yield from self._table(table, partition)
            except QueryRefused as error:
                if error.code in {NO_COLUMN, NO_TABLE}:
                    raise TableAltered(str(error), error.code) from error
                raise
            yield SourceBatch(partition, [], [], end=(RUN, _DONE))

    def _table(self, table: Table, partition: str) -> Iterator[SourceBatch | None]:
        changes = self._making.changes(table, partition)
        places = Places(table, self._making.positions.get(partition, ()), self._context.epoch, RUN)
        rows = self._queries.run(query_of(table, places))
        source = (self._place.file, self._place.offset, 0, None, 0)
        while not rows.finished:
            packets = rows.read(self._context.batch_records, self._context.batch_bytes, _SECONDS)
            if not packets:
                yield None
                continue
            ts_ms = time.time_ns() // 1_000_000
            texts = split(packets, table.columns)
            offsets, end = places.of(texts)
            batch = batch_of(changes, table.columns, texts, offsets, ts_ms, source)
            batch.end = end
            yield batch


def _counted(connection: Connection, name: Name) -> int | None:
    """About how many rows a table has, as its server says; None: it does not."""
    query = "SELECT TABLE_ROWS FROM information_schema.TABLES WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s"
    ((rows,),) = rows_of(connection, query, *name) or [(None,)]
    return None if rows is None else int(rows)
