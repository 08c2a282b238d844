"""Columns of Arrow as Protobuf, without an object for each value: the same bytes as of Protobuf's own library."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rocketconnect_sdk.columns.arrow_types import to_arrow_type
from rocketconnect_sdk.columns.text_columns import NotPlain
from rocketconnect_sdk.converters.binary_columns import Part, joined, little_endian, sized, varints, zigzag
from rocketconnect_sdk.converters.column_values import digits_in, to_bytes
from rocketconnect_sdk.converters.protobuf.files import sorts_maps_so
from rocketconnect_sdk.converters.protobuf.layout import NANOS, Field, Message, Several, Shape, Wire
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.schema import Schema, Type


def messages_of(column: pa.Array, layout: Message) -> list[bytes] | None:
    """The bytes of each value of a column.

    Args:
        column: The values.
        layout: How they are to stand in messages.

    Returns:
        What Protobuf's library writes for each. None: write each; at least one may be bad, or the column is of another type.
    """
    try:
        if column.type != to_arrow_type(layout.schema) or (column.null_count and layout.shape is not Shape.FIELD):
            return None
        messages: list[bytes] = _body(column, layout, 0).to_pylist()
    except (NotPlain, RecordError, pa.ArrowException, OverflowError):
        return None
    return messages


def _body(column: pa.Array, layout: Message, missing: int) -> pa.BinaryArray:
    """What stands in each message.

    Args:
        column: What the messages stand for.
        layout: How.
        missing: So many of them are in no message, and need not be there.

    Raises:
        NotPlain: write each.
    """
    if any(field.shared for field in layout.fields):
        raise NotPlain
    columns: Sequence[pa.Array] = [column]
    if layout.shape is not Shape.FIELD:
        missing = column.null_count
        columns = column.flatten() if layout.shape is Shape.STRUCT else _VALUES[layout.schema.type](column, layout.schema)
    return joined([part for field in layout.fields for part in _parts(columns[field.place], field, missing)], len(column))


def _parts(column: pa.Array, field: Field, missing: int) -> list[Part]:
    """The parts of a field."""
    if column.null_count > missing and not field.schema.optional:
        raise NotPlain
    tag = pa.scalar(field.tag, pa.binary())
    if field.several is not None and field.item is not None:
        body = _several(column, field.several, field.item)
        if field.several is not Several.PACKED:
            return [body]
        column = pc.if_else(pc.equal(pc.binary_length(body), 0), None, body)
        parts = sized(column)
    elif field.message is not None:
        body = _body(column, field.message, missing)
        if field.always and (not column.null_count or field.message.shape is Shape.FIELD):
            return [tag, *sized(body)]
        parts = sized(pc.if_else(column.is_valid(), body, None) if column.null_count else body)
    else:
        column = _written(column, field)
        if not field.present and not field.always:
            column = pc.if_else(_is_nothing(column), None, column)
        parts = _BYTES[field.wire](column)
    if field.always and column.null_count:
        raise NotPlain
    return [pc.if_else(column.is_valid(), tag, None) if column.null_count else tag, *parts]


def _several(column: pa.ListArray | pa.MapArray, several: Several, item: Field) -> pa.BinaryArray:
    """The items of each array, or the entries of each map: nothing of those that are null."""
    offsets = column.offsets
    first, last = offsets[0].as_py(), offsets[-1].as_py()
    starts = pc.subtract(offsets, first)
    if pa.types.is_map(column.type):
        keys, values = column.keys[first:last], column.items[first:last]
        if several is Several.SORTED:
            order = _by_keys(keys, starts)
            keys, values = keys.take(order), values.take(order)
        items: pa.Array = pa.StructArray.from_arrays([keys, values], ["key", "value"])
    else:
        items = column.values[first:last]
    parts = _BYTES[item.wire](_whole(items, item)) if several is Several.PACKED else _parts(items, item, 0)
    found = pc.binary_join(pa.ListArray.from_arrays(starts, joined(parts, last - first)), b"")
    return pc.if_else(column.is_valid(), found, b"") if column.null_count else found


def _by_keys(keys: pa.Array, starts: pa.Int32Array) -> pa.UInt64Array:
    """The order of the entries of maps in which Protobuf's library writes them. Raises NotPlain: a map has a key twice."""
    if not sorts_maps_so() or keys.null_count:
        raise NotPlain
    is_text = pa.types.is_string(keys.type)
    if is_text:
        # The longer one first, where one begins with the other.
        keys = pc.binary_join_element_wise(keys.cast(pa.binary()), pa.scalar(b"\xff", pa.binary()), pa.scalar(b"", pa.binary()))
    if pa.types.is_signed_integer(keys.type):
        # To the library a negative number is a large one.
        keys = keys.cast(pa.int64()).view(pa.uint64())
    maps = pa.array(np.repeat(np.arange(len(starts) - 1), np.diff(starts)))
    order = pc.sort_indices(
        pa.table({"map": maps, "key": keys}), [("map", "ascending"), ("key", "ascending" if is_text else "descending")]
    )
    maps, keys = maps.take(order), keys.take(order)
    same = pc.and_(pc.equal(maps[1:], maps[:-1]), pc.equal(keys[1:], keys[:-1]))
    if pc.any(same).as_py():
        raise NotPlain
    return order


def _whole(items: pa.Array, item: Field) -> pa.Array:
    """What is written of each item. Raises NotPlain: one is null."""
    if items.null_count:
        raise NotPlain
    return _written(items, item)


def _written(column: pa.Array, field: Field) -> pa.Array:
    """What is written of each value: bytes, or a number of the width that it is to have."""
    if field.symbols:
        places = pc.index_in(column, pa.array([symbol for _, symbol in field.symbols], pa.string()))
        if places.null_count > column.null_count:
            raise NotPlain
        return pa.array([number for number, _ in field.symbols], pa.int64()).take(places)
    if field.wire is Wire.SIZED:
        return to_bytes(column, field.schema)
    if pa.types.is_floating(column.type):
        return column
    if pa.types.is_unsigned_integer(column.type) or pa.types.is_boolean(column.type):
        return column.cast(pa.uint32() if field.wire is Wire.FOUR else pa.uint64())
    whole = column.cast(pa.int64())
    return whole.cast(pa.int32()) if field.wire is Wire.FOUR else whole


def _is_nothing(column: pa.Array) -> pa.BooleanArray:
    """Which of what is written is 0, or no bytes. A zero below zero is another number."""
    if pa.types.is_binary(column.type):
        return pc.equal(pc.binary_length(column), 0)
    bits = column.view(pa.int32() if column.type.bit_width == 32 else pa.int64())
    return pc.equal(bits, pa.scalar(0, bits.type))


def _moment(column: pa.TimestampArray, schema: Schema) -> list[pa.Array]:
    counts = column.cast(pa.int64())
    # Rounded down, and not towards 1970.
    seconds = pc.divide(counts, in_second := schema.unit.in_second)
    seconds = pc.if_else(pc.greater(pc.multiply(seconds, in_second), counts), pc.subtract(seconds, 1), seconds)
    return [seconds, pc.multiply(pc.subtract(counts, pc.multiply(seconds, in_second)), NANOS // in_second)]


def _clock(column: pa.Array, schema: Schema) -> list[pa.Array]:
    counts = column.cast(pa.int32() if column.type.bit_width == 32 else pa.int64()).cast(pa.int64())
    seconds = pc.divide(counts, in_second := schema.unit.in_second)
    minutes, hours = pc.divide(seconds, 60), pc.divide(seconds, 3600)
    return [
        hours,
        pc.subtract(minutes, pc.multiply(hours, 60)),
        pc.subtract(seconds, pc.multiply(minutes, 60)),
        pc.multiply(pc.subtract(counts, pc.multiply(seconds, in_second)), NANOS // in_second),
    ]


def _decimal(column: pa.Array, schema: Schema) -> list[pa.Array]:
    scales = pc.if_else(column.is_valid(), pa.scalar(schema.scale), None)
    return [to_bytes(column, schema), digits_in(column), scales]


_VALUES: Mapping[Type, Callable[[pa.Array, Schema], list[pa.Array]]] = {
    Type.DECIMAL: _decimal,
    Type.DATE: lambda column, _: [pc.year(column), pc.month(column), pc.day(column)],
    Type.TIME: _clock,
    Type.TIMESTAMP: _moment,
}
"""The fields of messages that are a value."""
_BYTES: Mapping[Wire, Callable[[pa.Array], list[Part]]] = {
    Wire.VARINT: lambda column: varints(column.view(pa.uint64())),
    Wire.ZIGZAG: lambda column: varints(zigzag(column)),
    Wire.FOUR: lambda column: [little_endian(column)],
    Wire.EIGHT: lambda column: [little_endian(column)],
    Wire.SIZED: sized,
}
