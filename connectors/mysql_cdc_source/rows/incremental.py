"""Incremental snapshots: see rocketconnect_sdk.changes.snapshots.chunked.

Of the transaction of a chunk is known what of the log its rows show (see beginning). They come when the log was read up to where
that ends. Where the log has said more than they show before there was a window, the transaction is begun anew.
"""

import time
from collections.abc import Callable, Sequence

from connectors.jdbc.keys import any_of
from connectors.jdbc.reading.mysql import MysqlReading
from connectors.mysql_cdc_source.binlog.server import Connection, Position, connected, explained, rows_of
from connectors.mysql_cdc_source.rows import keys
from connectors.mysql_cdc_source.rows.beginning import begin
from connectors.mysql_cdc_source.rows.table_rows import Places, batch_of, path_of, query_of, quoted
from connectors.mysql_cdc_source.rows.text_query import TableAltered, TextQueries
from connectors.mysql_cdc_source.rows.text_rows import split, values
from connectors.mysql_cdc_source.rows.window import TableWindow
from connectors.mysql_cdc_source.settings import Settings
from connectors.mysql_cdc_source.streaming import LogReader
from connectors.mysql_cdc_source.tables import Name, Table, now
from connectors.mysql_cdc_source.watermark import BinlogCoordinate
from rocketconnect_sdk.changes.gathered import Row
from rocketconnect_sdk.changes.snapshots import asking, chunked
from rocketconnect_sdk.changes.snapshots.asking import ask_all, key_length_problem, number_of
from rocketconnect_sdk.changes.snapshots.chunked import Chunk, Chunks, Reading, Texts
from rocketconnect_sdk.changes.snapshots.incremental import Requests, keys_of, partition_of
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.database_logs.making import Making
from rocketconnect_sdk.errors import ConnectorError
from rocketconnect_sdk.record import Offset, SourceBatch

_LONG_WAIT = 60.0


class _Chunk(Chunk[Table, Places]):
    """See Chunk.

    Args:
        reading: Of which table.
        queries: With the transaction.
        query: The query.
        position: Up to where the log is to be read.
        most: How many rows the query is for.
    """

    def __init__(self, reading: Reading[Table, Places], queries: TextQueries, query: str, position: Position, most: int) -> None:
        super().__init__(reading, most)
        self.position = position
        self._queries = queries
        self._found = queries.run(query)
        names = [column.name for column in reading.table.columns]
        self._key = [names.index(name) for name in reading.table.key]

    @property
    def finished(self) -> bool:
        """See Chunk."""
        return self._found.finished

    def more(self, most: int, most_bytes: int) -> list[bytes]:
        """See Chunk."""
        return self._found.read(most, most_bytes, chunked.SECONDS)

    def texts(self, rows: Sequence[bytes]) -> Texts:
        """See Chunk."""
        return split(rows, self.reading.table.columns)

    def keys(self, texts: Texts) -> list[object]:
        """See Chunk."""
        columns = self.reading.table.columns
        return list(zip(*(values(columns[index], texts[index]) for index in self._key), strict=True))

    @property
    def source(self) -> Row:
        """See Chunk."""
        return (self.position.file, self.position.offset, 0, None, 0)

    def batch(self, texts: Texts, offsets: Sequence[Offset], ts_ms: int) -> SourceBatch:
        """See Chunk."""
        return batch_of(self.reading.changes, self.reading.table.columns, texts, offsets, ts_ms, self.source)

    def close(self) -> None:
        """See Chunk."""
        self._queries.close()


class Incremental(Chunks[Table, Places, _Chunk, LogReader]):
    """See Chunks.

    Args:
        settings: As configured.
        making: What becomes of rows.
        requests: What is asked for.
        place: The place in the log of a position of the server.
        context: Of the task.
    """

    altered = TableAltered

    def __init__(
        self,
        settings: Settings,
        making: Making[Name],
        requests: Requests,
        place: Callable[[Position], BinlogCoordinate],
        context: TaskContext,
    ) -> None:
        super().__init__(requests, context, rows=settings.capture.chunk_rows, rate=settings.capture.chunk_rate)
        self._settings = settings
        self._making = making
        self._place = place
        self._waits_since: float | None = None

    def begin(self, wanted: str, log: LogReader) -> tuple[_Chunk, TableWindow] | list[SourceBatch]:
        """See Chunks."""
        if log.place is None:
            return []
        name, settings = _name(wanted), self._settings
        connection, shown, position = begin(settings.login, self._place)
        try:
            with explained(settings.login):
                table = _held(connection, name, settings)
            reading = self.about(wanted, table)
            missing = shown.missing(log.last, log.gtid_set)
            if isinstance(reading, list) or missing:
                connection.close()
                self._wait_for(wanted, missing)
                return reading if isinstance(reading, list) else []
            self._waits_since = None
            queries = TextQueries(connection, settings.login.server)
        except BaseException:
            connection.close()
            raise
        query = query_of(reading.table, reading.places, _condition(reading.table, self.requests.condition(wanted)), limit=self.rows)
        return _Chunk(reading, queries, query, position, self.rows), TableWindow(name, reading.table.key, shown)

    def _wait_for(self, wanted: str, missing: str) -> None:
        """The log has transactions that others do not see yet: in a moment, or while the server waits for a replica."""
        self.wait()
        moment = time.monotonic()
        if not missing or self._waits_since is None:
            self._waits_since = moment if missing else None
        elif moment - self._waits_since > _LONG_WAIT:
            self._waits_since = moment
            self.context.log.warning(
                "the incremental snapshot of %s waits until others see the transactions %s, which the log has",
                wanted,
                missing,
            )

    def is_time(self, chunk: _Chunk, log: LogReader) -> bool:
        """See Chunks."""
        return log.place is not None and log.place >= self._place(chunk.position)

    def reading(self, wanted: str, table: Table, begin: Offset, run: int) -> Reading[Table, Places]:
        """See Chunks."""
        changes = self._making.changes(table, partition_of(wanted), snapshot="incremental")
        return Reading(table, changes, Places(table, begin, self.context.epoch, run), run)

    def problem(self, table: Table) -> str | None:
        """See Chunks."""
        return key_problem(table)

    def number(self, table: Table) -> int:
        """See Chunks: by the columns of the key, their types and collations."""
        columns = {column.name: column for column in table.columns}
        return number_of([columns[name] for name in table.key])

    def again(self, wanted: str, error: ConnectorError) -> list[SourceBatch]:
        """See Chunks. Whether the table is gone the next transaction says."""
        del wanted, error
        return []


def key_problem(table: Table) -> str | None:
    """Why a table can't be read in chunks; None: it can."""
    if problem := asking.key_problem(table):
        return problem
    columns = {column.name: column for column in table.columns}
    if not keys.is_comparable([columns[name] for name in table.key]):
        return (
            f"the primary key of {table.name} has a column of ENUM, SET, BIT, FLOAT or DOUBLE, and reading can't go on behind "
            "such a value: let a connector of its own read it with snapshot.mode=initial"
        )
    return None


def ask(settings: Settings, requests: Requests, names: Sequence[str], condition: str = "") -> list[SourceBatch]:
    """Snapshots of tables are to be taken: of all, or of none of them.

    Raises:
        ValueError: what is wrong with which of them.
        ConnectorError: the server does not answer.
    """
    with connected(settings.login) as connection:

        def problem(text: str) -> str | None:
            name = _name(text)
            table = now(connection, name, settings.chosen) if settings.chosen.takes(*name) else None
            if table is None:
                return f"{text} is no table that is there and captured; write it as database.table"
            found = key_problem(table) or key_length_problem(table, condition)
            if condition and found is None:
                _check_condition(connection, name, _condition(table, condition))
            return found

        return ask_all(requests, names, condition, problem)


def _held(connection: Connection, name: Name, settings: Settings) -> Table | None:
    """A table as it is until the transaction ends; None: it is gone."""
    import pymysql

    try:
        # From here on nobody changes its definition. One that was changed since the transaction began is a TableAltered.
        rows_of(connection, f"SELECT 1 FROM {path_of(name)} LIMIT 0")  # noqa: S608 - quoted
    except pymysql.ProgrammingError:
        return None
    return now(connection, name, settings.chosen)


def _condition(table: Table, wanted: str) -> str:
    """In SQL: which rows are wanted."""
    names = [quoted(str(name)) for name in table.key]
    keys = keys_of(wanted)
    return any_of(MysqlReading(), names, keys) if keys else wanted


def _check_condition(connection: Connection, name: Name, condition: str) -> None:
    """It is right by itself, and so no more than a condition, and in parentheses too. Nothing is read."""
    for text in (condition, f"({condition})"):
        rows_of(connection, f"EXPLAIN SELECT 1 FROM {path_of(name)} WHERE {text}")  # noqa: S608 - a condition of who may read it


def _name(text: str) -> Name:
    database, _, table = text.partition(".")
    return Name(database, table)
