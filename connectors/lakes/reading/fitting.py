"""Columns of a file as the table has them: files are older than its newest columns and types. Pure."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

_EARLIEST, _LATEST = -62_135_596_800, 253_402_300_799
"""The first second of the year 1 and the last one of the year 9999, which is as far as Python's dates go."""
_DAY = 86_400
_UNITS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}

_WIDER: Sequence[tuple[Callable[[pa.DataType], bool], Callable[[pa.DataType], bool]]] = (
    (pa.types.is_integer, pa.types.is_integer),
    (pa.types.is_decimal, pa.types.is_decimal),
    (pa.types.is_string, pa.types.is_large_string),
    (pa.types.is_string, pa.types.is_string_view),
    (pa.types.is_binary, pa.types.is_large_binary),
    (pa.types.is_binary, pa.types.is_binary_view),
    (pa.types.is_binary, pa.types.is_fixed_size_binary),
)


class Unfit(ValueError):
    """A column of a file cannot be what the table says it is. The text begins with its name."""


def rows_of(batch: pa.RecordBatch, columns: pa.Schema, constants: Mapping[str, Any]) -> pa.StructArray:
    """The rows of a file as those of the table: columns that the file does not have are null, others are left out.

    Args:
        batch: Of the file.
        columns: Of the table.
        constants: What all rows of the file have, by column.

    Raises:
        Unfit: it can't be said what a value is.
    """
    arrays = [_column(batch, field, constants) for field in columns]
    return pa.StructArray.from_arrays(arrays, fields=list(columns)) if arrays else pa.array([{}] * len(batch), pa.struct([]))


def _column(batch: pa.RecordBatch, field: pa.Field, constants: Mapping[str, Any]) -> pa.Array:
    if field.name in constants:
        return pa.repeat(constants[field.name], len(batch))
    place = batch.schema.get_field_index(field.name)
    if place < 0:
        return _absent(field, len(batch), field.name)
    return fitted(batch.column(place), field.type, field.name)


def fitted(values: pa.Array, kind: pa.DataType, name: str) -> pa.Array:
    """Values as another type, without loss.

    Args:
        values: Of a file.
        kind: The type that they have in the table.
        name: Of the column.

    Raises:
        Unfit: they do not have it.
    """
    if values.type == kind:
        return values
    mask = values.is_null() if values.null_count else None
    if pa.types.is_struct(kind) and pa.types.is_struct(values.type):
        places = {field.name: index for index, field in enumerate(values.type)}
        parts = [_part(values, places.get(field.name), field, f"{name}.{field.name}") for field in kind]
        return pa.StructArray.from_arrays(parts, fields=list(kind), mask=mask)
    if pa.types.is_list(kind) and (pa.types.is_list(values.type) or pa.types.is_large_list(values.type)):
        values = values.cast(pa.list_(values.type.value_field))
        offsets, first, last = _span(values)
        items = fitted(values.values[first:last], kind.value_type, name)
        return pa.ListArray.from_arrays(offsets, items, type=kind, mask=mask)
    if pa.types.is_map(kind) and pa.types.is_map(values.type):
        offsets, first, last = _span(values)
        keys, items = values.keys[first:last], values.items[first:last]
        made = [fitted(keys, kind.key_type, name), fitted(items, kind.item_type, name)]
        return pa.MapArray.from_arrays(offsets, *made, type=kind, mask=mask)
    if kind == pa.uuid() and values.type == pa.binary(16):
        return pa.ExtensionArray.from_storage(kind, values)
    if not _widens(values.type, kind):
        msg = f"{name} is {values.type} in the file and {kind} in the table"
        raise Unfit(msg)
    try:
        return values.cast(kind)
    except pa.ArrowException as error:
        msg = f"{name} is {values.type} in the file and {kind} in the table: {error}"
        raise Unfit(msg) from error


def _span(values: pa.Array) -> tuple[pa.Array, int, int]:
    first, last = values.offsets[0].as_py(), values.offsets[-1].as_py()
    return pc.subtract(values.offsets, first), first, last


def _part(values: pa.StructArray, place: int | None, field: pa.Field, name: str) -> pa.Array:
    return _absent(field, len(values), name) if place is None else fitted(values.field(place), field.type, name)


def _absent(field: pa.Field, count: int, name: str) -> pa.Array:
    if not field.nullable and count:
        msg = f"{name} is not in the file, and the table says that it is never null"
        raise Unfit(msg)
    return pa.nulls(count, field.type)


def _widens(before: pa.DataType, after: pa.DataType) -> bool:
    """Whether every value of a type is one of the other, the same; what has no room is found by the cast."""
    if pa.types.is_dictionary(before):
        before = before.value_type
    if pa.types.is_floating(after):
        return bool(pa.types.is_floating(before) and before.bit_width <= after.bit_width)
    if pa.types.is_timestamp(after):
        # Parquet's oldest form of a point in time says no zone: it is UTC.
        return bool(pa.types.is_timestamp(before) and (after.tz is not None or before.tz is None))
    return before == after or pa.types.is_null(before) or any(is_one(before) for is_to, is_one in _WIDER if is_to(after))


def is_plain(values: pa.Array) -> bool:
    """Whether Python can hold every value: no time is before the year 1 or after the year 9999, and no map has a key twice."""
    kind = values.type
    if pa.types.is_struct(kind):
        return all(is_plain(values.field(index)) for index in range(kind.num_fields))
    if pa.types.is_list(kind):
        return is_plain(values.values)
    if pa.types.is_map(kind):
        # To find a key that is there twice takes as long as to make the values.
        return not len(values)
    if pa.types.is_timestamp(kind):
        unit = _UNITS[kind.unit]
        return _is_between(values.cast(pa.int64()), _EARLIEST * unit, _LATEST * unit + unit - 1)
    if pa.types.is_date32(kind):
        return _is_between(values.cast(pa.int32()), _EARLIEST // _DAY, _LATEST // _DAY)
    return True


def _is_between(numbers: pa.Array, least: int, most: int) -> bool:
    found = pc.min_max(numbers)
    low, high = found["min"].as_py(), found["max"].as_py()
    return low is None or (least <= low and high <= most)
