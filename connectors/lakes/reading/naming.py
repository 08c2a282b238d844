"""Columns of a file under the names that the table has for them now: they are known by numbers. Pure."""

import pyarrow as pa
import pyarrow.compute as pc

from connectors.lakes.reading.fitting import Unfit

NUMBER = b"PARQUET:field_id"
"""Under which Arrow has the number of a column."""


def number_of(field: pa.Field) -> bytes | None:
    """The number of a column; None: it has none."""
    found: bytes | None = (field.metadata or {}).get(NUMBER)
    return found


def wanted(there: pa.Schema, columns: pa.Schema) -> list[str]:
    """The names that a file has for the columns of a table.

    Args:
        there: The columns of the file.
        columns: Those of the table, with their numbers.

    Raises:
        Unfit: the file has no numbers.
    """
    if len(there) and all(number_of(field) is None for field in there):
        msg = f"{there.names[0]} has no number in the file, nor has any other column, and names say nothing in such a table"
        raise Unfit(msg)
    numbers = {number_of(field) for field in columns}
    return [field.name for field in there if number_of(field) is not None and number_of(field) in numbers]


def named(batch: pa.RecordBatch, columns: pa.Schema) -> pa.RecordBatch:
    """Columns of a file under the names that the table has for them; others are left out.

    Args:
        batch: Of the file, with the numbers of its columns.
        columns: Those of the table, with theirs.
    """
    places = {number_of(field): index for index, field in enumerate(batch.schema)}
    found = [(field, places[number_of(field)]) for field in columns if number_of(field) in places]
    arrays = [_named(batch.column(place), field.type) for field, place in found]
    if not arrays:
        return batch.select([])
    return pa.RecordBatch.from_arrays(arrays, names=[field.name for field, _ in found])


def _named(values: pa.Array, kind: pa.DataType) -> pa.Array:
    """The same with the names of a type that has numbers; what is of another kind is left as it is."""
    mask = values.is_null() if values.null_count else None
    if pa.types.is_struct(kind) and pa.types.is_struct(values.type):
        places = {number_of(field): index for index, field in enumerate(values.type)}
        found = [(field, places[number_of(field)]) for field in kind if number_of(field) in places]
        parts = [_named(values.field(place), field.type) for field, place in found]
        fields = [pa.field(field.name, part.type) for (field, _), part in zip(found, parts, strict=True)]
        return pa.StructArray.from_arrays(parts, fields=fields, mask=mask) if fields else pa.nulls(len(values), pa.struct([]))
    if pa.types.is_list(kind) and pa.types.is_list(values.type):
        first, last = values.offsets[0].as_py(), values.offsets[-1].as_py()
        items = _named(values.values[first:last], kind.value_type)
        return pa.ListArray.from_arrays(pc.subtract(values.offsets, first), items, mask=mask)
    if pa.types.is_map(kind) and pa.types.is_map(values.type):
        first, last = values.offsets[0].as_py(), values.offsets[-1].as_py()
        keys = _named(values.keys[first:last], kind.key_type)
        items = _named(values.items[first:last], kind.item_type)
        return pa.MapArray.from_arrays(pc.subtract(values.offsets, first), keys, items, mask=mask)
    return values
