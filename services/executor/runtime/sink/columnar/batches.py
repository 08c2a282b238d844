"""Batches as tables of Arrow, of types that Spark has too."""

from collections.abc import Callable, Sequence

import pyarrow as pa

from rocketconnect_sdk.arrow import to_array
from rocketconnect_sdk.columns.compact import Column
from rocketconnect_sdk.columns.objects import rows_of_values
from rocketconnect_sdk.errors import PermanentError
from rocketconnect_sdk.schema import Schema
from rocketconnect_sdk.spark.types import to_spark
from services.executor.runtime.sink.decode.part import Part

HEADER = "header:"
"""Before its name: the column of one header."""

_PLAIN = (pa.int64(), pa.float64(), pa.bool_())
_HEADERS = pa.map_(pa.string(), pa.string())


def columns_of(part: Part, columns: Sequence[str]) -> pa.RecordBatch:
    """The records of a part as columns: any of value, key, topic, queue, offset, row, timestamp, headers and header:NAME."""
    return pa.RecordBatch.from_arrays([_column(part, name) for name in columns], names=list(columns))


def spark_array(columns: Schema | None, values: Sequence[object], schema: Schema | None) -> pa.Array:
    """Values as their schema says, in types that Spark reads; without a schema as rows of columns, where these are given.

    Raises:
        RecordError: a value does not fit, or Spark has no such type.
    """
    if schema is not None or columns is None:
        return to_spark(to_array(values, schema))
    return values.array if isinstance(values, Column) else rows_of_values(values, columns)


def _column(part: Part, name: str) -> pa.Array:
    records = part.records
    count = len(records)
    if name.startswith(HEADER):
        header = name.removeprefix(HEADER)
        texts = None if records.headers is None else [headers.get(header) for headers in records.headers]
        return pa.nulls(count, pa.string()) if texts is None else pa.array(texts, pa.string())
    times = [None] * count if records.timestamps_ms is None else records.timestamps_ms
    makers: dict[str, Callable[[], pa.Array]] = {
        "value": lambda: part.array,
        "key": lambda: pa.nulls(count, pa.string()) if records.keys is None else to_array(records.keys, None),
        "topic": lambda: pa.repeat(records.topic, count),
        "queue": lambda: pa.repeat(records.queue, count),
        "offset": lambda: pa.array(records.offsets, pa.int64()),
        "row": lambda: pa.nulls(count, pa.int64()) if records.rows is None else pa.array(records.rows, pa.int64()),
        "timestamp": lambda: pa.array(times, pa.timestamp("ms", "UTC")),
        "headers": lambda: pa.array([list(headers.items()) for headers in records.headers or [{}] * count], _HEADERS),
    }
    if name not in makers:
        msg = f"the sink asks for a column {name!r}; there are {', '.join(makers)}"
        raise PermanentError(msg)
    return makers[name]()


def in_order(parts: Sequence[Part]) -> list[Part]:
    """Those with records, in the order of their queues and offsets: that of the rows of a batch."""
    return sorted((part for part in parts if len(part.records)), key=lambda part: (part.queue, part.start))


def table_of(parts: Sequence[Part]) -> pa.Table:
    """The table of a batch with at least one record. See in_order."""
    tables = _with_alike_nulls(in_order(parts))
    # Keys without a converter schema can be null in one part and text in the next.
    if all(table.schema == tables[0].schema for table in tables):
        return pa.Table.from_batches(tables)
    try:
        return _concatenated(tables)
    except pa.ArrowException:
        # Without a schema each part has the type of its own keys and values: numbers in one, text in the next.
        mixed = [name for name in tables[0].schema.names if len({table.schema.field(name).type for table in tables}) > 1]
        return _concatenated([_with_texts(table, mixed) for table in tables])


def _concatenated(tables: Sequence[pa.RecordBatch]) -> pa.Table:
    return pa.concat_tables([pa.Table.from_batches([table]) for table in tables], promote_options="permissive")


def _with_texts(table: pa.RecordBatch, names: Sequence[str]) -> pa.RecordBatch:
    """The same with text for what is a number, or true or false, in these columns: as JSON has it."""
    for name in names:
        column = table.column(name)
        if column.type in _PLAIN:
            table = table.set_column(table.schema.names.index(name), name, column.cast(pa.string()))
    return table


def _with_alike_nulls(parts: Sequence[Part]) -> list[pa.RecordBatch]:
    """The tables of parts. Tombstones alone have no schema: their nulls get the type of the values in other parts."""
    kind = next((part.array.type for part in parts if not _has_nulls_only(part)), None)
    return [part.table if kind is None or not _has_nulls_only(part) else _with_nulls(part.table, kind) for part in parts]


def _has_nulls_only(part: Part) -> bool:
    return part.records.schema is None and part.array.null_count == len(part.array)


def _with_nulls(table: pa.RecordBatch, kind: pa.DataType) -> pa.RecordBatch:
    if "value" not in table.schema.names:
        return table
    return table.set_column(table.schema.names.index("value"), "value", pa.nulls(table.num_rows, kind))
