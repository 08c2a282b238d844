"""Maps with keys that are not plain text, in JSON as Confluent's converter has them: a list of {"key": ..., "value": ...}."""

from dataclasses import replace
from functools import lru_cache
from typing import Any

from rocketconnect_sdk.converters.checked import dict_of
from rocketconnect_sdk.schema import Field, Schema, Type


@lru_cache(maxsize=256)
def with_entries(schema: Schema) -> Schema:
    """A schema with arrays of structs in the place of such maps."""
    fields = tuple(Field(field.name, with_entries(field.schema)) for field in schema.fields)
    items = None if schema.items is None else with_entries(schema.items)
    if schema.type is Type.MAP and items is not None and schema.keys is not None and schema.keys.type is not Type.STRING:
        entry = Schema(Type.STRUCT, fields=(Field("key", with_entries(schema.keys)), Field("value", items)))
        return replace(schema, type=Type.ARRAY, keys=None, items=entry)
    return replace(schema, fields=fields, items=items)


def to_entries(schema: Schema, value: Any) -> Any:
    """A value of a schema as one of `with_entries`. What does not fit the schema stays as it is."""
    if value is None or with_entries(schema) == schema:
        return value
    if schema.type is Type.STRUCT and isinstance(value, dict):
        parts = {field.name: field.schema for field in schema.fields}
        return {name: to_entries(parts[name], item) if name in parts else item for name, item in value.items()}
    if schema.type is Type.ARRAY and schema.items is not None and isinstance(value, (list, tuple)):
        return [to_entries(schema.items, item) for item in value]
    if schema.type is Type.MAP and schema.items is not None and schema.keys is not None and isinstance(value, dict):
        pairs = [(to_entries(schema.keys, key), to_entries(schema.items, item)) for key, item in value.items()]
        return dict(pairs) if schema.keys.type is Type.STRING else [{"key": key, "value": item} for key, item in pairs]
    return value


def from_entries(schema: Schema, value: Any) -> Any:
    """A value of `with_entries` as one of the schema.

    Raises:
        RecordError: a map has a key twice, or one that can be none in Python.
    """
    if value is None or with_entries(schema) == schema:
        return value
    if schema.type is Type.STRUCT:
        return {field.name: from_entries(field.schema, value[field.name]) for field in schema.fields}
    if schema.items is None or schema.type is Type.ARRAY or schema.keys is None:
        return [] if schema.items is None else [from_entries(schema.items, item) for item in value]
    if schema.keys.type is Type.STRING:
        return {key: from_entries(schema.items, item) for key, item in value.items()}
    return dict_of([(from_entries(schema.keys, entry["key"]), from_entries(schema.items, entry["value"])) for entry in value])
