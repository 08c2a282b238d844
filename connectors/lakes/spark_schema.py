"""The columns of a table as Spark writes them down, read without Spark. Pure."""

import json
import re
from collections.abc import Mapping
from typing import Any

from rocketconnect_sdk.columns.arrow_types import to_arrow_type
from rocketconnect_sdk.converters.json.schema import from_json
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.schema import Field, Schema, Type, timestamp
from rocketconnect_sdk.spark.types import METADATA, stored_type

_PLAIN: Mapping[str, Type] = {
    "byte": Type.INT8,
    "short": Type.INT16,
    "integer": Type.INT32,
    "long": Type.INT64,
    "float": Type.FLOAT32,
    "double": Type.FLOAT64,
    "boolean": Type.BOOLEAN,
    "string": Type.STRING,
    "binary": Type.BYTES,
    "date": Type.DATE,
}
_TIMES = {"timestamp": True, "timestamp_ntz": False}
_DECIMAL = re.compile(r"decimal\((\d+),(-?\d+)\)")


def from_spark_json(text: str) -> Schema:
    """The columns that a schema of Spark's stands for.

    Raises:
        ValueError, KeyError, TypeError: it is none, or has types that no schema stands for.
    """
    return _schema_of(json.loads(text), optional=False)


def _schema_of(kind: Any, *, optional: bool) -> Schema:
    if isinstance(kind, str):
        return _plain(kind, optional=optional)
    match kind["type"]:
        case "struct":
            return Schema(Type.STRUCT, optional=optional, fields=tuple(map(_field, kind["fields"])))
        case "array":
            return Schema(Type.ARRAY, optional=optional, items=_schema_of(kind["elementType"], optional=kind["containsNull"]))
        case "map":
            keys = _schema_of(kind["keyType"], optional=False)
            items = _schema_of(kind["valueType"], optional=kind["valueContainsNull"])
            return Schema(Type.MAP, optional=optional, keys=keys, items=items)
    msg = f"no type of Spark that has a schema: {kind['type']}"
    raise ValueError(msg)


def _plain(name: str, *, optional: bool) -> Schema:
    if name in _TIMES:
        return timestamp(zone=_TIMES[name], optional=optional)
    if found := _DECIMAL.fullmatch(name):
        return Schema(Type.DECIMAL, optional=optional, precision=int(found[1]), scale=int(found[2]))
    return Schema(_PLAIN[name], optional=optional)


def _field(field: Mapping[str, Any]) -> Field:
    """A column; what its metadata say is believed as far as it fits its type, as rocketconnect_sdk.spark.types does."""
    plain = _schema_of(field["type"], optional=field["nullable"])
    said = (field.get("metadata") or {}).get(METADATA)
    if isinstance(said, str):
        try:
            schema = from_json(json.loads(said))
            if schema.optional == plain.optional and stored_type(to_arrow_type(schema)) == stored_type(to_arrow_type(plain)):
                return Field(field["name"], schema)
        except RecordError:
            pass
    return Field(field["name"], plain)
