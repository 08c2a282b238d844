"""Changes as rows of the columns of a table, and as keys of rows that go. Pure."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import reduce

import pyarrow as pa
import pyarrow.compute as pc

from rocketconnect_sdk.evolution import nullable
from rocketconnect_sdk.evolution.fitting import fit
from rocketconnect_sdk.schema import Field, Schema, Type
from rocketconnect_sdk.targets.changes import Changes
from rocketconnect_sdk.targets.rows import Rows

NO_VALUES = Schema(Type.STRUCT, optional=True)
"""Of a batch in which no record has a value: nothing but deletions."""

Fit = Callable[[Rows, Schema], tuple[pa.Table, dict[int, str]]]
"""Rows as those of the columns of a table, and by index what is wrong with those that do not fit."""


def fit_rows(rows: Rows, columns: Schema) -> tuple[pa.Table, dict[int, str]]:
    """The Fit of a table whose columns Spark has as they are."""
    made, reasons = fit(rows.values, rows.schema, columns)
    return pa.Table.from_struct_array(made), reasons


def rows_written(changes: Changes, columns: Schema, fit: Fit) -> tuple[pa.Table, dict[int, str]]:
    """The rows that are written, by write, and by value what is wrong with those that do not fit.

    Args:
        changes: See Changes.
        columns: Of the table, as far as rows have them.
        fit: See Fit.
    """
    written = changes.rows.take(changes.writes)
    if not changes.unchanged:
        rows, bad = fit(written, columns)
    else:
        rows, bad = fit(written, spared(columns, changes.unchanged.values()))
        bad = nulls_told(rows, columns, [changes.unchanged.get(index, ()) for index in changes.writes]) | bad
    return rows, {changes.writes[row]: reason for row, reason in bad.items()}


def moved(changes: Changes, key: Sequence[str]) -> list[int]:
    """The writes whose row had another key before the change, as far as that is told."""
    before, rows = changes.before, changes.rows
    if before is None or not key or not before.has(key) or not rows.has(key):
        return []
    was, now = ([each.column(name) for name in key] for each in (before, rows))
    there = reduce(pc.and_, (part.is_valid() for part in was), before.values.is_valid())
    wanted: set[int] = set()
    if [part.type for part in was] != [part.type for part in now]:
        # A value that the type of the row does not have is another one.
        held, others = fit(before.values, before.schema, only(nullable(rows.schema), key))
        was, wanted = [held.field(name) for name in key], set(others)
    other = pc.fill_null(reduce(pc.or_, map(pc.not_equal, was, now)), False)
    wanted.update(pc.indices_nonzero(pc.and_(other, there)).to_pylist())
    return [index for index in changes.writes if index in wanted]


def keys_gone(changes: Changes, key: Schema, also: Sequence[int], fit: Fit) -> tuple[pa.Table | None, pa.Table | None]:
    """The keys of the rows that are deleted, and of those that move; what does not fit becomes one of the reasons.

    A row whose key an update changes is deleted, but for one whose columns are not all told, which becomes one of the moves:
    deleting it would lose them.

    Args:
        changes: Their deletes and moves become those of the keys.
        key: The columns of the key.
        also: The writes that change the key of their row: see moved().
        fit: See Fit.

    Returns:
        By delete the key, and by move that which the row had; None: there are none.
    """
    changes.moves = [index for index in also if index in changes.unchanged]
    also = [index for index in also if index not in changes.unchanged]
    parts: list[pa.Table | None] = []
    for indexes, rows in ((changes.deletes, changes.gone), (also, changes.before), (changes.moves, changes.before)):
        if not indexes or rows is None:
            parts.append(None)
        else:
            made, bad = fit(rows.take(indexes), key)
            of = "of the row before the change " if rows is changes.before else ""
            changes.reasons = {**{indexes[row]: f"{of}{reason}" for row, reason in bad.items()}, **changes.reasons}
            parts.append(made)
    changes.deletes = [*changes.deletes, *also]
    *gone, left = parts
    there = [each for each in gone if each is not None]
    return pa.concat_tables(there) if there else None, left


def only(columns: Schema, names: Sequence[str]) -> Schema:
    """Some of the columns, in this order."""
    known: dict[str, Field] = {each.name: each for each in columns.fields}
    return replace(columns, fields=tuple(known[name] for name in names))


def key_first(columns: Schema, key: Sequence[str]) -> Schema:
    """Columns of a new table: those of the key stand first, in the order of the key."""
    names = [each.name for each in columns.fields]
    return only(columns, list(dict.fromkeys([*(name for name in key if name in names), *names])))


def keyed(records: Schema, key: Sequence[str]) -> Schema:
    """Records whose keys are taken to be there: those that are not are told one by one."""
    return replace(
        records,
        fields=tuple(
            Field(each.name, replace(each.schema, optional=False) if each.name in key else each.schema) for each in records.fields
        ),
    )


def spared(columns: Schema, unchanged: Iterable[Sequence[str]]) -> Schema:
    """Columns that rows may leave unchanged take nulls, which stand for what is not told."""
    names = {name for each in unchanged for name in each}
    return replace(
        columns,
        fields=tuple(
            Field(each.name, replace(each.schema, optional=each.schema.optional or each.name in names)) for each in columns.fields
        ),
    )


def nulls_told(rows: pa.Table, columns: Schema, unchanged: Sequence[Sequence[str]]) -> dict[int, str]:
    """By index the rows that have a null where their column takes none, and do not leave it unchanged.

    Args:
        rows: Of these columns.
        columns: Of the table.
        unchanged: By row the columns that it leaves unchanged.
    """
    names = {name for each in unchanged for name in each}
    return {
        row: f"{each.name} is null, and the column takes no null"
        for each in columns.fields
        if each.name in names and not each.schema.optional
        for row in pc.indices_nonzero(rows.column(each.name).is_null()).to_pylist()
        if each.name not in unchanged[row]
    }
