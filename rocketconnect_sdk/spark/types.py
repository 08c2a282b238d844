"""Types as Spark has them.

| schema                                  | Spark                                                                        |
|-----------------------------------------|------------------------------------------------------------------------------|
| uint8, uint16, uint32, uint64           | smallint, int, bigint, decimal(20,0): the next one that has room for them     |
| decimal of up to 38 digits, longer ones | decimal; string, all of their digits                                         |
| time, and timestamps of nanoseconds     | bigint: so many of their unit since midnight or 1970. Spark's files lack both |
| timestamp with a zone, without one      | timestamp, timestamp_ntz                                                     |
| uuid, json                              | string: their text                                                           |
| all others                              | the type of the same name                                                    |

What Spark's type does not say (that a bigint is a uint32, a name, a default) is in the metadata of the field, as the JSON of its
schema: so a schema comes back from Spark as it went in.
"""

from functools import lru_cache
from typing import TYPE_CHECKING, Any
from uuid import UUID

import msgspec
import pyarrow as pa

from rocketconnect_sdk.columns.arrow_types import from_arrow_type, inside, readable_type, recast, to_arrow_type
from rocketconnect_sdk.converters.json.schema import from_json, to_json
from rocketconnect_sdk.schema import Field, Schema, Type, timestamp

if TYPE_CHECKING:
    from pyspark.sql.types import DataType, StructField, StructType

METADATA = "rocketconnect.schema"
_STORED = {
    pa.uint8(): pa.int16(),
    pa.uint16(): pa.int32(),
    pa.uint32(): pa.int64(),
    pa.uint64(): pa.decimal128(20, 0),
    pa.time64("us"): pa.int64(),
    pa.time64("ns"): pa.int64(),
    pa.uuid(): pa.string(),
    pa.json_(): pa.string(),
}


def to_spark(values: pa.Array) -> pa.Array:
    """A column of a type that Spark reads, for one of a type that a schema stands for.

    Raises:
        RecordError: Spark has no type for it.
    """
    kind = stored_type(values.type)
    if kind == values.type:
        return values
    # Arrow casts these by a step in between only.
    values = recast(values, _with(readable_type(values.type), {pa.time32("ms"): pa.int32()}))
    if _has(values.type, pa.uuid()):
        texts = _with(values.type, {pa.uuid(): pa.string(), pa.json_(): pa.string()})
        values = pa.array([_texts(value) for value in values.to_pylist()], texts)
    return recast(values, kind)


@lru_cache(maxsize=64)
def stored_type(kind: pa.DataType) -> pa.DataType:
    """The Arrow type that Spark reads in the place of this one.

    Raises:
        RecordError: Spark has no type for it.
    """
    if pa.types.is_decimal256(kind):
        return pa.string()
    if kind == pa.time32("ms") or (pa.types.is_timestamp(kind) and kind.unit == "ns"):
        return pa.int64()
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us", kind.tz)
    return _STORED.get(kind) or inside(kind, stored_type)


def to_spark_type(schema: Schema) -> "DataType":
    """The type of values of a schema.

    Raises:
        RecordError: Spark has none.
    """
    from pyspark.sql import types

    match schema.type:
        case Type.STRUCT:
            return types.StructType([to_spark_field(field) for field in schema.fields])
        case Type.ARRAY if schema.items is not None:
            return types.ArrayType(to_spark_type(schema.items), schema.items.optional)
        case Type.MAP if schema.items is not None and schema.keys is not None:
            return types.MapType(to_spark_type(schema.keys), to_spark_type(schema.items), schema.items.optional)
    from pyspark.sql.pandas.types import from_arrow_type as spark_type

    return spark_type(stored_type(to_arrow_type(schema)), prefer_timestamp_ntz=True)


def to_spark_field(field: Field) -> "StructField":
    """A field of a struct; its metadata say what its type does not."""
    from pyspark.sql import types

    made = types.StructField(field.name, to_spark_type(field.schema), field.schema.optional)
    if from_spark_field(made) != field:
        made.metadata = {METADATA: msgspec.json.encode(to_json(field.schema)).decode()}
    return made


def from_spark_type(kind: "StructType") -> Schema:
    """The schema of the rows of a DataFrame.

    Raises:
        TypeError: a column has a type that no schema stands for.
    """
    return Schema(Type.STRUCT, fields=tuple(map(from_spark_field, kind.fields)))


def from_spark_field(field: "StructField") -> Field:
    """The field that a Spark field stands for; its metadata are believed as far as they fit its type.

    Raises:
        TypeError: it has a type that no schema stands for.
    """
    said = (field.metadata or {}).get(METADATA)
    if isinstance(said, str):
        schema = from_json(msgspec.json.decode(said))
        if to_spark_type(schema) == field.dataType and schema.optional == field.nullable:
            return Field(field.name, schema)
    return Field(field.name, _schema_of(field.dataType, optional=field.nullable))


def _schema_of(kind: "DataType", *, optional: bool) -> Schema:
    from pyspark.sql import types
    from pyspark.sql.pandas.types import to_arrow_type as arrow_type

    if isinstance(kind, types.StructType):
        return Schema(Type.STRUCT, optional=optional, fields=tuple(map(from_spark_field, kind.fields)))
    if isinstance(kind, types.ArrayType):
        return Schema(Type.ARRAY, optional=optional, items=_schema_of(kind.elementType, optional=kind.containsNull))
    if isinstance(kind, types.MapType):
        keys = _schema_of(kind.keyType, optional=False)
        return Schema(Type.MAP, optional=optional, keys=keys, items=_schema_of(kind.valueType, optional=kind.valueContainsNull))
    if isinstance(kind, types.TimestampType | types.TimestampNTZType):
        # Newer versions of Spark have an Arrow type for it only together with the zone of a session.
        return timestamp(zone=isinstance(kind, types.TimestampType), optional=optional)
    return from_arrow_type(arrow_type(kind), optional=optional)


def _with(kind: pa.DataType, others: dict[pa.DataType, pa.DataType]) -> pa.DataType:
    return others.get(kind) or inside(kind, lambda inner: _with(inner, others))


def _has(kind: pa.DataType, wanted: pa.DataType) -> bool:
    return kind == wanted or any(_has(kind.field(index).type, wanted) for index in range(kind.num_fields))


def _texts(value: Any) -> Any:
    """A value with the text of each UUID."""
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, dict):
        return {name: _texts(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(map(_texts, value))
    return value
