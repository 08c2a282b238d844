"""Columns of Arrow as Avro, without an object for each value: the same as rocketconnect_sdk.converters.avro.codec."""

from collections.abc import Callable, Mapping

import pyarrow as pa
import pyarrow.compute as pc

from rocketconnect_sdk.columns.arrow_types import to_arrow_type
from rocketconnect_sdk.columns.parts import fields_of
from rocketconnect_sdk.columns.text_columns import NotPlain
from rocketconnect_sdk.converters.avro.codec import Layout
from rocketconnect_sdk.converters.binary_columns import Part, joined, little_endian, varints, zigzag
from rocketconnect_sdk.converters.column_values import storage_of, to_bytes
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.schema import Schema, Type

_BOOLEANS = pa.array([b"\x00", b"\x01"], pa.binary())
_END = pa.scalar(b"\x00", pa.binary())


def messages_of(column: pa.Array, schema: Schema, layout: Layout) -> list[bytes] | None:
    """The bytes of each value of a column.

    Args:
        column: The values.
        schema: What they are to be.
        layout: How these stand in bytes.

    Returns:
        What the codec of the layout writes for each. None: write each; at least one may be bad, or the column is of another type.
    """
    try:
        if column.type != to_arrow_type(schema):
            return None
        messages: list[bytes] = joined(_parts(column, schema, layout, 0), len(column)).to_pylist()
    except (NotPlain, RecordError, pa.ArrowException, OverflowError):
        return None
    return messages


def _parts(column: pa.Array, schema: Schema, layout: Layout, missing: int) -> list[Part]:
    """The parts of each value.

    Args:
        column: The values.
        schema: Their schema.
        layout: Their layout.
        missing: So many of them are in no record, and need not be there.

    Raises:
        NotPlain: write each.
    """
    if layout.null is None and column.null_count > missing:
        raise NotPlain
    parts = _PARTS.get(layout.kind, _leaf)(column, schema, layout)
    if column.null_count and layout.kind in _PARTS:
        # Of a record that is null there are no fields.
        parts = [pc.if_else(column.is_valid(), joined(parts, len(column)), None)]
    if layout.null is None:
        return parts
    null, other = (pa.scalar(bytes([branch << 1]), pa.binary()) for branch in (layout.null, 1 - layout.null))
    return [pc.if_else(column.is_valid(), other, null) if column.null_count else other, *parts]


def _record(column: pa.StructArray, schema: Schema, layout: Layout) -> list[Part]:
    parts = []
    for (field, values), part in zip(fields_of(column, schema), layout.parts, strict=True):
        parts += _parts(values, field.schema, part, column.null_count)
    return parts


def _array(column: pa.ListArray | pa.MapArray, schema: Schema, layout: Layout) -> list[Part]:
    offsets = column.offsets
    first, last = offsets[0].as_py(), offsets[-1].as_py()
    (items,) = layout.parts
    if schema.type is Type.MAP and schema.keys is not None and schema.items is not None:
        keys = _parts(column.keys[first:last], schema.keys, items.parts[0], 0)
        parts = [*keys, *_parts(column.items[first:last], schema.items, items.parts[1], 0)]
    elif schema.items is not None:
        parts = _parts(column.values[first:last], schema.items, items, 0)
    else:
        raise NotPlain
    starts = pc.subtract(offsets, first)
    listed = pc.binary_join(pa.ListArray.from_arrays(starts, joined(parts, last - first)), b"")
    counts = pc.subtract(offsets[1:], offsets[:-1])
    # An array without items has no block but the last, which is empty.
    return [*_longs(pc.if_else(pc.greater(counts, 0), counts, None)), listed, _END]


def _leaf(column: pa.Array, schema: Schema, layout: Layout) -> list[Part]:
    match layout.kind:
        case "boolean":
            return [_BOOLEANS.take(column.cast(pa.int8()))]
        case "float" | "double":
            return [little_endian(column)]
        case "enum":
            numbers = pc.index_in(column, pa.array(layout.symbols, pa.string()))
            if numbers.null_count > column.null_count:
                raise NotPlain
            return _longs(numbers)
        case "int" | "long":
            width = pa.int32() if layout.kind == "int" else pa.int64()
            return _longs(column.cast(width))
        case "fixed":
            return [_of_size(column, schema, layout.size)]
    data = to_bytes(column, schema)
    return [*_longs(pc.binary_length(data)), data]


def _longs(numbers: pa.Array) -> list[Part]:
    return varints(zigzag(numbers.cast(pa.int64())))


def _of_size(column: pa.Array, schema: Schema, size: int) -> pa.BinaryArray:
    if schema.type in (Type.DECIMAL, Type.UINT64):
        raise NotPlain
    data = storage_of(column).cast(pa.binary())
    if pc.any(pc.not_equal(pc.binary_length(data), size)).as_py():
        raise NotPlain
    return data


_PARTS: Mapping[str, Callable[[pa.Array, Schema, Layout], list[Part]]] = {"record": _record, "array": _array}
