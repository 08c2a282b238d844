"""Columns of Arrow as JSON, without an object for each value: the same as rocketconnect_sdk.converters.json.values."""

from collections.abc import Callable, Collection, Mapping, Sequence

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from rocketconnect_sdk.columns.arrow_types import to_arrow_type
from rocketconnect_sdk.columns.parts import fields_of
from rocketconnect_sdk.columns.text_columns import NotPlain
from rocketconnect_sdk.converters.column_values import storage_of, unscaled_bytes, uuid_texts
from rocketconnect_sdk.converters.json.types import form_of, is_text
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.schema import Schema, Type, Unit

_encode = msgspec.json.Encoder().encode
_ESCAPED = r'["\\\x00-\x1f]'
"""What JSON has no plain form for in a text."""
_WORTH_A_LOOK = 16
"""Of fewer values to look whether they are one takes as long as to write them."""


def texts_of(column: pa.Array, schema: Schema, numbers: Collection[Type]) -> list[bytes] | None:
    """The JSON of each value of a column.

    Args:
        column: The values.
        schema: What they are to be.
        numbers: Which of its decimals are written as numbers; others are base64.

    Returns:
        What Values.encode gives for each. None: encode each; at least one may be bad, or the column is of another type.
    """
    try:
        if column.type != to_arrow_type(schema):
            return None
        found = _texts(column, schema, numbers, 0)
        texts: list[bytes] = _spread(found, len(column)).cast(pa.binary()).to_pylist()
    except (NotPlain, pa.ArrowException, RecordError):
        return None
    return texts


def _texts(column: pa.Array, schema: Schema, numbers: Collection[Type], missing: int) -> pa.StringArray | str:
    """The texts, none of them null; one for all where all values are the same.

    Args:
        column: The values.
        schema: Their schema.
        numbers: See texts_of.
        missing: So many of them are in no struct, and need not be there.

    Raises:
        NotPlain: encode each.
    """
    if not len(column):
        return pa.array([], pa.string())
    if column.null_count > (0 if schema.default is not None else len(column) if schema.optional else missing):
        raise NotPlain
    if column.null_count == len(column):
        return "null"
    if schema.type is Type.STRUCT:
        return _structs(column, schema, numbers)
    if _all_same(column):
        return str(_leaves(column[:1], schema, numbers)[0].as_py())
    texts = _leaves(column, schema, numbers)
    return texts.fill_null("null") if column.null_count else texts


def _leaves(column: pa.Array, schema: Schema, numbers: Collection[Type]) -> pa.StringArray:
    match schema.type:
        case Type.ARRAY | Type.MAP:
            return _lists(column, schema, numbers)
        case Type.DECIMAL | Type.UINT64:
            return column.cast(pa.string()) if schema.type in numbers else _bytes(unscaled_bytes(column, schema), schema)
        case kind:
            return _LEAVES.get(kind, _plain)(column, schema)


def _all_same(column: pa.Array) -> bool:
    """Whether all values are known to be one. Most columns are told apart by their ends."""
    # 0.0 and -0.0 are equal, and not the same.
    if len(column) < _WORTH_A_LOOK or column.null_count or column.type.num_fields or pa.types.is_floating(column.type):
        return False
    column = storage_of(column)
    first = column[0]
    return bool(first == column[-1] and pc.all(pc.equal(column, first)).as_py())


def _spread(texts: pa.StringArray | str, count: int) -> pa.StringArray:
    """As many as there are values."""
    return pa.repeat(pa.scalar(texts), count) if isinstance(texts, str) else texts


def _joined(*parts: object) -> pa.StringArray:
    return pc.binary_join_element_wise(*(pa.scalar(part) if isinstance(part, str) else part for part in parts), "")


def _structs(column: pa.StructArray, schema: Schema, numbers: Collection[Type]) -> pa.StringArray | str:
    parts: list[pa.StringArray | str] = ["{"]
    for number, (field, values) in enumerate(fields_of(column, schema)):
        name = _encode(field.name).decode()
        for part in (f"{',' if number else ''}{name}:", _texts(values, field.schema, numbers, column.null_count)):
            # What is the same in all is one piece.
            if isinstance(part, str) and isinstance(parts[-1], str):
                parts[-1] += part
            else:
                parts.append(part)
    parts = [*parts[:-1], parts[-1] + "}"] if isinstance(parts[-1], str) else [*parts, "}"]
    if len(parts) == 1 and not column.null_count:
        return str(parts[0])
    texts = _joined(*parts) if len(parts) > 1 else _spread(parts[0], len(column))
    return pc.if_else(column.is_valid(), texts, "null") if column.null_count else texts


def _lists(column: pa.ListArray | pa.MapArray, schema: Schema, numbers: Collection[Type]) -> pa.StringArray:
    if schema.items is None:
        raise NotPlain
    offsets = column.offsets
    first, last = offsets[0].as_py(), offsets[-1].as_py()
    begin, end = "[", "]"
    if schema.type is Type.ARRAY:
        texts = _spread(_texts(column.values[first:last], schema.items, numbers, 0), last - first)
    elif schema.keys is not None:
        keys = _spread(_texts(column.keys[first:last], schema.keys, numbers, 0), last - first)
        items = _spread(_texts(column.items[first:last], schema.items, numbers, 0), last - first)
        if is_text(schema.keys):
            begin, end = "{", "}"
            texts = _joined(keys, ":", items)
        else:
            texts = _joined("[", keys, ",", items, "]")
    joined = pc.binary_join(pa.ListArray.from_arrays(pc.subtract(offsets, first), texts), ",")
    texts = _joined(begin, joined, end)
    return pc.if_else(column.is_valid(), texts, None) if column.null_count else texts


def _plain(column: pa.Array, _: Schema) -> pa.StringArray:
    return column.cast(pa.string())


def _listed(values: Sequence[object]) -> pa.StringArray:
    """The texts of values whose JSON has no comma in it: written as one list, and cut."""
    texts = _encode(values)[1:-1].split(b",") if values else []
    return pa.array(texts, pa.binary()).view(pa.string())


def _floats(column: pa.FloatingPointArray, _: Schema) -> pa.StringArray:
    column = column.cast(pa.float64())
    if pc.all(pc.is_finite(column)).as_py() is False:
        raise NotPlain
    return _listed(column.to_pylist())


def _strings(column: pa.Array, _: Schema) -> pa.StringArray:
    column = storage_of(column)
    if pc.any(pc.match_substring_regex(column, _ESCAPED)).as_py():
        return pa.array([_encode(value) for value in column.to_pylist()], pa.binary()).view(pa.string())
    return _joined('"', column, '"')


def _bytes(column: pa.BinaryArray, _: Schema) -> pa.StringArray:
    return _listed(column.to_pylist())


def _counted(column: pa.Array, schema: Schema) -> pa.StringArray:
    """Dates and times as the number of days and parts of a second."""
    form = form_of(schema)
    if form is not None and form.type == "string":
        moments = column.cast(pa.timestamp(schema.unit.value))
        return _joined('"', pc.strftime(moments, format="%Y-%m-%dT%H:%M:%SZ", locale="C"), '"')
    width = pa.int32() if schema.type is Type.DATE or (schema.type, schema.unit) == (Type.TIME, Unit.MILLISECONDS) else pa.int64()
    return column.cast(width).cast(pa.string())


def _uuids(column: pa.Array, _: Schema) -> pa.StringArray:
    return _joined('"', uuid_texts(column), '"')


_LEAVES: Mapping[Type, Callable[[pa.Array, Schema], pa.StringArray]] = {
    Type.FLOAT32: _floats,
    Type.FLOAT64: _floats,
    Type.STRING: _strings,
    Type.JSON: _strings,
    Type.BYTES: _bytes,
    Type.DATE: _counted,
    Type.TIME: _counted,
    Type.TIMESTAMP: _counted,
    Type.UUID: _uuids,
}
