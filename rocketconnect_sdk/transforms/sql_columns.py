"""Records as the tables that SQL reads, and what SQL gives as columns of records."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rocketconnect_sdk.columns.compact import Column
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.evolution.tables import same_names
from rocketconnect_sdk.schema import Schema, Type, struct
from rocketconnect_sdk.transforms.base import Records

if TYPE_CHECKING:
    import pyarrow as pa

WHOLE = "value"
"""The column that a value is which is no struct."""


def rows_of(records: Records) -> "tuple[pa.StructArray, Schema]":
    """Values as structs, with their schema; one is made up for values without.

    Raises:
        RecordError: the values have no common types, or do not fit their schema.
    """
    import pyarrow as pa

    from rocketconnect_sdk.arrow import to_array
    from rocketconnect_sdk.columns.arrow_types import from_arrow_type

    schema, values = records.schema, records.values
    if schema is not None:
        array = values.array if isinstance(values, Column) else to_array(values, schema)
    elif all(isinstance(value, Mapping) for value in values):
        try:
            array = pa.array([dict(value) for value in values])  # type: ignore[call-overload]
            schema = from_arrow_type(array.type, optional=False)
        except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
            msg = f"the fields of values without a schema have no common types: {error}"
            raise RecordError(msg) from None
    else:
        array = to_array(values, None)
        schema = from_arrow_type(array.type, optional=False)
    if schema.type is Type.STRUCT:
        if told := same_names(each.name for each in schema.fields):
            fix = "Rename one with replace_field"
            msg = f"the fields {told} differ by the case of their letters alone, and SQL takes them for one. {fix}"
            raise RecordError(msg)
        return array, schema
    whole = struct([(WHOLE, schema)])
    return pa.StructArray.from_arrays([array], names=[WHOLE]), whole


def about(records: Records, name: str) -> Any:
    """A column that is no field: _key, _topic, _timestamp_ms or _headers."""
    import pyarrow as pa

    from rocketconnect_sdk.arrow import to_array

    nothing = [None] * len(records)
    match name:
        case "_key":
            return pa.nulls(len(records), pa.string()) if records.keys is None else to_array(records.keys, records.key_schema)
        case "_topic":
            return pa.array([records.topic] * len(records) if records.topics is None else records.topics, pa.string())
        case "_timestamp_ms":
            return pa.array(nothing if records.timestamps_ms is None else records.timestamps_ms, pa.int64())
    headers = [[] if each is None else list(each.items()) for each in records.headers or nothing]
    return pa.array(headers, pa.map_(pa.string(), pa.string()))


def computed(column: "pa.ChunkedArray") -> tuple[Any, Schema]:
    """A column of a result, with its schema.

    Raises:
        RecordError: no schema stands for its type.
    """
    from rocketconnect_sdk.columns.arrow_types import from_arrow_type, to_arrow_type

    try:
        schema = from_arrow_type(column.type, optional=True)
        array = column.combine_chunks().cast(to_arrow_type(schema))
    except (TypeError, ValueError) as error:
        msg = f"the query gives a column of the type {column.type}, which no schema stands for: cast it ({error})"
        raise RecordError(msg) from None
    return array, schema
