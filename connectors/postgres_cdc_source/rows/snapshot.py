"""The rows that are there before the log: in one transaction, table by table, in the order of their keys.

Offsets are those of table_rows; (run, 2) when the table is done.
"""

import time
from collections.abc import Iterator, Sequence
from typing import LiteralString

import psycopg
from psycopg.rows import TupleRow

from connectors.jdbc.reading.postgres import COUNTED
from connectors.postgres_cdc_source.logical.catalog import Catalog
from connectors.postgres_cdc_source.logical.connection import Address, connect, failure, run
from connectors.postgres_cdc_source.rows.copying import Copy
from connectors.postgres_cdc_source.rows.table_rows import Places, batch_of, path_of, query_of
from connectors.postgres_cdc_source.tables import Filter, Name, Table, now
from rocketconnect_sdk.changes.snapshots.expected import Expected
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.database_logs.making import Making, snapshot_partition
from rocketconnect_sdk.errors import RetriableError
from rocketconnect_sdk.record import Offset, SourceBatch

RUN = 1
_DONE = 2
# What pg_class says is of the transaction's time, and what the function says of now.
_REWRITTEN: LiteralString = """
SELECT count(*) FILTER (WHERE c.oid = %(table)s::regclass) > 0,
count(*) FILTER (WHERE c.relfilenode <> coalesce(pg_relation_filenode(c.oid), 0)) > 0
FROM pg_class c WHERE c.oid = %(table)s::regclass OR c.oid IN (SELECT relid FROM pg_partition_tree(%(table)s::regclass))
"""


def is_done(offset: Offset) -> bool:
    """Whether a table's rows were all read."""
    return offset[:2] == (RUN, _DONE)


def transaction(address: Address, snapshot: str) -> psycopg.Connection[TupleRow]:
    """A connection with a transaction that sees the database as a snapshot does; empty: as it is now.

    Raises:
        SystemAway, PermanentError: as connect.
    """
    connection = connect(address)
    try:
        run(connection, b"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        if snapshot:
            run(connection, f"SET TRANSACTION SNAPSHOT '{snapshot}'".encode())
        else:
            # The transaction sees the database as it is at its first statement.
            run(connection, b"SELECT 1")
        # Amounts are written as in the log: see logical.connection.
        run(connection, b"SET LOCAL lc_monetary = 'C'")
        # What it has sent of a table waits here while the task is paused; to the server the transaction is idle then.
        run(connection, b"SET LOCAL idle_in_transaction_session_timeout = 0")
    except BaseException:
        connection.close()
        raise
    return connection


class TableAltered(RetriableError):
    """The transaction can't read a table any more, as it was rewritten, renamed or dropped since; another one can."""


class Snapshot:
    """Reads tables.

    Args:
        connection: With the transaction; it belongs to this object from now on.
        control: Another connection, which sees the tables as they are by now.
        catalog: Of that one.
        tables: In their order.
        chosen: What of them is captured.
        making: What becomes of rows.
        lsn: Where the log goes on, for the field source.
        context: Of the task.
    """

    def __init__(
        self,
        connection: psycopg.Connection[TupleRow],
        control: psycopg.Connection[TupleRow],
        catalog: Catalog,
        tables: Sequence[Name],
        chosen: Filter,
        making: Making[Name],
        lsn: int,
        context: TaskContext,
    ) -> None:
        self._connection = connection
        self._control = control
        self._catalog = catalog
        self._tables = [name for name in tables if not is_done(making.positions.get(snapshot_partition(name), ()))]
        self._chosen = chosen
        self._making = making
        self._lsn = lsn
        self._context = context
        self._expected = Expected({snapshot_partition(name): _counted(control, name) for name in self._tables})
        self._batches = self._all()
        self.finished = False

    @property
    def left(self) -> int | None:
        """About how many rows there are still to read, by the statistics of the server; None: these do not say."""
        return self._expected.left

    def poll(self) -> SourceBatch | None:
        """The next rows; None: there are no more.

        Raises:
            SystemAway, TableAltered: begin again behind what was given.
            PermanentError: the server refuses.
        """
        batch = next(self._batches, None)
        self.finished = batch is None
        if batch is not None:
            self._expected.saw(batch)
        return batch

    def close(self) -> None:
        """Ends the transaction. Calling it again does nothing."""
        self._connection.close()

    def _all(self) -> Iterator[SourceBatch]:
        for name in self._tables:
            hold(self._connection, name)
            table = now(self._control, self._catalog, name, self._chosen)
            partition = snapshot_partition(name)
            if table is not None and table.columns:
                self._context.log.info("the snapshot of %s begins", name)
                yield from self._table(table, partition)
            yield SourceBatch(partition, [], [], end=(RUN, _DONE))

    def _table(self, table: Table, partition: str) -> Iterator[SourceBatch]:
        changes = self._making.changes(table, partition)
        places = Places(table, self._making.positions.get(partition, ()), self._context.epoch, RUN)
        with Copy(self._connection, query_of(table, places)) as copy:
            while texts := copy.read(self._context.batch_records, self._context.batch_bytes, len(table.columns)):
                offsets, end = places.of(texts)
                batch = batch_of(changes, table, texts, offsets, time.time_ns() // 1_000_000, (None, self._lsn))
                batch.end = end
                yield batch


def _counted(control: psycopg.Connection[TupleRow], name: Name) -> int | None:
    """About how many rows a table has, as its server has counted them last; None: it has not, or there is no such table."""
    try:
        ((rows,),) = control.execute(COUNTED, {"table": path_of(name)}).fetchall()
    except psycopg.Error as error:
        raise failure(error.sqlstate, str(error)) from None
    return None if rows is None else int(rows)


def hold(connection: psycopg.Connection[TupleRow], name: Name) -> None:
    """Nobody alters the table from here on until the transaction ends.

    Raises:
        TableAltered: somebody did before. One that was rewritten looks empty to an older transaction.
    """
    path = path_of(name)
    try:
        # What is read is locked against that, and needs no more privileges than reading.
        connection.execute(f"SELECT 1 FROM {path} LIMIT 0".encode())  # noqa: S608 - names are quoted
        ((is_there, rewritten),) = connection.execute(_REWRITTEN, {"table": path}).fetchall()
    except (psycopg.errors.UndefinedTable, psycopg.errors.InvalidSchemaName):
        is_there = rewritten = False
    except psycopg.Error as error:
        raise failure(error.sqlstate, str(error)) from None
    if rewritten or not is_there:
        msg = f"{name} was {'rewritten' if rewritten else 'renamed or dropped'} since the snapshot's transaction began"
        raise TableAltered(msg)
