"""Changes of rows as statements: rows are given to the database, and merged into their table."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from logging import Logger

import pyarrow as pa

from connectors.jdbc import Dialect, Fault
from connectors.jdbc.dialect import Connection, execute
from connectors.jdbc.given import Given
from connectors.jdbc_sink.shape import Shape
from connectors.jdbc_sink.staged import Staged
from rocketconnect_sdk.configuration.linear_patterns import Allowed
from rocketconnect_sdk.evolution import Policy
from rocketconnect_sdk.schema import Schema
from rocketconnect_sdk.targets.changes import Changes, Step, last_of_each, numbered, steps, those, within
from rocketconnect_sdk.wording.counts import counted

_SHOWN = 500
_SAVEPOINT = "rocketconnect_trial"


@dataclass(frozen=True, slots=True)
class SinkSettings:
    """How rows are written.

    Attributes:
        table: The format of the table's name.
        allowed: Names that a record may say, see naming.
        keyed: Rows of a key that is there replace it; else rows are inserted.
        update: Rows of a key that is not there are left out.
        key: The columns of the key; empty: those of the table's primary key.
        by_key: They are in the key of the record; else in its value.
        delete: Deletions are made.
        truncate: A truncation deletes all rows.
        create: Tables are made where there are none.
        policy: See rocketconnect_sdk.evolution.
        width: Of texts in keys of tables that are made; 0: as the database has it.
        columns: Of values without a schema; None: there are none.
    """

    table: str
    allowed: Allowed | None
    keyed: bool
    update: bool
    key: tuple[str, ...]
    by_key: bool
    delete: bool
    truncate: bool
    create: bool
    policy: Policy
    width: int
    columns: Schema | None


@dataclass(frozen=True, slots=True)
class Prepared:
    """What a batch does to one table."""

    shape: Shape
    changes: Changes
    rows: pa.Table
    gone: pa.Table | None
    left: pa.Table | None
    """By move the key that the row had."""
    indexes: Sequence[int]
    """Of its values in the batch."""


class Merging:
    """Makes changes in a transaction that is open.

    Args:
        dialect: Of the database.
        writing: How rows are written.
        log: For people.
    """

    def __init__(self, dialect: Dialect, writing: SinkSettings, log: Logger) -> None:
        self._dialect = dialect
        self._writing = writing
        self._log = log
        self._staged = 0
        """Staging tables of the transaction."""

    def begin(self) -> None:
        """A new transaction: there are no staging tables."""
        self._staged = 0

    def change(self, connection: Connection, prepared: Prepared, changes: Changes) -> None:
        """Makes changes, all of one table."""
        written, deleted = _keys(prepared) if self._writing.keyed and (changes.unchanged or changes.truncates) else ({}, {})
        for step in steps(changes, written, deleted):
            self._step(connection, prepared, step)

    def _step(self, connection: Connection, prepared: Prepared, step: Step) -> None:
        shape = prepared.shape
        if step.truncate:
            # Not TRUNCATE, which ends the transaction in MySQL.
            execute(connection, f"DELETE FROM {self._dialect.quoted(shape.name)}")  # noqa: S608  # quoted
        writes = those(prepared.rows, prepared.changes.writes, step.writes)
        writes = writes.drop_columns([name for name in step.unchanged if name in writes.column_names])
        if not self._writing.keyed:
            if writes.num_rows:
                self._dialect.insert(connection, shape.name, writes)
            return
        if step.moves and prepared.left is not None:
            old = those(prepared.left, prepared.changes.moves, step.writes)
            self._move(connection, shape, old, writes.select(list(shape.key)))
        gone = writes.slice(0, 0) if prepared.gone is None else those(prepared.gone, prepared.changes.deletes, step.deletes)
        # A changed key is a deletion and a write of the same record.
        keys = [numbered(writes, shape.key, [2 * number + 1 for number in step.writes])]
        keys.append(numbered(gone, shape.key, [2 * number for number in step.deletes]))
        kept = last_of_each(keys)
        if gone.num_rows:
            # Also those that are written again: of what was there before nothing is left.
            self._give(connection, shape, gone.group_by(list(shape.key)).aggregate([])).delete()
        if writes.num_rows:
            self._write(connection, shape, writes.take(kept[0]), partly=bool(step.unchanged))

    def _move(self, connection: Connection, shape: Shape, old: pa.Table, new: pa.Table) -> None:
        """Gives a row another key; a row that has it already goes. Where no row has the old key the change was made before."""
        was, now = (self._give(connection, shape, keys) for keys in (old, new))
        if not was.missing():
            now.delete()
            was.rename(now)

    def _write(self, connection: Connection, shape: Shape, rows: pa.Table, *, partly: bool) -> None:
        given = self._give(connection, shape, rows)
        if not (partly or self._writing.update):
            given.merge()
            return
        if set(rows.column_names) - set(shape.key):
            given.update()
        count = given.missing()
        if count and self._writing.update:
            told = counted(count, "record", "has a key that no row has", "have a key that no row has")
            self._log.warning("%s: %s: insert.mode=update writes no new rows", shape.name, told)
        elif count:
            # An insert without a column that takes no null is refused, even where the row is there and would keep its value.
            given.merge_missing()

    def _give(self, connection: Connection, shape: Shape, rows: pa.Table) -> Given:
        if (given := self._dialect.given(connection, shape.name, shape.key, rows)) is not None:
            return given
        self._staged += 1
        return Staged(self._dialect, connection, shape.name, shape.key, f"rocketconnect_staged_{self._staged}", rows)

    def tried(self, connection: Connection, prepared: Prepared, start: int, stop: int) -> str:
        """Makes the changes of some values; what the database says where it refuses them, and then nothing is changed."""
        execute(connection, f"SAVEPOINT {_SAVEPOINT}")
        try:
            self.change(connection, prepared, within(prepared.changes, start, stop))
        except Exception as error:
            if self._dialect.fault(error) is not Fault.VALUE:
                raise
            execute(connection, f"ROLLBACK TO SAVEPOINT {_SAVEPOINT}")
            return " ".join(str(error).split())[:_SHOWN]
        execute(connection, f"RELEASE SAVEPOINT {_SAVEPOINT}")
        return ""


def _keys(prepared: Prepared) -> tuple[Mapping[int, Hashable], Mapping[int, Hashable]]:
    """By write and by delete the key of its row."""

    def keys(rows: pa.Table | None, of: Sequence[int]) -> Mapping[int, Hashable]:
        columns = [] if rows is None else [rows.column(name).to_pylist() for name in prepared.shape.key]
        return dict(zip(of, zip(*columns, strict=True), strict=bool(columns)))

    return keys(prepared.rows, prepared.changes.writes), keys(prepared.gone, prepared.changes.deletes)
