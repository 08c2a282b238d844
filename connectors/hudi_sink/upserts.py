"""A batch of rows and changes of rows becomes one commit of the table: each key has one row."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from connectors.file_sink.columns import Columns
from connectors.hudi_sink.table import Change, Table, TableState
from connectors.hudi_sink.task import HudiTask
from connectors.lakes.upserts import Keyed, Upserting, Upserts
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import PermanentError
from rocketconnect_sdk.evolution import Settled
from rocketconnect_sdk.schema import Schema
from rocketconnect_sdk.sink import FlushPolicy, SinkCommit
from rocketconnect_sdk.targets.commits import is_written
from rocketconnect_sdk.targets.merging import Merge


class UpsertTask(Upserting, HudiTask):
    """Keeps a table of Hudi as changes say, exactly once.

    Args:
        root: See HudiTask.
        context: See HudiTask.
        columns: See HudiTask.
        evolving: See HudiTask.
        partitions: See HudiTask.
        flush: See HudiTask.
        settings: See HudiTask.
        keyed: The key, and what may happen to rows.
    """

    def __init__(
        self,
        root: Path,
        context: TaskContext,
        columns: Schema | None,
        evolving: Columns,
        partitions: Sequence[str],
        flush: FlushPolicy,
        settings: Mapping[str, str],
        keyed: Keyed,
    ) -> None:
        super().__init__(root, context, columns, evolving, partitions, flush, settings)
        self._upserts = Upserts(root, columns, evolving, keyed)

    @property
    def _key(self) -> Sequence[str]:
        return self._upserts.key

    def _check(self, look: TableState) -> None:
        super()._check(look)
        # Without pk.fields it is known with the first batch.
        if self._key and set(look.key) != set(self._key):
            there = f"the key {','.join(look.key)}" if look.key else "no key"
            fix = f"Set pk.fields={','.join(look.key)}" if look.key else "Set insert.mode=insert, or name another table"
            msg = f"{self._root}: the table has {there}, and that of the records is {','.join(self._key)}. {fix}"
            raise PermanentError(msg)

    def _known(self) -> Schema | None:
        look = self._table.look()
        return None if look is None else look.columns

    def _merge(self, merge: Merge, settled: Settled, commit: SinkCommit, *, makes: bool) -> None:
        self._makes = makes
        look = self._found(settled.table)
        if is_written(self._kept.positions(look.kept), commit):
            return
        gone = pa.array(merge.gone, pa.bool_())
        written = whole(merge, look, self._table, self._key).filter(pc.invert(gone))
        how = "overwrite" if merge.truncates else "upsert"
        change = Change(
            self._whole(written, look) if written.num_rows else None,
            merge.rows.filter(gone) if any(merge.gone) and not merge.truncates else None,
            how,
        )
        self._commit(commit, change, settled.table, on=look.state)


def whole(merge: Merge, look: TableState, table: Table, key: Sequence[str]) -> pa.Table:
    """The rows in all columns of the table: what no change has told stays as it is, or is null in new rows.

    Args:
        merge: What becomes of the table.
        look: At the table.
        table: Where the rows are that are looked at.
        key: The columns of the key.
    """
    names = merge.rows.column_names
    others = [each.name for each in look.columns.fields if each.name not in names]
    if merge.truncates or not (others or any(merge.kept)):
        return merge.rows
    bases = merge.rows.select(key) if merge.bases is None else _bases(merge, merge.bases, key)
    found = table.rows_of(bases)
    return merge.rows if found is None else filled(merge, bases, found, others)


def _bases(merge: Merge, bases: pa.Table, key: Sequence[str]) -> pa.Table:
    """By row the key of the row of the table that has what it keeps."""
    moved = pa.array([bool(each) for each in merge.kept])
    parts = [pc.if_else(moved, bases.column(name), merge.rows.column(name)) for name in key]
    return pa.table(parts, names=list(key))


def filled(merge: Merge, bases: pa.Table, found: pa.Table, others: Sequence[str]) -> pa.Table:
    """The rows of a batch with what they keep of those of the table. Pure.

    Args:
        merge: What becomes of the table.
        bases: By row the key of the row of the table that has what it keeps.
        found: Rows of the table, those with these keys among them.
        others: The columns that no row of the batch has.
    """
    places = {row: place for place, row in enumerate(_rows(found.select(bases.column_names)))}
    at = pa.array([places.get(row) for row in _rows(bases)], pa.int64())
    kept = merge.kept or [()] * merge.rows.num_rows
    columns = {}
    for name in merge.rows.column_names:
        mine = merge.rows.column(name)
        if name in found.column_names and any(name in each for each in kept):
            stays = pa.array([name in each for each in kept], pa.bool_())
            mine = pc.if_else(stays, found.column(name).take(at).cast(mine.type), mine)
        columns[name] = mine
    return pa.table({**columns, **{name: found.column(name).take(at) for name in others if name in found.column_names}})


def _rows(table: pa.Table) -> list[tuple[object, ...]]:
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))
