"""Values of one of several types in JSON: a struct with a field for each type, as Confluent's converter for Kafka Connect has them.

In JSON stands the value alone. Which type is meant is found by trying all of them.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, TypeVar

import jsonschema_rs
import msgspec

from rocketconnect_sdk.columns.declared import type_name
from rocketconnect_sdk.converters.json.reading import NotJson, value_of
from rocketconnect_sdk.converters.json.values import Values
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.schema import WHOLE, Field, Schema, Type

UNION = "io.confluent.connect.json.OneOf"
"""The name of the struct; those of its fields are made of it."""

VALUES = "rocketconnect.json.values"
"""The parameter that says, as JSON Schema, which values of its type a part has: const, enum, pattern."""

_OBJECT, _LIST = msgspec.json.Decoder(dict[str, msgspec.Raw]), msgspec.json.Decoder(list[msgspec.Raw])
_T = TypeVar("_T")
_FLOATS = (Type.FLOAT32, Type.FLOAT64)
_name = msgspec.json.Encoder().encode


def union_of(branches: Sequence[Schema], *, optional: bool) -> Schema:
    """The struct that stands for values of one of several types."""
    fields = [Field(f"{UNION}.field.{index}", replace(branch, optional=True)) for index, branch in enumerate(branches)]
    return Schema(Type.STRUCT, optional=optional, name=UNION, fields=tuple(fields))


def is_union(schema: Schema) -> bool:
    """Whether a schema is one of union_of."""
    names = [field.name for field in schema.fields]
    return schema.type is Type.STRUCT and schema.name == UNION and names == [f"{UNION}.field.{n}" for n in range(len(names))]


@lru_cache(maxsize=256)
def has_unions(schema: Schema) -> bool:
    """Whether one is among its parts."""
    inner = [*(field.schema for field in schema.fields), *(part for part in (schema.items, schema.keys) if part is not None)]
    return is_union(schema) or any(map(has_unions, inner))


def with_fields(schema: Schema, text: bytes) -> bytes:
    """JSON of a value, with the field of its type around each value of one of several types.

    Args:
        schema: Whose maps have keys that are plain text.
        text: The JSON. What does not fit the schema otherwise stays what it is.

    Raises:
        RecordError: it is no JSON, an object has a name twice, or a value is of none of its types, or of more than one.
    """
    try:
        value_of(text)
        return _changed(schema, text.strip(), _with_field)
    except (NotJson, msgspec.MsgspecError, ValueError, RecursionError) as error:
        msg = f"the JSON cannot be read: {str(error)[:500]}"
        raise RecordError(msg) from None


def without_fields(schema: Schema, text: bytes) -> bytes:
    """The opposite.

    Raises:
        RecordError: of the fields of a union not one is given, or what is given would be read as another one.
    """
    return _changed(schema, text, _without_field)


def _changed(schema: Schema, text: bytes, change: Callable[[Schema, bytes], bytes]) -> bytes:
    if text == b"null" or not has_unions(schema):
        return text
    if is_union(schema):
        return change(schema, text)
    if schema.type is Type.ARRAY and schema.items is not None:
        of_item = schema.items
        items = _parts(_LIST, text)
        return text if items is None else b"[%b]" % b",".join(_changed(of_item, bytes(item), change) for item in items)
    values = _parts(_OBJECT, text)
    if values is None:
        return text
    schemas = {field.name: field.schema for field in schema.fields}
    return _object({name: _in_object(schemas.get(name, schema.items), bytes(raw), change) for name, raw in values.items()})


def _in_object(schema: Schema | None, text: bytes, change: Callable[[Schema, bytes], bytes]) -> bytes:
    return text if schema is None else _changed(schema, text, change)


def _parts(decoder: "msgspec.json.Decoder[_T]", text: bytes) -> _T | None:
    try:
        return decoder.decode(text)
    except msgspec.ValidationError:
        return None  # of another type: whoever reads it by its schema says so


def _object(values: Mapping[str, bytes]) -> bytes:
    return b"{%b}" % b",".join(b"%b:%b" % (_name(name), value) for name, value in values.items())


def _with_field(union: Schema, text: bytes) -> bytes:
    field, changed = _meant(union, text)
    return _object({field.name: changed})


def _without_field(union: Schema, text: bytes) -> bytes:
    given = {name: raw for name, raw in ((name, bytes(raw)) for name, raw in _OBJECT.decode(text).items()) if raw != b"null"}
    if len(given) != 1:
        msg = f"of one of several types ({_shown(union.fields)}) exactly one is to be given, not {len(given)}"
        raise RecordError(msg)
    ((name, raw),) = given.items()
    field = next(field for field in union.fields if field.name == name)
    found = _changed(field.schema, raw, _without_field)
    meant, _ = _meant(union, found)
    if meant is not field:
        msg = f"a value of the type {_shown([field])} would be read as one of the type {_shown([meant])}: {found[:100]!r}"
        raise RecordError(msg)
    return found


def _meant(union: Schema, text: bytes) -> tuple[Field, bytes]:
    """The field whose type a value has, and its JSON."""
    takers = [(field, changed) for field in union.fields if (changed := _taken(field.schema, text)) is not None]
    if text.startswith(b'"') and len(takers) > 1:
        # "NaN" is a text where texts may be.
        takers = [each for each in takers if each[0].schema.type not in _FLOATS]
    if len(takers) > 1 and all(field.schema.type in (*WHOLE, *_FLOATS) for field, _ in takers):
        kinds: Collection[Type] = _FLOATS if set(text) & set(b".eE") else WHOLE
        return next((each for each in takers if each[0].schema.type in kinds), takers[0])
    if len(takers) != 1:
        fits = f"fits more than one of the types: {_shown([field for field, _ in takers])}" if takers else "fits none of the types"
        shown = text[:100].decode(errors="replace")
        msg = f"{shown} is to be of one of several types ({_shown(union.fields)}), and {fits}"
        raise RecordError(msg)
    return takers[0]


def _taken(schema: Schema, text: bytes) -> bytes | None:
    """The JSON of a value of this schema; None: it is none."""
    try:
        changed = _changed(schema, text, _with_field)
        found = _values(schema).decode(changed)
    except RecordError:
        return None
    return None if found is None or not _is_said(schema, found) else changed


def check_values(text: str) -> None:
    """Raises RecordError: it is none of what VALUES says."""
    try:
        _validator(text)
    except (jsonschema_rs.ValidationError, msgspec.MsgspecError, ValueError) as error:
        msg = f"{text[:100]} does not say which values there are: {str(error)[:300]}"
        raise RecordError(msg) from None


def _is_said(schema: Schema, value: Any) -> bool:
    """Whether each part of a value is one of those that its schema says."""
    if value is None:
        return True
    text = next((said for name, said in schema.parameters if name == VALUES), None)
    if text is not None:
        return bool(_validator(text).is_valid(value))
    if schema.type is Type.STRUCT:
        return all(_is_said(field.schema, value[field.name]) for field in schema.fields)
    if schema.items is not None:
        items, of_item = value.values() if isinstance(value, Mapping) else value, schema.items
        return all(_is_said(of_item, item) for item in items)
    return True


@lru_cache(maxsize=256)
def _validator(text: str) -> Any:
    return jsonschema_rs.validator_for(msgspec.json.decode(text))


@lru_cache(maxsize=256)
def _values(schema: Schema) -> Values:
    return Values(schema)


def _shown(fields: Sequence[Field]) -> str:
    kinds = (type_name(field.schema) + (f" {field.schema.name}" if field.schema.name else "") for field in fields)
    return ", ".join(kinds)[:300]
