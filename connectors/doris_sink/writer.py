"""Records become rows of a table, as JSON that the server reads. Runs where the records are."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from connectors.doris.client import DELETE_SIGN
from connectors.doris.place import quoted
from connectors.doris.session import Session
from connectors.doris.tables import Table, table_of
from connectors.doris.types import column_type
from connectors.doris_sink.defaults import filled
from connectors.doris_sink.shape import TAKES, create, fitted, lines, met, stand_ins, target_of
from connectors.doris_sink.store import is_positions
from connectors.doris_sink.writing import Writing, table_problem
from rocketconnect_sdk.arrow import to_array
from rocketconnect_sdk.columns.objects import rows_of_array
from rocketconnect_sdk.errors import PermanentError, RecordError, RecordRefused, RetriableError
from rocketconnect_sdk.evolution import settle
from rocketconnect_sdk.record import SinkBatch
from rocketconnect_sdk.schema import Schema, Type
from rocketconnect_sdk.sink import Receipt, SinkWriter
from rocketconnect_sdk.spark.types import to_spark
from rocketconnect_sdk.targets.changes import Changes, by_key, by_value, read_changes
from rocketconnect_sdk.targets.envelopes import row_schema
from rocketconnect_sdk.targets.fitted import NO_VALUES, keyed, keys_gone, moved, only, rows_written
from rocketconnect_sdk.targets.keys import key_columns, read_keys
from rocketconnect_sdk.targets.merging import Merge, merge_of
from rocketconnect_sdk.targets.objects import read_values

_BEGINNING = 100
_ATTEMPTS = 5
_NO_DELETES = "rows are added, and none is deleted: set insert.mode=upsert for a table with a UNIQUE KEY, or leave such records out"


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of one queue, ready to be sent. A batch is one load, so they travel with the receipt.

    Attributes:
        table: Where they go.
        columns: The names of the columns.
        lines: The rows, as JSON objects.
        keys: By row its key; empty: rows have none.
        deletes: Rows say whether they delete.
    """

    table: str
    columns: Sequence[str]
    lines: Sequence[bytes]
    keys: Sequence[bytes] = ()
    deletes: bool = False


def joined(rows: Sequence[Rows]) -> tuple[Sequence[str], bytes, bool]:
    """The columns and the lines of one load, and whether lines may delete. Of each key the last line stays: a load has no order."""
    columns = list(dict.fromkeys(name for each in rows for name in each.columns))
    deletes = any(each.deletes for each in rows)
    if not rows[0].keys:
        return columns, b"\n".join(line for each in rows for line in each.lines), deletes
    last = {key: line for each in rows for key, line in zip(each.keys, each.lines, strict=True)}
    return columns, b"\n".join(last.values()), deletes


class TableWriter(SinkWriter):
    """Makes rows of records; makes and changes tables, too.

    Args:
        writing: See Writing.
    """

    def __init__(self, writing: Writing) -> None:
        self._writing = writing

    def stage(self, batch: SinkBatch, part: str) -> Receipt:
        """See SinkWriter. Nothing is sent yet but what makes the table ready."""
        del part
        refused: dict[int, str] = {}
        places = list(range(len(batch)))
        made: Rows | None = None
        session = Session(self._writing.place, self._writing.login)
        try:
            while places:
                bad: dict[int, str] = {}
                made = _made(self._writing, session, batch if len(places) == len(batch) else batch.take(places), bad)
                if not bad:
                    break
                # Once more, of the others.
                made = None
                refused.update({places[index]: why for index, why in bad.items()})
                places = [place for index, place in enumerate(places) if index not in bad]
        finally:
            session.close()
        if refused:
            raise RecordRefused(refused, made)
        return made


def _made(writing: Writing, session: Session, batch: SinkBatch, bad: dict[int, str]) -> Rows | None:
    try:
        return _Staging(writing, session, bad).rows(batch)
    except RecordError as error:
        bad.update(dict.fromkeys(range(len(batch)), str(error)))
        return None


class _Staging:
    """A batch on its way. What is said of it means nothing where some of its records are bad.

    Args:
        writing: See Writing.
        session: Statements.
        bad: By index what is wrong with records; filled here.
    """

    def __init__(self, writing: Writing, session: Session, bad: dict[int, str]) -> None:
        self._writing = writing
        self._session = session
        self._bad = bad
        self._unnamed: Mapping[int, Sequence[str]] = {}

    def rows(self, batch: SinkBatch) -> Rows | None:
        """Its rows; None: there are none. Raises RecordError: all of its records are bad."""
        writing = self._writing
        if writing.upsert and writing.delete and not writing.by_key and all(value is None for value in batch.values):
            # See by_value. Without a value there is no schema, and there may be no table.
            return None
        name = writing.name(batch.topic)
        table = self._there(name)
        values, schema = self._read(batch, table)
        unchanged = () if batch.headers is None else [each.get("unchanged") for each in batch.headers]
        changes = read_changes(values, schema, unchanged if any(unchanged) else ())
        self._bad.update(changes.reasons)
        self._bad.update(dict.fromkeys(changes.truncates, "truncates the table, which this sink does not do"))
        for index, spared in changes.unchanged.items():
            self._bad[index] = f"the change leaves out what {', '.join(spared)} had, which the new row needs"
        if self._bad:
            return None
        return self._upserted(name, table, changes, batch) if self._writing.upsert else self._appended(name, table, changes)

    def _appended(self, name: str, table: Table | None, changes: Changes) -> Rows | None:
        self._bad.update(dict.fromkeys((*changes.missing, *changes.deletes), _NO_DELETES))
        if self._bad or not changes.writes:
            return None
        table = self._ready(name, table, changes.schema)
        target = target_of(met(table.columns, changes.schema), changes.schema)
        rows = self._written(changes, target, table)
        return None if self._bad else Rows(table.name, rows.column_names, lines(rows, {}))

    def _written(self, changes: Changes, target: Schema, table: Table) -> pa.Table:
        """The rows that are written, by write, with the defaults of what they do not name."""
        told = replace(changes, unchanged={index: tuple(names) for index, names in self._unnamed.items()})
        rows, bad = rows_written(told, target, partial(fitted, table.columns))
        self._bad.update(bad)
        return filled(rows, table.columns, [self._unnamed.get(index, ()) for index in changes.writes], datetime.now(UTC))

    def _upserted(self, name: str, table: Table | None, changes: Changes, batch: SinkBatch) -> Rows | None:
        key = tuple(self._writing.key if table is None else table.key)
        self._find_keys(changes, key, batch, table)
        if not self._writing.delete:
            self._bad.update(dict.fromkeys(changes.deletes, "deletes a row, and delete.enabled is false"))
        names = {each.name for each in changes.schema.fields}
        if changes.writes and (missing := [each for each in key if each not in names]):
            msg = f"the record has no field {', '.join(missing)}, which is of the key of the table"
            raise RecordError(msg)
        if self._bad or (table is None and not changes.writes):
            return None
        if changes.writes or table is None:
            table = self._ready(name, table, changes.schema)
        columns = table.columns

        whole = keyed(met(columns, changes.schema), key)
        rows = self._written(changes, target_of(whole, changes.schema), table)
        gone, _ = keys_gone(changes, only(whole, key), moved(changes, key), partial(fitted, columns))
        self._bad.update(changes.reasons)
        if self._bad:
            return None
        return self._told(table, merge_of(changes, rows, gone, None, key), key)

    def _find_keys(self, changes: Changes, key: Sequence[str], batch: SinkBatch, table: Table | None) -> None:
        if not self._writing.by_key:
            by_value(changes, deletes=self._writing.delete)
            self._bad.update(changes.reasons)
            return
        keys = _texts_of_keys(batch)
        columns = key_columns(keys, key, changes.schema if table is None else met(table.columns, changes.schema))
        found, bad = read_keys(keys, columns)
        by_key(changes, found, columns)
        self._bad.update(bad)

    def _told(self, table: Table, merge: Merge, key: Sequence[str]) -> Rows:
        goes = pa.array(merge.gone, pa.bool_())
        kept, gone = merge.rows.filter(pc.invert(goes)), merge.rows.filter(goes).select(list(key))
        deletes = self._writing.delete or bool(gone.num_rows)
        others = stand_ins(table.columns, key) if gone.num_rows else {}
        made = [*lines(kept, {DELETE_SIGN: 0} if deletes else {}), *lines(gone, {**others, DELETE_SIGN: 1})]
        columns = list(dict.fromkeys([*kept.column_names, *others]))
        return Rows(table.name, columns, made, [*_encoded(kept, key), *_encoded(gone, key)], deletes)

    def _read(self, batch: SinkBatch, table: Table | None) -> tuple[pa.StructArray, Schema]:
        """The values as structs, of types that Spark has; what is none is null, and bad.

        Raises:
            RecordError: none of them is a row.
        """
        columns, schema = self._writing.columns, batch.schema
        if self._writing.by_key and all(value is None for value in batch.values):
            return pa.nulls(len(batch), pa.struct([])), NO_VALUES
        if schema is not None and row_schema(schema) is not None and columns is None:
            return to_spark(self._taken(batch.values, lambda some: to_array(some, schema), schema)), schema
        if columns is not None:
            objects = self._taken(batch.values, lambda some: rows_of_array(to_array(some, schema), columns), columns)
            return to_spark(objects), columns
        texts = self._taken(batch.values, lambda some: _texts(some, schema), Schema(Type.STRING))
        if table is None:
            msg = f"the value has no schema, and there is no table {self._writing.name(batch.topic)} to say what it is: set columns"
            raise RecordError(msg)
        there = met(table.columns, Schema(Type.STRUCT))
        read = read_values(texts, there, table.key if self._writing.upsert else ())
        self._bad.update(read.reasons)
        self._unnamed = read.unnamed
        return read.values, read.schema

    def _taken(self, values: Sequence[object], make: Any, schema: Schema) -> pa.Array:
        """What `make` makes of values, with nulls in the place of those that it makes nothing of, which are bad."""
        try:
            return make(values)
        except RecordError:
            pass
        parts = []
        for index, value in enumerate(values):
            try:
                parts.append(make([value]))
            except RecordError as error:
                self._bad[index] = f"{error}; the value begins {str(value)[:_BEGINNING]!r}"
                parts.append(make([None]) if schema.type is Type.STRING else to_array([None], replace(schema, optional=True)))
        return pa.concat_arrays([part.cast(parts[0].type) if part.type != parts[0].type else part for part in parts])

    def _there(self, name: str) -> Table | None:
        table = table_of(self._session, name)
        if table is None and not self._writing.create:
            msg = f"{self._writing.place}: there is no table {name}. Make it, or set table.create=true"
            raise PermanentError(msg)
        if table is not None and is_positions(table.names):
            msg = f"{name} is a table of positions, which records are never written to"
            raise RecordError(msg)
        if table is not None and (problem := table_problem(self._writing, table)):
            msg = f"{name} {problem[0]}. {problem[1]}"
            raise PermanentError(msg)
        return table

    def _ready(self, name: str, table: Table | None, records: Schema) -> Table:
        """The table, with columns for records of a schema; makes and changes it.

        Raises:
            RecordError: it does not take them.
            PermanentError: the policy is fail.
        """
        writing = self._writing
        for _ in range(_ATTEMPTS):
            if table is None:
                self._session.run(create(writing.place.table(name), records, writing.key, writing.properties))
                table = self._there(name)
                continue
            never_null = [each.name for each in table.columns if not each.schema.optional]
            settled = settle(met(table.columns, records), keyed(records, never_null), writing.policy, TAKES)
            new = [each.name for each in settled.changes if each.path[0] not in table.names]
            if not new:
                return table
            for field in (each for each in settled.table.fields if each.name in new):
                kind = column_type(field.schema)
                self._session.run(f"ALTER TABLE {writing.place.table(name)} ADD COLUMN {quoted(field.name)} {kind} NULL")
            table = self._there(name)
        msg = f"{name} is changed by others all the time, or not as it was to be"
        raise RetriableError(msg)


def _encoded(rows: pa.Table, key: Sequence[str]) -> list[bytes]:
    return [msgspec.json.encode(list(each.values())) for each in rows.select(list(key)).to_pylist()]


def _texts_of_keys(batch: SinkBatch) -> pa.Array:
    """Keys as read_keys takes them."""
    keys = [None] * len(batch) if batch.keys is None else list(batch.keys)
    return to_array([msgspec.json.encode(each).decode() if isinstance(each, Mapping) else each for each in keys], None)


def _texts(values: Sequence[object], schema: Schema | None) -> pa.Array:
    made = to_array(values, schema)
    if not pa.types.is_string(made.type):
        msg = "the value is no row: give it a schema by its converter, or set columns"
        raise RecordError(msg)
    return made
