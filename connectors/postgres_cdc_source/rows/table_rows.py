"""Rows of a table, read in the order of its key: their offsets, the query for those behind one, and their batches.

Offsets: (run, 0, key) where the key is in the order of its integers, so that a replay gives the same; (run, 1, epoch, milliseconds,
number) otherwise, and the end of a batch has the texts of the last key behind it. A key that is too long for an offset is left out:
the end has the last one before it that is not, and rows behind that come again after a restart.
"""

import time
from collections.abc import Sequence
from itertools import repeat
from typing import Any

import pyarrow as pa

from connectors.postgres_cdc_source.logical.connection import quoted
from connectors.postgres_cdc_source.rows.copying import typed, values
from connectors.postgres_cdc_source.tables import Name, Table
from rocketconnect_sdk.changes import Operation, TableChanges
from rocketconnect_sdk.changes.gathered import Row
from rocketconnect_sdk.changes.snapshots.keys import fits, from_integers, is_ordered, to_integers
from rocketconnect_sdk.errors import PermanentError, RecordError
from rocketconnect_sdk.record import Offset, SourceBatch
from rocketconnect_sdk.schema import WHOLE, Schema, Type

_ORDERED, _OTHER = range(2)
_KEY = 5
_BYTEWISE = (Type.UUID, Type.BYTES)
"""PostgreSQL compares them byte by byte; how it compares texts depends on their collation."""
_HALF = 1 << 32


def batch_of(
    changes: TableChanges, table: Table, texts: Sequence[pa.StringArray], offsets: Sequence[Offset], ts_ms: int, source: Row
) -> SourceBatch:
    """Rows as a batch: their texts, column by column."""
    try:
        arrays = [typed(text, column.type) for text, column in zip(texts, table.columns, strict=True)]
    except RecordError:
        # At least one value is none of its column: the error policy decides, row by row.
        columns = [values(text, column.type) for text, column in zip(texts, table.columns, strict=True)]
        for offset, row in zip(offsets, zip(*columns, strict=True), strict=True):
            changes.add(Operation.READ, None, row, offset=offset, ts_ms=ts_ms, source=source)
        return changes.take()
    rows = pa.RecordBatch.from_arrays(arrays, names=[column.name for column in table.columns])
    return changes.reads(rows, offsets, ts_ms=ts_ms, source=source)


class Places:
    """The offsets of a table's rows.

    Args:
        table: The table.
        begin: Where its partition begins.
        epoch: Of the task.
        run: The first integer of all offsets.

    Attributes:
        indexes: Which columns are the key.
        behind: The texts of the key behind which reading goes on; empty: it begins at the beginning.
        last: The last row that `of` was given, with its key however long it is.
    """

    def __init__(self, table: Table, begin: Offset, epoch: int, run: int) -> None:
        indexes = {column.name: index for index, column in enumerate(table.columns)}
        self.indexes = [indexes[name] for name in table.key]
        self._kinds = [table.columns[index].type for index in self.indexes]
        self._schemas = [table.columns[index].type.schema for index in self.indexes]
        self._ordered = bool(self.indexes) and is_ordered(self._schemas, _BYTEWISE)
        self._run = run
        self._head = (run, _ORDERED) if self._ordered else (run, _OTHER, epoch, time.time_ns() // 1_000_000)
        self._texts = [Schema(Type.STRING)] * len(self.indexes)
        self._count = 0
        self._kept: Offset = ()
        self._name = table.name
        self.last: Offset = ()
        self.behind: Sequence[str] = ()
        self.go_on(begin)

    def go_on(self, end: Offset) -> None:
        """The next query is for what is behind this end of a batch."""
        if end[:2] == (self._run, _ORDERED) and self._ordered:
            self.behind = [_text(value) for value in from_integers(self._schemas, end[2:])]
        elif end[:2] == (self._run, _OTHER) and len(end) > _KEY and self.indexes:
            self._kept = end[_KEY:]
            self.behind = [_text(value) for value in from_integers(self._texts, self._kept)]

    def keys(self, texts: Sequence[pa.StringArray]) -> list[tuple[object, ...]]:
        """The keys of rows, as the log has them."""
        made = zip(self.indexes, self._kinds, strict=True)
        return list(zip(*(values(texts[index], kind) for index, kind in made), strict=True))

    def of(self, texts: Sequence[pa.StringArray]) -> tuple[list[Offset], Offset]:
        """The offsets of rows, and the end of their batch; empty: the last one."""
        if self._ordered:
            made = zip(self.indexes, self._kinds, strict=True)
            ordered = self._ordered_offsets([typed(texts[index], kind).to_pylist() for index, kind in made])
            self.last = ordered[-1]
            return ordered, ()
        begin, self._count = self._count, self._count + len(texts[0])
        offsets: list[Offset] = [(*self._head, number) for number in range(begin + 1, self._count + 1)]
        self.last = offsets[-1]
        if not self.indexes:
            return offsets, ()
        self.last += self._key_of(texts, -1)
        for row in reversed(range(len(offsets))):
            key = self._key_of(texts, row)
            if fits(offsets[-1] + key):
                self._kept = key
                break
        return offsets, offsets[-1] + self._kept if self._kept else ()

    def _key_of(self, texts: Sequence[pa.StringArray], row: int) -> tuple[int, ...]:
        return to_integers(self._texts, [texts[index][row].as_py() for index in self.indexes])

    def _ordered_offsets(self, keys: Sequence[Sequence[Any]]) -> list[Offset]:
        if len(keys) == 1 and self._schemas[0].type is Type.INT64:
            # As to_integers: most keys are one number.
            least = WHOLE[Type.INT64][0]
            raised = [key - least for key in keys[0]]
            highs, lows = [number // _HALF for number in raised], [number % _HALF for number in raised]
            return list(zip(repeat(self._run), repeat(_ORDERED), highs, lows))
        offsets = [self._head + to_integers(self._schemas, key) for key in zip(*keys, strict=True)]
        if Type.BYTES in (schema.type for schema in self._schemas) and not all(map(fits, offsets)):
            msg = f"{self._name}: a key of more than about 350 bytes has no place in a position. Shorten it, or exclude the table"
            raise PermanentError(msg)
        return offsets


def _text(value: object) -> str:
    """As PostgreSQL reads it."""
    if isinstance(value, bytes):
        return f"\\x{value.hex()}"
    return ("t" if value else "f") if isinstance(value, bool) else str(value)


def query_of(table: Table, places: Places, condition: str = "", limit: int = 0) -> str:
    """What selects the rows of a table behind a place, in the order of its key.

    Args:
        table: The table.
        places: Of its rows.
        condition: Which of those that the publication has; empty: all.
        limit: How many; 0: all.
    """
    columns = ", ".join(quoted(column.name) for column in table.columns)
    # Tables that inherit are read as themselves; the rows of a partitioned table are all in others.
    only = "" if table.partitioned else "ONLY "
    query = f"SELECT {columns} FROM {only}{path_of(table.name)}"  # noqa: S608 - names are quoted
    key = ", ".join(quoted(name) for name in table.key)
    wanted = [f"({each})" for each in (table.condition, condition) if each]
    if places.behind:
        literals = ", ".join(map(_literal, places.behind))
        wanted.append(f"({key}) > ({literals})")
    if wanted:
        query += f" WHERE {' AND '.join(wanted)}"
    if key:
        query += f" ORDER BY {key}"
    return f"{query} LIMIT {limit}" if limit else query


def query_of_row(table: Table, key: Sequence[object], names: Sequence[str]) -> str:
    """What selects columns of the row with a key."""
    columns = ", ".join(map(quoted, names))
    wanted = " AND ".join(f"{quoted(name)} = {_literal(_text(value))}" for name, value in zip(table.key, key, strict=True))
    only = "" if table.partitioned else "ONLY "
    return f"SELECT {columns} FROM {only}{path_of(table.name)} WHERE {wanted}"  # noqa: S608 - names are quoted


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def path_of(name: Name) -> str:
    """A table, as SQL has it."""
    return f"{quoted(name.schema)}.{quoted(name.table)}"
