"""JSON objects and rows of columns, many at once.

From objects without a schema, for sinks of tables that say what the columns are: fields that are no columns are left out; absent
ones are null, and so are all of a null. An object that has fields, and none that is a column, is of another table and refused: it
would be a row of nothing but nulls.
"""

import math
import struct
from collections.abc import Sequence
from decimal import Decimal

import msgspec
import pyarrow as pa
from pyarrow import json

from rocketconnect_sdk.arrow import to_array
from rocketconnect_sdk.columns.arrow_types import to_arrow_type
from rocketconnect_sdk.columns.doubtful_numbers import check_numbers
from rocketconnect_sdk.columns.floats import CERTAIN, float_of
from rocketconnect_sdk.columns.misfit import misfit_of_column
from rocketconnect_sdk.columns.parts import fields_of
from rocketconnect_sdk.columns.text_columns import NotPlain, read_texts
from rocketconnect_sdk.columns.texts import TEXTS, read_decimal, read_text
from rocketconnect_sdk.converters.json.reading import NotJson, value_of
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.schema import WHOLE, Field, Schema, Type

_encode = msgspec.json.Encoder(decimal_format="number").encode
_NAMES = 10
_NAME = 100
"""So much of names is told."""
_BAD = (RecordError, pa.ArrowException, msgspec.MsgspecError, TypeError, ValueError, OverflowError)
"""What a value raises that does not have the type of its column."""


def rows_of_array(values: pa.Array, columns: Schema) -> pa.StructArray:
    """JSON objects, as text or as structs.

    Raises:
        RecordError: a value is no object, has none of the columns, or a field does not have the type of its column.
    """
    if pa.types.is_struct(values.type):
        return _selected(values, columns)
    if pa.types.is_string(values.type) and len(values) and not values.null_count:
        read = rows_of_bytes(values.cast(pa.binary()).to_pylist(), columns)
        if read is not None:
            return read
    return rows_of_values(values.to_pylist(maps_as_pydicts="strict"), columns)


def rows_of_values(values: Sequence[object], columns: Schema) -> pa.StructArray:
    """JSON objects as Python has them, or as text.

    Raises:
        RecordError: a value is no object, has none of the columns, or a field does not have the type of its column.
    """
    rows = [_object(value) for value in values]
    names = {field.name for field in columns.fields}
    for row in rows:
        if row and names.isdisjoint(row):
            raise of_another(list(row), columns)
    arrays = []
    for field in columns.fields:
        found = [None if row is None else row.get(field.name) for row in rows]
        try:
            arrays.append(_column(found, field.schema))
        except _BAD as error:
            raise _misfit(field, found, error) from None
    return pa.StructArray.from_arrays(arrays, fields=list(to_arrow_type(columns)))


def rows_of_bytes(texts: Sequence[bytes], columns: Schema) -> pa.StructArray | None:
    """The same rows of texts of which each is plainly an object of fields with these types, and no others; None: look at each."""
    if any(field.schema.type is Type.JSON for field in columns.fields):
        return None
    rows = read_objects(texts, pa.struct([(field.name, _in_json(field.schema)) for field in columns.fields]))
    if rows is None:
        return None
    try:
        check_numbers(rows, columns, texts)
        arrays = [
            read_texts(part, field.schema) if part.type != to_arrow_type(field.schema) else part
            for field, part in fields_of(rows, columns)
        ]
    except NotPlain:
        return None
    return pa.StructArray.from_arrays(arrays, fields=list(to_arrow_type(columns)))


def _in_json(schema: Schema) -> pa.DataType:
    # Arrow takes decimals that are texts or numbers.
    return pa.string() if schema.type in TEXTS and schema.type is not Type.DECIMAL else to_arrow_type(schema)


def read_objects(texts: Sequence[bytes], kind: pa.StructType) -> pa.StructArray | None:
    """Objects as Arrow reads them from JSON; None: not each text is plainly one with fields of these types, and no others.

    To Arrow NaN and Infinity are numbers, and large whole numbers are rounded: see check_numbers.
    """
    lines = b"\n".join(texts)
    # A line each: a text that holds several objects, or none, would change their number.
    if (
        not all(text[:1] == b"{" and text[-1:] == b"}" for text in texts)
        or lines.count(b"\n") != len(texts) - 1
        or b"\r" in lines
        or not _is_text(lines)
    ):
        return None
    schema = pa.schema(list(kind))
    try:
        table = json.read_json(
            pa.py_buffer(lines),
            json.ReadOptions(use_threads=False, block_size=len(lines) + 1),
            json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="error"),
        )
    except pa.ArrowException:
        return None
    if len(table) != len(texts) or table.schema != schema:
        return None
    (batch,) = table.combine_chunks().to_batches()
    return pa.StructArray.from_arrays(batch.columns, fields=list(schema))


def _is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _object(value: object) -> dict[str, object] | None:
    if isinstance(value, str | bytes):
        try:
            value = value_of(value)
        except NotJson as error:
            msg = f"the value is not JSON, which the option columns needs: {error}"
            raise RecordError(msg) from None
    if value is not None and not isinstance(value, dict):
        msg = "the value is no JSON object, which the option columns needs"
        raise RecordError(msg)
    return value


def _column(values: Sequence[object], schema: Schema) -> pa.Array:
    """What fields of JSON objects hold, as a column. Raises what is in _BAD."""
    if schema.type is Type.JSON:
        values = [None if value is None else _encode(value).decode() for value in values]
    elif schema.type in TEXTS:
        values = [None if value is None else _of_text(schema, value) for value in values]
    else:
        return pa.array(_numbers(values, schema), to_arrow_type(schema))
    return to_array(values, schema)


def _numbers(values: Sequence[object], schema: Schema) -> Sequence[object]:
    """Numbers that Arrow takes for a column without changing any; what are no numbers it refuses itself.

    Raises:
        TypeError, ValueError, OverflowError: Arrow would cut off what is behind the point, or make a number of a truth value, or an
            infinite one of a large one.
    """
    kinds = set(map(type, values))
    if schema.type in (Type.FLOAT32, Type.FLOAT64):
        if bool in kinds:
            msg = "a truth value is no number"
            raise TypeError(msg)
        # To JSON a number is one, with a point or without.
        values = [_float(value, schema.type) for value in values]
        if schema.type is Type.FLOAT32:
            _check_range(values)
    elif schema.type in WHOLE and kinds & {float, Decimal}:
        return [_whole(value) if isinstance(value, float | Decimal) else value for value in values]
    return values


def _float(value: object, kind: Type) -> object:
    if isinstance(value, Decimal):
        return float(value)
    return float_of(value, kind) if type(value) is int else value


def _check_range(values: Sequence[object]) -> None:
    for value in values:
        if isinstance(value, float) and math.isfinite(value):
            struct.pack("<f", value)  # OverflowError: it has more than 32 bits hold


def _whole(number: float | Decimal) -> int:
    """12.0 is the whole number 12."""
    if number != int(number) or (isinstance(number, float) and abs(number) >= CERTAIN[Type.FLOAT64]):
        msg = f"{number} is no whole number, or not for certain the one that stood there"
        raise ValueError(msg)
    return int(number)


def _of_text(schema: Schema, value: object) -> object:
    if isinstance(value, str):
        return read_text(schema, value)
    if schema.type is Type.DECIMAL and isinstance(value, int | float | Decimal) and not isinstance(value, bool):
        # A number that is none of 64 bits was read as a decimal.
        return read_decimal(schema, value if isinstance(value, Decimal) else Decimal(repr(value)))
    msg = f"a {type(value).__name__} where text is needed"
    raise TypeError(msg)


def _selected(values: pa.StructArray, columns: Schema) -> pa.StructArray:
    """The columns of structs."""
    there = dict(zip((field.name for field in values.type), values.flatten(), strict=True))
    if there and there.keys().isdisjoint(field.name for field in columns.fields) and values.null_count < len(values):
        raise of_another(list(there), columns)
    arrays = []
    for field in columns.fields:
        column = there.get(field.name)
        if column is None:
            arrays.append(pa.nulls(len(values), to_arrow_type(field.schema)))
            continue
        try:
            arrays.append(_as(column, field.schema))
        except _BAD as error:
            raise _misfit(field, column.to_pylist(), error) from None
    return pa.StructArray.from_arrays(arrays, fields=list(to_arrow_type(columns)))


def _as(column: pa.Array, schema: Schema) -> pa.Array:
    """A column of a type: what Python's values of it can be, so that text never becomes a number by itself."""
    kind = to_arrow_type(schema)
    if column.type == kind:
        return column
    values = column.to_pylist(maps_as_pydicts="strict")
    if schema.type in TEXTS and pa.types.is_string(column.type):
        return to_array([None if value is None else read_text(schema, value) for value in values], schema)
    return pa.array(_numbers(values, schema), kind)


def of_another(names: Sequence[str], columns: Schema) -> RecordError:
    """What is said of a record with these fields, of which none is a column."""
    wanted = [field.name for field in columns.fields]
    said = f"it has none of the columns {_listed(wanted)}, but {_listed(names) or 'no field at all'}"
    return RecordError(f"the record is of another table: {said}; name fields that records have in `columns`, or rename them")


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(f"`{name[:_NAME]}`" for name in names[:_NAMES])
    return f"{shown} and {len(names) - _NAMES} more" if len(names) > _NAMES else shown


def _misfit(field: Field, values: Sequence[object], error: Exception) -> RecordError:
    """What is wrong with the first of the values of a column that is none."""
    for value in values:
        try:
            _column([value], field.schema)
        except _BAD:
            return RecordError(misfit_of_column(field.name, field.schema, value))
    # Each alone is one: together they take more than a column holds.
    return RecordError(f"the values of the column `{field.name}` make no column: {error}")
