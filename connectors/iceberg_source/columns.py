"""The columns of a table of Iceberg as Arrow has them. Pure."""

from typing import Any

import pyarrow as pa
from pyiceberg.schema import Schema
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
    TimestampType,
    TimestamptzType,
    TimeType,
    UUIDType,
)

from connectors.lakes.reading.naming import NUMBER

_PLAIN: dict[type, pa.DataType] = {
    BooleanType: pa.bool_(),
    IntegerType: pa.int32(),
    LongType: pa.int64(),
    FloatType: pa.float32(),
    DoubleType: pa.float64(),
    DateType: pa.date32(),
    TimeType: pa.time64("us"),
    TimestampType: pa.timestamp("us"),
    TimestamptzType: pa.timestamp("us", "UTC"),
    StringType: pa.string(),
    BinaryType: pa.binary(),
    FixedType: pa.binary(),
    UUIDType: pa.uuid(),
}


class Unreadable(ValueError):
    """A column has a type that is not read. The text begins with the name of the column."""


def columns_of(schema: Schema) -> tuple[pa.Schema, pa.Schema]:
    """The columns of a table, and the same with the numbers that they have in its files.

    Raises:
        Unreadable: a type is not read.
    """
    plain = pa.schema([_field(field, field.name, numbers=False) for field in schema.fields])
    return plain, pa.schema([_field(field, field.name, numbers=True) for field in schema.fields])


def _field(field: NestedField, name: str, *, numbers: bool) -> pa.Field:
    metadata = {NUMBER: str(field.field_id).encode()} if numbers else None
    return pa.field(field.name, _type(field.field_type, name, numbers=numbers), not field.required, metadata)


def _type(kind: Any, name: str, *, numbers: bool) -> pa.DataType:
    if isinstance(kind, StructType):
        return pa.struct([_field(field, f"{name}.{field.name}", numbers=numbers) for field in kind.fields])
    if isinstance(kind, ListType):
        return pa.list_(pa.field("element", _type(kind.element_type, name, numbers=numbers), not kind.element_required))
    if isinstance(kind, MapType):
        key = pa.field("key", _type(kind.key_type, name, numbers=numbers), nullable=False)
        return pa.map_(key, pa.field("value", _type(kind.value_type, name, numbers=numbers), not kind.value_required))
    if isinstance(kind, DecimalType):
        return pa.decimal128(kind.precision, kind.scale)
    found = _PLAIN.get(type(kind))
    if found is None:
        msg = f"{name} is {kind}, which is not read"
        raise Unreadable(msg)
    return found
