"""Schemas as JSON Schema, as Confluent's converter for Kafka Connect writes and reads them.

What JSON Schema has no word for stands in properties: connect.type is what a number is, connect.index the place of a field. A type
that only has a name is called what it is called in the envelope of the converter json, with Kafka Connect's own names (json_types).
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import msgspec

from rocketconnect_sdk.converters.json.reading import NotJson, value_of
from rocketconnect_sdk.converters.json.types import form_of, schema_of
from rocketconnect_sdk.converters.json.unions import VALUES, check_values, is_union, union_of
from rocketconnect_sdk.converters.json.values import Values
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.schema import STRING, Field, Schema, Type

_encode = msgspec.json.Encoder(decimal_format="number").encode
_DEEPEST = 100
_LARGEST = 20_000
"""Types of a schema, those that come again counted again."""

_TITLE, _TYPE, _INDEX, _VERSION, _PARAMETERS = "title", "connect.type", "connect.index", "connect.version", "connect.parameters"
_OWN_NAME, _OWN_VERSION = "rocketconnect.name", "rocketconnect.version"
_ROCKETMQ, _KAFKA = "io.openmessaging.connector.api.data.logical.", "org.apache.kafka.connect.data."
_OF_TYPES = ("scale", "connect.decimal.precision", "rocketconnect.type", "rocketconnect.unit")
"""The parameters that say what a type is (json_types)."""

_WORDS: Mapping[str, tuple[str, str]] = {
    "boolean": ("boolean", ""),
    **{f"int{bits}": ("integer", f"int{bits}") for bits in (8, 16, 32, 64)},
    "float": ("number", "float32"),
    "double": ("number", "float64"),
    "string": ("string", ""),
    "bytes": ("string", "bytes"),
}
"""Of the words of the envelope: JSON Schema's type, and connect.type."""
_KINDS: Mapping[str, tuple[Type, str]] = {
    "boolean": (Type.BOOLEAN, "boolean"),
    **{f"int{bits}": (Type(f"int{bits}"), f"int{bits}") for bits in (8, 16, 32, 64)},
    "integer": (Type.INT64, "int64"),
    "float32": (Type.FLOAT32, "float"),
    "float64": (Type.FLOAT64, "double"),
    "number": (Type.FLOAT64, "double"),
    "string": (Type.STRING, "string"),
    "bytes": (Type.BYTES, "bytes"),
}
"""Of connect.type, or where there is none of JSON Schema's: what it stands for, and the word of the envelope."""
_PLAIN = dict(_KINDS.values())
_OF_UNION = ("type", "title", "description", "default", _INDEX)
"""What is said of a value of one of several types, and not of each of them."""
_SAY_TYPE = ("type", "$ref", "oneOf", "anyOf", "allOf", "properties", "items", "enum", "const")
_NULLS = ({"type": "null"}, {"const": None}, {"enum": [None]})
_TOLD = (Type.BOOLEAN, Type.INT8, Type.INT16, Type.INT32, Type.INT64, Type.FLOAT32, Type.FLOAT64, Type.STRING)
"""The types of which a schema can say which values there are, of one of several types."""
_KIND_OF = {str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null"}
_MALFORMED = (TypeError, ValueError, KeyError, AttributeError, OverflowError, RecursionError, msgspec.MsgspecError)


def to_json_schema(schema: Schema) -> str:
    """The text of the JSON Schema of a schema.

    Raises:
        RecordError: it has none.
    """
    try:
        return msgspec.json.encode(_form(schema, 0)).decode()
    except _MALFORMED as error:
        msg = f"the schema cannot be written as JSON Schema: {str(error)[:300]}"
        raise RecordError(msg) from None


def from_json_schema(text: str, references: Mapping[str, str]) -> Schema:
    """The schema that a JSON Schema stands for.

    Args:
        text: It.
        references: By what `$ref` calls them, the texts of others that it uses.

    Raises:
        RecordError: it stands for none.
    """
    try:
        document = value_of(text)
        others = {name: value_of(other) for name, other in references.items()}
        return _Reader(others).schema(document, document, 0)
    except (NotJson, *_MALFORMED) as error:
        msg = f"it is no JSON Schema: {type(error).__name__}: {str(error)[:300]}"
        raise RecordError(msg) from None


def _form(schema: Schema, depth: int) -> dict[str, Any]:
    if depth > _DEEPEST:
        msg = f"a schema of more than {_DEEPEST} types in each other"
        raise RecordError(msg)
    if is_union(schema):
        types = [_form(replace(field.schema, optional=False), depth + 1) for field in schema.fields]
        said = {"description": schema.doc} if schema.doc else {}
        return {"oneOf": [{"type": "null"}, *types] if schema.optional else types, **said}
    form = _required_form(schema, depth)
    return {"oneOf": [{"type": "null"}, form]} if schema.optional else form


def _required_form(schema: Schema, depth: int) -> dict[str, Any]:
    named = form_of(schema)
    match schema.type:
        case Type.STRUCT:
            form = _struct_form(schema.fields, depth)
        case Type.ARRAY:
            form = {"type": "array", "items": _form(_part(schema.items), depth + 1)}
        case Type.MAP if _part(schema.keys) == STRING:
            form = {"type": "object", _TYPE: "map", "additionalProperties": _form(_part(schema.items), depth + 1)}
        case Type.MAP:
            entry = (Field("key", _part(schema.keys)), Field("value", _part(schema.items)))
            form = {"type": "array", _TYPE: "map", "items": _struct_form(entry, depth + 1)}
        case _:
            kind, connect = _WORDS[_PLAIN[schema.type] if named is None else named.type]
            form = {"type": kind, **({_TYPE: connect} if connect else {})}
    parameters = {**(named.parameters if named is not None else {}), **dict(schema.parameters)}
    name, version = _TITLE, _VERSION
    if named is not None and named.name:
        form |= {_TITLE: named.name.replace(_ROCKETMQ, _KAFKA), _VERSION: 1}
        name, version = _OWN_NAME, _OWN_VERSION
    said = {name: schema.name or None, version: schema.version, "description": schema.doc or None, _PARAMETERS: parameters or None}
    form |= {key: value for key, value in said.items() if value is not None}
    if named is None and VALUES in parameters:
        form |= msgspec.json.decode(parameters[VALUES])
    if schema.default is not None:
        form["default"] = msgspec.json.decode(_values(schema).encode(schema.default))
    return form


def _struct_form(fields: Sequence[Field], depth: int) -> dict[str, Any]:
    properties = {field.name: {**_form(field.schema, depth + 1), _INDEX: index} for index, field in enumerate(fields)}
    if len(properties) < len(fields):
        msg = "two fields of a struct have the same name"
        raise RecordError(msg)
    required = [field.name for field in fields if not field.schema.optional]
    return {"type": "object", "properties": properties, **({"required": required} if required else {})}


class _Reader:
    """Reads one schema, with what it refers to."""

    def __init__(self, others: Mapping[str, Any]) -> None:
        self._others = others
        self._count = 0
        self._within: list[Any] = []
        self._unions = 0

    def schema(self, form: Any, document: Any, depth: int) -> Schema:
        """The schema that a form stands for.

        Args:
            form: JSON.
            document: In which it stands.
            depth: How deep.
        """
        self._count += 1
        if depth > _DEEPEST or self._count > _LARGEST:
            msg = f"it has more than {_DEEPEST} types in each other, or {_LARGEST} altogether"
            raise RecordError(msg)
        if "$ref" in form:
            return self._of_reference(str(form["$ref"]), document, depth)
        if "allOf" in form:
            return self._all_of(form, document, depth)
        word = next((word for word in ("oneOf", "anyOf") if word in form and not _only_limits(form, form[word])), None)
        if word is not None:
            return self._one_of(form, form[word], document, depth)
        kinds = form.get("type", _kinds_meant(form))
        if not isinstance(kinds, list):
            return self._described(form, kinds, document, depth)
        others = set(kinds) - {"null"}
        if len(others) != 1:
            alone = {key: value for key, value in form.items() if key not in _OF_UNION}
            branches = [{"type": "null"} if kind == "null" else {**alone, "type": kind} for kind in kinds]
            return self._one_of(form, branches, document, depth)
        return replace(self._described(form, others.pop(), document, depth), optional="null" in kinds)

    def _one_of(self, form: Mapping[str, Any], branches: list[Any], document: Any, depth: int) -> Schema:
        others = [branch for branch in branches if branch not in _NULLS]
        if not others:
            msg = "a value of none of the types (oneOf, anyOf, type) but null has no type here"
            raise RecordError(msg)
        if len(others) > 1:
            # What tells the types apart is to be known.
            self._unions += 1
            types = [self.schema(branch, document, depth + 1) for branch in others]
            self._unions -= 1
            optional = len(others) < len(branches) or any(found.optional for found in types)
            return replace(union_of(types, optional=optional), doc=str(form.get("description", "")))
        found = self.schema(others[0], document, depth + 1)
        found = replace(
            found, optional=found.optional or len(others) < len(branches), doc=found.doc or str(form.get("description", ""))
        )
        return found if found.default is not None else _with_default(found, form.get("default"))

    def _all_of(self, form: Mapping[str, Any], document: Any, depth: int) -> Schema:
        own = {key: value for key, value in form.items() if key not in ("allOf", *_OF_UNION)}
        # The others only limit what the values may be.
        branches = [branch for branch in (*form["allOf"], own) if any(word in branch for word in _SAY_TYPE)]
        found = [self.schema(branch, document, depth + 1) for branch in branches]
        if len(found) != 1 and (not found or any(one.type is not Type.STRUCT or is_union(one) for one in found)):
            fix = "write one type with all that they say"
            msg = (
                f"a value of several types at once (allOf), of which not each is an object with properties, has no type here: {fix}"
            )
            raise RecordError(msg)
        schema = found[0] if len(found) == 1 else _merged(found)
        name, doc = str(form.get(_TITLE) or schema.name), str(form.get("description") or schema.doc)
        schema = replace(schema, name=name, doc=doc)
        return schema if schema.default is not None else _with_default(schema, form.get("default"))

    def _of_reference(self, reference: str, document: Any, depth: int) -> Schema:
        form, its_document = self._referred(reference, document)
        if any(form is other for other in self._within):
            fix = "put what can be of any depth into a field of text, as JSON"
            msg = f"{reference[:100]} is made of itself: recursive schemas have no type here; {fix}"
            raise RecordError(msg)
        self._within.append(form)
        found = self.schema(form, its_document, depth + 1)
        self._within.pop()
        return found

    def _referred(self, reference: str, document: Any) -> tuple[Any, Any]:
        name, _, pointer = reference.partition("#")
        if name and name not in self._others:
            msg = f"it refers to {name[:100]!r}, which is not among its references"
            raise RecordError(msg)
        document = self._others[name] if name else document
        form = document
        for part in pointer.split("/")[1:]:
            form = form[part.replace("~1", "/").replace("~0", "~")]
        return form, document

    def _described(self, form: Mapping[str, Any], kind: Any, document: Any, depth: int) -> Schema:
        found = self._made(form, kind, document, depth)
        parameters = {str(key): str(value) for key, value in (form.get(_PARAMETERS) or {}).items()}
        title, version = str(form.get(_TITLE) or ""), form.get(_VERSION)
        word = _PLAIN.get(found.type, "")
        own = {key: value for key, value in parameters.items() if key in _OF_TYPES}
        # Whole numbers without a sign are named by a parameter alone, so that their title is their own.
        known = "" if own.get("rocketconnect.type") in ("uint8", "uint16", "uint32") else title.replace(_KAFKA, _ROCKETMQ)
        named = schema_of(word, known, own) if word else None
        told = {key: form[key] for key in ("const", "enum", "pattern") if key in form}
        if told and self._unions and named is None and found.type in _TOLD:
            parameters.setdefault(VALUES, _encode(told).decode())
        if VALUES in parameters:
            check_values(parameters[VALUES])
        if named is not None:
            found, parameters = named[0], {**named[1], **{key: value for key, value in parameters.items() if key not in own}}
            if title and (has_name := form_of(found)) is not None and has_name.name:
                title, version = str(form.get(_OWN_NAME) or ""), form.get(_OWN_VERSION)
        found = replace(
            found,
            name=title,
            version=version if isinstance(version, int) and not isinstance(version, bool) else None,
            doc=str(form.get("description") or ""),
            parameters=tuple(parameters.items()),
        )
        return _with_default(found, form.get("default"))

    def _made(self, form: Mapping[str, Any], kind: Any, document: Any, depth: int) -> Schema:
        if kind == "object":
            return self._object(form, document, depth)
        if kind == "array":
            items = self.schema(form["items"], document, depth + 1)
            if form.get(_TYPE) == "map" and [field.name for field in items.fields] == ["key", "value"]:
                return Schema(Type.MAP, keys=items.fields[0].schema, items=items.fields[1].schema)
            return Schema(Type.ARRAY, items=items)
        # A decimal that is written as a number is of the type number and of the connect.type bytes.
        connect = form.get(_TYPE) if form.get(_TYPE) in _KINDS else kind
        if kind not in _KINDS or not isinstance(connect, str):
            msg = f"the type {str(kind)[:60]} has no type here"
            raise RecordError(msg)
        return Schema(_KINDS[connect][0])

    def _object(self, form: Mapping[str, Any], document: Any, depth: int) -> Schema:
        properties, more = form.get("properties"), form.get("additionalProperties")
        if isinstance(more, dict) and not properties:
            return Schema(Type.MAP, keys=STRING, items=self.schema(more, document, depth + 1))
        required = form.get("required") or []
        fields = [(name, part, self._property(name, part, document, depth)) for name, part in (properties or {}).items()]
        fields.sort(key=lambda field: field[1].get(_INDEX, len(fields)) if isinstance(field[1], dict) else 0)
        return Schema(
            Type.STRUCT,
            fields=tuple(
                Field(name, found if name in required or found.optional else replace(found, optional=True))
                for name, _, found in fields
            ),
        )

    def _property(self, name: str, form: Any, document: Any, depth: int) -> Schema:
        try:
            return self.schema(form, document, depth + 1)
        except RecordError as error:
            msg = f"{name[:60]}: {error}"
            raise RecordError(msg[:500]) from None


def _only_limits(form: Mapping[str, Any], branches: Sequence[Any]) -> bool:
    """Whether the type is said beside the branches of a oneOf or anyOf, and not in these: `"anyOf": [{"required": ["a"]}]`."""
    is_said = "type" in form or "properties" in form
    return is_said and bool(branches) and not any(word in branch for branch in branches for word in _SAY_TYPE)


def _kinds_meant(form: Mapping[str, Any]) -> list[str] | str | None:
    """The types of a form that does not say them."""
    if "properties" in form:
        return "object"
    values = form.get("enum", [form["const"]] if "const" in form else [])
    kinds = list(dict.fromkeys(_KIND_OF.get(type(value), "") for value in values))
    if "" in kinds or not kinds:
        return None
    return [kind for kind in kinds if kind != "integer" or "number" not in kinds]


def _merged(objects: Sequence[Schema]) -> Schema:
    """The object that is all of them."""
    fields: dict[str, Schema] = {}
    for found in objects:
        for field in found.fields:
            fields[field.name] = _both(field.name, fields[field.name], field.schema) if field.name in fields else field.schema
    names = [found.name for found in objects if found.name]
    optional = all(found.optional for found in objects)
    name = names[0] if len(names) == 1 else ""
    return Schema(Type.STRUCT, optional=optional, name=name, fields=tuple(Field(name, schema) for name, schema in fields.items()))


def _both(name: str, one: Schema, other: Schema) -> Schema:
    """What a field is that is described twice."""
    told = [values for schema in (one, other) if (values := dict(schema.parameters).get(VALUES)) is not None]
    plain, same = (
        replace(schema, optional=False, doc="", parameters=tuple(pair for pair in schema.parameters if pair[0] != VALUES))
        for schema in (one, other)
    )
    if plain != same:
        msg = f"{name[:60]} is described twice (allOf), not as the same type: describe it in one of the objects"
        raise RecordError(msg)
    values = told[0] if len(set(told)) == 1 else f'{{"allOf":[{",".join(told)}]}}'
    parameters = (*plain.parameters, *(((VALUES, values),) if told else ()))
    return replace(plain, optional=one.optional and other.optional, doc=one.doc or other.doc, parameters=parameters)


def _with_default(schema: Schema, default: object) -> Schema:
    if default is None or schema.type in (Type.STRUCT, Type.ARRAY, Type.MAP):
        return schema
    value: Any = _values(schema).decode(_encode(default))
    return replace(schema, default=value)


def _values(schema: Schema) -> Values:
    return Values(replace(schema, default=None, optional=False))


def _part(schema: Schema | None) -> Schema:
    if schema is None:
        msg = "the schema of an array needs items, that of a map keys and items"
        raise RecordError(msg)
    return schema
