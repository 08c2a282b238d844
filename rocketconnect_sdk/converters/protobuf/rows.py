"""Protobuf as columns of Arrow, without an object for each value: the same values as with Protobuf's own library.

Read this way are messages whose fields come in the order of their numbers, once each, and with none that the schema does not have:
what every usual writer writes. Others are read one by one.
"""

from collections.abc import Callable, Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from rocketconnect_sdk.columns.arrow_types import to_arrow_type
from rocketconnect_sdk.columns.text_columns import NotPlain, between
from rocketconnect_sdk.converters.binary_columns import Messages, There, unzigzag
from rocketconnect_sdk.converters.column_values import of_bytes, of_counts, of_texts
from rocketconnect_sdk.converters.protobuf.layout import NANOS, Field, Message, Shape, Wire
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.schema import Schema, Type, Unit

_EPOCH = 719_468
"""Days from the first of March of the year 0 to 1970."""


def rows_of(data: Sequence[bytes], start: int, layout: Message) -> pa.Array | None:
    """The values of messages.

    Args:
        data: At least one.
        start: Where the message begins in each.
        layout: How the values stand in messages.

    Returns:
        An array of the type that the schema stands for, of the values. None: read each; some may be bad, or of another form.
    """
    try:
        messages = Messages(data, start)
        rows = _message(messages, layout, None)
        messages.end()
    except (NotPlain, RecordError, pa.ArrowException, ValueError, OverflowError):
        return None
    return None if rows.null_count else rows


def _message(messages: Messages, layout: Message, there: There) -> pa.Array:
    """What those messages that are there stand for, null elsewhere. Raises NotPlain and others: see rows_of."""
    found = {field.place: _field(messages, field, there) for field in layout.fields}
    columns = [found[place] for place in range(len(found))]
    match layout.shape:
        case Shape.FIELD:
            return columns[0]
        case Shape.VALUE:
            return _VALUES[layout.schema.type](columns, layout.schema)
    if not columns:
        raise NotPlain
    mask = None if there is None else pc.invert(there)
    return pa.StructArray.from_arrays(columns, fields=list(to_arrow_type(layout.schema)), mask=mask)


def _field(messages: Messages, field: Field, there: There) -> pa.Array:
    given: There = messages.next_is(field.tag)
    given = None if pc.all(given).as_py() else given
    if field.message is not None:
        ends = messages.enter(_size(messages, given))
        found = _message(messages, field.message, given)
        messages.leave(ends)
    else:
        found = _READ[field.wire](messages, given)
    if given is not None:
        missing = pc.invert(given) if there is None else pc.and_not(there, given)
        if not field.present:
            found = pc.if_else(missing, pa.scalar(_NOTHING[field.wire], found.type), found)
        elif not field.schema.optional and pc.any(missing).as_py():
            raise NotPlain
    return found if field.message is not None else _value(found, field)


def _size(messages: Messages, there: There) -> pa.Int64Array:
    return messages.varint(there).cast(pa.int64())


def _value(found: pa.Array, field: Field) -> pa.Array:
    """The values of what stands in messages."""
    schema = field.schema
    if field.symbols:
        places = pc.index_in(found.view(pa.int64()), pa.array([number for number, _ in field.symbols], pa.int64()))
        if places.null_count > found.null_count:
            raise NotPlain
        return pa.array([symbol for _, symbol in field.symbols], pa.string()).take(places)
    if field.wire is Wire.SIZED:
        return found if schema.type is Type.BYTES else of_texts(found.cast(pa.string()), schema)
    if schema.type is Type.BOOLEAN:
        return found.cast(pa.bool_())
    if schema.type in (Type.FLOAT32, Type.FLOAT64):
        return found.view(to_arrow_type(schema))
    signed = schema.type not in (Type.UINT8, Type.UINT16, Type.UINT32, Type.UINT64)
    if field.wire is Wire.FOUR:
        return of_counts(found.view(pa.int32() if signed else pa.uint32()), schema)
    return of_counts(found.view(pa.int64() if signed else pa.uint64()), schema)


def _day(columns: Sequence[pa.Array], _: Schema) -> pa.Date32Array:
    years, months, days = (column.cast(pa.int64()) for column in columns)
    between(years, 1, 9999), between(months, 1, 12), between(days, 1, 31)
    # Years that begin in March, so that a leap day is the last one.
    early = pc.less_equal(months, 2)
    years = pc.subtract(years, early.cast(pa.int64()))
    months = pc.add(months, pc.if_else(early, 9, -3))
    leap = pc.add(pc.subtract(pc.divide(years, 4), pc.divide(years, 100)), pc.divide(years, 400))
    of_months = pc.divide(pc.add(pc.multiply(months, 153), 2), 5)
    counts = pc.add(pc.add(pc.multiply(years, 365), leap), pc.add(of_months, days))
    found = pc.subtract(counts, _EPOCH + 1).cast(pa.int32()).cast(pa.date32())
    if pc.any(pc.not_equal(pc.day(found), days)).as_py():
        raise NotPlain
    return found


def _clock(columns: Sequence[pa.Array], schema: Schema) -> pa.Array:
    hours, minutes, seconds, nanos = (column.cast(pa.int64()) for column in columns)
    between(hours, 0, 23), between(minutes, 0, 59), between(seconds, 0, 59)
    since = pc.add(pc.multiply(pc.add(pc.multiply(hours, 60), minutes), 60), seconds)
    return of_counts(pc.add(pc.multiply(since, schema.unit.in_second), _parts(nanos, schema.unit)), schema)


def _moment(columns: Sequence[pa.Array], schema: Schema) -> pa.Array:
    seconds, nanos = (column.cast(pa.int64()) for column in columns)
    counts = pc.multiply_checked(seconds, schema.unit.in_second)
    return of_counts(pc.add_checked(counts, _parts(nanos, schema.unit)), schema)


def _parts(nanos: pa.Int64Array, unit: Unit) -> pa.Int64Array:
    """Nanoseconds in a unit."""
    parts = pc.divide(between(nanos, 0, NANOS - 1), step := NANOS // unit.in_second)
    if pc.any(pc.not_equal(pc.multiply(parts, step), nanos)).as_py():
        raise NotPlain
    return parts


def _decimal(columns: Sequence[pa.Array], schema: Schema) -> pa.Array:
    data, _, scales = columns
    between(scales, schema.scale, schema.scale)
    return of_bytes(data, schema)


_VALUES: Mapping[Type, Callable[[Sequence[pa.Array], Schema], pa.Array]] = {
    Type.DECIMAL: _decimal,
    Type.DATE: _day,
    Type.TIME: _clock,
    Type.TIMESTAMP: _moment,
}
"""What the fields of a message that is a value stand for."""
_READ: Mapping[Wire, Callable[[Messages, There], pa.Array]] = {
    Wire.VARINT: lambda messages, there: messages.varint(there),
    Wire.ZIGZAG: lambda messages, there: unzigzag(messages.varint(there)),
    Wire.FOUR: lambda messages, there: messages.cut(messages.each(4, there)).cast(pa.binary(4)),
    Wire.EIGHT: lambda messages, there: messages.cut(messages.each(8, there)).cast(pa.binary(8)),
    Wire.SIZED: lambda messages, there: messages.cut(_size(messages, there)),
}
_NOTHING: Mapping[Wire, int | bytes] = {
    Wire.VARINT: 0,
    Wire.ZIGZAG: 0,
    Wire.FOUR: bytes(4),
    Wire.EIGHT: bytes(8),
    Wire.SIZED: b"",
}
"""What a message has that does not say so."""
