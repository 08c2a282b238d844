"""Bytes of a log as columns, without an object for each value."""

from typing import Any

import numpy as np
import pyarrow as pa

Array = Any
"""Of numpy."""


def binary(data: Array, starts: Array, lengths: Array, nulls: Array) -> pa.Array:
    """A binary array of what begins at these bytes and is so long; null where it is NULL."""
    count = len(starts)
    offsets = np.zeros(count + 1, np.int32)
    np.cumsum(lengths, out=offsets[1:])
    texts = data[np.arange(offsets[-1]) + np.repeat(starts - offsets[:-1], lengths)]
    return pa.Array.from_buffers(pa.binary(), count, [validity(nulls), pa.py_buffer(offsets), pa.py_buffer(texts)])


def validity(nulls: Array) -> pa.Buffer | None:
    """Which values are there, as Arrow has it. Made without pa.array, which imports pandas for an array of numpy."""
    return pa.py_buffer(np.packbits(~nulls, bitorder="little")) if nulls.any() else None


def numbers(data: Array, at: Array, form: Any) -> Array:
    """The numbers of a form of numpy that begin at these bytes."""
    return np.ndarray((len(data) - form.itemsize + 1,), form, data, 0, (1,))[at]
