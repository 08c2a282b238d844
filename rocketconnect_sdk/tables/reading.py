"""The values of records as rows, or as change envelopes of rows. Pure."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import msgspec
import pyarrow as pa

from rocketconnect_sdk.arrow import to_array
from rocketconnect_sdk.columns.objects import rows_of_array
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.record import SinkBatch
from rocketconnect_sdk.schema import Schema, Type
from rocketconnect_sdk.spark.types import to_spark
from rocketconnect_sdk.tables.columns import AnyTable, met
from rocketconnect_sdk.tables.settings import TableSettings
from rocketconnect_sdk.targets.envelopes import row_schema
from rocketconnect_sdk.targets.fitted import NO_VALUES
from rocketconnect_sdk.targets.objects import Objects, read_values

_BEGINNING = 100


def values_of(batch: SinkBatch, settings: TableSettings, table: AnyTable | None) -> Objects:
    """The values as structs, of types that Spark has; what is none is null, and has a reason.

    Args:
        batch: The records.
        settings: What is written.
        table: Where they go; None: it is not there yet.

    Raises:
        RecordError: none of them is a row.
    """
    columns, schema = settings.columns, batch.schema
    if settings.by_key and all(value is None for value in batch.values):
        return Objects(pa.nulls(len(batch), pa.struct([])), NO_VALUES, {})
    reasons: dict[int, str] = {}
    if schema is not None and row_schema(schema) is not None and columns is None:
        return Objects(to_spark(_taken(batch.values, reasons, lambda some: to_array(some, schema), schema)), schema, reasons)
    if columns is not None:
        objects = _taken(batch.values, reasons, lambda some: rows_of_array(to_array(some, schema), columns), columns)
        return Objects(to_spark(objects), columns, reasons)
    texts = _taken(batch.values, reasons, lambda some: _texts(some, schema), Schema(Type.STRING))
    if table is None:
        msg = f"the value has no schema, and there is no table {settings.name(batch.topic)} to say what it is: set columns"
        raise RecordError(msg)
    read = read_values(texts, met(table.columns, Schema(Type.STRUCT)), table.key if settings.upsert else ())
    return replace(read, reasons={**read.reasons, **reasons})


def keys_of(batch: SinkBatch) -> pa.Array:
    """The keys as rocketconnect_sdk.targets.keys takes them."""
    keys = [None] * len(batch) if batch.keys is None else list(batch.keys)
    return to_array([msgspec.json.encode(each).decode() if isinstance(each, Mapping) else each for each in keys], None)


def _texts(values: Sequence[object], schema: Schema | None) -> pa.Array:
    made = to_array(values, schema)
    if not pa.types.is_string(made.type):
        msg = "the value is no row: give it a schema by its converter, or set columns"
        raise RecordError(msg)
    return made


def _taken(
    values: Sequence[object], reasons: dict[int, str], make: Callable[[Sequence[object]], pa.Array], schema: Schema
) -> pa.Array:
    """What `make` makes of values, with nulls in the place of those that it makes nothing of: found by halving, and told."""
    parts: list[pa.Array] = []
    ranges = [(0, len(values))]
    while ranges:
        start, stop = ranges.pop()
        some = values if stop - start == len(values) else values[start:stop]
        try:
            parts.append(make(some))
        except RecordError as error:
            if stop - start == 1:
                reasons[start] = f"{error}; the value begins {str(values[start])[:_BEGINNING]!r}"
                parts.append(make([None]) if schema.type is Type.STRING else to_array([None], replace(schema, optional=True)))
            else:
                middle = (start + stop) // 2
                ranges += [(middle, stop), (start, middle)]
    if len(parts) == 1:
        return parts[0]
    kind = parts[0].type
    return pa.concat_arrays([part.cast(kind) if part.type != kind else part for part in parts])
