"""The mapping of an index, made of the schema of its rows. Pure.

https://www.elastic.co/docs/reference/elasticsearch/mapping-reference/field-data-types
"""

from typing import Any

from rocketconnect_sdk.schema import Schema, Type, Unit

_EXACT_DIGITS = 15
"""Decimals of more are searched as texts: a double would be another number."""
_TEXT = {"type": "text", "fields": {"keyword": {"type": "keyword", "ignore_above": 256}}}
_DATE = {"type": "date"}
_TYPES: dict[Type, dict[str, Any]] = {
    Type.BOOLEAN: {"type": "boolean"},
    Type.INT8: {"type": "byte"},
    Type.INT16: {"type": "short"},
    Type.INT32: {"type": "integer"},
    Type.INT64: {"type": "long"},
    Type.UINT8: {"type": "short"},
    Type.UINT16: {"type": "integer"},
    Type.UINT32: {"type": "long"},
    Type.UINT64: {"type": "unsigned_long"},
    Type.FLOAT32: {"type": "float"},
    Type.FLOAT64: {"type": "double"},
    Type.STRING: _TEXT,
    Type.BYTES: {"type": "binary"},
    Type.DATE: _DATE,
    Type.TIME: {"type": "keyword"},
    Type.UUID: {"type": "keyword"},
}


def mapping_of(schema: Schema) -> dict[str, Any]:
    """The mapping of rows: what has no type there is left to the server."""
    made = {each.name: _field(each.schema) for each in schema.fields}
    return {"properties": {name: field for name, field in made.items() if field}}


def _field(schema: Schema) -> dict[str, Any]:
    match schema.type:
        case Type.STRUCT:
            return mapping_of(schema)
        case Type.ARRAY if schema.items is not None:
            # Each field is a list there.
            return _field(schema.items)
        case Type.TIMESTAMP:
            return {"type": "date_nanos"} if schema.unit is Unit.NANOSECONDS else _DATE
        case Type.DECIMAL:
            return {"type": "double" if (schema.precision or _EXACT_DIGITS + 1) <= _EXACT_DIGITS else "keyword"}
        case Type.MAP:
            return {"type": "object"}
        case _:
            return _TYPES.get(schema.type, {})
