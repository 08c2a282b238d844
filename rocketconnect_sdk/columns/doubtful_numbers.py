"""Floating point numbers that Arrow has read from JSON: whether each is the one that its text means.

Arrow rounds whole numbers of many digits, makes -0, which is the whole number 0, a zero below zero, and takes NaN and Infinity. A
large number, or a zero below zero, is looked up in its text; few columns have one.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rocketconnect_sdk.columns.floats import CERTAIN
from rocketconnect_sdk.columns.parts import fields_of
from rocketconnect_sdk.columns.text_columns import NotPlain
from rocketconnect_sdk.schema import Schema, Type

_ABSENT = msgspec.Raw(b"null")


def check_numbers(rows: pa.StructArray, schema: Schema, texts: Sequence[bytes]) -> None:
    """Finds out whether the floating point numbers of rows are what stands in their texts.

    Args:
        rows: What Arrow has read. A float32 may be one of 64 bits, as it was read.
        schema: The schema of the rows, without maps.
        texts: The JSON object of each row.

    Raises:
        NotPlain: at least one may be another number.
    """
    doubtful = _doubtful(rows, schema)
    if doubtful is None or not doubtful.any():
        return
    read = _reader(schema).decode
    try:
        for index in np.flatnonzero(doubtful).tolist():
            for text, kind in _numbers(read(texts[index]), schema):
                digits = text.removeprefix(b"-")
                if digits.isdigit() and (text == b"-0" or float(digits) >= CERTAIN[kind]):
                    raise NotPlain
    except (msgspec.MsgspecError, RecursionError) as error:
        raise NotPlain from error


def _doubtful(column: pa.Array, schema: Schema) -> "np.ndarray[Any, np.dtype[np.bool_]] | None":
    """Which values hold a number to look up; None: none. Raises NotPlain: a number is infinite, or none."""
    if schema.type in CERTAIN:
        return _doubtful_floats(column, CERTAIN[schema.type])
    if schema.type is Type.STRUCT:
        looked = [_doubtful(part, field.schema) for field, part in fields_of(column, schema)]
        found = [part for part in looked if part is not None]
        return np.logical_or.reduce(found) if found else None
    if schema.type is Type.ARRAY and schema.items is not None:
        items = _doubtful(column.flatten(), schema.items)
        if items is None:
            return None
        holds = np.zeros(len(column), np.bool_)
        holds[pc.list_parent_indices(column).to_numpy(zero_copy_only=False)[items]] = True
        return holds
    return None


def _doubtful_floats(column: pa.Array, largest: float) -> "np.ndarray[Any, np.dtype[np.bool_]] | None":
    if pc.all(pc.is_finite(column)).as_py() is False:
        raise NotPlain
    # Divided by zero below zero it is infinite below zero.
    below = pc.and_(pc.equal(column, 0.0), pc.less(pc.divide(1.0, column), 0.0))
    odd = pc.or_(pc.greater_equal(pc.abs(column), pa.scalar(largest, column.type)), below)
    if pc.any(odd).as_py() is not True:
        return None
    mask: np.ndarray[Any, np.dtype[np.bool_]] = odd.fill_null(False).to_numpy(zero_copy_only=False)
    return mask


@lru_cache(maxsize=64)
def _reader(schema: Schema) -> "msgspec.json.Decoder[Any]":
    """Reads of a text what _numbers goes through, and leaves out all else."""
    return msgspec.json.Decoder(_shape(schema))


def _shape(schema: Schema) -> Any:
    """The type of what holds numbers, each as its text; None: it holds none."""
    if schema.type in CERTAIN:
        return msgspec.Raw
    if schema.type is Type.ARRAY and schema.items is not None:
        items = _shape(schema.items)
        return None if items is None else list.__class_getitem__(items) | None
    if schema.type is not Type.STRUCT:
        return None
    shapes = [(number, field.name, _shape(field.schema)) for number, field in enumerate(schema.fields)]
    there = [(number, name, shape) for number, name, shape in shapes if shape is not None]
    if not there:
        return None
    fields = [(_name(number), shape, _ABSENT if shape is msgspec.Raw else None) for number, _, shape in there]
    return msgspec.defstruct("Numbers", fields, rename={_name(number): name for number, name, _ in there}) | None


def _name(number: int) -> str:
    return f"f{number}"


def _numbers(value: Any, schema: Schema) -> Iterator[tuple[bytes, Type]]:
    """The texts of the numbers, each with the type it is to have."""
    if isinstance(value, msgspec.Raw):
        yield bytes(value), schema.type
    elif isinstance(value, list) and schema.items is not None:
        for item in value:
            yield from _numbers(item, schema.items)
    elif value is not None:
        for number, field in enumerate(schema.fields):
            yield from _numbers(getattr(value, _name(number), None), field.schema)
