"""Schemas and values of RocketMQ Connect as ours. A value that its schema does not allow is refused, by the name of its field."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any, NamedTuple

from connectors.rocketmq_connect.api import PluginJava
from connectors.rocketmq_connect.unfit import Unfit
from rocketconnect_sdk.converters.json import types
from rocketconnect_sdk.converters.json.schema import from_json
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.schema import Field, Schema, Type, Unit

Read = Callable[[Any], Any]

_WORDS = {"FLOAT32": "float", "FLOAT64": "double"}
"""What JSON schemas call types whose names there are others."""
_DAY = 86_400_000
_TIMES = (Type.DATE, Type.TIME, Type.TIMESTAMP)
_MOST_SCHEMAS = 1_000


class Compiled(NamedTuple):
    """A schema, and what reads its values. Raises Unfit."""

    schema: Schema
    read: Read


class Reader:
    """Reads what one plugin gives."""

    def __init__(self, java: PluginJava) -> None:
        self._string, self._map, self._list, self._date, self._buffer, self._decimal = map(
            java.known,
            (
                "java.lang.String",
                "java.util.Map",
                "java.util.List",
                "java.util.Date",
                "java.nio.ByteBuffer",
                "java.math.BigDecimal",
            ),
        )
        self._bytes = java.jpype.JArray(java.jpype.JByte)
        self._struct = java.api("data.Struct")
        self._exact: Mapping[str, tuple[Any, Read]] = {
            "INT8": (java.known("java.lang.Byte"), int),
            "INT16": (java.known("java.lang.Short"), int),
            "INT32": (java.known("java.lang.Integer"), int),
            "INT64": (java.known("java.lang.Long"), int),
            "FLOAT32": (java.known("java.lang.Float"), float),
            "FLOAT64": (java.known("java.lang.Double"), float),
            "BOOLEAN": (java.known("java.lang.Boolean"), bool),
            "STRING": (self._string, str),
        }
        self._free: Sequence[tuple[Any, Read]] = (
            (self._bytes, self._read_bytes),
            (self._buffer, self._read_bytes),
            (self._struct, lambda value: self._compiled(value.getSchema()).read(value)),
            (self._map, self._plain_map),
            (self._list, self._plain_list),
            *self._exact.values(),
            (java.known("java.math.BigInteger"), lambda value: int(str(value))),
            (self._decimal, lambda value: Decimal(str(value))),
            (self._date, lambda value: types.read(_INSTANT, int(value.getTime()))),
        )
        # Schemas are compared by value in Java: many plugins make a new one for each record.
        self._places = java.known("java.util.HashMap")()
        self._known: list[Compiled] = []

    def value(self, schema: Any, value: Any) -> tuple[Schema | None, Any]:
        """A value with its schema, each may be null.

        Raises:
            Unfit: it has no counterpart, or is none that the schema allows; names the field.
        """
        if schema is None and isinstance(value, self._struct):
            schema = value.getSchema()
        if schema is None:
            return None, self._plain(value)
        found = self._compiled(schema)
        # A deletion has the schema of what was there.
        return found.schema, None if value is None else found.read(value)

    def _compiled(self, schema: Any) -> Compiled:
        place = self._places.get(schema)
        if place is not None:
            return self._known[int(place)]
        if len(self._known) >= _MOST_SCHEMAS:
            self._places.clear()
            self._known = []
        made = self._made(schema)
        self._places.put(schema, len(self._known))
        self._known.append(made)
        return made

    def _made(self, schema: Any) -> Compiled:
        kind = str(schema.getFieldType())
        if kind == "STRUCT":
            made = self._of_struct(schema)
        elif kind == "ARRAY":
            made = self._of_array(schema)
        elif kind == "MAP":
            made = self._of_map(schema)
        else:
            made = self._of_one(schema, kind)
        return Compiled(made.schema, _nullable(made))

    def _of_one(self, schema: Any, kind: str) -> Compiled:
        try:
            ours = from_json({**_said(schema), "type": _WORDS.get(kind, kind.lower())})
        except RecordError as error:
            msg = f"has a schema of the type {kind} that has no counterpart here: {error}"
            raise Unfit(msg) from error
        read = self._reads(ours, kind)
        default = schema.getDefaultValue()
        return Compiled(ours if default is None else replace(ours, default=read(default)), read)

    def _reads(self, ours: Schema, kind: str) -> Read:
        """What reads single values of a type, which Java has as `kind` where it has no class of its own for it."""
        if kind == "BYTES" and ours.type is Type.BYTES:
            return self._read_bytes
        exact, convert = self._exact.get(kind, (None, str))

        def read(value: Any) -> Any:
            if isinstance(value, self._decimal) and ours.type in (Type.DECIMAL, Type.UINT64):
                number = Decimal(str(value))
                return int(number) if ours.type is Type.UINT64 else number
            if isinstance(value, self._date) and ours.type in _TIMES and ours.unit in (Unit.MILLISECONDS, Schema(ours.type).unit):
                return types.read(ours, _counted(ours, int(value.getTime())))
            if exact is None or not isinstance(value, exact):
                raise _other(value, ours)
            made = convert(value)
            return types.read(ours, made) if types.differs(ours) else made

        return read

    def _of_struct(self, schema: Any) -> Compiled:
        fields: list[Field] = []
        reads: list[tuple[str, int, Read]] = []
        for field in schema.getFields():
            name = str(field.getName())
            try:
                made = self._compiled(field.getSchema())
            except Unfit as error:
                raise error.within(name) from error
            fields.append(Field(name, made.schema))
            reads.append((name, int(field.getIndex()), made.read))

        def read(value: Any) -> dict[str, Any]:
            if not isinstance(value, self._struct):
                msg = f"is a {_class(value)}, and its schema says struct"
                raise Unfit(msg)
            if not value.getSchema().equals(schema):
                msg = "is a struct of another schema than the one that it is given with"
                raise Unfit(msg)
            values = value.getValues()
            found: dict[str, Any] = {}
            for name, index, each in reads:
                try:
                    found[name] = each(values[index])
                except Unfit as error:
                    raise error.within(name) from error
            return found

        return Compiled(_of_many(schema, Type.STRUCT, fields=tuple(fields)), read)

    def _of_array(self, schema: Any) -> Compiled:
        items = self._compiled(schema.getValueSchema())

        def read(value: Any) -> list[Any]:
            if not isinstance(value, self._list):
                msg = f"is a {_class(value)}, and its schema says array"
                raise Unfit(msg)
            return [_within(f"[{index}]", items.read, each) for index, each in enumerate(value)]

        return Compiled(_of_many(schema, Type.ARRAY, items=items.schema), read)

    def _of_map(self, schema: Any) -> Compiled:
        keys, items = self._compiled(schema.getKeySchema()), self._compiled(schema.getValueSchema())

        def read(value: Any) -> dict[Any, Any]:
            if not isinstance(value, self._map):
                msg = f"is a {_class(value)}, and its schema says map"
                raise Unfit(msg)
            return {keys.read(each.getKey()): _within(str(each.getKey()), items.read, each.getValue()) for each in value.entrySet()}

        return Compiled(_of_many(schema, Type.MAP, items=items.schema, keys=keys.schema), read)

    def _plain(self, value: Any) -> Any:
        """A value without a schema."""
        if value is None:
            return None
        for kind, convert in self._free:
            if isinstance(value, kind):
                return convert(value)
        msg = f"is a {_class(value)}, which has no counterpart here: give it a schema, or another type"
        raise Unfit(msg)

    def _plain_map(self, value: Any) -> dict[str, Any]:
        for key in value.keySet():
            if not isinstance(key, self._string):
                msg = f"has a key that is {_named(key)}, and keys of a map without a schema are text"
                raise Unfit(msg)
        return {str(each.getKey()): _within(str(each.getKey()), self._plain, each.getValue()) for each in value.entrySet()}

    def _plain_list(self, value: Any) -> list[Any]:
        return [_within(f"[{index}]", self._plain, each) for index, each in enumerate(value)]

    def _read_bytes(self, value: Any) -> bytes:
        if isinstance(value, self._buffer):
            view = value.duplicate()
            value = self._bytes(int(view.remaining()))
            view.get(value)
        elif not isinstance(value, self._bytes):
            msg = f"is a {_class(value)}, and its schema says bytes"
            raise Unfit(msg)
        return bytes(value)


_INSTANT = Schema(Type.TIMESTAMP, unit=Unit.MILLISECONDS, zone=True)


def _nullable(made: Compiled) -> Read:
    schema, read = made

    def whole(value: Any) -> Any:
        if value is None:
            if schema.default is None and not schema.optional:
                msg = "is null, and its schema does not allow that"
                raise Unfit(msg)
            # As RocketMQ Connect reads a struct.
            return schema.default
        try:
            return read(value)
        except Unfit:
            raise
        except (RecordError, ValueError, ArithmeticError) as error:
            msg = f"has a value that can't be read: {error}"
            raise Unfit(msg) from error

    return whole


def _said(schema: Any) -> dict[str, Any]:
    """What a schema of Java says of itself, as JSON has it."""
    name, version, doc, parameters = schema.getName(), schema.getVersion(), schema.getDoc(), schema.getParameters()
    return {
        "optional": bool(schema.isOptional()),
        "name": None if name is None else str(name),
        "version": None if version is None else int(version),
        "doc": None if doc is None else str(doc),
        "parameters": {str(each.getKey()): str(each.getValue()) for each in parameters.entrySet()} if parameters else {},
    }


def _of_many(schema: Any, kind: Type, **parts: Any) -> Schema:
    if schema.getDefaultValue() is not None:
        msg = f"has a default, which a {kind.value} can't have here"
        raise Unfit(msg)
    said = _said(schema)
    texts: dict[str, Any] = {
        "name": said["name"] or "",
        "doc": said["doc"] or "",
        "parameters": tuple(sorted(said["parameters"].items())),
    }
    return Schema(kind, optional=said["optional"], version=said["version"], **texts, **parts)


def _counted(ours: Schema, milliseconds: int) -> int:
    """What a java.util.Date stands for, counted as the type is."""
    if ours.type is not Type.DATE:
        return milliseconds
    days, rest = divmod(milliseconds, _DAY)
    if rest:
        msg = f"has a time of the day, {rest} ms behind midnight in UTC, and its schema says date"
        raise Unfit(msg)
    return days


def _within(name: str, read: Read, value: Any) -> Any:
    try:
        return read(value)
    except Unfit as error:
        raise error.within(name) from error


def _other(value: Any, ours: Schema) -> Unfit:
    return Unfit(f"is a {_class(value)}, and its schema says {ours.type.value}")


def _named(value: Any) -> str:
    return "null" if value is None else f"a {_class(value)}"


def _class(value: Any) -> str:
    return str(value.getClass().getName())
