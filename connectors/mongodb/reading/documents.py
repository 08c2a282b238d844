"""Documents as they come from the server, and as they stand in records. Pure."""

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from functools import partial
from typing import Any

import bson
from bson.binary import UUID_SUBTYPE, Binary, UuidRepresentation
from bson.codec_options import CodecOptions, DatetimeConversion
from bson.decimal128 import Decimal128
from bson.errors import InvalidBSON
from bson.int64 import Int64
from bson.json_util import CANONICAL_JSON_OPTIONS, RELAXED_JSON_OPTIONS, JSONMode, JSONOptions
from bson.json_util import dumps as _dumps
from bson.objectid import ObjectId

from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.schema import DIGITS, Field, Schema, Type, Unit, decimal, timestamp

EXACT: CodecOptions[dict[str, Any]] = CodecOptions(tz_aware=True, tzinfo=UTC, datetime_conversion=DatetimeConversion.DATETIME_AUTO)
"""Nothing is lost: UUIDs stay binaries of their subtype, and dates may lie beyond Python's."""
_LENIENT: CodecOptions[dict[str, Any]] = EXACT.with_options(unicode_decode_error_handler="backslashreplace")
_JSON = Schema(Type.JSON, optional=True)
_WIDER = (Type.INT32, Type.INT64)


def decoded(data: bytes) -> tuple[dict[str, Any], str]:
    """A document, and what is wrong with its texts; empty: nothing.

    Raises:
        InvalidBSON: it is none.
    """
    try:
        return bson.decode(data, EXACT), ""
    except InvalidBSON as error:
        return bson.decode(data, _LENIENT), str(error)


def extended(value: object) -> str:
    """As MongoDB's extended JSON in its canonical form, in which every type is told."""
    return str(_dumps(value, json_options=_CANONICAL, separators=(",", ":"), ensure_ascii=False))


def relaxed(value: object) -> str:
    """The same in its relaxed form: numbers are numbers, whose types are not told."""
    return str(_dumps(value, json_options=_RELAXED, separators=(",", ":"), ensure_ascii=False))


def _options(given: JSONOptions, mode: int) -> JSONOptions:
    return JSONOptions(
        strict_number_long=given.strict_number_long,
        datetime_representation=given.datetime_representation,
        json_mode=mode,
        tz_aware=True,
        tzinfo=UTC,
        datetime_conversion=DatetimeConversion.DATETIME_AUTO,
    )


_CANONICAL = _options(CANONICAL_JSON_OPTIONS, JSONMode.CANONICAL)
_RELAXED = _options(RELAXED_JSON_OPTIONS, JSONMode.RELAXED)


def restored(text: str) -> Any:
    """What was written by `extended`.

    Raises:
        ValueError, TypeError, InvalidBSON: it was not.
    """
    return bson.json_util.loads(text, json_options=_CANONICAL)


def keyed(value: object) -> tuple[Schema, Any]:
    """An _id as a key: its relaxed extended JSON with a type."""
    return typed(json.loads(relaxed(value), parse_int=Int64))


def typed(value: Any) -> tuple[Schema, Any]:
    """A value with the type that it has here; of what has none its extended JSON.

    Fields that are null have no type, so they are left out. Values of an array whose types differ are extended JSON.

    Raises:
        RecordError: a decimal is no number.
    """
    if isinstance(value, Mapping):
        return _struct(value)
    if isinstance(value, list | tuple):
        return _array(value)
    for kind, schema, make in _KINDS:
        if isinstance(value, kind):
            return schema, make(value)
    make_more = _decimal if isinstance(value, Decimal128) else _binary if isinstance(value, bytes) else _json
    return make_more(value)


def _json(value: object) -> tuple[Schema, Any]:
    return _JSON, extended(value)


def _binary(value: bytes) -> tuple[Schema, Any]:
    if isinstance(value, Binary) and value.subtype == UUID_SUBTYPE:
        return _plain(Type.UUID), value.as_uuid(UuidRepresentation.STANDARD)
    return _plain(Type.BYTES), bytes(value)


def _struct(document: Mapping[str, Any]) -> tuple[Schema, Any]:
    pairs = {name: typed(each) for name, each in document.items() if each is not None}
    fields = tuple(Field(name, schema) for name, (schema, _) in pairs.items())
    if not fields:
        return _json(document)
    return Schema(Type.STRUCT, optional=True, fields=fields), {name: each for name, (_, each) in pairs.items()}


def _array(values: Sequence[Any]) -> tuple[Schema, Any]:
    made = [typed(each) for each in values if each is not None]
    kinds = {schema.type for schema, _ in made}
    items = None
    if len({schema for schema, _ in made}) == 1:
        items = made[0][0]
    elif kinds == {Type.STRUCT}:
        items = _joined([schema for schema, _ in made])
    elif kinds == set(_WIDER):
        items = Schema(Type.INT64, optional=True)
    if items is None:
        return _json(values)
    left = iter(made)
    found = [None if each is None else next(left)[1] for each in values]
    if items.type is Type.STRUCT:
        names = [field.name for field in items.fields]
        found = [None if each is None else {name: each.get(name) for name in names} for each in found]
    return Schema(Type.ARRAY, optional=True, items=items), found


def _joined(schemas: Sequence[Schema]) -> Schema | None:
    """Of structs one that has all fields; None: two say otherwise of one."""
    fields: dict[str, Schema] = {}
    for schema in schemas:
        for field in schema.fields:
            if fields.setdefault(field.name, field.schema) != field.schema:
                return None
    return Schema(Type.STRUCT, optional=True, fields=tuple(Field(*each) for each in fields.items()))


def _decimal(value: Decimal128) -> tuple[Schema, Any]:
    exact = value.to_decimal()
    if not exact.is_finite():
        msg = f"a decimal of the document is {exact}, which is no number: set document.form=extended"
        raise RecordError(msg)
    _, digits, exponent = exact.as_tuple()
    scale = max(0, -int(exponent))
    most = max(len(digits) + max(0, int(exponent)), scale, 1)
    if most > DIGITS:
        return _json(value)
    return decimal(scale, precision=most, optional=True), Decimal(int(exact)) if int(exponent) > 0 else exact


def _plain(kind: Type) -> Schema:
    return Schema(kind, optional=True)


_KINDS: Sequence[tuple[type, Schema, Callable[[Any], Any]]] = (
    (bool, _plain(Type.BOOLEAN), bool),
    (Int64, _plain(Type.INT64), int),
    (int, _plain(Type.INT32), int),
    (float, _plain(Type.FLOAT64), float),
    (str, _plain(Type.STRING), str),
    (ObjectId, _plain(Type.STRING), str),
    (datetime, timestamp(Unit.MILLISECONDS, optional=True), partial(datetime.astimezone, tz=UTC)),
)
