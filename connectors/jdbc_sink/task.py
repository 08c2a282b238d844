"""A batch becomes one transaction: rows are staged, merged, and the positions are stored with them."""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from logging import Logger

import pyarrow as pa

from connectors.jdbc import Dialect, Endpoint, Fault
from connectors.jdbc.dialect import Connection, execute
from connectors.jdbc_sink.faults import RejectedValues, understood
from connectors.jdbc_sink.merging import Merging, Prepared, SinkSettings
from connectors.jdbc_sink.naming import by_table, headers_of
from connectors.jdbc_sink.preflight import privileges_of
from connectors.jdbc_sink.shape import Shape, as_read, fitted
from connectors.jdbc_sink.store import Store
from connectors.jdbc_sink.tables import Tables
from rocketconnect_sdk.columns.arrow_types import from_arrow_type
from rocketconnect_sdk.columns.sinks import ArrowSinkTask
from rocketconnect_sdk.errors import PermanentError, RecordError, RetriableError
from rocketconnect_sdk.evolution import OtherColumns
from rocketconnect_sdk.schema import Schema
from rocketconnect_sdk.sink import FlushPolicy, QueuePosition, SinkCommit
from rocketconnect_sdk.targets.batch import HEADER, UNCHANGED, Batch, batch_of
from rocketconnect_sdk.targets.changes import Changes, by_key, by_value, read_changes
from rocketconnect_sdk.targets.envelopes import row_schema
from rocketconnect_sdk.targets.fitted import NO_VALUES, Fit, keys_gone, moved, only, rows_written
from rocketconnect_sdk.targets.keys import key_columns, read_keys
from rocketconnect_sdk.targets.objects import Objects, read_values
from rocketconnect_sdk.targets.rows import Rows
from rocketconnect_sdk.wording.counts import counted

_IDLE_SECONDS = 20.0
"""A connection that has rested for longer is made anew: the server ends it sooner or later, or a firewall has."""
_REFUSED = 1000
"""So many values that the database refuses are looked for at once."""


class _Undo(Exception):
    """Ends a transaction that was but a trial."""


class JdbcTask(ArrowSinkTask):
    """Writes to one database, exactly once.

    Args:
        place: The database.
        dialect: Its kind.
        login: The user and the password.
        store: Its positions.
        writing: How.
        flush: When batches are closed.
        log: For people.
    """

    def __init__(
        self,
        place: Endpoint,
        dialect: Dialect,
        login: tuple[str, str],
        store: Store,
        writing: SinkSettings,
        flush: FlushPolicy,
        log: Logger,
    ) -> None:
        self._place = place
        self._dialect = dialect
        self._login = login
        self._store = store
        self._writing = writing
        self._flush = flush
        self._log = log
        self._connection: Connection = None
        self._used = 0.0
        """When the connection was used last."""
        self._tables = Tables(place, dialect, writing, log)
        self._merging = Merging(dialect, writing, log)
        self._schema: Schema | None = None
        self._keys: dict[tuple[str, Schema], Schema] = {}
        self._reasons: dict[int, str] = {}
        self._missed = False
        """A table was gone, and nothing was written since."""

    @property
    def flush(self) -> FlushPolicy:
        """See SinkTask."""
        return self._flush

    @property
    def columns(self) -> Sequence[str]:
        """See ArrowSinkTask. Keys and headers cost time."""
        more = (("key", self._writing.by_key), (UNCHANGED, self._writing.keyed))
        named = (f"{HEADER}{name}" for name in headers_of(self._writing.table))
        return ("value", "topic", *(name for name, wanted in more if wanted), *named)

    @property
    def rows_as(self) -> Schema | None:
        """See ArrowSinkTask."""
        return self._writing.columns

    def start(self) -> Mapping[str, QueuePosition]:
        """See SinkTask."""
        self.close()
        try:
            self._create()
        except RejectedValues:
            # Another task has just made it: PostgreSQL refuses who comes second, although IF NOT EXISTS is said.
            self._create()
        with self._transaction(()) as connection:
            return self._store.claim(connection)

    def _create(self) -> None:
        with self._transaction(()) as connection:
            self._store.create(connection)

    def columns_for(self, schema: Schema) -> Schema | None:
        """See ArrowSinkTask. Which columns there are is known only when the table of each record is: write() fits them."""
        self._schema = schema
        return None

    def write(self, table: pa.Table, commit: SinkCommit) -> None:
        """See ArrowSinkTask."""
        batch = batch_of(table)
        schema = self._schema or self._writing.columns or from_arrow_type(batch.values.type)
        prepared = self._prepare(batch, schema)
        try:
            with self._transaction([each.shape.name for each in prepared]) as connection:
                if not self._store.written(connection, commit):
                    for each in prepared:
                        self._merging.change(connection, each, each.changes)
                    self._store.put(connection, commit)
            self._missed = False
        except RejectedValues as error:
            self._find_refused(prepared)
            if not self._reasons:
                raise PermanentError(str(error)) from error
            msg = f"{error} ({counted(self._reasons, 'value')})"
            raise RecordError(msg) from error
        self._schema = None

    def unwritable(self, values: pa.Array) -> Mapping[int, str]:
        """See ArrowSinkTask. write() has looked at all values before it raised."""
        del values
        return self._reasons

    def move(self, commit: SinkCommit) -> None:
        """See SinkTask."""
        with self._transaction(()) as connection:
            if not self._store.written(connection, commit):
                self._store.put(connection, commit)
        self._schema = None

    def close(self) -> None:
        """See SinkTask."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(Exception):
                connection.close()

    @contextmanager
    def _transaction(self, tables: Sequence[str]) -> Iterator[Connection]:
        """A transaction, committed at the end of the block; an error undoes it and ends the connection.

        Raises:
            SystemAway, RetriableError, PermanentError: what an error of the database means.
        """
        if time.monotonic() - self._used > _IDLE_SECONDS:
            self.close()
        try:
            if self._connection is None:
                self._connection = self._dialect.connect(self._place, *self._login)
                self._dialect.end_abandoned(self._connection)
            connection = self._connection
            self._merging.begin()
            self._dialect.begin(connection)
            yield connection
            commit_all(connection)
            self._used = time.monotonic()
        except BaseException as error:
            # What was cached of tables may be why.
            self._keys = {}
            self._tables.forget()
            fault = self._dialect.fault(error)
            grants = self._grants(tables) if fault is Fault.DENIED else ()
            self.close()
            if fault is Fault.MISSING and self._writing.create and not self._missed:
                self._missed = True
                msg = f"{self._place}: {', '.join(tables)}: a table is gone, and is made again: {error}"
                raise RetriableError(msg) from error
            if isinstance(error, Exception) and fault is not None:
                where = ": ".join([str(self._place), *([", ".join(tables)] if tables else [])])
                raise understood(fault, error, where, self._login[0], grants) from error
            raise

    def _grants(self, tables: Sequence[str]) -> Sequence[str]:
        """The statements that give the user what the transaction that just failed lacked, as far as that can be known."""
        with suppress(Exception):
            self._connection.rollback()
            needed = privileges_of(keyed=self._writing.keyed, deletes=self._writing.delete or self._writing.truncate)
            found = list(self._dialect.grants(self._connection, "", ["TEMPORARY"])) if self._writing.keyed else []
            for name in tables:
                found += self._dialect.grants(self._connection, name, needed)
            # A changed key deletes the old row.
            return found or [each for name in tables for each in self._dialect.grants(self._connection, name, ["DELETE"])]
        return ()

    def _prepare(self, batch: Batch, schema: Schema) -> list[Prepared]:
        """All that can be known before the transaction.

        Raises:
            RecordError: values do not fit; see unwritable.
            SystemAway, RetriableError, PermanentError: as _transaction.
        """
        self._reasons = {}
        has_values = batch.values.null_count < len(batch.values)
        if batch.keys is None and not has_values and self._writing.delete:
            # See by_value. Without a value there is no schema, and there may be no table.
            return []
        if batch.keys is not None and not has_values:
            # Nothing but deletions: without a value there is no schema.
            schema = NO_VALUES
            batch = replace(batch, values=pa.nulls(len(batch.values), pa.struct([])))
        if row_schema(schema) is None and not pa.types.is_string(batch.values.type):
            self._refuse(range(len(batch.values)), "the value is no row: give it a schema by its converter, or set columns")
        prepared = []
        for name, indexes in self._by_table(batch, schema).items():
            made = self._prepare_table(name, batch.take(indexes), schema, indexes)
            if made is not None:
                prepared.append(made)
        if self._reasons:
            msg = f"{counted(self._reasons, 'value')} cannot be written: {next(iter(self._reasons.values()))}"
            raise RecordError(msg)
        return prepared

    def _prepare_table(self, name: str, batch: Batch, schema: Schema, indexes: Sequence[int]) -> Prepared | None:
        read = Objects(batch.values, schema, {})
        try:
            with self._transaction([name]) as connection:
                key = self._writing.key
                if row_schema(schema) is None:
                    read = self._read(connection, name, key, batch.values)
                    schema = read.schema
                changes = read_changes(read.values, schema, batch.unchanged, read.unnamed)
                is_gone = schema == NO_VALUES or (self._writing.truncate and changes.only_truncates)
                if is_gone and self._writing.create and self._dialect.table(connection, name) is None:
                    # Nothing is there that could be deleted, and it may not be known what to make.
                    return None
                if batch.keys is not None:
                    key = self._set_key(connection, name, changes, batch.keys)
                else:
                    by_value(changes, deletes=self._writing.delete)
                shape = self._tables.shape(connection, name, changes.schema, key, has_rows=schema != NO_VALUES)
        except RecordError as error:
            self._refuse(indexes, str(error))
            return None
        except OtherColumns as error:
            raise OtherColumns(str(error), indexes[0]) from error
        changes.reasons.update(read.reasons)
        if not self._writing.truncate:
            changes.reasons.update(dict.fromkeys(changes.truncates, f"truncates {name}, and truncate.enabled is false"))
        if not self._writing.delete:
            changes.reasons.update(dict.fromkeys(changes.deletes, f"deletes a row of {name}, and delete.enabled is false"))

        def fit(rows: Rows, columns: Schema) -> tuple[pa.Table, dict[int, str]]:
            return fitted(rows, replace(shape, columns=columns), self._dialect)

        rows, bad = rows_written(changes, shape.columns, fit)
        changes.reasons = {**bad, **changes.reasons}
        gone, left = self._gone(changes, shape, fit)
        for index, reason in changes.reasons.items():
            self._refuse([indexes[index]], reason)
        return Prepared(shape, changes, rows, gone, left, indexes)

    def _read(self, connection: Connection, name: str, key: Sequence[str], values: pa.Array) -> Objects:
        """Values without a schema. Raises RecordError: there is no table that says what they are."""
        table = self._dialect.table(connection, name)
        if table is None:
            msg = f"the value has no schema, and there is no table {name} to say what it is: make it, or set columns"
            raise RecordError(msg)
        return read_values(values, as_read(table), (key or table.key) if self._writing.keyed else ())

    def _gone(self, changes: Changes, shape: Shape, fit: Fit) -> tuple[pa.Table | None, pa.Table | None]:
        """The keys of the rows that are deleted, and of those that move."""
        also = moved(changes, shape.key) if self._writing.keyed else []
        if also and self._writing.update:
            changes.reasons.update(dict.fromkeys(also, "changes the key of its row, which insert.mode=update cannot. Set upsert"))
            also = []
        return keys_gone(changes, only(shape.columns, shape.key), also, fit)

    def _set_key(self, connection: Connection, name: str, changes: Changes, keys: pa.Array) -> tuple[str, ...]:
        """Makes the keys of the records those of the rows. Raises RecordError: it is not known what they are."""
        if (name, changes.schema) not in self._keys:
            table = self._dialect.table(connection, name)
            names = self._writing.key or (() if table is None else table.key)
            self._keys[name, changes.schema] = key_columns(keys, names, changes.schema if table is None else as_read(table))
        columns = self._keys[name, changes.schema]
        found, bad = read_keys(keys, columns)
        by_key(changes, found, columns)
        # A truncation has no key.
        changes.reasons.update({index: reason for index, reason in bad.items() if index not in changes.truncates})
        return tuple(each.name for each in columns.fields)

    def _refuse(self, rows: Sequence[int], reason: str) -> None:
        self._reasons.update(dict.fromkeys(rows, reason))

    def _by_table(self, batch: Batch, schema: Schema) -> dict[str, list[int]]:
        if self._reasons:
            return {}
        writing = self._writing
        found, refused = by_table(writing.table, writing.allowed, self._dialect, batch.values, schema, batch.topics, batch.headers)
        self._reasons.update(refused)
        return found

    def _find_refused(self, prepared: Sequence[Prepared]) -> None:
        """Finds the values that only the database refuses, by halving what it refuses; nothing of it stays.

        A row that contradicts another one is the later of them. Only the first of very many are found: the others are when the
        batch comes again without these.
        """
        with suppress(_Undo), self._transaction(()) as connection:
            if self._dialect.check_now:
                execute(connection, self._dialect.check_now)
            for each in prepared:
                ranges = [(0, len(each.indexes))]
                while ranges and len(self._reasons) < _REFUSED:
                    start, stop = ranges.pop()
                    said = self._merging.tried(connection, each, start, stop)
                    if said and stop - start == 1:
                        self._refuse([each.indexes[start]], f"{each.shape.name}: the database refuses it: {said}")
                    elif said:
                        middle = (start + stop) // 2
                        ranges += [(middle, stop), (start, middle)]
            raise _Undo


def commit_all(connection: Connection) -> None:
    """Invariant 2: from here on the batch is durable, and so are its positions."""
    connection.commit()
