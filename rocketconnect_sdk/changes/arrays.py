"""Changes as columns."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from rocketconnect_sdk.arrow import to_array
from rocketconnect_sdk.changes.masks import TableMasks
from rocketconnect_sdk.columns.arrow_types import to_arrow_type
from rocketconnect_sdk.columns.compact import Column
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.schema import STRING, Schema


def prepare() -> None:
    """Loads what the first change would wait for: with the first value of Python's own Arrow loads pandas, for half a second."""
    column(STRING, [""])


def rows(schema: Schema, values: Sequence[Sequence[Any] | None]) -> Column:
    """Rows as structs; None becomes null.

    Raises:
        RecordError: a value does not fit its column.
    """
    missing = [row is None for row in values]
    if all(missing):
        return nulls(schema, len(values))
    if any(missing):
        nothing = (None,) * len(schema.fields)
        values = [nothing if row is None else row for row in values]
    columns = zip(*values, strict=True)
    # What is part of a null is null, whatever the column takes.
    of = _optional if any(missing) else _same
    parts = [to_array(held, of(field.schema)) for field, held in zip(schema.fields, columns, strict=True)]
    return _structs(schema, parts, missing)


def compared(columns: Schema, values: Sequence[Sequence[Any]]) -> tuple[pa.StructArray, dict[int, str]]:
    """Rows as structs of these columns, and by row what is wrong with one of which a value is none of its column: that is null."""
    wrong: dict[int, str] = {}
    parts = []
    for field, held in zip(columns.fields, zip(*values, strict=True), strict=True):
        schema = _optional(field.schema)
        try:
            parts.append(to_array(held, schema))
        except RecordError:
            ones = []
            for row, value in enumerate(held):
                try:
                    ones.append(to_array([value], schema))
                except RecordError as error:
                    ones.append(to_array([None], schema))
                    wrong[row] = f"{field.name}: {str(value)!r:.100} is no value of its type: {error}"
            parts.append(pa.concat_arrays(ones))
    return pa.StructArray.from_arrays(parts, [field.name for field in columns.fields]), wrong


def struct(schema: Schema, parts: Sequence[Column], missing: Sequence[bool] = ()) -> Column:
    """Structs of columns; those that are missing are null."""
    return _structs(schema, [part.array for part in parts], missing)


def of_parts(schema: Schema, parts: Sequence[pa.Array]) -> Column:
    """Structs of their parts, none of which is null."""
    return _structs(schema, parts, ())


def column(schema: Schema, values: Sequence[Any]) -> Column:
    """Values of one column. Raises RecordError: one does not fit."""
    return Column(to_array(values, schema))


def nulls(schema: Schema, count: int) -> Column:
    """So many nulls."""
    return Column(pa.nulls(count, to_arrow_type(schema)))


def repeated(schema: Schema, values: Sequence[Any], count: int) -> Column:
    """So many structs of the same values."""
    one = rows(schema, [values]).array
    return Column(one.take(pa.repeat(pa.scalar(0, pa.int64()), count)))


def beside(schema: Schema, constants: Sequence[str], columns: Sequence[Sequence[Any]]) -> Column:
    """Structs whose first fields are the same in all; the others are columns. Raises RecordError: a value does not fit."""
    same = [pa.repeat(pa.scalar(constant, pa.string()), len(columns[0])) for constant in constants]
    others = [to_array(held, field.schema) for field, held in zip(schema.fields[len(same) :], columns, strict=True)]
    return of_parts(schema, [*same, *others])


def table(schema: Schema, held: Any) -> Column:
    """A record batch, or structs, as structs of a schema."""
    return of_parts(schema, held.columns if isinstance(held, pa.RecordBatch) else held.flatten())


def masked(held: Any, masks: TableMasks) -> pa.RecordBatch:
    """A record batch, or structs, with masks for its columns."""
    batch = held if isinstance(held, pa.RecordBatch) else pa.RecordBatch.from_struct_array(held)
    return pa.RecordBatch.from_arrays(list(masks.arrays(batch.columns)), names=batch.schema.names)


def chosen(schema: Schema, structs: Column) -> Column:
    """Structs of some of the fields of others, none of which is null."""
    return of_parts(schema, [structs.array.field(field.name) for field in schema.fields])


def _optional(schema: Schema) -> Schema:
    return replace(schema, optional=True)


def _same(schema: Schema) -> Schema:
    return schema


def _structs(schema: Schema, parts: Sequence[pa.Array], missing: Sequence[bool]) -> Column:
    # Of structs without fields only the mask says how many there are.
    mask = pa.array(missing, pa.bool_()) if any(missing) or not parts else None
    return Column(pa.StructArray.from_arrays(list(parts), fields=list(to_arrow_type(schema)), mask=mask))
