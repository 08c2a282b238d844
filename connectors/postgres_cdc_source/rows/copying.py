"""Rows of a query in bulk: as CSV, which Arrow reads into columns of text, and these as columns of their types.

https://www.postgresql.org/docs/current/sql-copy.html
"""

import io
import math
import select
import time
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Self

import psycopg
import pyarrow as pa
import pyarrow.compute as pc
from psycopg import pq
from psycopg.rows import TupleRow
from pyarrow import csv

from connectors.postgres_cdc_source.logical.connection import failed_result, failure
from connectors.postgres_cdc_source.logical.types import PgType
from rocketconnect_sdk.arrow import to_array
from rocketconnect_sdk.columns.arrow_types import to_arrow_type
from rocketconnect_sdk.columns.text_columns import NotPlain, at_their_places, read_texts
from rocketconnect_sdk.errors import SystemAway
from rocketconnect_sdk.schema import Schema, Type


class Copy:
    """The rows of a query, as they come. For one thread; the connection does nothing else until it is closed.

    Args:
        connection: In a transaction.
        query: A SELECT.

    Attributes:
        finished: There are no more rows.

    Raises:
        SystemAway, PermanentError: the server is away, or refuses.
    """

    def __init__(self, connection: psycopg.Connection[TupleRow], query: str) -> None:
        self._connection = connection.pgconn
        result = self._connection.exec_(f"COPY ({query}) TO STDOUT (FORMAT csv)".encode())
        if result.status != pq.ExecStatus.COPY_OUT:
            raise failed_result(result)
        self.finished = False

    def read(self, most_rows: int, most_bytes: int, columns: int) -> Sequence[pa.StringArray]:
        """The next rows as columns of text, null where they are null; nothing: there are no more.

        Raises:
            SystemAway: the connection is lost.
            PermanentError: the server cannot go on.
        """
        return texts_of(self.lines(most_rows, most_bytes), columns)

    def lines(self, most_rows: int, most_bytes: int, timeout: float | None = None) -> list[bytes]:
        """The next rows, as texts_of takes them: what has come after so many seconds; None: as many as there are.

        Raises:
            SystemAway, PermanentError: as read.
        """
        lines: list[bytes] = []
        add, get = lines.append, self._connection.get_copy_data
        size, until = 0, math.inf if timeout is None else time.monotonic() + timeout
        try:
            while len(lines) < most_rows and size < most_bytes and not self.finished:
                length, view = get(0 if timeout is None else 1)
                if length > 0:
                    add(bytes(view))
                    size += length
                elif length < 0:
                    self._end()
                elif not self._more(until):
                    break
        except psycopg.Error as error:
            raise failure(error.sqlstate, str(error)) from None
        return lines

    def _more(self, until: float) -> bool:
        """Whether more has come by then."""
        left = max(0.0, until - time.monotonic())
        ready = select.select([self._connection.socket], [], [], left)[0]
        if ready:
            self._connection.consume_input()
        return bool(ready)

    def __enter__(self) -> Self:
        """Itself."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Nothing of it is read any more."""
        if not self.finished:
            # What is under way cannot be taken back: the transaction is of no use any more.
            self._connection.finish()

    def _end(self) -> None:
        self.finished = True
        result = self._connection.get_result()
        while result is not None:
            if result.status == pq.ExecStatus.FATAL_ERROR:
                raise failed_result(result)
            result = self._connection.get_result()
        if self._connection.status != pq.ConnStatus.OK:
            msg = "PostgreSQL ended the connection"
            raise SystemAway(msg)


def texts_of(lines: Sequence[bytes], columns: int) -> Sequence[pa.StringArray]:
    """Rows as columns of text, null where they are null; nothing: there are none."""
    data, rows = b"".join(lines), len(lines)
    if not rows:
        return ()
    names = [str(number) for number in range(columns)]
    table = csv.read_csv(
        io.BytesIO(data),
        csv.ReadOptions(column_names=names, use_threads=False, block_size=len(data) + 1),
        # The only line that is empty is a row of one column that is null.
        csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False),
        csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()),
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        ),
    )
    if table.num_rows != rows:
        msg = f"of {rows} in PostgreSQL {table.num_rows} were read"
        raise AssertionError(msg)
    return [column.combine_chunks() for column in table.columns]


def values(texts: pa.StringArray, kind: PgType) -> list[object]:
    """The value of each text."""
    return [None if text is None else kind.read(text) for text in texts.to_pylist()]


def typed(texts: pa.StringArray, kind: PgType) -> pa.Array:
    """The same as a column of its type.

    Raises:
        RecordError: a value is none of the type.
    """
    schema = kind.schema
    quick = _QUICK.get(schema.type)
    if quick is not None and (kind.convert is not None or schema.type in _AS_WRITTEN):
        try:
            made: pa.Array = at_their_places(texts, lambda there: quick(there, schema))
        except (pa.ArrowException, NotPlain, ValueError):
            # Some are written in another way, or beyond what Arrow takes: one by one.
            pass
        else:
            return made
    return to_array(values(texts, kind), schema)


def _cast(texts: pa.StringArray, schema: Schema) -> pa.Array:
    return texts.cast(to_arrow_type(schema))


def _booleans(texts: pa.StringArray, _: Schema) -> pa.Array:
    return pc.equal(texts, "t")


def _jsons(texts: pa.StringArray, _: Schema) -> pa.Array:
    return pa.ExtensionArray.from_storage(pa.json_(), texts)


def _bytes(texts: pa.StringArray, _: Schema) -> pa.Array:
    """Of the form hex of bytea_output."""
    if not pc.all(pc.starts_with(texts, "\\x")).as_py():
        raise NotPlain
    digits = pc.utf8_slice_codeunits(texts, 2)
    ends = pc.cumulative_sum(pc.shift_right(pc.binary_length(digits), pa.scalar(1, pa.int32())))
    raw = bytes.fromhex("".join(digits.to_pylist()))
    offsets = pa.concat_arrays([pa.array([0], pa.int32()), ends])
    if offsets[-1].as_py() != len(raw):
        raise NotPlain
    return pa.Array.from_buffers(pa.binary(), len(texts), [None, offsets.buffers()[1], pa.py_buffer(raw)])


_AS_WRITTEN = (Type.STRING, Type.JSON)
"""The text is the value."""
_QUICK: Mapping[Type, Callable[[pa.StringArray, Schema], pa.Array]] = {
    **dict.fromkeys((Type.INT16, Type.INT32, Type.INT64, Type.UINT32, Type.FLOAT32, Type.FLOAT64), _cast),
    **dict.fromkeys((Type.STRING, Type.DATE, Type.TIMESTAMP, Type.DECIMAL), _cast),
    **dict.fromkeys((Type.TIME, Type.UUID), read_texts),
    Type.BOOLEAN: _booleans,
    Type.JSON: _jsons,
    Type.BYTES: _bytes,
}
