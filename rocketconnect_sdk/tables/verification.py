"""The tables that a sink of tables writes, for comparisons with those of a source."""

from bisect import bisect_left
from collections.abc import Generator, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from rocketconnect_sdk.columns.arrow_types import readable
from rocketconnect_sdk.errors import PermanentError
from rocketconnect_sdk.evolution import nullable
from rocketconnect_sdk.schema import Field, Schema, Type
from rocketconnect_sdk.spark.types import to_spark
from rocketconnect_sdk.tables.columns import AnyTable, met
from rocketconnect_sdk.tables.dialect import Dialect, fitted
from rocketconnect_sdk.tables.reader import Reader, among, in_order
from rocketconnect_sdk.tables.settings import TableSettings
from rocketconnect_sdk.tables.values import shown_bytes
from rocketconnect_sdk.targets.rows import Rows
from rocketconnect_sdk.verification import CapturedTable, KeptRows, Key, ReadRows, SinkTables, is_comparable, joined, keys_of

_FIRST, _MOST = 500, 10_000
_BYTES = 8 << 20
"""Of rows that are read at once, about."""
_KEYS = 200
"""So many are asked for in one statement."""


class KeptTables(SinkTables):
    """See SinkTables.

    Args:
        settings: What is written.
        dialect: The tables.
        reader: Reads them.
    """

    def __init__(self, settings: TableSettings, dialect: Dialect[Any, Any], reader: Reader[Any, Any]) -> None:
        self._settings = settings
        self._dialect = dialect
        self._reader = reader

    def target(self, table: CapturedTable) -> str:
        """See SinkTables."""
        return self._settings.name(table.topic)

    def open(self, name: str) -> KeptRows:
        """See SinkTables."""
        table = self._dialect.table(name)
        if table is None:
            self._dialect.close()
            msg = f"{name} is no table of {self._dialect.place} that the user sees: make it, or correct its name"
            raise PermanentError(msg)
        return _Kept(self._dialect, self._reader, table)


class _Kept(KeptRows):
    def __init__(self, dialect: Dialect[Any, Any], reader: Reader[Any, Any], table: AnyTable) -> None:
        self._dialect = dialect
        self._reader = reader
        self._table = table
        self.columns = Schema(Type.STRUCT, fields=table.fields)
        self.key = table.key

    def behind(self, key: Key | None, names: Sequence[str]) -> Generator[ReadRows]:
        """See TableRows. Each page is a statement of its own."""
        columns, count = self._named(names), _FIRST
        while True:
            read = self._reader.rows(self._table, in_order(self._reader, columns, key, count + 1))
            found, keys = len(read.values), _keys(read, names)
            if keys != sorted(keys) or (keys and key is not None and keys[0] <= key):
                msg = f"{self._table.name}: the server has another order of {', '.join(names)} than ours, so rows can't be compared"
                raise PermanentError(msg)
            if found > count:
                # Of the last key there may be more rows than were asked for.
                end = bisect_left(keys, keys[-1])
                if not end:
                    count *= 2
                    continue
                key = keys[end - 1]
                read = ReadRows(read.values[:end], {place: why for place, why in read.wrong.items() if place < end})
            if found:
                yield read
            if found <= count:
                return
            count = max(1, min(_MOST, _BYTES * len(read.values) // max(1, read.values.nbytes)))

    def of(self, keys: Sequence[Key], names: Sequence[str]) -> ReadRows:
        """See TableRows."""
        columns = self._named(names)
        asked = [among(self._reader, columns, keys[at : at + _KEYS]) for at in range(0, len(keys), _KEYS)]
        return joined([self._reader.rows(self._table, each) for each in asked], self.columns)

    def orders(self, schema: Schema) -> bool:
        """See TableRows."""
        return is_comparable(schema)

    def kept(self, rows: pa.StructArray, schema: Schema) -> tuple[pa.Table, Mapping[int, str]]:
        """See KeptRows. A null is compared, not refused."""
        there = {field.name: field.schema for field in schema.fields}
        both = [each for each in self._table.columns if each.name in there]
        given = Schema(Type.STRUCT, fields=tuple(Field(each.name, there[each.name]) for each in both))
        values = pa.StructArray.from_arrays([rows.field(each.name) for each in both], [each.name for each in both])
        made, reasons = fitted(self._dialect, both, Rows(to_spark(values), given), nullable(met(both, given)))
        return pa.table({each.name: _shown(made[each.name], values.field(each.name)) for each in both}), reasons

    def close(self) -> None:
        """See TableRows."""
        self._dialect.close()

    def _named(self, names: Sequence[str]) -> list[Any]:
        known = {each.name: each for each in self._table.columns}
        return [known[name] for name in names]


def _keys(read: ReadRows, names: Sequence[str]) -> list[Key]:
    columns = [read.values.field(name) for name in names]
    return keys_of(to_spark(pa.StructArray.from_arrays(columns, list(names))), names)


def _shown(column: pa.ChunkedArray, given: pa.Array) -> pa.Array:
    """In a form that is compared: Arrow compares no lists, and bytes that a table keeps as text are text."""
    made = column.combine_chunks()
    if pa.types.is_list(made.type):
        # A system may have no null there; yet it is none of its lists.
        return pc.if_else(given.is_valid(), pa.array([repr(each) for each in readable(made).to_pylist()], pa.string()), None)
    return shown_bytes(made) if pa.types.is_binary(made.type) else made
