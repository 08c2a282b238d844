"""Rows of the log, read as columns: all rows of a batch at once, without an object for each value.

https://mariadb.com/kb/en/rows_event_v1v2-rows_compressed_event_v1/: a row is a bit for each column, whether it is NULL, and the
values of the others.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Any, overload

import numpy as np
import pyarrow as pa

from connectors.mysql_cdc_source.binlog.row_reading.code import FAULTS, value_reader
from connectors.mysql_cdc_source.binlog.row_reading.column import Column
from connectors.mysql_cdc_source.binlog.row_reading.column import Type as Stored
from connectors.mysql_cdc_source.binlog.row_reading.images import RowImages
from connectors.mysql_cdc_source.binlog.values.charsets import BINARY, is_utf8
from connectors.mysql_cdc_source.columns import schema_of
from connectors.mysql_cdc_source.rows.log_values import Make, fixed
from rocketconnect_sdk.arrow import to_array
from rocketconnect_sdk.changes.gathered import Row
from rocketconnect_sdk.changes.images import Images
from rocketconnect_sdk.changes.slices import Array, binary, numbers, validity
from rocketconnect_sdk.columns.arrow_types import to_arrow_type
from rocketconnect_sdk.errors import RecordError

_NUMBERS = {
    Stored.TINY: "i1",
    Stored.SHORT: "i2",
    Stored.LONG: "i4",
    Stored.LONGLONG: "i8",
    Stored.FLOAT: "f4",
    Stored.DOUBLE: "f8",
}
_TEXTS = frozenset({Stored.STRING, Stored.VARCHAR, Stored.VAR_STRING})
_BLOBS = frozenset({Stored.BLOB, Stored.TINY_BLOB, Stored.MEDIUM_BLOB, Stored.LONG_BLOB})
_WIDEST = 16
"""What is read at once may go so far beyond the last row."""
_Read = Callable[[bytes, Array, Array, Array], tuple[pa.Array, Array]]
"""Of the bytes, as such and as an array, the places of values and which are NULL: the values, and where they end."""


class LogColumns:
    """Reads the rows of a table.

    Args:
        columns: Those that its rows have; the log has their values as they are (see columns.from_log).
    """

    def __init__(self, columns: Sequence[Column]) -> None:
        self._readers = [_reader(column) for column in columns]
        self._types = [to_arrow_type(schema_of(column)) for column in columns]
        self._bitmap = (len(columns) + 7) // 8

    def arrays(self, images: Sequence["LoggedRows"]) -> Sequence[pa.Array]:
        """See ImageReader."""
        pieces: list[bytes] = []
        starts: list[Array] = []
        size = 0
        for rows in images:
            pieces.append(rows.held.data)
            starts.append(np.array(rows.held.starts, np.int64) + size)
            size += len(rows.held.data)
        raw = b"".join((*pieces, bytes(_WIDEST)))
        data, at = np.frombuffer(raw, np.uint8), np.concatenate(starts)
        bits = np.unpackbits(data[at[:, None] + np.arange(self._bitmap)], axis=1, bitorder="little").view(np.bool_)
        at = at + self._bitmap
        made = []
        try:
            for number, (read, kind) in enumerate(zip(self._readers, self._types, strict=True)):
                array, at = read(raw, data, at, bits[:, number])
                made.append(array.cast(kind))
        except (pa.ArrowInvalid, *FAULTS) as error:
            msg = f"a value in the log is none of its column: {error}"
            raise RecordError(msg) from error
        return made


class LoggedRows(Images):
    """Rows of the log that are not read yet.

    Args:
        held: The rows.
        reader: Makes columns of them.
    """

    def __init__(self, held: RowImages, reader: LogColumns) -> None:
        self.held = held
        self.reader = reader

    def __len__(self) -> int:
        """How many."""
        return len(self.held)

    @overload
    def __getitem__(self, index: int) -> Row: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Row]: ...
    def __getitem__(self, index: int | slice) -> Row | Sequence[Row]:
        """One of them, or some."""
        return self.held[index]

    def __iter__(self) -> Iterator[Row]:
        """One after the other."""
        return iter(self.held)


def _reader(column: Column) -> _Read:
    kind = column.type
    if column.extension is None and kind in _NUMBERS:
        form = _NUMBERS[kind]
        return _numbers(np.dtype("<" + (form.replace("i", "u") if column.unsigned else form)))
    # The server pads BINARY.
    plain = column.charset is None or (column.charset == BINARY and kind is not Stored.STRING)
    if column.extension is None and kind in _TEXTS | _BLOBS and (plain or is_utf8(column.charset or "")):
        return _sized(column.length if kind in _BLOBS else 1 if column.length < 256 else 2)
    if (found := fixed(column)) is not None:
        return _fixed(*found)
    return _one_by_one(column)


def _numbers(form: Any) -> _Read:
    kind = pa.from_numpy_dtype(form)

    def read(_: bytes, data: Array, at: Array, nulls: Array) -> tuple[pa.Array, Array]:
        found = pa.Array.from_buffers(kind, len(at), [valid := validity(nulls), pa.py_buffer(numbers(data, at, form))])
        return found, at + form.itemsize if valid is None else np.where(nulls, at, at + form.itemsize)

    return read


def _fixed(size: int, make: Make) -> _Read:
    def read(_: bytes, data: Array, at: Array, nulls: Array) -> tuple[pa.Array, Array]:
        found = make(data[at[:, None] + np.arange(size)], nulls)
        return found, at + size if not found.null_count else np.where(nulls, at, at + size)

    return read


def _sized(size: int) -> _Read:
    form = np.dtype(f"<u{size if size in {1, 2} else 4}")

    def read(_: bytes, data: Array, at: Array, nulls: Array) -> tuple[pa.Array, Array]:
        lengths = numbers(data, at, form).astype(np.int64) & ((1 << 8 * size) - 1)
        starts = at + size
        if nulls.any():
            lengths, starts = np.where(nulls, 0, lengths), np.where(nulls, at, starts)
        return binary(data, starts, lengths, nulls), starts + lengths

    return read


def _one_by_one(column: Column) -> _Read:
    """For kinds that numpy knows nothing of."""
    read_value, schema = value_reader(column), schema_of(column)

    def read(raw: bytes, _: Array, at: Array, nulls: Array) -> tuple[pa.Array, Array]:
        found: list[Row] = []
        add = found.append
        ends = [place if null else read_value(raw, place, add) for place, null in zip(at.tolist(), nulls.tolist(), strict=True)]
        values = chain.from_iterable(found)
        return to_array([None if null else next(values) for null in nulls.tolist()], schema), np.array(ends, np.int64)

    return read
