"""Values, schemas and batches as Arrow has them: for authors who have tables, or want some.

from_arrow   a table, or a column  ->  a SourceBatch
to_arrow     a SinkBatch           ->  a RecordBatch
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any
from uuid import UUID

import pyarrow as pa

from rocketconnect_sdk.columns.arrow_types import by_hand_type, from_arrow_type, readable, to_arrow_type
from rocketconnect_sdk.columns.compact import Column, Texts
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.files.lines import to_json
from rocketconnect_sdk.record import Offset, Rejected, SinkBatch, SourceBatch
from rocketconnect_sdk.schema import Schema, Type
from rocketconnect_sdk.wording.counts import counted

_TIMES = pa.timestamp("ms", "UTC")


def from_arrow(
    data: pa.RecordBatch | pa.Table | pa.Array | pa.ChunkedArray,
    partition: str,
    offsets: Sequence[Offset],
    *,
    keys: pa.Array | pa.ChunkedArray | Sequence[object] | None = None,
    timestamps_ms: Sequence[int | None] | None = None,
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
            msg = f"{counted(rows, 'value')} and {len(column)} {name}: there must be as many"
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


def to_array(values: Sequence[object], schema: Schema | None) -> pa.Array:
    """Values as one Arrow array. Without a schema: what Arrow has for them when all are of one plain type, else JSON as text.

    Raises:
        RecordError: a value does not fit the schema.
    """
    try:
        if isinstance(values, Texts) and (schema is None or to_arrow_type(schema) == pa.string()):
            return pa.array(values.utf8, pa.binary()).view(pa.string())
        if schema is not None:
            held = _held(values, to_arrow_type(schema))
            return _typed(values, schema) if held is None else held
        kinds = set(map(type, values)) - {type(None)}
        if not kinds:
            return pa.nulls(len(values), pa.string())
        if len(kinds) == 1 and kinds <= {str, bytes, int, float, bool}:
            return pa.array(values)
        return pa.array([None if value is None else _json(value) for value in values], pa.string())
    except (pa.ArrowException, TypeError, ValueError, OverflowError, AttributeError) as error:
        msg = f"a value does not fit its schema: {error}"
        raise RecordError(msg) from error


def _held(values: Sequence[object], kind: pa.DataType) -> pa.Array | None:
    """The array of a column of this type."""
    return values.array if isinstance(values, Column) and values.array.type == kind else None


def _json(value: object) -> str:
    try:
        return to_json(value).decode()
    except (RecordError, OverflowError):
        # Whole numbers of any size, for one.
        return json.dumps(value, ensure_ascii=False, default=repr, separators=(",", ":"))


def _typed(values: Sequence[object], schema: Schema) -> pa.Array:
    kind, plain = to_arrow_type(schema), by_hand_type(schema)
    if _has_uuid(schema):
        values = [_without_uuids(schema, value) for value in values]
    array = pa.array(values, plain)
    # Safe: what the unit of a time has no room for is an error, not cut off.
    return array if plain == kind else array.cast(kind)


@lru_cache(maxsize=64)
def _has_uuid(schema: Schema) -> bool:
    parts = [field.schema for field in schema.fields] + [part for part in (schema.items, schema.keys) if part is not None]
    return schema.type is Type.UUID or any(map(_has_uuid, parts))


def _without_uuids(schema: Schema, value: Any) -> Any:
    """A value with bytes in the place of each UUID: within others Arrow knows none."""
    if value is None or not _has_uuid(schema):
        return value
    match schema.type:
        case Type.UUID:
            return value.bytes if isinstance(value, UUID) else UUID(value).bytes
        case Type.STRUCT:
            return {field.name: _without_uuids(field.schema, value.get(field.name)) for field in schema.fields}
        case Type.ARRAY if schema.items is not None:
            return [_without_uuids(schema.items, item) for item in value]
        case Type.MAP if schema.items is not None and schema.keys is not None:
            pairs = value.items() if isinstance(value, Mapping) else value
            return [(_without_uuids(schema.keys, key), _without_uuids(schema.items, item)) for key, item in pairs]
    return value


def _to_python(values: pa.Array | pa.ChunkedArray) -> list[object]:
    values = readable(values)
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
