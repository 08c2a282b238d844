"""The columns of a table of Delta Lake, and the values by which it is partitioned. Pure."""

import json
import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

import pyarrow as pa

_PLAIN = {
    "string": pa.string(),
    "long": pa.int64(),
    "integer": pa.int32(),
    "short": pa.int16(),
    "byte": pa.int8(),
    "float": pa.float32(),
    "double": pa.float64(),
    "boolean": pa.bool_(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
}
_DECIMAL = re.compile(r"decimal\((\d+),\s*(-?\d+)\)")
_TEXT = re.compile(r"(var)?char\(\d+\)")


class Unreadable(ValueError):
    """A column has a type that is not read. The text begins with the name of the column."""


def columns_of(schema: str) -> pa.Schema:
    """The columns of a table.

    Args:
        schema: As Delta writes it: JSON.

    Raises:
        Unreadable: a type is not read.
    """
    return pa.schema([_field(field, field["name"]) for field in json.loads(schema)["fields"]])


def _field(field: Mapping[str, Any], name: str) -> pa.Field:
    return pa.field(field["name"], _type(field["type"], name), bool(field["nullable"]))


def _type(kind: Any, name: str) -> pa.DataType:
    if isinstance(kind, str):
        if kind in _PLAIN:
            return _PLAIN[kind]
        if found := _DECIMAL.fullmatch(kind):
            return pa.decimal128(int(found[1]), int(found[2]))
        if _TEXT.fullmatch(kind):
            return pa.string()
    elif kind["type"] == "struct":
        return pa.struct([_field(field, f"{name}.{field['name']}") for field in kind["fields"]])
    elif kind["type"] == "array":
        return pa.list_(pa.field("element", _type(kind["elementType"], name), bool(kind["containsNull"])))
    elif kind["type"] == "map":
        value = pa.field("value", _type(kind["valueType"], name), bool(kind["valueContainsNull"]))
        return pa.map_(pa.field("key", _type(kind["keyType"], name), nullable=False), value)
    shown = kind if isinstance(kind, str) else kind.get("type")
    msg = f"{name} is {shown}, which is not read"
    raise Unreadable(msg)


def constants_of(columns: pa.Schema, partitioned_by: tuple[str, ...], values: Mapping[str, str | None]) -> dict[str, pa.Scalar]:
    """The values of the columns by which a table is partitioned, of one file.

    Raises:
        Unreadable: one is not of the type of its column.
    """
    unsaid = [name for name in partitioned_by if name not in values]
    if unsaid:
        msg = f"{unsaid[0]}: the log does not say its value"
        raise Unreadable(msg)
    return {name: _value(columns.field(name), values[name]) for name in partitioned_by}


def _value(field: pa.Field, text: str | None) -> pa.Scalar:
    # Delta writes a null as an empty text, too.
    if text is None or not text:
        return pa.scalar(None, field.type)
    try:
        if pa.types.is_timestamp(field.type):
            moment = datetime.fromisoformat(text)
            if (moment.tzinfo is None) != (field.type.tz is None):
                msg = f"{field.name} is {text!r} in the log, in the time zone of whoever wrote it, which is not said"
                raise Unreadable(msg)
            return pa.scalar(moment, field.type)
        return pa.scalar(text, pa.string()).cast(field.type)
    except (pa.ArrowException, ValueError) as error:
        if isinstance(error, Unreadable):
            raise
        msg = f"{field.name} is {text!r} in the log, which is no {field.type}"
        raise Unreadable(msg) from error


def partition_problems(columns: pa.Schema, partitioned_by: tuple[str, ...]) -> Iterator[str]:
    """What is wrong with the columns by which a table is partitioned."""
    for name in partitioned_by:
        if pa.types.is_binary(columns.field(name).type):
            yield f"{name} is binary and the table is partitioned by it, which is not read"
