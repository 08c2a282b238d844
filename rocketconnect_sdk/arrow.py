"""Values and schemas as Arrow has them."""

import json
from collections.abc import Sequence

import pyarrow as pa

from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.schema import DATE, DECIMAL, TIMESTAMP, Field, Schema, Type, decimal

_PLAIN = {
    Type.BOOLEAN: pa.bool_(),
    Type.INT8: pa.int8(),
    Type.INT16: pa.int16(),
    Type.INT32: pa.int32(),
    Type.INT64: pa.int64(),
    Type.FLOAT32: pa.float32(),
    Type.FLOAT64: pa.float64(),
    Type.STRING: pa.string(),
    Type.BYTES: pa.binary(),
}
_DIGITS = 38
_BACK = {arrow: plain for plain, arrow in _PLAIN.items()} | {pa.large_string(): Type.STRING, pa.large_binary(): Type.BYTES}


_LOGICAL = {
    DATE: (Type.INT32, pa.date32()),
    TIMESTAMP: (Type.INT64, pa.timestamp("ms", "UTC")),
}


def to_arrow_type(schema: Schema) -> pa.DataType:
    """The Arrow type of values of a schema.

    Raises:
        RecordError: the schema does not say what it is made of, or of decimals with more digits than Arrow has.
    """
    if schema.name in _LOGICAL:
        return _LOGICAL[schema.name][1]
    if schema.name == DECIMAL:
        scale = dict(schema.parameters).get("scale", "0")
        if not scale.isdecimal() or int(scale) > _DIGITS:
            msg = f"the schema of a decimal has the scale {scale[:20]!r}, and only 0 to {_DIGITS} can be written"
            raise RecordError(msg)
        return pa.decimal128(_DIGITS, int(scale))
    match schema.type:
        case Type.STRUCT:
            return pa.struct([pa.field(field.name, to_arrow_type(field.schema), field.schema.optional) for field in schema.fields])
        case Type.ARRAY:
            return pa.list_(to_arrow_type(_part(schema.items)))
        case Type.MAP:
            return pa.map_(to_arrow_type(_part(schema.keys)), to_arrow_type(_part(schema.items)))
        case plain:
            return _PLAIN[plain]


def from_arrow_type(arrow: pa.DataType, *, optional: bool = True) -> Schema:
    """The schema of an Arrow type.

    Raises:
        TypeError: values of this type have no schema here.
    """
    if arrow in _BACK:
        return Schema(_BACK[arrow], optional=optional)
    for name, (kind, logical) in _LOGICAL.items():
        if arrow == logical:
            return Schema(kind, optional=optional, name=name, version=1)
    if pa.types.is_decimal128(arrow):
        return decimal(arrow.scale, optional=optional)
    if pa.types.is_struct(arrow):
        fields = tuple(Field(field.name, from_arrow_type(field.type, optional=field.nullable)) for field in arrow)
        return Schema(Type.STRUCT, optional=optional, fields=fields)
    if pa.types.is_map(arrow):
        keys, items = from_arrow_type(arrow.key_type, optional=False), from_arrow_type(arrow.item_type)
        return Schema(Type.MAP, optional=optional, keys=keys, items=items)
    if pa.types.is_list(arrow) or pa.types.is_large_list(arrow):
        return Schema(Type.ARRAY, optional=optional, items=from_arrow_type(arrow.value_type))
    msg = f"the Arrow type {arrow} has no schema: cast it to one of {', '.join(map(str, _PLAIN.values()))}, a struct, list or map"
    raise TypeError(msg)


def to_array(values: Sequence[object], schema: Schema | None) -> pa.Array:
    """Values as one Arrow array. Without a schema: what Arrow has for them when all are of one plain type, else JSON as text.

    Raises:
        RecordError: a value does not fit the schema.
    """
    try:
        if schema is not None:
            return pa.array(values, to_arrow_type(schema))
        kinds = set(map(type, values)) - {type(None)}
        if not kinds:
            return pa.nulls(len(values), pa.string())
        if len(kinds) == 1 and kinds <= {str, bytes, int, float, bool}:
            return pa.array(values)
        return pa.array([None if value is None else json.dumps(value, ensure_ascii=False, default=repr) for value in values])
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        msg = f"a value does not fit its schema: {error}"
        raise RecordError(msg) from error


def _part(schema: Schema | None) -> Schema:
    if schema is None:
        msg = "the schema of an array needs items, that of a map keys and items"
        raise RecordError(msg)
    return schema
