"""Rows of a table, read in the order of its key: their offsets, the query for those behind one, and their batches.

Offsets: (run, 0, key) where the key is of whole numbers, so that a replay gives the same; (run, 1, epoch, milliseconds, number)
otherwise, and the end of a batch has the texts of the last key behind it. A key that is too long for an offset is left out: the end
has the last one before it that is not, and rows behind that come again after a restart.
"""

import time
from collections.abc import Sequence

import pyarrow as pa

from connectors.mysql_cdc_source.binlog.row_reading.column import Column
from connectors.mysql_cdc_source.rows import keys
from connectors.mysql_cdc_source.rows.text_rows import selected, typed, values
from connectors.mysql_cdc_source.tables import Name, Table
from rocketconnect_sdk.changes import Operation, TableChanges
from rocketconnect_sdk.changes.gathered import Row
from rocketconnect_sdk.changes.snapshots.keys import fits
from rocketconnect_sdk.record import Offset, SourceBatch

_WHOLE, _OTHER = range(2)
_PLACE = 5


def batch_of(
    changes: TableChanges,
    columns: Sequence[Column],
    texts: Sequence[pa.Array],
    offsets: Sequence[Offset],
    ts_ms: int,
    source: Row,
) -> SourceBatch:
    """Rows as a batch: their texts, column by column."""
    try:
        arrays = [typed(column, text) for column, text in zip(columns, texts, strict=True)]
    except pa.ArrowInvalid:
        # At least one value is none of its column: the error policy decides, row by row.
        found = [values(column, text) for column, text in zip(columns, texts, strict=True)]
        for offset, row in zip(offsets, zip(*found, strict=True), strict=True):
            changes.add(Operation.READ, None, row, offset=offset, ts_ms=ts_ms, source=source)
        return changes.take()
    rows = pa.RecordBatch.from_arrays(arrays, names=[str(column.name) for column in columns])
    return changes.reads(rows, offsets, ts_ms=ts_ms, source=source)


class Places:
    """The offsets of a table's rows.

    Args:
        table: The table.
        begin: Where its partition begins.
        epoch: Of the task.
        run: The first integer of all offsets.

    Attributes:
        columns: Of the key.
        resumable: Whether reading can go on behind a key.
        last: The last row that `of` was given, with its key however long it is.
    """

    def __init__(self, table: Table, begin: Offset, epoch: int, run: int) -> None:
        indexes = {column.name: index for index, column in enumerate(table.columns)}
        self._indexes = [indexes[name] for name in table.key]
        self.columns = [table.columns[index] for index in self._indexes]
        self._whole = keys.is_whole(self.columns)
        self.resumable = keys.is_comparable(self.columns)
        self._run = run
        self._head = (run, _WHOLE) if self._whole else (run, _OTHER, epoch, time.time_ns() // 1_000_000)
        self._count = 0
        self._kept: Offset = ()
        self.last: Offset = ()
        self._literals: list[str] = []
        self.go_on(begin)

    def go_on(self, end: Offset) -> None:
        """The next query is for what is behind this end of a batch."""
        if end[:2] == (self._run, _WHOLE) and self._whole:
            self._literals = keys.number_literals(self.columns, end[2:])
        elif end[:2] == (self._run, _OTHER) and len(end) > _PLACE and self.resumable:
            self._kept = end[_PLACE:]
            self._literals = keys.text_literals(self.columns, self._kept)

    @property
    def condition(self) -> str:
        """For rows behind what was read; empty: all."""
        return keys.behind([quoted(str(column.name)) for column in self.columns], self._literals) if self._literals else ""

    def of(self, texts: Sequence[pa.Array]) -> tuple[list[Offset], Offset]:
        """The offsets of rows, and the end of their batch; empty: it is the last offset."""
        mine = [texts[index] for index in self._indexes]
        if self._whole:
            typed_keys = [typed(column, text) for column, text in zip(self.columns, mine, strict=True)]
            offsets = [self._head + key for key in keys.numbers(self.columns, typed_keys)]
            self.last = offsets[-1]
            return offsets, ()
        begin, self._count = self._count, self._count + len(texts[0])
        offsets = [(*self._head, number) for number in range(begin + 1, self._count + 1)]
        self.last = offsets[-1]
        if not self.resumable:
            return offsets, ()
        self.last += keys.texts([text[-1].as_py() for text in mine])
        for row in reversed(range(len(offsets))):
            key = keys.texts([text[row].as_py() for text in mine])
            if fits(offsets[-1] + key):
                self._kept = key
                break
        return offsets, offsets[-1] + self._kept if self._kept else ()


def query_of(table: Table, places: Places, *conditions: str, limit: int = 0) -> str:
    """What selects the rows of a table behind a place, in the order of its key.

    Args:
        table: The table.
        places: Of its rows.
        conditions: Further ones.
        limit: How many rows; 0: all.
    """
    columns = ", ".join(selected(column, quoted(str(column.name))) for column in table.columns)
    query = f"SELECT {columns} FROM {path_of(table.name)}"  # noqa: S608 - names are quoted
    if wanted := [f"({condition})" for condition in (places.condition, *conditions) if condition]:
        query += f" WHERE {' AND '.join(wanted)}"
    if places.columns:
        query += f" ORDER BY {', '.join(quoted(str(column.name)) for column in places.columns)}"
    return f"{query} LIMIT {limit}" if limit else query


def path_of(name: Name) -> str:
    """A table, as SQL has it."""
    return f"{quoted(name.database)}.{quoted(name.table)}"


def quoted(name: str) -> str:
    """A name, as SQL has it."""
    return f"`{name.replace('`', '``')}`"
