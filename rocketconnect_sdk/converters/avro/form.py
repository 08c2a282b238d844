"""Avro schemas of a registry: the schema that one stands for, and how its values are written and read."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from rocketconnect_sdk.columns.compact import Column
from rocketconnect_sdk.columns.declared import type_name
from rocketconnect_sdk.converters.avro import names
from rocketconnect_sdk.converters.avro.codec import Codec
from rocketconnect_sdk.converters.avro.containers import Part, array, enumeration, map_of, mapping, optional, record, union
from rocketconnect_sdk.converters.avro.leaves import leaf
from rocketconnect_sdk.converters.counts import date_of, decimal_number, scaled, time_of, timestamp_of
from rocketconnect_sdk.converters.json.reading import NotJson, value_of
from rocketconnect_sdk.converters.registered import MANY, Form
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.schema import STRING, Default, Field, Schema, Type
from rocketconnect_sdk.wording.counts import counted

_DEEPEST = 300
_LARGEST = 20_000
"""Types of a schema, those that come again counted again."""

_PRIMITIVE = {
    "boolean": Type.BOOLEAN,
    "int": Type.INT32,
    "long": Type.INT64,
    "float": Type.FLOAT32,
    "double": Type.FLOAT64,
    "string": Type.STRING,
    "bytes": Type.BYTES,
}
_MALFORMED = (TypeError, ValueError, KeyError, AttributeError, OverflowError, RecursionError)


class AvroForm(Form):
    """How values of an Avro schema are written and read.

    Attributes:
        schema: What it stands for.
        name: The full name of the record; empty: it is none.

    Args:
        text: The schema.
        references: Schemas of named types that it uses, each behind those that it uses itself.

    Raises:
        RecordError: it is no Avro schema, or one whose values have no type here.
    """

    def __init__(self, text: str, references: Iterable[str] = ()) -> None:
        reader = _Reader()
        try:
            for reference in references:
                reader.node(value_of(reference), "", 0)
            node = reader.node(value_of(text), "", 0)
        except (NotJson, *_MALFORMED) as error:
            msg = f"it is no Avro schema: {type(error).__name__}: {str(error)[:300]}"
            raise RecordError(msg) from None
        self.schema = node.schema
        self.name = node.name if node.schema.type is Type.STRUCT else ""
        self._codec = node.codec

    def encode(self, value: object) -> bytes:
        """The bytes of a value. Raises RecordError: it does not fit the schema."""
        out = bytearray()
        try:
            self._codec.write(out, value)
        except (ValueError, OverflowError, RecursionError) as error:
            msg = f"a value does not fit its schema: {error}"
            raise RecordError(msg) from None
        return bytes(out)

    def encode_many(self, values: Sequence[object]) -> list[bytes]:
        """See Form."""
        layout = self._codec.layout
        if layout is None or not isinstance(values, Column):
            return super().encode_many(values)
        from rocketconnect_sdk.converters.avro.columns import messages_of

        return messages_of(values.array, self.schema, layout) or super().encode_many(values)

    def decode(self, data: bytes, start: int) -> object:
        """The value of bytes from there on. Raises RecordError: they are none, or there are more of them."""
        try:
            value, end = self._codec.read(data, start)
        except IndexError:
            msg = f"the message of {len(data)} bytes ends before its value does"
            raise RecordError(msg) from None
        except (ValueError, OverflowError, RecursionError) as error:
            msg = f"the message holds a value that does not fit its schema: {error}"
            raise RecordError(msg) from None
        if end != len(data):
            msg = f"{counted(len(data) - end, 'byte', 'follows', 'follow')} the value: it was not written with this schema"
            raise RecordError(msg)
        if value is None:
            msg = "the value is null, for which a message without a body stands here"
            raise RecordError(msg)
        return value

    def decode_many(self, data: Sequence[bytes], start: int) -> Sequence[object]:
        """See Form."""
        layout = self._codec.layout
        if layout is None or len(data) < MANY:
            return super().decode_many(data, start)
        from rocketconnect_sdk.converters.avro.rows import rows_of

        rows = rows_of(data, start, self.schema, layout)
        return super().decode_many(data, start) if rows is None else Column(rows)


@dataclass(frozen=True, slots=True)
class _Node:
    """A type in a schema.

    Attributes:
        schema: What it stands for.
        codec: Of its values.
        name: Avro's, of a named type with its namespace.
        size: Of how many types it is made.
        empty: Its values take no bytes.
    """

    schema: Schema
    codec: Codec
    name: str
    size: int = 1
    empty: bool = False


class _Reader:
    """Reads the schemas of one registered schema; knows the named types that it has read."""

    def __init__(self) -> None:
        self._named: dict[str, _Node | None] = {}

    def node(self, form: Any, space: str, depth: int) -> _Node:
        """The type that a form stands for.

        Args:
            form: JSON.
            space: The namespace around it.
            depth: How deep it stands.
        """
        if depth > _DEEPEST:
            msg = f"it has more than {_DEEPEST} types in each other"
            raise RecordError(msg)
        if isinstance(form, list):
            return self._union(form, space, depth)
        if isinstance(form, str):
            return self._leaf(form, {}) if form in _PRIMITIVE else self._known(form, space)
        kind = form["type"]
        if isinstance(kind, (dict, list)):
            # Also {"type": {"type": "string"}}, with properties around it.
            return self.node(kind, space, depth + 1)
        made = {"record": self._record, "error": self._record, "array": self._array, "map": self._map}.get(kind)
        if made is not None:
            return made(form, space, depth)
        if kind in ("enum", "fixed"):
            return self._plain_named(form, space)
        return self._leaf(kind, form) if kind in _PRIMITIVE else self._known(kind, space)

    def _known(self, name: str, space: str) -> _Node:
        full = name if "." in name or not space else f"{space}.{name}"
        full = full if full in self._named else name
        if full not in self._named:
            msg = f"it has no type {name[:100]!r}" if name != "null" else "a value that is always null has no type here"
            raise RecordError(msg)
        node = self._named[full]
        if node is None:
            msg = f"{full} is made of itself: recursive schemas have no type here"
            raise RecordError(msg)
        return node

    def _leaf(self, kind: str, form: Mapping[str, Any]) -> _Node:
        schema = _leaf_schema(kind, form)
        return _Node(_described(schema, form), leaf(schema, kind), kind)

    def _plain_named(self, form: Mapping[str, Any], space: str) -> _Node:
        full, _ = _full_name(form, space)
        if form["type"] == "enum":
            symbols = [str(symbol) for symbol in form["symbols"]]
            said = ((names.ENUM, full), *((f"{names.ENUM}.{symbol}", symbol) for symbol in symbols))
            schema = _described(STRING, form)
            node = _Node(replace(schema, parameters=schema.parameters + said), enumeration(symbols), full)
        else:
            size = form["size"]
            if isinstance(size, bool) or not isinstance(size, int) or not 0 <= size < 1 << 31:
                msg = f"the fixed {full} has no size"
                raise RecordError(msg)
            schema = Schema(Type.UUID) if form.get("logicalType") == "uuid" and size == 16 else _leaf_schema("bytes", form)
            codec = leaf(schema, "fixed", size)
            schema = _described(schema, form)
            if schema.type is Type.BYTES:
                schema = replace(schema, parameters=(*schema.parameters, (names.FIXED_SIZE, str(size))))
            node = _Node(schema, codec, full, empty=size == 0)
        self._named[full] = node
        return node

    def _record(self, form: Mapping[str, Any], space: str, depth: int) -> _Node:
        full, space = _full_name(form, space)
        if full in self._named:
            msg = f"it has two types {full}"
            raise RecordError(msg)
        self._named[full] = None
        fields, parts, nodes = [], [], []
        for field in form["fields"]:
            node = self.node(field["type"], space, depth + 1)
            name = field.get(names.OWN_NAME, field["name"])
            schema = node.schema if node.schema.doc or not field.get("doc") else replace(node.schema, doc=str(field["doc"]))
            missing = schema.default
            if "default" in field and missing is None and field["default"] is not None:
                missing = _default(schema, field["default"])
                schema = replace(schema, default=missing)
            fields.append(Field(str(name), schema))
            parts.append(Part(str(name), node.codec, missing, required=missing is None and not schema.optional))
            nodes.append(node)
        if len({field.name for field in fields}) < len(fields):
            msg = f"the record {full} has two fields of the same name"
            raise RecordError(msg)
        schema = _described(Schema(Type.STRUCT, fields=tuple(fields)), form, full)
        node = _Node(schema, record(parts), full, _sum(nodes), all(one.empty for one in nodes))
        self._named[full] = node
        return node

    def _array(self, form: Mapping[str, Any], space: str, depth: int) -> _Node:
        items = self.node(form["items"], space, depth + 1)
        if items.empty:
            msg = "an array of values that take no bytes, such as structs without fields, could be of any length and is not read"
            raise RecordError(msg)
        codec = array(items.codec)
        if _is_entry(form["items"], items):
            keys, values = (field.schema for field in items.schema.fields)
            schema, codec = Schema(Type.MAP, keys=keys, items=values), map_of(codec)
        else:
            schema = Schema(Type.ARRAY, items=items.schema)
        return _Node(_described(schema, form), codec, "array", _sum([items]))

    def _map(self, form: Mapping[str, Any], space: str, depth: int) -> _Node:
        items = self.node(form["values"], space, depth + 1)
        schema = Schema(Type.MAP, keys=STRING, items=items.schema)
        return _Node(_described(schema, form), mapping(items.codec), "map", _sum([items]))

    def _union(self, forms: list[Any], space: str, depth: int) -> _Node:
        others = [
            (number, self.node(form, space, depth + 1))
            for number, form in enumerate(forms)
            if form not in ("null", {"type": "null"})
        ]
        if not others:
            msg = "a value that is always null has no type here"
            raise RecordError(msg)
        if len(others) == 1 and len(forms) <= 2:
            number, node = others[0]
            if len(forms) == 1:
                return replace(node, codec=_only(node.codec), empty=False)
            schema = replace(node.schema, optional=True)
            return replace(node, schema=schema, codec=optional(node.codec, 1 - number), empty=False, size=node.size + 1)
        simple = [node.name.rpartition(".")[2] for _, node in others]
        found = simple if len(set(simple)) == len(simple) else [node.name for _, node in others]
        if len(set(found)) < len(found):
            msg = "a union has two branches of the same type"
            raise RecordError(msg)
        by_number = {number: (name, node) for (number, node), name in zip(others, found, strict=True)}
        branches = [
            (by_number[number][0], by_number[number][1].codec) if number in by_number else ("null", None)
            for number in range(len(forms))
        ]
        fields = tuple(Field(name, replace(node.schema, optional=True, default=None)) for name, node in by_number.values())
        schema = Schema(Type.STRUCT, optional=len(others) < len(forms), name=names.UNION, fields=fields)
        return _Node(schema, union(branches), "union", _sum(node for _, node in others))


def _only(codec: Codec) -> Codec:
    """Of a union of one type."""
    inner = union([("", codec)])

    def read(data: bytes, at: int) -> tuple[Any, int]:
        found, at = inner.read(data, at)
        return found[""], at

    return Codec(lambda out, value: inner.write(out, {"": value}), read)


def _sum(nodes: Iterable[_Node]) -> int:
    size = 1 + sum(node.size for node in nodes)
    if size > _LARGEST:
        msg = f"it is made of more than {_LARGEST} types"
        raise RecordError(msg)
    return size


def _is_entry(form: Any, node: _Node) -> bool:
    fields = [field.name for field in node.schema.fields]
    says = isinstance(form, dict) and form.get(names.INTERNAL) == names.ENTRY
    return fields == ["key", "value"] and (says or node.name == f"{names.NAMESPACE}.{names.ENTRY}")


def _full_name(form: Mapping[str, Any], space: str) -> tuple[str, str]:
    """The name with its namespace, and the namespace."""
    name: str = form["name"]
    if "." not in name:
        space = form.get("namespace", space)
        return (f"{space}.{name}" if space else name), space
    return name, name.rpartition(".")[0]


def _leaf_schema(kind: str, form: Mapping[str, Any]) -> Schema:
    """A type alone, without its names and what else is said of it."""
    logical, name, parameters = str(form.get("logicalType", "")), form.get(names.NAME), _parameters(form)
    word, its_kind = parameters.get(names.KIND, ""), names.UNSIGNED.get(parameters.get(names.KIND, ""))
    if its_kind is not None and its_kind[1] == kind and (word != "uint64" or name in names.DECIMALS):
        return Schema(its_kind[0])
    if kind == "bytes" and (logical == "decimal" or name in names.DECIMALS):
        precision, scale = names.decimal_of(form, parameters)
        return Schema(Type.DECIMAL, precision=precision, scale=scale)
    found = names.LOGICAL.get((kind, logical)) or names.NAMED.get((kind, str(name)))
    if found is not None:
        return found
    if kind == "int" and form.get(names.CONNECT_TYPE) in ("int8", "int16"):
        return Schema(Type(form[names.CONNECT_TYPE]))
    return Schema(_PRIMITIVE[kind])


def _described(schema: Schema, form: Mapping[str, Any], full_name: str = "") -> Schema:
    """A type with what is said of it."""
    name, version = form.get(names.NAME), form.get(names.VERSION)
    parameters = _parameters(form)
    if schema.type in (Type.DECIMAL, Type.UINT64):
        for key in ("scale", names.PRECISION):
            parameters.pop(key, None)
    if names.UNSIGNED.get(parameters.get(names.KIND, ""), (None,))[0] is schema.type:
        del parameters[names.KIND]
    kind = _kind(form)
    known = names.NAMED.get((kind, str(name)))
    is_decimal = schema.type in (Type.DECIMAL, Type.UINT64)
    says_type = name in names.DECIMALS if is_decimal else known is not None and known.type is schema.type
    if names.OWN_NAME in form or says_type:
        name = form.get(names.OWN_NAME)
    if says_type:
        version = form.get(names.OWN_VERSION)
    if full_name and name is None and not full_name.startswith(names.ROOT):
        name = full_name
    doc = form.get(names.DOC) or (form.get("doc") if full_name else None)
    found = replace(
        schema,
        name=str(name or schema.name),
        version=version if isinstance(version, int) and not isinstance(version, bool) else None,
        doc=str(doc or ""),
        parameters=tuple(parameters.items()),
    )
    default = form.get(names.DEFAULT)
    return found if default is None else replace(found, default=_default(found, default))


def _kind(form: Mapping[str, Any]) -> str:
    return str(form.get("type"))


def _parameters(form: Mapping[str, Any]) -> dict[str, str]:
    found = form.get(names.PARAMETERS) or {}
    if not isinstance(found, dict):
        msg = f"{names.PARAMETERS} is a JSON object"
        raise RecordError(msg)
    return {str(key): str(value) for key, value in found.items()}


def _default(schema: Schema, form: Any) -> Default:
    """The value of a default; None for those of structs, arrays and maps, which have none here."""
    if schema.type in (Type.STRUCT, Type.ARRAY, Type.MAP):
        return None
    make = _VALUES.get(schema.type)
    if make is not None:
        try:
            return make(schema, form)
        except _MALFORMED as error:
            # Debezium's dates may lie before the year 1, and there are none of these here.
            msg = f"the default {str(form)[:60]} is none of a {type_name(schema)}: {error}"
            raise RecordError(msg) from None
    if isinstance(form, (bool, str)) and type(form) is _JSON_TYPES.get(schema.type):
        return form
    if isinstance(form, int) and not isinstance(form, bool) and schema.type.value.startswith(("int", "uint")):
        return form
    msg = f"the default {str(form)[:60]} is none of a {type_name(schema)}"
    raise RecordError(msg)


_JSON_TYPES: Mapping[Type, type] = {Type.BOOLEAN: bool, Type.STRING: str, Type.JSON: str}
_VALUES: Mapping[Type, Callable[[Schema, Any], Default]] = {
    Type.DECIMAL: lambda schema, form: scaled(decimal_number(form.encode("latin-1")), schema),
    Type.UINT64: lambda _, form: decimal_number(form.encode("latin-1")),
    Type.BYTES: lambda _, form: bytes(form.encode("latin-1")),
    Type.DATE: lambda _, form: date_of(form),
    Type.TIME: lambda schema, form: time_of(form, schema.unit),
    Type.TIMESTAMP: lambda schema, form: timestamp_of(form, schema),
    Type.UUID: lambda _, form: UUID(form),
    **dict.fromkeys((Type.FLOAT32, Type.FLOAT64), lambda _, form: float(form)),
}
"""The values that stand in a schema in another form."""
