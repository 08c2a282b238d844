"""Keys of snapshots as offsets: integers that are compared as the database compares the keys. Pure.

Whole numbers are offsets themselves, so that a replay of a snapshot gives the same. Other keys go along behind a place that only
grows; reading goes on behind them.
"""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from connectors.mysql_cdc_source.binlog.row_reading.column import Column
from connectors.mysql_cdc_source.binlog.row_reading.column import Type as Stored
from connectors.mysql_cdc_source.binlog.values.charsets import BINARY
from connectors.mysql_cdc_source.columns import WHOLE
from rocketconnect_sdk.changes.slices import Array
from rocketconnect_sdk.record import Offset

_SHORT = frozenset({Stored.TINY, Stored.SHORT, Stored.INT24, Stored.LONG, Stored.YEAR})
_BIAS_SHORT, _BIAS = 1 << 31, 1 << 63
_HALF = (1 << 32) - 1
_CHUNK = 7
"""Bytes in one integer of a text."""
_UNORDERED = frozenset(
    {Stored.ENUM, Stored.SET, Stored.FLOAT, Stored.DOUBLE, Stored.BIT, Stored.GEOMETRY, Stored.VECTOR, Stored.JSON}
)
"""What a comparison with a text does not find again as ORDER BY has it."""


def is_whole(columns: Sequence[Column]) -> bool:
    """Whether a key is of whole numbers."""
    return bool(columns) and all(column.type in WHOLE for column in columns)


def is_comparable(columns: Sequence[Column]) -> bool:
    """Whether reading can go on behind a key."""
    return bool(columns) and not any(column.type in _UNORDERED for column in columns)


def numbers(columns: Sequence[Column], keys: Sequence[pa.Array]) -> list[tuple[int, ...]]:
    """Keys of whole numbers as integers that are not negative and grow with them."""
    parts: list[list[int]] = []
    for column, key in zip(columns, keys, strict=True):
        found: Array = key.to_numpy()
        if column.type in _SHORT:
            parts.append((found.astype(np.int64) + _BIAS_SHORT).tolist())
        else:
            bits = found.astype(np.uint64) if column.unsigned else found.astype(np.int64).view(np.uint64) ^ np.uint64(_BIAS)
            parts += [(bits >> np.uint64(32)).tolist(), (bits & np.uint64(_HALF)).tolist()]
    return list(zip(*parts, strict=True))


def number_literals(columns: Sequence[Column], offset: Offset) -> list[str]:
    """The key that `numbers` made an offset of, as SQL has it."""
    literals, at = [], 0
    for column in columns:
        if column.type in _SHORT:
            literals.append(str(offset[at] - _BIAS_SHORT))
            at += 1
        else:
            bits = offset[at] << 32 | offset[at + 1]
            literals.append(str(bits if column.unsigned else bits - _BIAS))
            at += 2
    return literals


def texts(keys: Sequence[bytes]) -> Offset:
    """Texts as integers that can be turned back."""
    made: list[int] = []
    for key in keys:
        made += [len(key), *(int.from_bytes(key[at : at + _CHUNK], "big") for at in range(0, len(key), _CHUNK))]
    return tuple(made)


def text_literals(columns: Sequence[Column], offset: Offset) -> list[str]:
    """The key whose texts `texts` made an offset of, as SQL has it."""
    literals, at = [], 0
    for column in columns:
        size, at = offset[at], at + 1
        key = b""
        while len(key) < size:
            key += offset[at].to_bytes(min(_CHUNK, size - len(key)), "big")
            at += 1
        literals.append(_literal(column, key))
    return literals


def behind(columns: Sequence[str], literals: Sequence[str]) -> str:
    """The condition for keys behind one. Written so that an index is used, which a comparison of rows does not get everywhere."""
    column, literal = columns[0], literals[0]
    if len(columns) == 1:
        return f"{column} > {literal}"
    return f"{column} >= {literal} AND ({column} > {literal} OR ({behind(columns[1:], literals[1:])}))"


def _literal(column: Column, key: bytes) -> str:
    if column.type in WHOLE or column.type is Stored.NEWDECIMAL:
        # A text would be compared as a floating point number. These are digits, a sign and a point.
        return f"({key.decode('ascii')})"
    if column.charset == BINARY and column.extension is None:
        return f"X'{key.hex()}'"
    # The introducer leaves the collation to the column.
    return f"_utf8mb4 X'{key.hex()}'"
