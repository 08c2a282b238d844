"""Columns of Arrow as JSON, without an object for each value: the same as rocketconnect_sdk.converters.json.values."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from rocketconnect_sdk.columns.arrow_types import to_arrow_type
from rocketconnect_sdk.columns.parts import fields_of
from rocketconnect_sdk.columns.text_columns import NotPlain
from rocketconnect_sdk.converters.column_values import storage_of, unscaled_bytes, uuid_texts
from rocketconnect_sdk.converters.json.forms import Decimals, Form
from rocketconnect_sdk.converters.json.types import form_of
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.schema import Schema, Type, Unit

_encode = msgspec.json.Encoder().encode
_ESCAPED = r'["\\\x00-\x1f]'
"""What JSON has no plain form for in a text."""
_WORTH_A_LOOK = 16
"""Of fewer values to look whether they are one takes as long as to write them."""


def texts_of(column: pa.Array, schema: Schema, form: Form) -> list[bytes] | None:
    """The JSON of each value of a column.

    Args:
        column: The values.
        schema: What they are to be.
        form: How types are written that JSON has no word for.

    Returns:
        What Values.encode gives for each. None: encode each; at least one may be bad, or the column is of another type.
    """
    try:
        if column.type != to_arrow_type(schema):
            return None
        found = _texts(column, schema, form, 0)
        texts: list[bytes] = _spread(found, len(column)).cast(pa.binary()).to_pylist()
    except (NotPlain, pa.ArrowException, RecordError):
        return None
    return texts


def _texts(column: pa.Array, schema: Schema, form: Form, missing: int) -> pa.StringArray | str:
    """The texts, none of them null; one for all where all values are the same.

    Args:
        column: The values.
        schema: Their schema.
        form: See texts_of.
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
        return _structs(column, schema, form)
    if _all_same(column):
        return str(_leaves(column[:1], schema, form)[0].as_py())
    texts = _leaves(column, schema, form)
    return texts.fill_null("null") if column.null_count else texts


def _leaves(column: pa.Array, schema: Schema, form: Form) -> pa.StringArray:
    match schema.type:
        case Type.ARRAY | Type.MAP:
            return _lists(column, schema, form)
        case Type.DECIMAL | Type.UINT64:
            return _decimals(column, schema, form)
        case kind if form.is_plain and kind in _PLAIN:
            return _PLAIN[kind](column, schema)
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


def _structs(column: pa.StructArray, schema: Schema, form: Form) -> pa.StringArray | str:
    parts: list[pa.StringArray | str] = ["{"]
    for number, (field, values) in enumerate(fields_of(column, schema)):
        name = _encode(field.name).decode()
        for part in (f"{',' if number else ''}{name}:", _texts(values, field.schema, form, column.null_count)):
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


def _lists(column: pa.ListArray | pa.MapArray, schema: Schema, form: Form) -> pa.StringArray:
    if schema.items is None:
        raise NotPlain
    offsets = column.offsets
    first, last = offsets[0].as_py(), offsets[-1].as_py()
    begin, end = "[", "]"
    if schema.type is Type.ARRAY:
        texts = _spread(_texts(column.values[first:last], schema.items, form, 0), last - first)
    elif schema.keys is not None:
        of_keys = replace(schema.keys, type=Type.STRING) if schema.keys.type is Type.JSON else schema.keys
        keys = _spread(_texts(column.keys[first:last], of_keys, form, 0), last - first)
        items = _spread(_texts(column.items[first:last], schema.items, form, 0), last - first)
        if form.is_text(schema.keys):
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


def _decimals(column: pa.Array, schema: Schema, form: Form) -> pa.StringArray:
    if form.is_number(schema.type):
        return column.cast(pa.string())
    if schema.type is Type.DECIMAL and form.decimals is Decimals.TEXT:
        return _joined('"', column.cast(pa.string()), '"')
    return _bytes(unscaled_bytes(column, schema), schema)


def _counted(column: pa.Array, schema: Schema) -> pa.StringArray:
    """Dates and times as the number of days and parts of a second."""
    form = form_of(schema)
    if form is not None and form.type == "string":
        moments = column.cast(pa.timestamp(schema.unit.value))
        return _joined('"', pc.strftime(moments, format="%Y-%m-%dT%H:%M:%SZ", locale="C"), '"')
    width = pa.int32() if schema.type is Type.DATE or (schema.type, schema.unit) == (Type.TIME, Unit.MILLISECONDS) else pa.int64()
    return column.cast(width).cast(pa.string())


def _dates(column: pa.Array, _: Schema) -> pa.StringArray:
    return _joined('"', column.cast(pa.string()), '"')


def _times(column: pa.Array, _: Schema) -> pa.StringArray:
    return _joined('"', _without_zeros(column.cast(pa.string())), '"')


def _timestamps(column: pa.Array, schema: Schema) -> pa.StringArray:
    texts = pc.strftime(column.cast(pa.timestamp(schema.unit.value)), format="%Y-%m-%dT%H:%M:%S", locale="C")
    return _joined('"', _without_zeros(texts), 'Z"' if schema.zone else '"')


def _without_zeros(texts: pa.StringArray) -> pa.StringArray:
    """Without a fraction that is none."""
    return pc.replace_substring_regex(texts, r"\.0+$", "")


def _jsons(column: pa.Array, _: Schema) -> pa.StringArray:
    try:
        found = [None if text is None else msgspec.json.format(text, indent=-1) for text in storage_of(column).to_pylist()]
    except msgspec.MsgspecError as error:
        raise NotPlain from error
    return pa.array(found, pa.string())


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
_PLAIN: Mapping[Type, Callable[[pa.Array, Schema], pa.StringArray]] = {
    Type.DATE: _dates,
    Type.TIME: _times,
    Type.TIMESTAMP: _timestamps,
    Type.JSON: _jsons,
}
"""Those that are others in the plain form."""
