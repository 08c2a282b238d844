"""Schemas as JSON: the "schema" of an envelope, as RocketMQ Connect's JsonConverter writes and reads it (commit 85da68c).

{"type": "struct", "fields": [{"type": "int64", "optional": false, "field": "id"}, ...], "optional": false, "name": "orders"}
"""

from dataclasses import replace
from typing import Any

import msgspec

from rocketconnect_sdk.columns.declared import type_name
from rocketconnect_sdk.converters.json.reading import decimals_of
from rocketconnect_sdk.converters.json.types import Names, form_of, schema_of
from rocketconnect_sdk.converters.json.values import Values
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.schema import Field, Schema, Type

_NAMES = {
    Type.BOOLEAN: "boolean",
    Type.INT8: "int8",
    Type.INT16: "int16",
    Type.INT32: "int32",
    Type.INT64: "int64",
    Type.FLOAT32: "float",
    Type.FLOAT64: "double",
    Type.STRING: "string",
    Type.BYTES: "bytes",
    Type.STRUCT: "struct",
    Type.ARRAY: "array",
    Type.MAP: "map",
}
_TYPES = {name: kind for kind, name in _NAMES.items()}
_encode = msgspec.json.Encoder(decimal_format="number").encode


def to_json(schema: Schema, names: Names = Names.ROCKETMQ) -> dict[str, Any]:
    """The JSON form of a schema."""
    named = form_of(schema, names)
    form: dict[str, Any] = {"type": _NAMES[schema.type] if named is None else named.type}
    if schema.type is Type.STRUCT:
        form["fields"] = [{**to_json(field.schema, names), "field": field.name} for field in schema.fields]
    if schema.type in (Type.ARRAY, Type.MAP):
        if schema.items is None or (schema.type is Type.MAP and schema.keys is None):
            msg = f"the schema of a {_NAMES[schema.type]} does not say what is in it"
            raise RecordError(msg)
        if schema.type is Type.ARRAY:
            form["items"] = to_json(schema.items, names)
        elif schema.keys is not None:
            form |= {"keys": to_json(schema.keys, names), "values": to_json(schema.items, names)}
    form["optional"] = schema.optional
    # A type that has a name there cannot have another one.
    name, version = (named.name, 1) if named is not None and named.name else (schema.name, schema.version)
    if name:
        form["name"] = name
    if version is not None:
        form["version"] = version
    if schema.doc:
        form["doc"] = schema.doc
    if parameters := {**(named.parameters if named is not None else {}), **dict(schema.parameters)}:
        form["parameters"] = parameters
    if schema.default is not None:
        form["default"] = msgspec.json.decode(_values(schema).encode(schema.default))
    return form


def read_json(text: bytes) -> Schema | None:
    """The schema of the text of a JSON form, with its numbers exactly as they are written; None: it is null.

    Raises:
        RecordError, ValueError, TypeError, ArithmeticError, RecursionError: it stands for none.
    """
    form = decimals_of(text)
    return None if form is None else from_json(form)


def from_json(form: object) -> Schema:
    """The schema that a JSON form stands for.

    Raises:
        RecordError: it stands for none.
    """
    if not isinstance(form, dict):
        msg = f"a schema is a JSON object, not a {type(form).__name__}"
        raise RecordError(msg)
    word, name, parameters = _text(form, "type"), _text(form, "name"), _parameters(form)
    kind = _TYPES.get(word)
    if kind is None:
        msg = f"unknown schema type {str(form.get('type'))[:100]!r}"
        raise RecordError(msg)
    version = form.get("version")
    optional, doc = form.get("optional") is True, _text(form, "doc")
    if (named := schema_of(word, name, parameters)) is not None:
        whole = version if named[0].name and isinstance(version, int) else None
        found = replace(named[0], optional=optional, doc=doc, parameters=tuple(named[1].items()), version=whole)
    else:
        found = Schema(
            kind,
            optional=optional,
            name=name,
            version=version if isinstance(version, int) else None,
            doc=doc,
            fields=_fields(form) if kind is Type.STRUCT else (),
            items=from_json(form.get("items" if kind is Type.ARRAY else "values")) if kind in (Type.ARRAY, Type.MAP) else None,
            keys=from_json(form.get("keys")) if kind is Type.MAP else None,
            parameters=tuple(parameters.items()),
        )
    return _with_default(found, form.get("default"))


def _text(form: dict[str, Any], key: str) -> str:
    value = form.get(key)
    if value is not None and not isinstance(value, str):
        msg = f"the {key} of a schema is text, not a {type(value).__name__}"
        raise RecordError(msg)
    return value or ""


def _fields(form: dict[str, Any]) -> tuple[Field, ...]:
    fields = form.get("fields")
    if not isinstance(fields, list) or not all(isinstance(field, dict) and isinstance(field.get("field"), str) for field in fields):
        msg = "the fields of a struct are a list of objects with a name in field"
        raise RecordError(msg)
    names = [field["field"] for field in fields]
    if len(set(names)) < len(names):
        msg = "two fields of a struct have the same name"
        raise RecordError(msg)
    return tuple(Field(field["field"], from_json(field)) for field in fields)


def _parameters(form: dict[str, Any]) -> dict[str, str]:
    parameters = form.get("parameters") or {}
    if not isinstance(parameters, dict):
        msg = "the parameters of a schema are a JSON object"
        raise RecordError(msg)
    return {name: str(value) for name, value in parameters.items()}


def _with_default(schema: Schema, default: object) -> Schema:
    if default is None:
        return schema
    if schema.type in (Type.STRUCT, Type.ARRAY, Type.MAP):
        msg = f"a default cannot stand for a {type_name(schema)}"
        raise RecordError(msg)
    try:
        value: Any = _values(schema).decode(_encode(default))
    except RecordError as error:
        msg = f"the default does not fit: {error}"
        raise RecordError(msg) from None
    return replace(schema, default=value)


def _values(schema: Schema) -> Values:
    return Values(replace(schema, default=None, optional=False))
