"""Types as Arrow has them: a schema's Arrow type and back, exactly. Names, versions, docs and defaults are not in Arrow's types."""

from collections.abc import Callable
from functools import lru_cache

import pyarrow as pa
import pyarrow.compute as pc

from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.schema import DIGITS, MOST_DIGITS, Field, Schema, Type, Unit, decimal, timestamp

_PLAIN = {
    Type.BOOLEAN: pa.bool_(),
    Type.INT8: pa.int8(),
    Type.INT16: pa.int16(),
    Type.INT32: pa.int32(),
    Type.INT64: pa.int64(),
    Type.UINT8: pa.uint8(),
    Type.UINT16: pa.uint16(),
    Type.UINT32: pa.uint32(),
    Type.UINT64: pa.uint64(),
    Type.FLOAT32: pa.float32(),
    Type.FLOAT64: pa.float64(),
    Type.STRING: pa.string(),
    Type.BYTES: pa.binary(),
    Type.DATE: pa.date32(),
    Type.UUID: pa.uuid(),
    Type.JSON: pa.json_(),
}
_BACK = {arrow: plain for plain, arrow in _PLAIN.items()} | {pa.large_string(): Type.STRING, pa.large_binary(): Type.BYTES}
_BY_HAND = {Type.UUID: pa.binary(16), Type.JSON: pa.string()}


def to_arrow_type(schema: Schema) -> pa.DataType:
    """The Arrow type of values of a schema.

    Raises:
        RecordError: the schema does not say what it is made of, or of decimals with more digits than Arrow has.
    """
    return _made(schema, _leaf)


def by_hand_type(schema: Schema) -> pa.DataType:
    """The Arrow type that Python's values become without loss; a cast makes it that of the schema. A UUID is 16 bytes in it.

    Raises:
        RecordError: as to_arrow_type.
    """
    return _made(schema, _leaf_by_hand)


def recast(values: pa.Array, kind: pa.DataType) -> pa.Array:
    """Values as another type, part by part: within a null Arrow's own cast refuses parts that are null and must not be.

    Fields of structs are told by their names.

    Raises:
        pa.ArrowException: as cast.
    """
    if values.type == kind:
        return values
    mask = values.is_null() if values.null_count else None
    if pa.types.is_struct(kind) and pa.types.is_struct(values.type):
        parts = [recast(values.field(field.name), field.type) for field in kind]
        return pa.StructArray.from_arrays(parts, fields=list(kind), mask=mask)
    if pa.types.is_list(kind) and pa.types.is_list(values.type):
        first, last = values.offsets[0].as_py(), values.offsets[-1].as_py()
        items = recast(values.values[first:last], kind.value_type)
        return pa.ListArray.from_arrays(pc.subtract(values.offsets, first), items, type=kind, mask=mask)
    return values.cast(kind)


def from_arrow_type(arrow: pa.DataType, *, optional: bool = True) -> Schema:
    """The schema of an Arrow type.

    Raises:
        TypeError: values of this type have no schema here.
    """
    if pa.types.is_struct(arrow):
        names = [field.name for field in arrow]
        if len(set(names)) < len(names):
            msg = f"a table or struct has two fields of the same name: {', '.join(names)}"
            raise TypeError(msg)
        fields = tuple(Field(field.name, _of_field(field)) for field in arrow)
        return Schema(Type.STRUCT, optional=optional, fields=fields)
    if pa.types.is_map(arrow):
        keys, items = from_arrow_type(arrow.key_type, optional=False), _of_field(arrow.item_field)
        return Schema(Type.MAP, optional=optional, keys=keys, items=items)
    if pa.types.is_list(arrow) or pa.types.is_large_list(arrow):
        return Schema(Type.ARRAY, optional=optional, items=_of_field(arrow.value_field))
    return _from_leaf(arrow, optional=optional)


def _of_field(field: pa.Field) -> Schema:
    """The schema of a column or a part of a struct.

    Raises:
        TypeError: as from_arrow_type.
    """
    return from_arrow_type(field.type, optional=field.nullable)


def _part(schema: Schema | None) -> Schema:
    """What an array or map is made of.

    Raises:
        RecordError: it is not said.
    """
    if schema is None:
        msg = "the schema of an array needs items, that of a map keys and items"
        raise RecordError(msg)
    return schema


@lru_cache(maxsize=64)
def readable_type(kind: pa.DataType) -> pa.DataType:
    """The type to cast to before Python's values are made: nanoseconds are whole numbers there."""
    is_nanoseconds = (pa.types.is_timestamp(kind) or pa.types.is_time(kind)) and kind.unit == "ns"
    return pa.int64() if is_nanoseconds else inside(kind, readable_type)


def inside(kind: pa.DataType, change: Callable[[pa.DataType], pa.DataType]) -> pa.DataType:
    """A type with what it is made of changed."""
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(change(field.type)) for field in kind])
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(change(kind.value_type)))
    if pa.types.is_large_list(kind):
        return pa.large_list(kind.value_field.with_type(change(kind.value_type)))
    if pa.types.is_map(kind):
        return pa.map_(change(kind.key_type), kind.item_field.with_type(change(kind.item_type)))
    return kind


def _made(schema: Schema, leaf: Callable[[Schema], pa.DataType]) -> pa.DataType:
    def field(name: str, of: Schema) -> pa.Field:
        return pa.field(name, _made(of, leaf), of.optional)

    match schema.type:
        case Type.STRUCT:
            return pa.struct([field(each.name, each.schema) for each in schema.fields])
        case Type.ARRAY:
            return pa.list_(field("item", _part(schema.items)))
        case Type.MAP:
            return pa.map_(_made(_part(schema.keys), leaf), field("value", _part(schema.items)))
        case _:
            return leaf(schema)


def _leaf(schema: Schema) -> pa.DataType:
    match schema.type:
        case Type.DECIMAL:
            return _decimal_type(schema)
        case Type.TIME:
            return pa.time32("ms") if schema.unit is Unit.MILLISECONDS else pa.time64(schema.unit.value)
        case Type.TIMESTAMP:
            return pa.timestamp(schema.unit.value, "UTC" if schema.zone else None)
        case plain:
            return _PLAIN[plain]


def _leaf_by_hand(schema: Schema) -> pa.DataType:
    if schema.unit is Unit.MILLISECONDS and schema.type is Type.TIME:
        return pa.time64("us")
    if schema.unit is Unit.MILLISECONDS and schema.type is Type.TIMESTAMP:
        return pa.timestamp("us", "UTC" if schema.zone else None)
    return _BY_HAND.get(schema.type) or _leaf(schema)


def _decimal_type(schema: Schema) -> pa.DataType:
    if not 0 <= schema.scale <= schema.precision <= MOST_DIGITS:
        msg = (
            f"a decimal of {schema.precision} digits with {schema.scale} behind its point: "
            f"Arrow has those of at most {MOST_DIGITS} digits, of which none to all are behind the point"
        )
        raise RecordError(msg)
    return (pa.decimal128 if schema.precision <= DIGITS else pa.decimal256)(schema.precision, schema.scale)


def _from_leaf(arrow: pa.DataType, *, optional: bool) -> Schema:
    if arrow in _BACK:
        return Schema(_BACK[arrow], optional=optional)
    if pa.types.is_decimal(arrow) and 0 <= arrow.scale <= arrow.precision:
        return decimal(arrow.scale, precision=arrow.precision, optional=optional)
    if pa.types.is_time(arrow) and arrow.unit != "s":
        return Schema(Type.TIME, optional=optional, unit=Unit(arrow.unit))
    if pa.types.is_timestamp(arrow) and arrow.unit != "s":
        return timestamp(Unit(arrow.unit), zone=arrow.tz is not None, optional=optional)
    known = f"{', '.join(map(str, _PLAIN.values()))}, decimal, time or timestamp[ms to ns], a struct, list or map"
    msg = f"the Arrow type {arrow} has no schema: cast it to one of {known}"
    raise TypeError(msg)


def readable(values: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """The same values of a type whose elements Python has exactly: nanoseconds are whole numbers."""
    kind = readable_type(values.type)
    if isinstance(values, pa.ChunkedArray):
        return pa.chunked_array([recast(chunk, kind) for chunk in values.chunks], kind)
    return recast(values, kind)
