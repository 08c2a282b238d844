"""Schemas as JSON: the "schema" of an envelope, as RocketMQ Connect's JsonConverter writes and reads it (commit 85da68c).

{"type": "struct", "fields": [{"type": "int64", "optional": false, "field": "id"}, ...], "optional": false, "name": "orders"}
"""

from typing import Any

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
_DEFAULTS: dict[Type, tuple[type, ...]] = {
    Type.BOOLEAN: (bool,),
    Type.STRING: (str,),
    Type.FLOAT32: (int, float),
    Type.FLOAT64: (int, float),
    **dict.fromkeys((Type.INT8, Type.INT16, Type.INT32, Type.INT64), (int,)),
}


def to_json(schema: Schema) -> dict[str, Any]:
    """The JSON form of a schema."""
    form: dict[str, Any] = {"type": _NAMES[schema.type]}
    if schema.type is Type.STRUCT:
        form["fields"] = [{**to_json(field.schema), "field": field.name} for field in schema.fields]
    if schema.type in (Type.ARRAY, Type.MAP):
        if schema.items is None or (schema.type is Type.MAP and schema.keys is None):
            msg = f"the schema of a {_NAMES[schema.type]} does not say what is in it"
            raise RecordError(msg)
        if schema.type is Type.ARRAY:
            form["items"] = to_json(schema.items)
        elif schema.keys is not None:
            form |= {"keys": to_json(schema.keys), "values": to_json(schema.items)}
    form["optional"] = schema.optional
    if schema.name:
        form["name"] = schema.name
    if schema.version is not None:
        form["version"] = schema.version
    if schema.doc:
        form["doc"] = schema.doc
    if schema.parameters:
        form["parameters"] = dict(schema.parameters)
    if schema.default is not None:
        form["default"] = schema.default
    return form


def from_json(form: object) -> Schema:
    """The schema that a JSON form stands for.

    Raises:
        RecordError: it stands for none.
    """
    if not isinstance(form, dict):
        msg = f"a schema is a JSON object, not a {type(form).__name__}"
        raise RecordError(msg)
    kind = _TYPES.get(_text(form, "type"))
    if kind is None:
        msg = f"unknown schema type {str(form.get('type'))[:100]!r}"
        raise RecordError(msg)
    version = form.get("version")
    return Schema(
        kind,
        optional=form.get("optional") is True,
        name=_text(form, "name"),
        version=version if isinstance(version, int) else None,
        doc=_text(form, "doc"),
        fields=_fields(form) if kind is Type.STRUCT else (),
        items=from_json(form.get("items" if kind is Type.ARRAY else "values")) if kind in (Type.ARRAY, Type.MAP) else None,
        keys=from_json(form.get("keys")) if kind is Type.MAP else None,
        parameters=_parameters(form),
        default=_default(kind, form.get("default")),
    )


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


def _parameters(form: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    parameters = form.get("parameters") or {}
    if not isinstance(parameters, dict):
        msg = "the parameters of a schema are a JSON object"
        raise RecordError(msg)
    return tuple((name, str(value)) for name, value in parameters.items())


def _default(kind: Type, value: object) -> Any:
    if value is None:
        return None
    if not isinstance(value, _DEFAULTS.get(kind, ())) or (isinstance(value, bool) and kind is not Type.BOOLEAN):
        msg = f"a default of type {type(value).__name__} cannot stand for a {_NAMES[kind]}"
        raise RecordError(msg)
    return value
