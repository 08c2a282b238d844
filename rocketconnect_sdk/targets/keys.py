"""Keys of records as the columns of a key. Pure."""

from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa

from rocketconnect_sdk.columns.arrow_types import from_arrow_type, to_arrow_type
from rocketconnect_sdk.columns.objects import rows_of_bytes, rows_of_values
from rocketconnect_sdk.converters.json.reading import NotJson, value_of
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.schema import Field, Schema, Type
from rocketconnect_sdk.spark.types import to_spark

_TEXT = (Type.STRING, Type.JSON)
_FIX = "set key.converter to the one that its source has, or pk.mode=record_value"


def read_keys(keys: pa.Array, columns: Schema) -> tuple[pa.StructArray, dict[int, str]]:
    """Keys as structs of the columns of a key, in the types that Spark has for them.

    Args:
        keys: JSON objects as text; of one column plain values, too.
        columns: Of the key.

    Returns:
        As many structs, and by index what is wrong with the others, for which nulls stand.
    """
    if pa.types.is_string(keys.type) and len(keys) and not keys.null_count:
        made = rows_of_bytes(keys.cast(pa.binary()).to_pylist(), columns)
        if made is not None:
            return to_spark(made), {}
    reasons: dict[int, str] = {}
    found: list[object] = []
    for index, key in enumerate(keys.to_pylist()):
        try:
            named = _named(key, columns)
            rows_of_values([named], columns)
        except RecordError as error:
            reasons[index] = f"the key is not that of a row: {error}; {_FIX}"
            named = None
        found.append(named)
    return to_spark(rows_of_values(found, columns)), reasons


def key_columns(keys: pa.Array, names: Sequence[str], known: Schema) -> Schema:
    """The columns of a key.

    Args:
        keys: See read_keys.
        names: Of the columns; empty: those of the first key.
        known: What has columns of these names: a table, or rows.

    Raises:
        RecordError: they cannot be known.
    """
    first = next((key for key in keys.to_pylist() if key is not None), None)
    whole = _object(first)
    fields = {each.name: each.schema for each in known.fields}
    made = []
    for name in names or (whole or ()):
        if name in fields:
            made.append(Field(name, replace(fields[name], optional=False)))
            continue
        value = first if whole is None else whole.get(name)
        if value is None or isinstance(value, dict | list):
            msg = f"it is not known of which type the column {name} of the key is: make the table, or set pk.fields"
            raise RecordError(msg)
        made.append(Field(name, from_arrow_type(pa.scalar(value).type)))
    if not made:
        msg = "it is not known which columns the key has: set pk.fields"
        raise RecordError(msg)
    return Schema(Type.STRUCT, fields=tuple(made))


def _named(key: object, columns: Schema) -> object:
    whole = _object(key)
    if key is None:
        msg = "there is none"
        raise RecordError(msg)
    names = [each.name for each in columns.fields]
    if whole is not None:
        missing = [name for name in names if whole.get(name) is None]
        if missing:
            msg = f"it has no {', '.join(missing)}"
            raise RecordError(msg)
        return whole
    if len(names) > 1:
        msg = f"it is no JSON object with {', '.join(names)}"
        raise RecordError(msg)
    (column,) = columns.fields
    return {column.name: _plain(key, column.schema)}


def _plain(key: object, column: Schema) -> object:
    """A key that is text, as JSON has it where the column is none."""
    if not isinstance(key, str) or pa.types.is_string(to_arrow_type(column)):
        return str(key) if column.type in _TEXT else key
    try:
        return value_of(key)
    except NotJson:
        return key


def _object(key: object) -> dict[str, object] | None:
    """What a text holds that is a JSON object. Raises RecordError: it has a name twice."""
    if not isinstance(key, str) or not key.startswith("{"):
        return None
    try:
        found = value_of(key)
    except NotJson:
        return None
    return found if isinstance(found, dict) else None
