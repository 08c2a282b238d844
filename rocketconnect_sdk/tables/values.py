"""Values in the forms that servers read them in, and what is wrong with some. Pure."""

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from rocketconnect_sdk.columns.arrow_types import readable
from rocketconnect_sdk.evolution.fitting import shown
from rocketconnect_sdk.files.lines import to_json
from rocketconnect_sdk.schema import Schema, Type, Unit

Bad = list[tuple[int, str]]
"""Rows that a server would refuse with all rows beside them, or change without a word: by index what is wrong."""


def nested_texts(values: pa.Array) -> pa.Array:
    """Structs, arrays and maps as JSON."""
    plain = readable(values).to_pylist(maps_as_pydicts="strict")
    return pa.array([None if value is None else to_json(value).decode() for value in plain], pa.string())


def clock_texts(values: pa.Array, schema: Schema) -> pa.Array:
    """Dates, and what a clock shows in UTC, as text, of the numbers that Spark has for them."""
    if schema.type is Type.TIME:
        # Of the day: numbers of their unit since midnight.
        unit = schema.unit.value
        values = values.cast(pa.int32()).cast(pa.time32(unit)) if unit == "ms" else values.cast(pa.int64()).cast(pa.time64(unit))
    elif schema.type is Type.TIMESTAMP:
        values = moments_of(values, schema)
        if schema.unit is Unit.MILLISECONDS:
            values = values.cast(pa.timestamp("ms"))
    return values.cast(pa.string())


def moments_of(values: pa.Array, schema: Schema) -> pa.Array:
    """Points in time of the numbers that Spark has for them, in UTC and without a zone."""
    held = Unit.NANOSECONDS if schema.unit is Unit.NANOSECONDS else Unit.MICROSECONDS
    return values.cast(pa.int64()).cast(pa.timestamp(held.value))


def ticks_of(schema: Schema) -> int:
    """How many of the numbers that Spark has for points in time are a second."""
    return Unit.MICROSECONDS.in_second if schema.unit is Unit.MILLISECONDS else schema.unit.in_second


def cut_off(ticks: pa.Array, step: int) -> pa.Array:
    """Which of whole numbers are no multiples of a step."""
    return pc.not_equal(pc.multiply(pc.divide(ticks, step), step), ticks)


def told(values: pa.Array, bad: pa.Array, why: str) -> Iterator[tuple[int, str]]:
    """What is wrong with values, where they are bad."""
    for row in pc.indices_nonzero(pc.fill_null(bad, False)).to_pylist():
        yield row, f"{shown(values[row])} {why}"


def shown_bytes(values: pa.Array) -> pa.Array:
    """Bytes as the text that they are; others by their digits, so that each is something else."""
    try:
        return values.cast(pa.string())
    except pa.ArrowInvalid:
        return pa.array([None if value is None else _text(value) for value in values.to_pylist()], pa.string())


def _text(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return f"0x{value.hex()}"
