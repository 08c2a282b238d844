"""Values without a schema whose fields are of several types: such a field becomes text, as JSON has it. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from typing import cast

import pyarrow as pa

from rocketconnect_sdk.columns.arrow_types import from_arrow_type
from rocketconnect_sdk.files.lines import to_json
from rocketconnect_sdk.schema import Schema


def text_of(value: object) -> str | None:
    """A value as text: text as it is, whole numbers alike whatever type they have, all else as JSON; None: it is null."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return to_json(value).decode()


def without_fields(values: Sequence[object]) -> set[int]:
    """The places of values that have no fields, where others have; of the values none is null."""
    odd = {place for place, value in enumerate(values) if not isinstance(value, Mapping)}
    return odd if len(odd) < len(values) else set()


def rows_of_mixed(values: Sequence[object]) -> tuple[pa.StructArray, Schema]:
    """Values with fields as structs, with their schema: what has no common type among them is text."""
    rows = [cast("Mapping[str, object]", value) for value in values]
    names = list(dict.fromkeys(name for row in rows for name in row))
    array = pa.StructArray.from_arrays([_column([row.get(name) for row in rows]) for name in names], names=names)
    return array, from_arrow_type(array.type, optional=False)


def behind(kept: pa.Table, rows: pa.Table) -> pa.Table:
    """Rows behind others: columns whose types don't go together become text in both."""
    for name in kept.column_names:
        if name in rows.column_names and not _go_together(kept.schema.field(name), rows.schema.field(name)):
            kept, rows = (_with_text(table, name) for table in (kept, rows))
    return pa.concat_tables([kept, rows], promote_options="permissive").combine_chunks()


def _go_together(one: pa.Field, other: pa.Field) -> bool:
    try:
        pa.unify_schemas([pa.schema([one]), pa.schema([other])], promote_options="permissive")
    except pa.ArrowException:
        return False
    return True


def _with_text(table: pa.Table, name: str) -> pa.Table:
    return table.set_column(table.column_names.index(name), name, _texts(table.column(name).to_pylist()))


def _column(values: Sequence[object]) -> pa.Array:
    try:
        array = pa.array(values)
        from_arrow_type(array.type)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return _texts(values)
    return array


def _texts(values: Iterable[object]) -> pa.Array:
    return pa.array([text_of(value) for value in values], pa.string())
