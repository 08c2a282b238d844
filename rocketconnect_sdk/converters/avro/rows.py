"""Avro as columns of Arrow, without an object for each value: the same as rocketconnect_sdk.converters.avro.codec."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rocketconnect_sdk.columns.arrow_types import to_arrow_type
from rocketconnect_sdk.columns.text_columns import NotPlain
from rocketconnect_sdk.converters.avro.codec import Layout
from rocketconnect_sdk.converters.avro.items import behind_last, counts_of, items_of
from rocketconnect_sdk.converters.binary_columns import Messages, There, unzigzag
from rocketconnect_sdk.converters.column_values import of_bytes, of_counts, of_texts
from rocketconnect_sdk.converters.listed_columns import entry_of, listed
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.schema import Schema, Type


def rows_of(data: Sequence[bytes], start: int, schema: Schema, layout: Layout) -> pa.Array | None:
    """The values of messages.

    Args:
        data: At least one.
        start: Where the value begins in each.
        schema: Of the values.
        layout: How these stand in bytes.

    Returns:
        An array of the type that the schema stands for, of what the codec of the layout reads. None: read each; some may be bad.
    """
    try:
        messages = Messages(data, start)
        rows = _read(messages, schema, layout, None)
        messages.end()
    except (NotPlain, RecordError, pa.ArrowException, ValueError, OverflowError):
        return None
    return None if rows.null_count else rows


def _read(messages: Messages, schema: Schema, layout: Layout, there: There) -> pa.Array:
    """The values of those messages that have one there, null elsewhere. Raises NotPlain and others: see rows_of."""
    if layout.null is not None:
        branch = messages.byte(there)
        if pc.any(pc.greater(pc.bit_wise_and(branch, pa.scalar(0xFF - 2, pa.uint8())), pa.scalar(0, pa.uint8()))).as_py():
            raise NotPlain
        given = pc.equal(branch, pa.scalar((1 - layout.null) << 1, pa.uint8()))
        there = there if pc.all(given).as_py() is not False else given.fill_null(False)
    return _READ[layout.kind](messages, schema, layout, there)


def _record(messages: Messages, schema: Schema, layout: Layout, there: There) -> pa.StructArray:
    parts = zip(schema.fields, layout.parts, strict=True)
    columns = [_read(messages, field.schema, part, there) for field, part in parts]
    mask = None if there is None else pc.invert(there)
    if not columns:
        raise NotPlain
    return pa.StructArray.from_arrays(columns, fields=list(to_arrow_type(schema)), mask=mask)


def _array(messages: Messages, schema: Schema, layout: Layout, there: There) -> pa.Array:
    """Arrays and maps of one block, as every usual writer writes them, with its size or without."""
    (layout_of_item,) = layout.parts
    item = entry_of(schema) if schema.items is None or schema.type is Type.MAP else schema.items
    at, ends = messages.places()
    given = np.full(len(at), True) if there is None else np.array(there)
    counts = np.zeros(len(at), np.int64)
    counts[given], at[given] = counts_of(messages.spans, at[given], ends[given])
    begins, behind, at = items_of(messages.spans, layout_of_item, at, ends, counts)
    found = pa.nulls(0, to_arrow_type(item))
    if len(begins):
        items = messages.parts(begins, behind)
        found = _read(items, item, layout_of_item, None)
        items.end()
    messages.go(behind_last(messages.spans, at, ends, counts))
    return listed(found, counts, to_arrow_type(schema), there)


def _boolean(messages: Messages, _: Schema, __: Layout, there: There) -> pa.BooleanArray:
    found = messages.byte(there)
    if (pc.max(found).as_py() or 0) > 1:
        raise NotPlain
    return found.cast(pa.bool_())


def _number(messages: Messages, schema: Schema, _: Layout, there: There) -> pa.Array:
    return of_counts(_long(messages, there), schema)


def _real(messages: Messages, schema: Schema, _: Layout, there: There) -> pa.Array:
    kind = to_arrow_type(schema)
    size = kind.bit_width // 8
    return messages.cut(messages.each(size, there)).cast(pa.binary(size)).view(kind)


def _enum(messages: Messages, _: Schema, layout: Layout, there: There) -> pa.StringArray:
    return pa.array(layout.symbols, pa.string()).take(_long(messages, there))


def _string(messages: Messages, schema: Schema, _: Layout, there: There) -> pa.Array:
    return of_texts(messages.cut(_long(messages, there)).cast(pa.string()), schema)


def _bytes(messages: Messages, schema: Schema, _: Layout, there: There) -> pa.Array:
    return of_bytes(messages.cut(_long(messages, there)), schema)


def _fixed(messages: Messages, schema: Schema, layout: Layout, there: There) -> pa.Array:
    return of_bytes(messages.cut(messages.each(layout.size, there)), schema)


def _long(messages: Messages, there: There) -> pa.Int64Array:
    return unzigzag(messages.varint(there))


_READ: Mapping[str, Callable[[Messages, Schema, Layout, There], pa.Array]] = {
    "record": _record,
    "array": _array,
    "boolean": _boolean,
    "int": _number,
    "long": _number,
    "float": _real,
    "double": _real,
    "enum": _enum,
    "string": _string,
    "bytes": _bytes,
    "fixed": _fixed,
}
