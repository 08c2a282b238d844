"""JSON as columns of Arrow, without an object for each value: the same as rocketconnect_sdk.converters.json.values."""

from collections.abc import Callable, Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from rocketconnect_sdk.columns.arrow_types import to_arrow_type
from rocketconnect_sdk.columns.doubtful_numbers import check_numbers
from rocketconnect_sdk.columns.objects import read_objects
from rocketconnect_sdk.columns.parts import fields_of
from rocketconnect_sdk.columns.text_columns import (
    NotPlain,
    at_their_places,
    between,
    bytes_of,
    dates_of,
    decimals_of,
    held,
    matching,
    uuids_of,
)
from rocketconnect_sdk.columns.texts import CLOCK, DATE
from rocketconnect_sdk.converters.json.types import form_of
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.schema import Schema, Type

_INSTANT = rf"{DATE}T{CLOCK}(\.[0-9]{{1,9}})?Z"


def rows_of(texts: Sequence[bytes], schema: Schema) -> pa.StructArray | None:
    """The rows of JSON objects that are plainly of this schema.

    Returns:
        An array of the type that the schema stands for, of what Values.decode gives. None: decode each; some may be bad.
    """
    try:
        rows = read_objects(texts, _physical(schema))
        if rows is None:
            return None
        check_numbers(rows, schema, texts)
        return _made(rows, schema, 0)
    except (NotPlain, RecordError, pa.ArrowException, ValueError, OverflowError):
        return None


def _physical(schema: Schema) -> pa.DataType:
    """What Arrow reads from the JSON of a schema: any part of it may be null. Raises NotPlain."""
    if schema.default is not None or schema.type is Type.MAP:
        raise NotPlain
    if schema.type is Type.STRUCT:
        return pa.struct([(field.name, _physical(field.schema)) for field in schema.fields])
    if schema.type is Type.ARRAY and schema.items is not None:
        return pa.list_(_physical(schema.items))
    form = form_of(schema)
    if form is not None and form.type in ("int32", "int64") and schema.type not in _WHOLE:
        return pa.int32() if form.type == "int32" else pa.int64()
    if schema.type is Type.FLOAT32:
        return pa.float64()
    is_text = schema.type is Type.BYTES or (form is not None and schema.type not in _WHOLE)
    return pa.string() if is_text else to_arrow_type(schema)


def _made(column: pa.Array, schema: Schema, missing: int) -> pa.Array:
    """What was read, as the type that the schema stands for.

    Args:
        column: What was read.
        schema: The schema.
        missing: So many of its values are in no struct, and need not be there.

    Raises:
        NotPlain, pa.ArrowException: at least one does not fit.
    """
    if column.null_count > missing and not schema.optional:
        raise NotPlain
    mask = pc.invert(column.is_valid()) if column.null_count else None
    if schema.type is Type.STRUCT:
        arrays = [_made(part, field.schema, column.null_count) for field, part in fields_of(column, schema)]
        return pa.StructArray.from_arrays(arrays, fields=list(to_arrow_type(schema)), mask=mask)
    kind = to_arrow_type(schema)
    if schema.type is Type.ARRAY and schema.items is not None:
        items = _made(column.flatten(), schema.items, 0)
        lengths = pc.fill_null(pc.list_value_length(column), 0)
        offsets = pa.concat_arrays([pa.array([0], pa.int32()), pc.cumulative_sum(lengths)])
        return pa.ListArray.from_arrays(offsets, items, type=kind, mask=mask)
    make = _MADE.get(schema.type)
    return column if make is None else at_their_places(column, lambda there: make(there, schema))


def _rounded(column: pa.Array) -> pa.Array:
    numbers = column.cast(pa.float32())
    if pc.all(pc.is_finite(numbers)).as_py() is False:
        raise NotPlain
    return numbers


def _time(column: pa.Array, schema: Schema) -> pa.Array:
    return between(column, 0, 86_400 * schema.unit.in_second - 1).cast(to_arrow_type(schema))


def _timestamp(column: pa.Array, schema: Schema) -> pa.Array:
    if pa.types.is_string(column.type):
        matching(column, _INSTANT)
    return held(column.cast(to_arrow_type(schema)), schema.unit)


def _unscaled(column: pa.StringArray) -> list[int]:
    return [int.from_bytes(found, "big", signed=True) for found in bytes_of(column)]


_WHOLE = {Type.UINT8, Type.UINT16, Type.UINT32}
_MADE: Mapping[Type, Callable[[pa.Array, Schema], pa.Array]] = {
    Type.FLOAT32: lambda column, _: _rounded(column),
    Type.DATE: lambda column, _: dates_of(column),
    Type.TIME: _time,
    Type.TIMESTAMP: _timestamp,
    Type.DECIMAL: lambda column, schema: decimals_of(_unscaled(column), schema),
    Type.UINT64: lambda column, _: pa.array(_unscaled(column), pa.uint64()),
    Type.BYTES: lambda column, _: pa.array(bytes_of(column), pa.binary()),
    Type.UUID: lambda column, _: uuids_of(column),
    Type.JSON: lambda column, _: pa.ExtensionArray.from_storage(pa.json_(), column),
}
