"""Values, schemas and batches as Arrow has them: for authors who have tables, or want some.

from_arrow   a table, or a column  ->  a SourceBatch
to_arrow     a SinkBatch           ->  a RecordBatch
"""

import hashlib
import json
from collections.abc import Sequence

import pyarrow as pa

from rocketconnect_sdk.compact import Texts
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.record import Offset, Rejected, SinkBatch, SourceBatch
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
_TIMES = pa.timestamp("ms", "UTC")
_BACK = {arrow: plain for plain, arrow in _PLAIN.items()} | {pa.large_string(): Type.STRING, pa.large_binary(): Type.BYTES}


_LOGICAL = {
    DATE: (Type.INT32, pa.date32()),
    TIMESTAMP: (Type.INT64, _TIMES),
}


def from_arrow(
    data: pa.RecordBatch | pa.Table | pa.Array | pa.ChunkedArray,
    partition: str,
    offsets: Sequence[Offset],
    *,
    keys: pa.Array | pa.ChunkedArray | Sequence[object] | None = None,
    timestamps_ms: Sequence[int] | None = None,
) -> SourceBatch:
    """A batch of records made of a table, or of a column.

    Args:
        data: Of a table each row is a value: a mapping by the names of its columns. Of a column each element is a value.
        partition: See SourceBatch.
        offsets: For each value the offset just behind it.
        keys: A column such as `table["id"]`, whose type becomes the schema of the keys, or values without a schema.
        timestamps_ms: See SourceBatch.

    Returns:
        The batch, with the schema that the Arrow schema stands for. A value that Python can't hold (a timestamp after the year
        9999, a map that has a key twice) is a Rejected. Headers and topics can be put in afterwards.

    Raises:
        TypeError: a column has a type that no schema stands for: cast it before.
        ValueError: there are not as many offsets, keys or timestamps as values.
    """
    is_table = isinstance(data, pa.RecordBatch | pa.Table)
    rows = data.to_struct_array() if is_table else data
    for name, column in (("offsets", offsets), ("keys", keys), ("timestamps_ms", timestamps_ms)):
        if column is not None and len(column) != len(rows):
            msg = f"{len(rows)} values and {len(column)} {name}: there must be as many"
            raise ValueError(msg)
    batch = SourceBatch(
        partition,
        _to_python(rows),
        offsets,
        keys,
        timestamps_ms,
        schema=from_arrow_type(rows.type, optional=not is_table),
        size=data.nbytes,
    )
    if isinstance(keys, pa.Array | pa.ChunkedArray):
        batch.key_schema = from_arrow_type(keys.type)
        found = _to_python(keys)
        batch.keys = [None if isinstance(key, Rejected) else key for key in found]
        batch.values = [key if isinstance(key, Rejected) else value for key, value in zip(found, batch.values, strict=True)]
    return batch


def to_arrow(batch: SinkBatch) -> pa.RecordBatch:
    """The columns value, key, offset and timestamp of a batch.

    Returns:
        value: By the schema of the batch: of a struct a struct column. Without one as to_array makes it.
        key: As to_array makes it; text and null throughout when no record has a key.
        offset: int64.
        timestamp: timestamp[ms, UTC]; null throughout where the sink did not ask for them.

    Raises:
        RecordError: a value does not fit the schema.
    """
    count = len(batch)
    times = [None] * count if batch.timestamps_ms is None else batch.timestamps_ms
    columns = {
        "value": to_array(batch.values, batch.schema),
        "key": pa.nulls(count, pa.string()) if batch.keys is None else to_array(batch.keys, None),
        "offset": pa.array(batch.offsets, pa.int64()),
        "timestamp": pa.array(times, _TIMES),
    }
    return pa.RecordBatch.from_pydict(columns)


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
    if pa.types.is_decimal128(arrow) and arrow.scale >= 0:
        return decimal(arrow.scale, optional=optional)
    if pa.types.is_struct(arrow):
        names = [field.name for field in arrow]
        if len(set(names)) < len(names):
            msg = f"a table or struct has two fields of the same name: {', '.join(names)}"
            raise TypeError(msg)
        fields = tuple(Field(field.name, from_arrow_type(field.type, optional=field.nullable)) for field in arrow)
        return Schema(Type.STRUCT, optional=optional, fields=fields)
    if pa.types.is_map(arrow):
        keys, items = from_arrow_type(arrow.key_type, optional=False), from_arrow_type(arrow.item_type)
        return Schema(Type.MAP, optional=optional, keys=keys, items=items)
    if pa.types.is_list(arrow) or pa.types.is_large_list(arrow):
        return Schema(Type.ARRAY, optional=optional, items=from_arrow_type(arrow.value_type))
    known = ", ".join(map(str, (*_PLAIN.values(), *(logical for _, logical in _LOGICAL.values()))))
    msg = f"the Arrow type {arrow} has no schema: cast it to one of {known}, decimal128, a struct, list or map"
    raise TypeError(msg)


def to_array(values: Sequence[object], schema: Schema | None) -> pa.Array:
    """Values as one Arrow array. Without a schema: what Arrow has for them when all are of one plain type, else JSON as text.

    Raises:
        RecordError: a value does not fit the schema.
    """
    try:
        if isinstance(values, Texts) and (schema is None or to_arrow_type(schema) == pa.string()):
            return pa.array(values.utf8, pa.binary()).view(pa.string())
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


def _to_python(values: pa.Array | pa.ChunkedArray) -> list[object]:
    try:
        found: list[object] = values.to_pylist(maps_as_pydicts="strict")
    except (OverflowError, ValueError, KeyError):
        return [_one_to_python(values[index : index + 1]) for index in range(len(values))]
    return found


def _one_to_python(value: pa.Array | pa.ChunkedArray) -> object:
    try:
        return value.to_pylist(maps_as_pydicts="strict")[0]
    except (OverflowError, ValueError, KeyError) as error:
        text = str(value).encode()
        reason = f"Python can't hold the value: {error}"
        return Rejected(type(error).__name__, reason, text, len(text), hashlib.sha256(text).hexdigest())


def _part(schema: Schema | None) -> Schema:
    if schema is None:
        msg = "the schema of an array needs items, that of a map keys and items"
        raise RecordError(msg)
    return schema
