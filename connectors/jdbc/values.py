"""What a database gives, as columns of a schema. Pure."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyarrow as pa
from pyarrow import compute

from rocketconnect_sdk.arrow import to_array
from rocketconnect_sdk.columns.arrow_types import to_arrow_type
from rocketconnect_sdk.columns.declared import type_name
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.schema import Schema, Type
from rocketconnect_sdk.verification import ReadRows

_WRONG = (pa.ArrowException, RecordError, ValueError, TypeError, OverflowError)
_UTC = ("Z$", "[+]00:00$")
Made = Callable[[Sequence[Any], Schema], tuple[pa.Array, Mapping[int, str]]]
"""Makes an array of values, and says what is wrong with some: see to_column."""


def to_column(values: Sequence[Any], schema: Schema) -> tuple[pa.Array, Mapping[int, str]]:
    """Values as an Arrow array of a schema.

    Args:
        values: Texts, bytes, or what a driver has for a value; or an array of texts, as strings or as their bytes.
        schema: Of the column.

    Returns:
        The array, with nulls in the place of values that the type has no room for; and what is wrong with these, by their place.
    """
    try:
        return _read(values, schema), {}
    except _WRONG:
        pass
    parts, wrong = [], {}
    for place in range(len(values)):
        one = values[place : place + 1]
        try:
            parts.append(_read(one, schema))
        except _WRONG as error:
            parts.append(pa.nulls(1, to_arrow_type(schema)))
            wrong[place] = f"{_shown(one)!r:.200} is no {type_name(schema)}: {error}"
    return pa.concat_arrays(parts), wrong


def to_rows(columns: Sequence[Sequence[Any]], schema: Schema, made: Made = to_column) -> ReadRows:
    """Columns, as `made` takes them, as rows of a struct of columns."""
    arrays: list[pa.Array] = []
    wrong: dict[int, str] = {}
    for field, values in zip(schema.fields, columns, strict=True):
        array, found = made(values, field.schema)
        arrays.append(array)
        wrong |= {place: f"{field.name}: {reason}" for place, reason in found.items()}
    fields = [pa.field(field.name, array.type) for field, array in zip(schema.fields, arrays, strict=True)]
    return ReadRows(pa.StructArray.from_arrays(arrays, fields=fields), wrong)


def _read(values: Sequence[Any], schema: Schema) -> pa.Array:
    kind = to_arrow_type(schema)
    if isinstance(values, pa.Array) and pa.types.is_binary(values.type):
        if schema.type is Type.BYTES:
            return values
        values = values.cast(pa.string())
    match schema.type:
        case Type.BYTES:
            return pa.array([bytes.fromhex(each) if isinstance(each, str) else each for each in _plain(values)], kind)
        case Type.UUID:
            return to_array(_plain(values), schema)
        case Type.STRING | Type.JSON:
            if not isinstance(values, pa.Array) and any(isinstance(each, bytes) for each in values):
                msg = "these are bytes of a type that is not known here"
                raise ValueError(msg)
            return pa.array(values, pa.string()).cast(kind)
    held = values if isinstance(values, pa.Array) else pa.array(values)
    return (_text(held, schema) if pa.types.is_string(held.type) else _number(held, schema)).cast(kind)


def _text(held: pa.Array, schema: Schema) -> pa.Array:
    match schema.type:
        case Type.BOOLEAN:
            return _number(held.cast(pa.int64()), schema)
        case Type.TIME:
            # Arrow reads no times of the day.
            return compute.binary_join_element_wise("1970-01-01", held, " ").cast(pa.timestamp(schema.unit.value))
        case Type.TIMESTAMP:
            for zone in _UTC:
                held = compute.replace_substring_regex(held, zone, "")
            return held.cast(pa.timestamp(schema.unit.value))
        case _:
            return held


def _number(held: pa.Array, schema: Schema) -> pa.Array:
    if schema.type is Type.BOOLEAN and held.null_count < len(held):
        ends = compute.min_max(held).as_py()
        if ends["min"] not in (0, 1) or ends["max"] not in (0, 1):
            msg = "neither 0 nor 1"
            raise ValueError(msg)
    return held


def _plain(values: Sequence[Any]) -> Sequence[Any]:
    plain: Sequence[Any] = values.to_pylist() if isinstance(values, pa.Array) else values
    return plain


def _shown(one: Sequence[Any]) -> object:
    (value,) = _plain(one)
    return value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else value
