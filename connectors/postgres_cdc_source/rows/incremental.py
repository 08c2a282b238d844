"""Incremental snapshots: see rocketconnect_sdk.changes.snapshots.chunked.

Of the transaction of a chunk PostgreSQL tells which others it sees. A change that leaves a large value out waits for the rows, as
nothing else has that value. Where the log was read beyond a transaction that is not seen before there was a window, the chunk is
begun anew. The rows come when the log was read up to where it ended when their transaction began, or a second has passed: what they
show then comes again behind them, in its order.
"""

import time
from collections.abc import Sequence
from contextlib import closing
from typing import LiteralString

import psycopg
from psycopg.rows import TupleRow

from connectors.jdbc.keys import any_of
from connectors.jdbc.reading.postgres import PostgresReading
from connectors.postgres_cdc_source.logical.catalog import Catalog
from connectors.postgres_cdc_source.logical.connection import ask as rows_of
from connectors.postgres_cdc_source.logical.connection import connect, quoted, run
from connectors.postgres_cdc_source.rows.copying import Copy, texts_of
from connectors.postgres_cdc_source.rows.snapshot import TableAltered, hold, transaction
from connectors.postgres_cdc_source.rows.table_rows import Places, batch_of, path_of, query_of
from connectors.postgres_cdc_source.rows.window import Shown, TableWindow
from connectors.postgres_cdc_source.settings import Settings
from connectors.postgres_cdc_source.streaming import LogReader
from connectors.postgres_cdc_source.tables import Name, Table, now
from connectors.postgres_cdc_source.writers import Writers
from rocketconnect_sdk.changes.gathered import Row
from rocketconnect_sdk.changes.snapshots import chunked
from rocketconnect_sdk.changes.snapshots.asking import ask_all, key_length_problem, key_problem, number_of
from rocketconnect_sdk.changes.snapshots.chunked import Chunk, Chunks, Reading, Texts
from rocketconnect_sdk.changes.snapshots.incremental import Requests, keys_of, partition_of
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.database_logs.making import Making
from rocketconnect_sdk.errors import ConnectorError
from rocketconnect_sdk.record import Offset, SourceBatch

_PLACE: LiteralString = "SELECT pg_current_snapshot()::text, pg_current_wal_flush_lsn() - '0/0'::pg_lsn"
LONGEST_WAIT = 1.0
"""Seconds that rows wait for the log: one that lags far behind would hold them up for long."""


class _Chunk(Chunk[Table, Places]):
    """See Chunk.

    Args:
        reading: Of which table.
        connection: With the transaction.
        copy: What is read.
        most: How many rows that has at most.
        place: Where the log ended just behind the beginning of the transaction.

    Attributes:
        begun: When, by the monotonic clock.
    """

    def __init__(
        self, reading: Reading[Table, Places], connection: psycopg.Connection[TupleRow], copy: Copy, most: int, place: int
    ) -> None:
        super().__init__(reading, most)
        self.place = place
        self.begun = time.monotonic()
        self._connection = connection
        self._copy = copy

    def read(self, most_bytes: int) -> bool:
        """See Chunk."""
        is_read = super().read(most_bytes)
        if is_read:
            # What is held up by the transaction need not wait for the log.
            self.close()
        return is_read

    @property
    def finished(self) -> bool:
        """See Chunk."""
        return self._copy.finished

    def more(self, most: int, most_bytes: int) -> list[bytes]:
        """See Chunk."""
        return self._copy.lines(most, most_bytes, chunked.SECONDS)

    def texts(self, rows: Sequence[bytes]) -> Texts:
        """See Chunk."""
        return texts_of(rows, len(self.reading.table.columns))

    def keys(self, texts: Texts) -> list[object]:
        """See Chunk."""
        return list(self.reading.places.keys(texts))

    @property
    def source(self) -> Row:
        """See Chunk."""
        return (None, self.place)

    def batch(self, texts: Texts, offsets: Sequence[Offset], ts_ms: int) -> SourceBatch:
        """See Chunk."""
        return batch_of(self.reading.changes, self.reading.table, texts, offsets, ts_ms, self.source)

    def close(self) -> None:
        """See Chunk."""
        self._connection.close()


class Incremental(Chunks[Table, Places, _Chunk, LogReader]):
    """See Chunks.

    Args:
        settings: As configured.
        catalog: Of a connection to the database.
        control: That connection.
        making: What becomes of rows.
        requests: What is asked for.
        writers: Of tables that are captured anew.
        context: Of the task.
    """

    altered = TableAltered

    def __init__(
        self,
        settings: Settings,
        catalog: Catalog,
        control: psycopg.Connection[TupleRow],
        making: Making[Name],
        requests: Requests,
        writers: Writers,
        context: TaskContext,
    ) -> None:
        super().__init__(requests, context, rows=settings.capture.chunk_rows, rate=settings.capture.chunk_rate)
        self._settings = settings
        self._catalog = catalog
        self._control = control
        self._making = making
        self._writers = writers

    def begin(self, wanted: str, log: LogReader) -> tuple[_Chunk, TableWindow] | list[SourceBatch]:
        """See Chunks."""
        name, settings = name_of(wanted), self._settings
        if not log.place:
            return []
        if not self._writers.over(name):
            self.wait()
            return []
        connection = transaction(settings.address, "")
        try:
            ((snapshot, place),) = rows_of(connection, _PLACE)
            shown = Shown(snapshot)
            if not all(map(shown, log.recent)):
                # The log has a transaction before others see it.
                connection.close()
                self.wait()
                return []
            hold(connection, name)
            reading = self.about(wanted, now(self._control, self._catalog, name, settings.chosen))
            if isinstance(reading, list):
                connection.close()
                return reading
            query = query_of(
                reading.table, reading.places, _condition(reading.table, self.requests.condition(wanted)), limit=self.rows
            )
            chunk = _Chunk(reading, connection, Copy(connection, query), self.rows, int(place))
        except BaseException:
            connection.close()
            raise
        return chunk, TableWindow(reading.table, shown)

    def is_time(self, chunk: _Chunk, log: LogReader) -> bool:
        """See Chunks."""
        return log.place >= chunk.place or log.waits or time.monotonic() - chunk.begun >= LONGEST_WAIT

    def reading(self, wanted: str, table: Table, begin: Offset, run: int) -> Reading[Table, Places]:
        """See Chunks."""
        changes = self._making.changes(table, partition_of(wanted), snapshot="incremental")
        return Reading(table, changes, Places(table, begin, self.context.epoch, run), run)

    def problem(self, table: Table) -> str | None:
        """See Chunks."""
        return key_problem(table)

    def number(self, table: Table) -> int:
        """See Chunks: by the columns of the key and their types."""
        columns = {column.name: column for column in table.columns}
        return number_of([(name, columns[name].type.schema) for name in table.key])

    def again(self, wanted: str, error: ConnectorError) -> list[SourceBatch]:
        """See Chunks: in a moment, if the table is still there."""
        self.wait()
        if now(self._control, self._catalog, name_of(wanted), self._settings.chosen) is not None:
            return []
        self.context.log.warning("%s; its incremental snapshot has ended", error)
        return [self.requests.done(wanted)]


def ask(settings: Settings, requests: Requests, names: Sequence[str], condition: str = "") -> list[SourceBatch]:
    """Snapshots of tables are to be taken: of all, or of none of them.

    Raises:
        ValueError: what is wrong with which of them.
        ConnectorError: the server does not answer, or refuses the condition.
    """
    with closing(connect(settings.address)) as connection:
        catalog = Catalog(connection)

        def problem(text: str) -> str | None:
            name = name_of(text)
            table = now(connection, catalog, name, settings.chosen) if settings.chosen.takes(name) else None
            if table is None:
                return f"{text} is no table that is there and captured; write it as schema.table"
            found = key_problem(table) or key_length_problem(table, condition)
            if condition and found is None:
                _check_condition(connection, name, _condition(table, condition))
            return found

        return ask_all(requests, names, condition, problem)


def name_of(text: str) -> Name:
    """A table, of what people write."""
    schema, _, table = text.partition(".")
    return Name(schema, table)


def _condition(table: Table, wanted: str) -> str:
    """In SQL: which rows are wanted."""
    names = [quoted(name) for name in table.key]
    keys = keys_of(wanted)
    return any_of(PostgresReading(), names, keys) if keys else wanted


def _check_condition(connection: psycopg.Connection[TupleRow], name: Name, condition: str) -> None:
    """It is right by itself, and so no more than a condition, and in parentheses too. Nothing is read."""
    for text in (condition, f"({condition})"):
        # A statement with parameters can be no more than one statement.
        query = f"EXPLAIN SELECT 1 FROM {path_of(name)} WHERE {text.replace('%', '%%')} LIMIT %s"  # noqa: S608 - see above
        run(connection, query.encode(), [1])
