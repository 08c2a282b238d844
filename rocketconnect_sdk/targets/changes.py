"""What values do to rows of tables: rows are written, and a change envelope says what happened to one. Pure."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import itemgetter

import pyarrow as pa
import pyarrow.compute as pc

from rocketconnect_sdk.evolution import nullable
from rocketconnect_sdk.schema import Schema, Type
from rocketconnect_sdk.targets.envelopes import NO_DELETION, is_envelope, row_schema
from rocketconnect_sdk.targets.rows import Rows

_WRITES = ("c", "u", "r")
_DELETE = "d"
_TRUNCATE = "t"
ORIGIN = {"db": "database", "schema": "schema", "table": "table"}
"""By field of its source what it says."""


@dataclass(slots=True)
class Changes:
    """Of one batch; numbers are indexes into its values.

    Attributes:
        rows: By value the row behind the change; null where there is none.
        before: By value the row before it, as far as it is told: it may have other columns. None: no value is an envelope.
        gone: By value the row, or the key of the row, that a deletion means.
        writes: The values that write a row.
        deletes: Those that delete one.
        truncates: Those that delete all.
        moves: The writes that give a row another key and do not tell all of its columns.
        missing: Records without a value.
        unchanged: By value the columns that are left as they are, where there are any.
        reasons: The values that are no changes, and why.
    """

    rows: Rows
    before: Rows | None = None
    gone: Rows | None = None
    writes: list[int] = field(default_factory=list)
    deletes: list[int] = field(default_factory=list)
    truncates: list[int] = field(default_factory=list)
    moves: list[int] = field(default_factory=list)
    missing: list[int] = field(default_factory=list)
    unchanged: dict[int, tuple[str, ...]] = field(default_factory=dict)
    reasons: dict[int, str] = field(default_factory=dict)

    @property
    def schema(self) -> Schema:
        """Of the rows that are written."""
        return self.rows.schema

    @property
    def only_truncates(self) -> bool:
        """There is nothing but truncations."""
        return bool(self.truncates) and not (self.writes or self.deletes or self.missing or self.reasons)


@dataclass(frozen=True, slots=True)
class Step:
    """Changes whose order among each other does not matter but by key: one staging of each kind.

    Attributes:
        truncate: All rows are deleted first.
        writes: See Changes.
        deletes: See Changes.
        unchanged: The columns that none of the writes touches.
        moves: The only write gives a row another key.
    """

    truncate: bool
    writes: Sequence[int]
    deletes: Sequence[int]
    unchanged: tuple[str, ...]
    moves: bool = False


def tables_of(values: pa.StructArray, schema: Schema) -> list[dict[str, str]]:
    """By value what the source of a change envelope says of its table: database, schema, table."""
    source = next((each.schema for each in schema.fields if each.name == "source"), None)
    if not is_envelope(schema) or source is None or source.type is not Type.STRUCT:
        return [{}] * len(values)
    held = {each.name for each in source.fields}
    parts = values.field("source")
    columns = {to: parts.field(of).to_pylist() for of, to in ORIGIN.items() if of in held}
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)] or [{}] * len(values)


def read_changes(
    values: pa.StructArray,
    schema: Schema,
    unchanged: Sequence[str | None] = (),
    unnamed: Mapping[int, Sequence[str]] | None = None,
) -> Changes:
    """What each value does. Which rows deletions mean is said by `by_value` or `by_key`.

    Args:
        values: Structs, or nulls.
        schema: Of them; see row_schema.
        unchanged: By value the names of columns that are left as they are, separated by commas, as the header of rows has them.
        unnamed: See rocketconnect_sdk.targets.objects: these columns are left as they are, too.
    """
    found = _read(values, schema, unchanged)
    for index, names in (unnamed or {}).items():
        found.unchanged[index] = tuple(sorted({*found.unchanged.get(index, ()), *names}))
    return found


def _read(values: pa.StructArray, schema: Schema, unchanged: Sequence[str | None]) -> Changes:
    of_rows = row_schema(schema) or schema
    if not is_envelope(schema):
        found = Changes(Rows(values, of_rows))
        found.writes = pc.indices_nonzero(values.is_valid()).to_pylist()
        found.missing = pc.indices_nonzero(values.is_null()).to_pylist()
        found.unchanged = {index: tuple(sorted(names.split(","))) for index, names in enumerate(unchanged) if names}
        return found
    fields = {each.name: each.schema for each in schema.fields}
    before = Rows(values.field("before"), nullable(fields["before"])) if fields["before"].type is Type.STRUCT else None
    found = Changes(Rows(values.field("after"), of_rows), before)
    of_envelopes = values.field("unchanged").to_pylist() if "unchanged" in fields else None
    after = found.rows.values.is_valid().to_pylist()
    for index, (valid, op) in enumerate(zip(values.is_valid().to_pylist(), values.field("op").to_pylist(), strict=True)):
        if not valid:
            found.missing.append(index)
        elif op in _WRITES and after[index]:
            found.writes.append(index)
            if of_envelopes and of_envelopes[index]:
                found.unchanged[index] = tuple(sorted(of_envelopes[index]))
        elif op == _DELETE:
            found.deletes.append(index)
        elif op == _TRUNCATE:
            found.truncates.append(index)
        else:
            found.reasons[index] = f"the change has the op {op!r} and not the row that belongs to it"
    return found


def by_value(changes: Changes, *, deletes: bool) -> None:
    """Deletions mean the row before the change.

    A record without a value is nothing where deletions are made, as an envelope has told which row is gone. It is so whatever is
    beside it: where batches end may change nothing.

    Args:
        changes: What becomes so.
        deletes: Deletions are made.
    """
    if not deletes:
        changes.reasons.update(dict.fromkeys(changes.missing, NO_DELETION))
    if changes.before is None:
        return
    told = changes.before.values.is_valid()
    for index in changes.deletes:
        if not told[index].as_py():
            changes.reasons[index] = "the change deletes a row and does not have it. Set pk.mode=record_key"
    changes.gone = changes.before


def by_key(changes: Changes, keys: pa.StructArray, columns: Schema) -> None:
    """The key of the record is that of the row, and a record without a value deletes it.

    Args:
        changes: What becomes so.
        keys: By value its key.
        columns: Of the keys.
    """
    changes.deletes = sorted([*changes.deletes, *changes.missing])
    changes.gone = Rows(keys, columns)
    names = set(changes.gone.names)
    others = [each for each in changes.schema.fields if each.name not in names]
    parts = [changes.rows.column(each.name) for each in others] + [changes.gone.column(each.name) for each in columns.fields]
    rows = changes.rows.values
    mask = rows.is_null() if rows.null_count else None
    fields = (*others, *columns.fields)
    made = pa.StructArray.from_arrays(parts, [each.name for each in fields], mask=mask)
    changes.rows = Rows(made, replace(changes.schema, fields=fields))


def steps(changes: Changes, written: Mapping[int, Hashable], deleted: Mapping[int, Hashable]) -> Iterator[Step]:
    """The changes in an order that comes to the same as one after the other, in as few steps as there can be.

    A step has one set of columns that writes leave as they are. Changes of one key keep their order; so do truncations and moves
    with all changes. Others go into the first step that has their columns, so that records which name different columns in turns
    are no step each.

    Args:
        changes: See Changes.
        written: By write the key of its row; empty: rows have none.
        deleted: By delete the same.
    """
    if not changes.truncates and not changes.unchanged:
        yield Step(False, changes.writes, changes.deletes, ())
        return
    # Two for each record: a changed key is a deletion and a write of the same one.
    events: list[tuple[int, str, Hashable]] = [(2 * index, "t", None) for index in changes.truncates]
    events += [(2 * index, "d", deleted[index]) for index in changes.deletes]
    events += [(2 * index + 1, "w", written.get(index)) for index in changes.writes]
    moves = set(changes.moves)
    columns: dict[tuple[str, ...], int] = {(): 0}
    found: dict[tuple[int, int, int], list[tuple[int, str]]] = {}
    last: dict[Hashable, tuple[int, int]] = {}
    stretch = 0
    for number, kind, key in sorted(events, key=itemgetter(0)):
        index = number // 2
        alone = kind == "w" and index in moves
        if kind == "t" or alone:
            stretch, last = stretch + 1, {}
        place = columns.setdefault(changes.unchanged.get(index, ()) if kind == "w" else (), len(columns))
        layer, before = last.get(key, (0, 0))
        layer += place < before
        if key is not None:
            last[key] = (layer, place)
        found.setdefault((stretch, layer, place), []).append((index, kind))
        if alone:
            stretch, last = stretch + 1, {}
    names = list(columns)
    for (_, _, place), members in sorted(found.items()):
        by = {kind: [index for index, of in members if of == kind] for kind in "wdt"}
        yield Step(bool(by["t"]), by["w"], by["d"], names[place], not moves.isdisjoint(by["w"]))


def within(changes: Changes, start: int, stop: int) -> Changes:
    """The changes of the values from start to before stop."""
    writes, deletes, truncates = (
        [index for index in each if start <= index < stop] for each in (changes.writes, changes.deletes, changes.truncates)
    )
    return replace(changes, writes=writes, deletes=deletes, truncates=truncates)


def last_of_each(keys: Sequence[pa.Table]) -> list[pa.Array]:
    """Of each table of keys the rows that are the last ones of their key, over all tables.

    Args:
        keys: Columns of the key, and a column that is called like none of them, the last one: the number of each row.
    """
    order = keys[0].column_names[-1]
    whole = pa.concat_tables(keys, promote_options="permissive")
    last = whole.group_by(whole.column_names[:-1]).aggregate([(order, "max")]).column(f"{order}_max").combine_chunks()
    return [pc.indices_nonzero(pc.is_in(table.column(order), last)) for table in keys]


def numbered(rows: pa.Table, key: Sequence[str], numbers: Sequence[int]) -> pa.Table:
    """The keys of rows with their numbers, as last_of_each takes them."""
    columns = [*(rows.column(name) for name in key), pa.array(numbers, pa.int64())]
    return pa.table(columns, [*(f"k{index}" for index in range(len(key))), "number"])


def those(rows: pa.Table, numbers: Sequence[int], wanted: Sequence[int]) -> pa.Table:
    """Of rows with these numbers those with some of them, in this order."""
    if wanted == numbers:
        return rows
    places = {number: place for place, number in enumerate(numbers)}
    return rows.take(pa.array([places[number] for number in wanted], pa.int64()))
