"""Batches of rows and of changes of rows, as what they make of a table in which each key has one row."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from connectors.file_sink.columns import Columns
from connectors.lakes.partition_values import lost
from connectors.lakes.task import LakeTask
from rocketconnect_sdk.configuration.change_options import RECORD_KEY
from rocketconnect_sdk.errors import PermanentError, RecordError
from rocketconnect_sdk.evolution import Settled
from rocketconnect_sdk.files.trouble import understood
from rocketconnect_sdk.options import Config
from rocketconnect_sdk.schema import Schema, Type
from rocketconnect_sdk.sink import QueuePosition, SinkCommit
from rocketconnect_sdk.targets.batch import UNCHANGED, Batch, batch_of
from rocketconnect_sdk.targets.changes import Changes, by_key, by_value, read_changes
from rocketconnect_sdk.targets.envelopes import row_schema
from rocketconnect_sdk.targets.fitted import NO_VALUES, fit_rows, key_first, keyed, keys_gone, moved, only, rows_written, spared
from rocketconnect_sdk.targets.keys import key_columns, read_keys
from rocketconnect_sdk.targets.merging import Merge, merge_of
from rocketconnect_sdk.targets.objects import Objects, read_values
from rocketconnect_sdk.wording.counts import counted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_NO_KEY = (Type.STRUCT, Type.ARRAY, Type.MAP)


@dataclass(frozen=True, slots=True)
class Keyed:
    """How rows are told from each other, and what may happen to them.

    Attributes:
        key: The columns of the key; empty, with by_key: those that the first key has.
        by_key: They are in the key of the record; else in its value.
        delete: Deletions are made.
        truncate: A truncation deletes all rows.
    """

    key: tuple[str, ...]
    by_key: bool
    delete: bool
    truncate: bool


def keyed_of(config: Config) -> Keyed:
    """What the options CHANGES say."""
    by_key = config["pk.mode"] == RECORD_KEY
    return Keyed(tuple(config["pk.fields"]), by_key, config["delete.enabled"], config["truncate.enabled"])


class Upserts:
    """Makes what becomes of a table of batches, one after the other.

    Args:
        root: The directory of the table, for people.
        columns: See LakeTask.
        evolving: What becomes of the columns where `columns` does not say them.
        keyed: The key, and what may happen to rows.
    """

    def __init__(self, root: Path, columns: Schema | None, evolving: Columns, keyed: Keyed) -> None:
        self._root = root
        self._columns = columns
        self._evolving = evolving
        self._keyed = keyed
        self._key = keyed.key
        self._schema: Schema | None = None
        self._reasons: dict[int, str] = {}
        self._partitions: Sequence[str] = ()

    @property
    def columns(self) -> Sequence[str]:
        """Those of the batches. Keys cost time."""
        return ("value", *(["key"] if self._keyed.by_key else []), UNCHANGED)

    @property
    def key(self) -> Sequence[str]:
        """The columns of the key; empty: not known yet."""
        return self._key

    @property
    def reasons(self) -> Mapping[int, str]:
        """By index of the last batch what is wrong with those of its values that cannot be written."""
        return self._reasons

    def say(self, schema: Schema) -> None:
        """Of what schema the values of the next batch are; said again with each try."""
        self._schema = schema

    def check_key(self, table: Schema | None) -> None:
        """Raises PermanentError: the table has no such key."""
        missing = [] if table is None else sorted(set(self._key) - {each.name for each in table.fields})
        if missing:
            fix = "Add it, or set pk.fields"
            msg = f"{self._root}: the table has no column {', '.join(missing)}, which the key of its rows has. {fix}"
            raise PermanentError(msg)

    def prepare(self, frame: "DataFrame", table: Schema | None, partitions: Sequence[str] = ()) -> tuple[Merge, Settled] | None:
        """What becomes of the table, and its columns then; None: nothing.

        Args:
            frame: The batch.
            table: The columns of the table; None: there is none yet.
            partitions: Those whose values are in the names of partitions.

        Raises:
            RecordError: there are values that cannot be written; see reasons.
            PermanentError: the table has no such key, or is not for them.
        """
        said, self._schema = self._schema, None
        self.check_key(table)
        self._partitions = partitions
        return self._prepare(batch_of(frame.toArrow()), said or self._columns or _schema_of(frame), table)

    def _prepare(self, batch: Batch, schema: Schema, table: Schema | None) -> tuple[Merge, Settled] | None:
        """What the batch does, and the columns for it; None: there is no table, and nothing that makes one.

        Raises:
            RecordError: values do not fit; see unwritable.
            PermanentError: the table does not take such columns.
        """
        self._reasons = {}
        count = len(batch.values)
        has_values = batch.values.null_count < count
        if batch.keys is None and not has_values and self._keyed.delete:
            # See by_value. Without a value there is no schema, and there may be no table.
            return None
        if batch.keys is not None and not has_values:
            schema = NO_VALUES
            batch = replace(batch, values=pa.nulls(count, pa.struct([])))
        made: tuple[Merge, Settled] | None = None
        known = self._key
        read = Objects(batch.values, schema, {})
        try:
            if row_schema(schema) is None:
                read = self._read(batch.values, table)
                schema = read.schema
            changes = read_changes(read.values, schema, batch.unchanged, read.unnamed)
            changes.reasons.update(read.reasons)
            if schema != NO_VALUES or table is not None:
                made = self._made(changes, batch.keys, table, has_rows=schema != NO_VALUES)
            self._reasons = changes.reasons
        except RecordError as error:
            self._reasons = dict.fromkeys(range(count), str(error))
        if self._reasons:
            # The first key may be a bad one.
            self._key = known
            msg = f"{self._root}: {counted(self._reasons, 'value')} cannot be written: {next(iter(self._reasons.values()))}"
            raise RecordError(msg)
        return made

    def _made(
        self, changes: Changes, keys: pa.Array | None, table: Schema | None, *, has_rows: bool
    ) -> tuple[Merge, Settled] | None:
        if self._keyed.truncate and changes.only_truncates and table is None:
            # It may not be known what to make.
            return None
        if keys is None:
            by_value(changes, deletes=self._keyed.delete)
        else:
            columns = key_columns(keys, self._key, changes.schema if table is None else table)
            self._key = tuple(each.name for each in columns.fields)
            self.check_key(table)
            found, bad = read_keys(keys, columns)
            by_key(changes, found, columns)
            # A truncation has no key.
            changes.reasons.update({index: reason for index, reason in bad.items() if index not in changes.truncates})
        key = self._key
        if not self._keyed.truncate:
            changes.reasons.update(dict.fromkeys(changes.truncates, "truncates the table, and truncate.enabled is false"))
        if not self._keyed.delete:
            changes.reasons.update(dict.fromkeys(changes.deletes, "deletes a row, and delete.enabled is false"))
        _check_fields(changes.schema, key)
        settled = self._settled(table, changes.schema) if has_rows or table is None else Settled(table)
        if table is None:
            settled = replace(settled, table=key_first(settled.table, key))
        there = {each.name for each in changes.schema.fields}
        others = [each for each in settled.table.fields if each.name not in there]
        written = keyed(only(settled.table, [each.name for each in settled.table.fields if each.name in there]), key)
        rows, bad = rows_written(changes, written, fit_rows)
        unheld = {changes.writes[row]: reason for row, reason in lost(rows, self._partitions).items()}
        changes.reasons = {**unheld, **bad, **changes.reasons}
        gone, left = keys_gone(changes, only(written, key), moved(changes, key), fit_rows)
        return None if changes.reasons else (merge_of(changes, rows, gone, left, key, others), settled)

    def _read(self, values: pa.Array, table: Schema | None) -> Objects:
        """Values that are no rows. Raises RecordError: it is not known what they are."""
        if not pa.types.is_string(values.type):
            msg = "the value is no row: give it a schema by its converter, or set columns"
            raise RecordError(msg)
        known = self._columns or table
        if known is None:
            msg = f"the value has no schema, and there is no table {self._root} to say what it is: set columns"
            raise RecordError(msg)
        # Keys are looked at whether a value names them or not: a deletion has no row behind it.
        return read_values(values, known, self._key)

    def _settled(self, table: Schema | None, records: Schema) -> Settled:
        if self._columns is None or table is None:
            # Keys that are null are told one by one, so it does not matter whether their columns take nulls.
            return self._evolving.settle(None if table is None else spared(table, [self._key]), records, keyed=True)
        missing = [each.name for each in records.fields if each.name not in {other.name for other in table.fields}]
        if missing:
            msg = f"{self._root}: the table has no column {', '.join(missing)}, which columns names. Add it, or change columns"
            raise PermanentError(msg)
        return Settled(table)


class Upserting(LakeTask):
    """What tasks do that keep a table as changes say. Several may write to the same one: the keys of queues differ."""

    _upserts: Upserts

    @property
    def columns(self) -> Sequence[str]:
        """See DataFrameSinkTask."""
        return self._upserts.columns

    def start(self) -> Mapping[str, QueuePosition]:
        """See SinkTask.

        Raises:
            PermanentError: also, the table has no such key.
        """
        with understood(self._root):
            self._upserts.check_key(self._known())
        return super().start()  # type: ignore[safe-super]  # of the task that appends

    def columns_for(self, schema: Schema) -> Schema | None:
        """See DataFrameSinkTask. What changes have of the columns only write() knows."""
        self._upserts.say(schema)
        return None

    def write(self, frame: "DataFrame", commit: SinkCommit) -> None:
        """See DataFrameSinkTask."""
        with understood(self._root):
            known = self._known()
            prepared = self._upserts.prepare(frame, known, self._partitioned())
            if prepared is not None:
                self._merge(*prepared, commit, makes=known is None)
        self._compact_if_due()

    def unwritable(self, values: "pa.Array") -> Mapping[int, str]:
        """See DataFrameSinkTask. write() has looked at all values before it raised."""
        del values
        return self._upserts.reasons

    @abstractmethod
    def _known(self) -> Schema | None:
        """The columns of the table; None: there is none yet."""

    @abstractmethod
    def _merge(self, merge: Merge, settled: Settled, commit: SinkCommit, *, makes: bool) -> None:
        """Makes of the table what becomes of it, in the commit that stores the positions.

        Args:
            merge: What becomes of it.
            settled: Its columns then.
            commit: The batch.
            makes: There was no table when that was decided.

        Raises: as write.
        """


def _check_fields(records: Schema, key: Sequence[str]) -> None:
    kinds = {each.name: each.schema.type for each in records.fields}
    for name in key:
        if name not in kinds:
            msg = f"the record has no field {name}, which the key of rows has"
            raise RecordError(msg)
        if kinds[name] in _NO_KEY:
            msg = f"the field {name}, which the key of rows has, is a {kinds[name].value}, and these cannot be compared"
            raise RecordError(msg)


def _schema_of(frame: "DataFrame") -> Schema:
    from rocketconnect_sdk.spark.types import from_spark_type

    return next(each.schema for each in from_spark_type(frame.schema).fields if each.name == "value")
