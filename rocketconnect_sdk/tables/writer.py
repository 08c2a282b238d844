"""Records become loads of a table. Runs where the records are; makes and changes tables, too."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from rocketconnect_sdk.errors import PermanentError, RecordError, RecordRefused, RetriableError
from rocketconnect_sdk.evolution import settle
from rocketconnect_sdk.record import SinkBatch
from rocketconnect_sdk.schema import Schema
from rocketconnect_sdk.sink import Receipt, SinkWriter
from rocketconnect_sdk.tables.columns import AnyTable, met, never_null, target_of
from rocketconnect_sdk.tables.dialect import Dialect, TableRows, fitted
from rocketconnect_sdk.tables.reading import keys_of, values_of
from rocketconnect_sdk.tables.settings import TableSettings
from rocketconnect_sdk.targets.changes import Changes, by_key, by_value, read_changes
from rocketconnect_sdk.targets.fitted import keyed, keys_gone, moved, only, rows_written
from rocketconnect_sdk.targets.keys import key_columns, read_keys
from rocketconnect_sdk.targets.merging import merge_of
from rocketconnect_sdk.targets.objects import Objects

_ATTEMPTS = 5


class TableWriter(SinkWriter):
    """Makes loads of records.

    Args:
        settings: What is written.
        dialect: The tables.
    """

    def __init__(self, settings: TableSettings, dialect: Dialect[Any, Any]) -> None:
        self._settings = settings
        self._dialect = dialect

    def stage(self, batch: SinkBatch, part: str) -> Receipt:
        """See SinkWriter. Nothing is sent yet but what makes the table ready."""
        del part
        refused: dict[int, str] = {}
        places = list(range(len(batch)))
        made: Sequence[Any] = ()
        try:
            while places:
                staging = _Staging(self._settings, self._dialect)
                made = staging.loads(batch if len(places) == len(batch) else batch.take(places))
                if not staging.bad:
                    break
                # Once more, of the others: what a bad record is must not show in them.
                made = ()
                refused.update({places[index]: why for index, why in staging.bad.items()})
                places = [place for index, place in enumerate(places) if index not in staging.bad]
        finally:
            self._dialect.staged()
        if refused:
            raise RecordRefused(refused, made)
        return made


class _Staging:
    """A batch on its way. What is said of it means nothing where some of its records are bad.

    Attributes:
        bad: By index what is wrong with records.
    """

    def __init__(self, settings: TableSettings, dialect: Dialect[Any, Any]) -> None:
        self.bad: dict[int, str] = {}
        self._settings = settings
        self._dialect = dialect
        self._by_columns = False
        """The values are rows of the columns that are told, and not of a schema of their own."""

    def loads(self, batch: SinkBatch) -> Sequence[Any]:
        """Its loads; of a batch with bad records none."""
        settings = self._settings
        if settings.upsert and settings.delete and not settings.by_key and all(value is None for value in batch.values):
            # See by_value. Without a value there is no schema, and there may be no table.
            return ()
        try:
            written = self._written(batch)
        except RecordError as error:
            self.bad.update(dict.fromkeys(range(len(batch)), str(error)))
            return ()
        return () if written is None or self.bad else self._dialect.encoded(written)

    def _written(self, batch: SinkBatch) -> TableRows[Any] | None:
        """What becomes of the table; None: nothing. Raises RecordError: all of the records are bad."""
        name = self._settings.name(batch.topic)
        table = self._there(name)
        read = values_of(batch, self._settings, table)
        self._by_columns = read.schema is not batch.schema
        unchanged = () if batch.headers is None else [each.get("unchanged") for each in batch.headers]
        changes = read_changes(read.values, read.schema, unchanged if any(unchanged) else ())
        self.bad.update({**changes.reasons, **read.reasons})
        self.bad.update(dict.fromkeys(changes.truncates, "truncates the table, which this sink does not do"))
        for index, spared in changes.unchanged.items():
            self.bad.setdefault(index, f"the change leaves out what {', '.join(spared)} had, which the new row needs")
        if not self._settings.upsert:
            self.bad.update(dict.fromkeys((*changes.missing, *changes.deletes), self._dialect.no_deletes) | self.bad)
        if self.bad:
            return None
        if self._settings.upsert:
            return self._upserted(name, table, changes, batch, read)
        return self._appended(name, table, changes, batch, read)

    def _appended(
        self, name: str, table: AnyTable | None, changes: Changes, batch: SinkBatch, read: Objects
    ) -> TableRows[Any] | None:
        if not changes.writes:
            return None
        table = self._ready(name, table, changes.schema)
        target = target_of(table.columns, changes.schema)
        rows = self._rows(changes, target, table, read)
        unnamed = [read.unnamed.get(index, ()) for index in changes.writes] if read.unnamed else ()
        return TableRows(table, target, rows, unnamed, batch, changes.writes)

    def _upserted(
        self, name: str, table: AnyTable | None, changes: Changes, batch: SinkBatch, read: Objects
    ) -> TableRows[Any] | None:
        key = tuple(self._settings.key if table is None else table.key)
        self._find_keys(changes, key, batch, table)
        if not self._settings.delete:
            self.bad.update(dict.fromkeys(changes.deletes, "deletes a row, and delete.enabled is false"))
        names = {each.name for each in changes.schema.fields}
        if changes.writes and (missing := [each for each in key if each not in names]):
            msg = f"the record has no field {', '.join(missing)}, which is of the key of the table"
            raise RecordError(msg)
        if self.bad or (table is None and not changes.writes):
            return None
        if changes.writes or table is None:
            table = self._ready(name, table, changes.schema)
        rows = self._rows(changes, keyed(target_of(table.columns, changes.schema), key), table, read)
        whole = keyed(met(table.columns, changes.schema), key)
        gone, _ = keys_gone(changes, only(whole, key), moved(changes, key), partial(fitted, self._dialect, table.columns))
        self.bad.update(changes.reasons)
        if self.bad:
            return None
        merge = merge_of(changes, rows, gone, None, key)
        goes = pa.array(merge.gone, pa.bool_())
        kept, left = merge.rows.filter(pc.invert(goes)), merge.rows.filter(goes).select(list(key))
        return TableRows(table, whole, kept, (), batch, key=key, gone=left if left.num_rows else None)

    def _rows(self, changes: Changes, target: Schema, table: AnyTable, read: Objects) -> pa.Table:
        """The rows that are written, by write."""
        told = replace(changes, unchanged={index: tuple(names) for index, names in read.unnamed.items()})
        rows, bad = rows_written(told, target, partial(fitted, self._dialect, table.columns))
        self.bad.update(bad)
        return self._dialect.filled(rows, table, [read.unnamed.get(index, ()) for index in changes.writes])

    def _find_keys(self, changes: Changes, key: Sequence[str], batch: SinkBatch, table: AnyTable | None) -> None:
        if not self._settings.by_key:
            by_value(changes, deletes=self._settings.delete)
            self.bad.update(changes.reasons)
            return
        keys = keys_of(batch)
        columns = key_columns(keys, key, changes.schema if table is None else met(table.columns, changes.schema))
        found, bad = read_keys(keys, columns)
        by_key(changes, found, columns)
        self.bad.update(bad)

    def _there(self, name: str) -> AnyTable | None:
        dialect = self._dialect
        table = dialect.table(name)
        if table is None and not self._settings.create:
            msg = f"{dialect.place}: there is no table {name}. Make it, or set table.create=true"
            raise PermanentError(msg)
        if table is not None and dialect.positions <= set(table.names):
            msg = f"{name} is a table of positions, which records are never written to"
            raise RecordError(msg)
        if table is not None and (problem := dialect.problem(table)):
            msg = f"{name} {problem[0]}. {problem[1]}"
            raise PermanentError(msg)
        return table

    def _ready(self, name: str, table: AnyTable | None, records: Schema) -> AnyTable:
        """The table, with columns for records of a schema; makes and changes it.

        Raises:
            RecordError: it does not take them.
            PermanentError: the policy is fail.
        """
        dialect, takes = self._dialect, self._dialect.takes
        if table is not None and self._by_columns:
            # They were read as the columns say: what is missing there may be so, and a null is told where it is one.
            records = keyed(records, [each.name for each in table.columns if not each.schema.optional])
        for _ in range(_ATTEMPTS):
            if table is None:
                dialect.create(name, records)
                table = self._there(name)
                continue
            fixed = {each.name for each in table.columns if each.is_fixed}
            wanted = keyed(records, never_null(table.columns, takes))
            settled = settle(met(table.columns, records), wanted, self._settings.policy, takes)
            changes = [each for each in settled.changes if each.path[0] not in fixed]
            if not changes:
                return table
            dialect.alter(table, changes, settled.table)
            table = self._there(name)
        msg = f"{name} is changed by others all the time, or not as it was to be"
        raise RetriableError(msg)
