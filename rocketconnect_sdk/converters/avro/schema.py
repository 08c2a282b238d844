"""Schemas as Avro has them, for the registry. They are read back in avro_form."""

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from rocketconnect_sdk.columns.declared import type_name
from rocketconnect_sdk.converters.avro import names
from rocketconnect_sdk.converters.counts import (
    count_of_time,
    count_of_timestamp,
    days_of,
    decimal_bytes,
    unscaled,
)
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.schema import Default, Schema, Type

_DEEPEST = 100
_PLAIN_KEYS = Schema(Type.STRING)


def to_avro(schema: Schema) -> str:
    """The text of the Avro schema of a schema.

    Raises:
        RecordError: it has none.
    """
    try:
        text = json.dumps(_Writer().form(schema, names.ROOT, 0), ensure_ascii=False, separators=(",", ":"))
        text.encode()
    except UnicodeEncodeError:
        msg = "a name or text of the schema is no Unicode text, and Avro's schemas are"
        raise RecordError(msg) from None
    return text


class _Writer:
    """Writes one schema. A record that comes again in the same form is written as its name."""

    def __init__(self) -> None:
        self._records: dict[str, Schema] = {}

    def form(self, schema: Schema, place: str, depth: int) -> Any:
        """The form of a schema.

        Args:
            schema: It.
            place: What a record without a name is called there.
            depth: How deep it stands.
        """
        if depth > _DEEPEST:
            msg = f"a schema of more than {_DEEPEST} types in each other"
            raise RecordError(msg)
        form = self._required(schema, place, depth)
        if not schema.optional:
            return form
        # The default of a union is one of its first type.
        return ["null", form] if schema.default is None else [form, "null"]

    def _required(self, schema: Schema, place: str, depth: int) -> Any:
        match schema.type:
            case Type.STRUCT:
                return self._record(schema, place, depth)
            case Type.ARRAY:
                items = self.form(_part(schema.items), place, depth + 1)
                return _with_properties({"type": "array", "items": items}, schema)
            case Type.MAP if _part(schema.keys) == _PLAIN_KEYS:
                values = self.form(_part(schema.items), place, depth + 1)
                return _with_properties({"type": "map", "values": values}, schema)
            case Type.MAP:
                return _with_properties({"type": "array", "items": self._entry(schema, place, depth)}, schema)
        form = _with_properties({"type": _physical(schema)}, schema)
        return form["type"] if len(form) == 1 else form

    def _record(self, schema: Schema, place: str, depth: int) -> Any:
        wanted = schema.name or place
        full_name = wanted if names.is_legal(wanted) else ".".join(map(names.legal, wanted.split(".")))
        # A name without a namespace has that of the record around it.
        around = "" if place == names.ROOT else place.rpartition(".")[0]
        full_name = full_name if "." in full_name or not around else f"{around}.{full_name}"
        plain = replace(schema, optional=False)
        number = 1
        while self._records.get(unique := full_name if number == 1 else f"{full_name}_{number}", plain) != plain:
            number += 1
        if unique in self._records:
            return unique
        self._records[unique] = plain
        taken: set[str] = set()
        fields = []
        for field in schema.fields:
            avro = _unique(field.name if names.is_legal(field.name) and "." not in field.name else names.legal(field.name), taken)
            fields.append(self._field(field.name, avro, field.schema, f"{unique}_{avro}", depth))
        namespace, _, name = unique.rpartition(".")
        form = {"type": "record", "name": name, **({"namespace": namespace} if namespace else {})}
        form |= {} if schema.name else {names.OWN_NAME: ""}
        return _with_properties({**form, **({"doc": schema.doc} if schema.doc else {}), "fields": fields}, schema)

    def _field(self, name: str, avro: str, schema: Schema, place: str, depth: int) -> dict[str, object]:
        form: dict[str, object] = {"name": avro, "type": self.form(schema, place, depth + 1)}
        if schema.doc:
            form["doc"] = schema.doc
        if schema.default is not None:
            form["default"] = default_form(schema)
        elif schema.optional:
            form["default"] = None
        return form if avro == name else {**form, names.OWN_NAME: name}

    def _entry(self, schema: Schema, place: str, depth: int) -> dict[str, object]:
        """The record that an entry of a map is, whose keys are not plain text."""
        namespace, _, name = _unique(f"{place}_entry", set(self._records)).rpartition(".")
        full_name = f"{namespace}.{name}" if namespace else name
        self._records[full_name] = schema  # a map, so no record is equal to it
        fields = [
            {"name": part, "type": self.form(_part(of), f"{full_name}_{part}", depth + 2)}
            for part, of in (("key", schema.keys), ("value", schema.items))
        ]
        form = {"type": "record", "name": name, "namespace": namespace} if namespace else {"type": "record", "name": name}
        return {**form, "fields": fields, names.INTERNAL: names.ENTRY}


def default_form(schema: Schema) -> object:
    """What stands in JSON for the default of a schema.

    Raises:
        RecordError: nothing does.
    """
    value: Default = schema.default
    physical = _PHYSICAL.get(schema.type)
    if physical is not None:
        found = physical(schema, value)
        return found.decode("latin-1") if isinstance(found, bytes) else found
    if isinstance(value, bytes) and schema.type is Type.BYTES:
        return value.decode("latin-1")
    if isinstance(value, float) and not math.isfinite(value):
        msg = f"the default {value} cannot stand in an Avro schema, which is JSON"
        raise RecordError(msg)
    if not isinstance(value, (bool, int, float, str)):
        msg = f"a {type(value).__name__} is no default of a {type_name(schema)}"
        raise RecordError(msg)
    return value


def _physical(schema: Schema) -> str:
    if schema.type in (Type.DECIMAL, Type.UINT64):
        return "bytes"
    place = names.place_of(schema)
    return names.PLAIN[schema.type] if place is None else names.TYPES[place][0]


def _with_properties(form: dict[str, Any], schema: Schema) -> dict[str, Any]:
    """A form with what Avro has no word for."""
    parameters: dict[str, str] = {}
    own_name, own_version = names.NAME, names.VERSION
    match schema.type:
        case Type.DECIMAL:
            form |= names.decimal_properties(schema)
            parameters = names.decimal_parameters(schema)
        case Type.UINT64:
            form |= names.decimal_properties(names.UINT64)
            parameters = {**names.decimal_parameters(names.UINT64), names.KIND: "uint64"}
        case Type.UINT8 | Type.UINT16 | Type.UINT32:
            parameters = {names.KIND: schema.type.value}
        case _ if (place := names.place_of(schema)) is not None:
            _, logical, name = names.TYPES[place]
            form |= {**({"logicalType": logical} if logical else {}), **({names.NAME: name, names.VERSION: 1} if name else {})}
    if schema.type in (Type.INT8, Type.INT16, Type.UINT8):
        form[names.CONNECT_TYPE] = "int8" if schema.type is Type.INT8 else "int16"
    if names.NAME in form:
        own_name, own_version = names.OWN_NAME, names.OWN_VERSION
    parameters |= dict(schema.parameters)
    found: Mapping[str, object] = {
        own_name: schema.name or None,
        own_version: schema.version,
        names.DOC: schema.doc or None,
        names.PARAMETERS: parameters or None,
        names.DEFAULT: None if schema.default is None else default_form(schema),
    }
    return form | {key: value for key, value in found.items() if value is not None}


def _unique(name: str, taken: set[str]) -> str:
    number = 1
    while (found := name if number == 1 else f"{name}_{number}") in taken:
        number += 1
    taken.add(found)
    return found


def _part(schema: Schema | None) -> Schema:
    if schema is None:
        msg = "the schema of an array needs items, that of a map keys and items"
        raise RecordError(msg)
    return schema


_PHYSICAL: Mapping[Type, Callable[[Schema, Any], int | str | bytes]] = {
    Type.DECIMAL: lambda schema, value: decimal_bytes(unscaled(value, schema)),
    Type.UINT64: lambda _, value: decimal_bytes(unscaled(value, names.UINT64)),
    Type.DATE: lambda _, value: days_of(value),
    Type.TIME: lambda schema, value: count_of_time(value, schema.unit),
    Type.TIMESTAMP: lambda schema, value: count_of_timestamp(value, schema),
    Type.UUID: lambda _, value: str(value),
}
"""What stands for the values of a type that differ in Avro."""
