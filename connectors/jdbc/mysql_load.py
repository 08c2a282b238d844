"""Rows into a table of MySQL by LOAD DATA LOCAL, from memory. Quicker than INSERT, but what it does not like it only warns of."""

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

_TAB, _NOTHING, _LINE = (pa.scalar(text, pa.large_string()) for text in ("\t", "", "\n"))
_NULL = "\\N"
_ESCAPES = (("\\", "\\\\"), ("\t", "\\t"), ("\n", "\\n"), ("\0", "\\0"))


def load(connection: Any, table: str, rows: pa.Table, quoted: Callable[[str], str]) -> bool:
    """Loads rows into a table. False: the server warned, or left rows out; what it did is then to be undone.

    Args:
        connection: A BulkConnection.
        table: Quoted.
        rows: Of what `lines` takes.
        quoted: Quotes a name.
    """
    names, changes = [], []
    for number, (name, column) in enumerate(zip(rows.column_names, rows.columns, strict=True)):
        if pa.types.is_binary(column.type):
            names.append(f"@b{number}")
            changes.append(f"{quoted(name)} = UNHEX(@b{number})")
        elif pa.types.is_boolean(column.type) or pa.types.is_uint64(column.type) or pa.types.is_int16(column.type):
            # Digits are characters to a column of bits, and "0" is the year 2000.
            names.append(f"@n{number}")
            changes.append(f"{quoted(name)} = CAST(@n{number} AS {'' if pa.types.is_int16(column.type) else 'UN'}SIGNED)")
        else:
            names.append(quoted(name))
    statement = f"LOAD DATA LOCAL INFILE 'rows' INTO TABLE {table} CHARACTER SET utf8mb4 ({', '.join(names)})"
    connection.rows_to_load = lines(rows)
    try:
        with connection.cursor() as cursor:
            loaded = cursor.execute(statement + (f" SET {', '.join(changes)}" if changes else ""))
            return bool(loaded == rows.num_rows and cursor.warning_count == 0)
    finally:
        connection.rows_to_load = None


def lines(rows: pa.Table) -> memoryview:
    """Rows as LOAD DATA reads them: columns between tabs, a line each."""
    texts = [_text(column.combine_chunks()) for column in rows.columns]
    joined = pc.binary_join_element_wise(pc.binary_join_element_wise(*texts, _TAB), _NOTHING, _LINE)
    _, offsets, data = joined.buffers()
    ends = pa.Array.from_buffers(pa.int64(), len(joined) + 1, [None, offsets], offset=joined.offset)
    return memoryview(data)[ends[0].as_py() : ends[len(joined)].as_py()] if len(joined) else memoryview(b"")


def _text(column: pa.Array) -> pa.Array:
    if pa.types.is_binary(column.type):
        column = pa.array([None if value is None else value.hex() for value in column.to_pylist()], pa.string())
    elif pa.types.is_string(column.type):
        for character, escaped in _ESCAPES:
            column = pc.replace_substring(column, character, escaped)
    elif pa.types.is_boolean(column.type):
        column = column.cast(pa.int8())
    elif pa.types.is_timestamp(column.type):
        # Points in time are in UTC, and are written without their zone.
        column = column.cast(pa.timestamp(column.type.unit))
    return column.cast(pa.large_string()).fill_null(_NULL)
