"""Names in values as Hive has them, in lower case. Pure."""

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc


class Doubled(ValueError):
    """Two names become one; says it."""


def in_lower_case(values: pa.Array, name: str = "") -> pa.Array:
    """The same values with the names of their parts in lower case.

    Args:
        values: A column, or rows.
        name: Of the column; empty: they are rows.

    Raises:
        Doubled: two names become one.
    """
    kind = values.type
    mask = values.is_null() if values.null_count else None
    if pa.types.is_struct(kind):
        names = [field.name.lower() for field in kind]
        within = f"{name}." if name else ""
        check_once(names, within)
        parts = [in_lower_case(values.field(index), f"{within}{part}") for index, part in enumerate(names)]
        fields = [pa.field(part, made.type) for part, made in zip(names, parts, strict=True)]
        return pa.StructArray.from_arrays(parts, fields=fields, mask=mask) if fields else values
    if pa.types.is_large_list(kind):
        return in_lower_case(values.cast(pa.list_(kind.value_field)), name)
    if pa.types.is_list(kind):
        first, last = values.offsets[0].as_py(), values.offsets[-1].as_py()
        items = in_lower_case(values.values[first:last], name)
        return pa.ListArray.from_arrays(pc.subtract(values.offsets, first), items, mask=mask)
    if pa.types.is_map(kind):
        first, last = values.offsets[0].as_py(), values.offsets[-1].as_py()
        keys, items = in_lower_case(values.keys[first:last], name), in_lower_case(values.items[first:last], name)
        return pa.MapArray.from_arrays(pc.subtract(values.offsets, first), keys, items, mask=mask)
    return values


def check_once(names: Sequence[str], within: str = "") -> None:
    """Raises Doubled: one of the names is there twice."""
    if doubled := next((name for name in names if names.count(name) > 1), None):
        msg = f"{within}{doubled}"
        raise Doubled(msg)
