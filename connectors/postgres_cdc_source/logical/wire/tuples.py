"""Many rows of messages at once: where their values are, column by column, without an object for each.

TupleData of https://www.postgresql.org/docs/current/protocol-logicalrep-message-formats.html
"""

from typing import Any, NamedTuple

import numpy as np

from connectors.postgres_cdc_source.logical.wire.rows import NULL, TEXT
from rocketconnect_sdk.changes.slices import Array, numbers

MARGIN = 64
"""So many bytes are to be there behind the last row: what is read may go so far beyond it."""
_WIDTH = 2
_HEAD = 5
"""The kind of a value, and four bytes of its length."""
_INT16, _INT32 = np.dtype(">u2"), np.dtype(">u4")


class Tuples(NamedTuple):
    """Rows.

    Attributes:
        raw: Has them.
        begins: Where each begins, with the number of its columns.
        ends: Where it ends.
        starts: For each column where its values begin.
        lengths: How long they are.
        nulls: Which are null.
        plain: Of each row whether it is nothing but nulls and texts, and ends where it may.
    """

    raw: bytes
    begins: Array
    ends: Array
    starts: list[Array]
    lengths: list[Array]
    nulls: list[Array]
    plain: Array


def find(raw: bytes, data: Array, begins: Array, limits: Array, width: int) -> Tuples:
    """Rows of so many columns, each of which begins at one place and does not go beyond another.

    Args:
        raw: Has them, with MARGIN behind the last one.
        data: The same, as numpy has it.
        begins: Of each the place of its TupleData.
        limits: Where its message ends.
        width: How many columns its table has.
    """
    plain: Any = (numbers(data, begins, _INT16) == width) & (begins + _WIDTH <= limits)
    at = begins + _WIDTH
    starts, lengths, nulls = [], [], []
    for _ in range(width):
        kind = data[at]
        null = kind == NULL
        there = kind == TEXT
        length = np.where(there, numbers(data, at + 1, _INT32), 0).astype(np.int64)
        start = np.where(there, at + _HEAD, at + 1)
        end = start + length
        plain &= (there | null) & (end <= limits)
        starts.append(start)
        lengths.append(length)
        nulls.append(null)
        # What is not plain is read by others: here it only must not lead beyond the data.
        at = np.minimum(end, limits)
    return Tuples(raw, begins, at, starts, lengths, nulls, plain)
