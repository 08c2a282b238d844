"""Schemas and values of ours as RocketMQ Connect has them, for its sinks."""

from collections.abc import Callable, Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any

from connectors.rocketmq_connect.api import PACKAGE, PluginJava
from connectors.rocketmq_connect.maps import whole
from connectors.rocketmq_connect.unfit import Unfit
from rocketconnect_sdk.converters.json import types
from rocketconnect_sdk.converters.json.schema import to_json
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.schema import BYTES, STRING, Schema, Type, Unit

_LOGICAL = f"{PACKAGE}data.logical."
_TYPES = {"float": "FLOAT32", "double": "FLOAT64"}
_BOXES = {"int8": "Byte", "int16": "Short", "int32": "Integer", "int64": "Long", "float": "Float", "double": "Double"}
_DAY = 86_400_000
_INSTANT = Schema(Type.TIMESTAMP, unit=Unit.MILLISECONDS, zone=True)


class Writer:
    """Writes what one plugin gets."""

    def __init__(self, java: PluginJava) -> None:
        self._java = java
        self._schemas: dict[Schema, Any] = {}

    def value(self, schema: Schema | None, value: Any) -> tuple[Any, Any]:
        """The schema and the value in Java. Text and bytes without a schema have the one that they can have alone.

        Raises:
            Unfit: Java has no such value; names the field.
        """
        if schema is None:
            schema = STRING if isinstance(value, str) else BYTES if isinstance(value, bytes) else None
        try:
            if schema is None:
                return None, self._plain(value)
            return self._schema(schema), None if value is None else self._typed(schema, value)
        except Unfit:
            raise
        except (RecordError, ValueError, TypeError, ArithmeticError, AttributeError) as error:
            msg = f"can't be given to Java: {error}"
            raise Unfit(msg) from error

    def _schema(self, schema: Schema) -> Any:
        known = self._schemas.get(schema)
        if known is None:
            known = self._schemas[schema] = self._made(schema)
        return known

    def _made(self, schema: Schema) -> Any:
        form, java = to_json(schema), self._java
        fields = java.known("java.util.ArrayList")()
        for index, field in enumerate(schema.fields):
            fields.add(java.api("data.Field")(index, field.name, self._schema(field.schema)))
        parameters = java.known("java.util.HashMap")()
        for key, text in form.get("parameters", {}).items():
            parameters.put(java.jpype.JString(key), java.jpype.JString(text))
        kind = java.api("data.FieldType").valueOf(_TYPES.get(form["type"], form["type"].upper()))
        version = form.get("version")
        return java.api("data.Schema")(
            form.get("name"),
            kind,
            schema.optional,
            None if schema.default is None else self._typed(schema, schema.default),
            None if version is None else java.known("java.lang.Integer")(version),
            form.get("doc"),
            fields,
            self._schema(schema.keys) if schema.keys is not None else None,
            self._schema(schema.items) if schema.items is not None else None,
            parameters,
        )

    def _typed(self, schema: Schema, value: Any) -> Any:
        java = self._java
        if schema.type is Type.STRUCT:
            return self._struct(schema, value)
        if schema.type is Type.ARRAY and schema.items is not None:
            return self._list([self._nullable(schema.items, each, f"[{index}]") for index, each in enumerate(value)])
        if schema.type is Type.MAP and schema.keys is not None and schema.items is not None:
            made = java.known("java.util.LinkedHashMap")()
            for key, each in value.items():
                made.put(self._typed(schema.keys, key), self._nullable(schema.items, each, str(key)))
            return made
        if schema.type in (Type.DECIMAL, Type.UINT64):
            number = value if isinstance(value, int) else types.decimal_number(schema, value)
            return java.known("java.math.BigDecimal")(str(number)).setScale(schema.scale)
        form = types.form_of(schema)
        if form is not None and form.name.startswith(_LOGICAL):
            count = types.written(schema, value)
            return java.known("java.util.Date")(count * _DAY if schema.type is Type.DATE else count)
        word = form.type if form is not None else _word(schema)
        return self._one(word, types.written(schema, value) if types.differs(schema) else value)

    def _one(self, word: str, value: Any) -> Any:
        java = self._java
        if word == "bytes":
            return java.jpype.JArray(java.jpype.JByte)(bytes(value))
        if word == "string":
            return java.jpype.JString(str(value))
        if word == "boolean":
            return java.known("java.lang.Boolean").valueOf(bool(value))
        return java.known(f"java.lang.{_BOXES[word]}")(value)

    def _struct(self, schema: Schema, value: Mapping[str, Any]) -> Any:
        java = self._java
        values = [self._nullable(field.schema, value.get(field.name), field.name) for field in schema.fields]
        made = java.api("data.Struct")(self._schema(schema))
        made.setValues(java.jpype.JArray(java.jpype.JObject)(values))
        return made

    def _nullable(self, schema: Schema, value: Any, name: str) -> Any:
        """What is in a field, a list or a map."""
        try:
            if value is None:
                return _null(schema)
            return self._typed(schema, value)
        except Unfit as error:
            raise error.within(name) from error
        except (RecordError, ValueError, TypeError, ArithmeticError, AttributeError) as error:
            msg = f"can't be given to Java: {error}"
            raise Unfit(msg, (name,)) from error

    def _list(self, values: list[Any]) -> Any:
        made = self._java.known("java.util.ArrayList")()
        for each in values:
            made.add(each)
        return made

    def _plain(self, value: Any) -> Any:
        """A value without a schema, as RocketMQ Connect's JsonConverter gives it."""
        java = self._java
        if value is None:
            return None
        if isinstance(value, Mapping):
            made = java.known("java.util.LinkedHashMap")()
            for key, each in value.items():
                made.put(java.jpype.JString(str(key)), self._plain(each))
            return made
        if isinstance(value, list | tuple):
            return self._list([self._plain(each) for each in value])
        for kind, write in self._kinds:
            if isinstance(value, kind):
                return write(value)
        msg = f"is a {type(value).__name__} without a schema, which Java can't be given: use a converter with schemas"
        raise Unfit(msg)

    @property
    def _kinds(self) -> tuple[tuple[type, Callable[[Any], Any]], ...]:
        java = self._java
        return (
            (bool, java.known("java.lang.Boolean").valueOf),
            (int, lambda value: whole(java, value)),
            (float, java.known("java.lang.Double")),
            (str, java.jpype.JString),
            (bytes, lambda value: self._one("bytes", value)),
            (Decimal, lambda value: java.known("java.math.BigDecimal")(str(value))),
            (datetime, lambda value: java.known("java.util.Date")(types.written(_INSTANT, value))),
        )


def _null(schema: Schema) -> None:
    if schema.default is None and not schema.optional:
        msg = "is null, and its schema does not allow that"
        raise Unfit(msg)


def _word(schema: Schema) -> str:
    return {Type.FLOAT32: "float", Type.FLOAT64: "double", Type.JSON: "string"}.get(schema.type, schema.type.value)
