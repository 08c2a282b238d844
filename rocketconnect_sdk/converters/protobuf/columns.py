"""Columns of Arrow as Protobuf, without an object for each value: the same bytes as of Protobuf's own library."""

from collections.abc import Callable, Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from rocketconnect_sdk.columns.arrow_types import to_arrow_type
from rocketconnect_sdk.columns.text_columns import NotPlain
from rocketconnect_sdk.converters.binary_columns import Part, joined, little_endian, sized, varints, zigzag
from rocketconnect_sdk.converters.column_values import digits_in, to_bytes
from rocketconnect_sdk.converters.protobuf.layout import NANOS, Field, Message, Shape, Wire
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
    if field.message is not None:
        body = _body(column, field.message, missing)
        parts = sized(pc.if_else(column.is_valid(), body, None) if column.null_count else body)
    else:
        column = _written(column, field)
        if not field.present:
            column = pc.if_else(_is_nothing(column), None, column)
        parts = _BYTES[field.wire](column)
    tag = pa.scalar(field.tag, pa.binary())
    return [pc.if_else(column.is_valid(), tag, None) if column.null_count else tag, *parts]


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
