"""What a batch of changes does to a table, with one row for each key. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa

from rocketconnect_sdk.columns.arrow_types import to_arrow_type
from rocketconnect_sdk.schema import Field
from rocketconnect_sdk.spark.types import to_spark
from rocketconnect_sdk.targets.changes import Changes, last_of_each, numbered, those


@dataclass(frozen=True, slots=True)
class Merge:
    """What becomes of a table; each key is there once.

    Attributes:
        rows: What is written; of a row that goes, the key.
        gone: By row whether it goes.
        truncates: All other rows go.
        kept: By row the columns that get what another row of the table has in them, which has the key in `bases`; empty: no row
            has such columns.
        bases: By row that key, or nulls.
    """

    rows: pa.Table
    gone: Sequence[bool]
    truncates: bool
    kept: Sequence[Sequence[str]] = ()
    bases: pa.Table | None = None


@dataclass(frozen=True, slots=True)
class _Row:
    """What becomes of the row of a key.

    Attributes:
        key: Where its key is among all keys.
        row: Where what is written is among the rows; None: no change has told it.
        others: By column where it is instead, if it is elsewhere.
        base: Where the key is of the row of the table that has what no change has told; None: there is no such row.
        gone: It goes.
    """

    key: int
    row: int | None = None
    others: Mapping[str, int | None] = field(default_factory=dict)
    base: int | None = None
    gone: bool = False

    def of(self, column: str) -> int | None:
        """Where the value of a column is among the rows; None: no change has told it."""
        return self.others.get(column, self.row)


def merge_of(
    changes: Changes,
    rows: pa.Table,
    gone: pa.Table | None,
    left: pa.Table | None,
    key: Sequence[str],
    others: Sequence[Field] = (),
) -> Merge:
    """What changes come to, made one after the other.

    Args:
        changes: Of one batch.
        rows: By write the row.
        gone: By delete the key; None: there are none.
        left: By move the key that the row had; None: there are none.
        key: The columns of the key.
        others: The columns of the table that rows do not have. A row that is there keeps what it has in them, unless it was deleted
            in between.
    """
    keys = rows.select(list(key)).slice(0, 0)
    gone, left = gone or keys, left or keys
    # What is before a truncation is nothing.
    begin = max(changes.truncates, default=-1) + 1
    writes, deletes = ([index for index in each if index >= begin] for each in (changes.writes, changes.deletes))
    if others and (changes.moves or not _named(rows, key).isdisjoint(_named(gone, key))):
        rows, changes = _whole(changes, rows, others)
    if changes.unchanged:
        return _folded(changes, rows, gone, left, key)
    rows, gone = those(rows, changes.writes, writes), those(gone, changes.deletes, deletes)
    # A changed key is a deletion and a write of the same record.
    last = last_of_each(
        [
            numbered(rows, key, [2 * index + 1 for index in writes]),
            numbered(gone, key, [2 * index for index in deletes]),
        ]
    )
    rows, gone = rows.take(last[0]), gone.take(last[1])
    whole = pa.concat_tables([rows, gone], promote_options="default")
    return Merge(whole, [False] * rows.num_rows + [True] * gone.num_rows, begin > 0)


def _whole(changes: Changes, rows: pa.Table, others: Sequence[Field]) -> tuple[pa.Table, Changes]:
    """The same with all columns of the table, of which writes leave the others as they are."""
    for each in others:
        rows = rows.append_column(each.name, to_spark(pa.nulls(rows.num_rows, to_arrow_type(each.schema))))
    names = [each.name for each in others]
    unchanged = {index: (*changes.unchanged.get(index, ()), *names) for index in changes.writes}
    return rows, replace(changes, unchanged=unchanged)


def _named(rows: pa.Table, key: Sequence[str]) -> set[tuple[object, ...]]:
    return set(zip(*(rows.column(name).to_pylist() for name in key), strict=True))


def _folded(changes: Changes, rows: pa.Table, gone: pa.Table, left: pa.Table, key: Sequence[str]) -> Merge:
    """The same where changes leave columns as they are: then what they have is in an earlier change, or in the table."""
    keys = pa.concat_tables([rows.select(list(key)), gone, left])
    names = list(zip(*(column.to_pylist() for column in keys.columns), strict=True))
    moves = {index: rows.num_rows + gone.num_rows + place for place, index in enumerate(changes.moves)}
    events = [(2 * index + 1, place) for place, index in enumerate(changes.writes)]
    events += [(2 * index, rows.num_rows + place) for place, index in enumerate(changes.deletes)]
    begin = max(changes.truncates, default=-1) + 1
    found: dict[tuple[object, ...], _Row] = {}
    for number, place in sorted(each for each in events if each[0] >= 2 * begin):
        index, writes = divmod(number, 2)
        if not writes:
            found[names[place]] = _Row(place, gone=True)
            continue
        was = moves.get(index, place)
        before = found.get(names[was]) or _Row(was, base=None if begin else was)
        if names[was] != names[place]:
            found[names[was]] = _Row(was, gone=True)
        others = {column: before.of(column) for column in changes.unchanged.get(index, ())}
        found[names[place]] = _Row(place, place, others, before.base if others else None)
    return _merge(list(found.values()), rows, keys, truncates=begin > 0)


def _merge(found: Sequence[_Row], rows: pa.Table, keys: pa.Table, *, truncates: bool) -> Merge:
    def taken(name: str) -> pa.ChunkedArray:
        if name in keys.column_names:
            return keys.column(name).take(pa.array([each.key for each in found], pa.int64()))
        return rows.column(name).take(pa.array([each.of(name) for each in found], pa.int64()))

    made = pa.table({name: taken(name) for name in rows.column_names})
    gone = [each.gone for each in found]
    kept = [
        [column for column, place in each.others.items() if place is None and column in rows.column_names]
        if each.base is not None
        else []
        for each in found
    ]
    if not any(kept):
        return Merge(made, gone, truncates)
    bases = keys.take(pa.array([each.base for each in found], pa.int64()))
    return Merge(made, gone, truncates, kept, bases)
