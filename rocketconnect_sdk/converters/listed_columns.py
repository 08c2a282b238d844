"""Columns of arrays and maps, made of all of their items."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rocketconnect_sdk.columns.text_columns import NotPlain
from rocketconnect_sdk.converters.binary_columns import There
from rocketconnect_sdk.converters.column_values import storage_of
from rocketconnect_sdk.converters.spans import Places
from rocketconnect_sdk.schema import Schema, Type, struct

_NO_KEYS = (Type.FLOAT32, Type.FLOAT64, Type.STRUCT, Type.ARRAY, Type.MAP)
"""Which of these are the same is not for Arrow to say: 0.0 and -0.0 are, and what is made of others is no key in Python."""


def entry_of(schema: Schema) -> Schema:
    """What the items of a map are. Raises NotPlain: its keys are to be looked at one by one."""
    if schema.keys is None or schema.items is None or schema.keys.type in _NO_KEYS:
        raise NotPlain
    return struct([("key", schema.keys), ("value", schema.items)])


def listed(items: pa.Array, counts: Places, kind: pa.DataType, there: There) -> pa.ListArray | pa.MapArray:
    """The arrays or maps of items.

    Args:
        items: Those of the first, then those of the second; of maps structs of a key and a value.
        counts: How many each has.
        kind: The type of the arrays or maps.
        there: Which of them are not null; None: all.

    Raises:
        NotPlain: a map has a key twice, or one that is null.
    """
    offsets = pa.array(np.concatenate([[0], np.cumsum(counts)]), pa.int32())
    mask = None if there is None else pc.invert(there)
    if not pa.types.is_map(kind):
        return pa.ListArray.from_arrays(offsets, items, type=kind, mask=mask)
    keys, values = items.flatten()
    _check_keys(storage_of(keys), counts)
    return pa.MapArray.from_arrays(offsets, keys, values, type=kind, mask=mask)


def _check_keys(keys: pa.Array, counts: Places) -> None:
    if keys.null_count:
        raise NotPlain
    codes = np.array(keys.dictionary_encode().indices, np.int64)
    maps = np.repeat(np.arange(len(counts)), counts)
    # Each key of each map as one number.
    if len(np.unique(maps * max(len(keys), 1) + codes)) < len(keys):
        raise NotPlain
