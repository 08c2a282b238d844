"""The tables that records go into: they are looked at, made, and changed where that is allowed."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from logging import Logger

from connectors.jdbc import Dialect, Endpoint, Table
from connectors.jdbc.dialect import Connection, execute
from connectors.jdbc_sink.merging import SinkSettings
from connectors.jdbc_sink.preflight import INEXACT, key_problem
from connectors.jdbc_sink.shape import (
    Shape,
    checked,
    column_kind,
    computed,
    create,
    created,
    met,
    name_problem,
    numbered_problem,
    outgrown,
    widens,
    without,
    without_length,
)
from connectors.jdbc_sink.store import is_positions
from rocketconnect_sdk.errors import PermanentError, RecordError
from rocketconnect_sdk.evolution import Kind, OtherColumns, Policy, Settled, Takes, settle
from rocketconnect_sdk.evolution.tables import told_changes, told_old_rows
from rocketconnect_sdk.schema import Field, Schema
from rocketconnect_sdk.targets.fitted import keyed, only


class Tables:
    """The tables of a database, as records of each schema are written into them.

    Args:
        place: The database.
        dialect: Its kind.
        writing: How rows are written.
        log: For people.
    """

    def __init__(self, place: Endpoint, dialect: Dialect, writing: SinkSettings, log: Logger) -> None:
        self._place = place
        self._dialect = dialect
        self._writing = writing
        self._log = log
        self._shapes: dict[tuple[str, Schema], Shape] = {}

    def forget(self) -> None:
        """Looks at all tables again: others may have changed them."""
        self._shapes = {}

    def shape(self, connection: Connection, name: str, records: Schema, key: Sequence[str], *, has_rows: bool) -> Shape:
        """The table for records of a schema; it is made, or changed, where that is allowed.

        Args:
            connection: With a transaction.
            name: Of the table.
            records: The schema.
            key: The columns of the key; empty: those of the table's primary key.
            has_rows: False: there are but keys of rows that are deleted.

        Raises:
            PermanentError: there is no such table or key, or the policy is fail.
            RecordError: see rocketconnect_sdk.evolution.settle.
        """
        known = self._shapes.get((name, records))
        if known is not None:
            return known
        self._check_names(name)
        table = self._dialect.table(connection, name)
        if table is not None:
            self._refuse_positions(name, table)
        table = table or self._create(connection, name, records, key)
        key = key or table.key
        self._check_key(name, key, table, records)
        self._check_written(name, key, table, records)
        if self._writing.keyed and (problem := key_problem(self._dialect, connection, name, table, key)):
            msg = f"{self._place}: {', '.join(key)} {' '.join(problem)}"
            raise PermanentError(msg)
        if self._writing.keyed and (inexact := self._dialect.inexact(connection, name, key)):
            self._log.warning("%s: %s: %s %s. %s", self._place, name, ", ".join(inexact), *INEXACT)
        wanted = keyed(self._without_computed(name, table, records) if has_rows else records, key)
        columns = met(table, records, key, self._dialect)
        settled = self._settle(name, columns, wanted) if has_rows else Settled(columns)
        self._alter(connection, name, settled, key)
        if self._writing.keyed and (told := told_old_rows(settled.changes, columns, wanted)):
            self._log.warning("%s: %s", name, told)
        widths = self._widen(connection, name, records, table, key) if has_rows else table.widths
        fields = {each.name for each in records.fields}
        written = only(settled.table, [each.name for each in settled.table.fields if each.name in fields])
        gets_nulls = {change.name for change in settled.changes if change.kind is Kind.NULLS}
        shape = Shape(
            name,
            _filled(written, table.filled - gets_nulls),
            tuple(key),
            widths,
            checked(table, key if self._writing.keyed else ()),
            table.decimals,
        )
        self._shapes[name, records] = shape
        return shape

    def _create(self, connection: Connection, name: str, records: Schema, key: Sequence[str]) -> Table:
        if not self._writing.create:
            msg = f"{self._place}: there is no table {name}. Make it, or set auto.create=true"
            raise PermanentError(msg)
        if self._writing.keyed and not key:
            msg = f"{self._place}: {name}: the key of a new table is not known. Set pk.fields"
            raise PermanentError(msg)
        missing = set(key) - {each.name for each in records.fields}
        if missing:
            msg = f"{name}: the record has no field {', '.join(sorted(missing))}, which pk.fields names"
            raise RecordError(msg)
        self._check_names(name, [each.name for each in records.fields])
        exact = self._dialect.exact(connection)
        self._dialect.create(connection, create(self._dialect, name, records, key, self._writing.width, exact))
        connection.commit()
        self._log.info("%s: made the table %s", self._place, name)
        return self._dialect.table(connection, name) or created(records, key, self._writing.width)

    def _refuse_positions(self, name: str, table: Table) -> None:
        """Whatever a name is written like: what it leads to is looked at."""
        if not is_positions([each.name for each in table.columns.fields]):
            return
        msg = f"{name} is a table of positions, which records are never written to"
        if "${" in self._writing.table:
            raise RecordError(msg)
        msg = f"{self._place}: {msg}. Name another one in table.name.format"
        raise PermanentError(msg)

    def _check_names(self, name: str, columns: Sequence[str] = ()) -> None:
        if problem := name_problem(self._dialect, name, columns):
            msg = f"{self._place}: {name}: {problem}. Set table.name.format, or rename the field with a transform"
            raise PermanentError(msg)

    def _check_key(self, name: str, key: Sequence[str], table: Table, records: Schema) -> None:
        if not self._writing.keyed:
            return
        if not key:
            msg = f"{self._place}: {name} has no primary key. Give it one, set pk.fields or insert.mode=insert"
            raise PermanentError(msg)
        fields = {each.name for each in records.fields}
        for column in key:
            if column not in {each.name for each in table.columns.fields}:
                msg = f"{self._place}: {name} has no column {column}, which pk.fields names"
                raise PermanentError(msg)
            if column not in fields:
                msg = f"{name}: the record has no field {column}, which is part of the key"
                raise RecordError(msg)

    def _check_written(self, name: str, key: Sequence[str], table: Table, records: Schema) -> None:
        if table.is_view:
            msg = f"{self._place}: {name} is a view that takes no rows. Name the table behind it"
            raise PermanentError(msg)
        if self._writing.keyed and (problem := numbered_problem(self._dialect, name, table, records, key)):
            msg = f"{self._place}: {name} {'. '.join(problem)}"
            raise PermanentError(msg)

    def _without_computed(self, name: str, table: Table, records: Schema) -> Schema:
        told = computed(table, records)
        if told and self._writing.policy is Policy.FAIL:
            fix = "Leave the field out (transform replace_field), or set schema.evolution=ignore"
            msg = f"{self._place}: {name}: {told}, and schema.evolution is fail. {fix}"
            raise OtherColumns(msg)
        if told and self._writing.policy is Policy.DEAD_LETTER:
            msg = f"{name}: {told}"
            raise RecordError(msg)
        if told:
            self._log.warning("%s: left out is %s", name, told)
        return without(records, table.computed)

    def _settle(self, name: str, columns: Schema, records: Schema) -> Settled:
        takes = Takes(columns=True, nulls=True, type=lambda column, wider: widens(self._dialect, name, column, wider))
        try:
            settled = settle(columns, records, self._writing.policy, takes)
        except OtherColumns as error:
            msg = f"{self._place}: {name}: {error}. Change the table, or choose another policy"
            raise OtherColumns(msg) from None
        except RecordError as error:
            msg = f"{name}: {error}"
            raise RecordError(msg) from None
        if settled.left_out:
            self._log.warning("%s: fields that are no columns are left out: %s", name, ", ".join(settled.left_out))
        return settled

    def _alter(self, connection: Connection, name: str, settled: Settled, key: Sequence[str]) -> None:
        self._check_names(name, [each.name for each in settled.changes if each.kind is Kind.NEW and len(each.path) == 1])
        now = {each.name: each for each in settled.table.fields}
        statements: list[str] = []
        exact = self._dialect.exact(connection) if settled.changes else ""
        for change in (each for each in settled.changes if len(each.path) == 1):
            field = now[change.name]
            if change.kind is Kind.NEW and self._dialect.row_bytes:
                # The columns that are there are not known to leave room for one of its length.
                field = Field(field.name, without_length(field.schema))
            kind = column_kind(self._dialect, field, key, self._writing.width, exact)
            if change.kind is Kind.NEW:
                statements.append(f"ALTER TABLE {self._dialect.quoted(name)} ADD COLUMN {self._dialect.column(field.name)} {kind}")
            elif change.kind is Kind.TYPE:
                statements += self._dialect.widen(name, field.name, kind)
            else:
                statements += self._dialect.allow_nulls(name, field.name, kind)
        for statement in statements:
            execute(connection, statement)
        if statements:
            connection.commit()
            self._log.info("%s: the table follows the records: %s", name, told_changes(settled.changes))

    def _widen(self, connection: Connection, name: str, records: Schema, table: Table, key: Sequence[str]) -> Mapping[str, int]:
        """Columns become as wide as the source says that its are, where tables may change."""
        if self._writing.policy is not Policy.EVOLVE:
            return table.widths
        filled = {each.name for each in table.columns.fields if not each.schema.optional}
        exact = self._dialect.exact(connection) if key else ""
        made = dict(table.widths)
        for field in outgrown(records, table.widths):
            kind = column_kind(self._dialect, field, (), self._writing.width) + (exact if field.name in key else "")
            statements = self._dialect.widen(name, field.name, kind + self._dialect.stays_filled * (field.name in filled))
            for statement in statements:
                execute(connection, statement)
            if statements:
                connection.commit()
                made[field.name] = field.schema.length
                self._log.info("%s: the column %s has room for %d characters now", name, field.name, field.schema.length)
        return made


def _filled(columns: Schema, names: Collection[str]) -> Schema:
    """Columns of which these take no null: one that has a default gets it where a record has no such field, not for its null."""
    return replace(
        columns,
        fields=tuple(
            Field(each.name, replace(each.schema, optional=False)) if each.name in names else each for each in columns.fields
        ),
    )
