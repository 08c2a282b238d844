"""The texts of columns as values of their types, all of a batch at once."""

from collections.abc import Sequence
from datetime import UTC
from typing import Any

import pyarrow as pa
from pyarrow import compute

from connectors.mysql import text_rows
from connectors.mysql_cdc_source.binlog.row_reading.column import Column
from connectors.mysql_cdc_source.binlog.row_reading.column import Type as Stored
from connectors.mysql_cdc_source.columns import DATETIMES, POINTS, TIMES, WHOLE, schema_of
from rocketconnect_sdk.columns.arrow_types import to_arrow_type
from rocketconnect_sdk.schema import Type

_YEAR_ONE = "0001"


def split(packets: Sequence[bytes], columns: Sequence[Column]) -> list[pa.Array]:
    """The texts of rows, one binary array for each column."""
    return text_rows.split(packets, [column.type.value for column in columns])


def selected(column: Column, quoted: str) -> str:
    """What to select for a column, so that its text is its whole value."""
    if column.type in {Stored.FLOAT, Stored.DOUBLE}:
        # The text of a FLOAT has six digits.
        return f"CAST({quoted} AS DOUBLE)" if column.type is Stored.FLOAT else quoted
    if column.type is Stored.BIT:
        return f"{quoted} + 0"
    return quoted


def typed(column: Column, texts: pa.Array) -> pa.Array:  # noqa: PLR0911 - one for each kind
    """Values of a column's type.

    Raises:
        pyarrow.ArrowInvalid: one of them is none of the type.
    """
    kind, schema = column.type, schema_of(column)
    wanted = to_arrow_type(schema)
    if schema.type is Type.BYTES:
        return texts
    if schema.type is Type.UUID:
        found = [None if text is None else bytes.fromhex(text.replace("-", "")) for text in texts.cast(pa.string()).to_pylist()]
        return pa.array(found, pa.binary(16)).cast(wanted)
    text = texts.cast(pa.string())
    if kind in WHOLE or schema.type in {Type.STRING, Type.DECIMAL, Type.FLOAT64}:
        return text.cast(wanted)
    if schema.type is Type.FLOAT32:
        return text.cast(pa.float64()).cast(wanted)
    if schema.type is Type.BOOLEAN:
        return text.cast(pa.uint8()).cast(wanted)
    if kind in TIMES:
        moments = compute.binary_join_element_wise(pa.scalar("1970-01-01"), text, " ")
        return moments.cast(pa.timestamp(schema.unit.value)).cast(wanted)
    if kind in DATETIMES or kind in POINTS or schema.type is Type.DATE:
        least = compute.min(text).as_py()
        if least is not None and least < _YEAR_ONE:
            msg = f"{least} is on no calendar"
            raise pa.ArrowInvalid(msg)
        zoneless = pa.date32() if schema.type is Type.DATE else pa.timestamp(schema.unit.value)
        return text.cast(zoneless).cast(wanted)
    return text.cast(wanted)


def values(column: Column, texts: pa.Array) -> list[Any]:
    """Values of a column's type, one by one; the text of one that is none stands for itself: the error policy decides."""
    try:
        return _python(column, typed(column, texts))
    except pa.ArrowInvalid:
        return [_value(column, texts[place : place + 1]) for place in range(len(texts))]


def _value(column: Column, one: pa.Array) -> object:
    try:
        return _python(column, typed(column, one))[0]
    except pa.ArrowInvalid:
        return one.cast(pa.string())[0].as_py()


def _python(column: Column, array: pa.Array) -> list[Any]:
    found: list[Any] = array.to_pylist()
    if schema_of(column).zone:
        return [None if moment is None else moment.replace(tzinfo=UTC) for moment in found]
    return found
