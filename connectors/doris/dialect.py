"""The tables of Doris, and records as rows in the JSON that the server reads."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import msgspec
import pyarrow as pa

from connectors.doris.client import DELETE_SIGN
from connectors.doris.defaults import filled
from connectors.doris.endpoint import Endpoint, quoted
from connectors.doris.positions import COLUMNS, KEY
from connectors.doris.reader import DorisReader
from connectors.doris.session import Session
from connectors.doris.tables import UNIQUE, Table, table_of
from connectors.doris.types import Column, column_type
from connectors.doris.values import stand_ins, typed
from rocketconnect_sdk.evolution import Change, Takes
from rocketconnect_sdk.schema import Schema
from rocketconnect_sdk.tables.dialect import Dialect, TableRows
from rocketconnect_sdk.tables.settings import TableSettings
from rocketconnect_sdk.tables.values import Bad


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of one queue, ready to be sent. A batch is one load, so they travel with the receipt.

    Attributes:
        table: Where they go.
        queue: "topic/broker/queue".
        columns: The names of the columns.
        lines: The rows, as JSON objects.
        keys: By row its key; empty: rows have none.
        deletes: Rows say whether they delete.
    """

    table: str
    queue: str
    columns: Sequence[str]
    lines: Sequence[bytes]
    keys: Sequence[bytes] = ()
    deletes: bool = False


class Doris(Dialect[Column, Table]):
    """The tables of a cluster.

    Args:
        session: Statements.
        settings: What is written.
        properties: Of tables that are made, as statements have them; empty: none.
    """

    place: Endpoint
    positions = frozenset((*KEY, *COLUMNS))
    no_deletes = (
        "rows are added, and none is deleted: set insert.mode=upsert for a table with a UNIQUE KEY, or leave such records out"
    )
    # Other changes rewrite a table, and take their time.
    takes = Takes(columns=True, nulls=False, type=lambda _column, _wider: False)

    def __init__(self, session: Session, settings: TableSettings, properties: str) -> None:
        self.place = session.place
        self._session = session
        self._settings = settings
        self._properties = properties

    def ping(self) -> None:
        """See Dialect."""
        self._session.rows("SELECT 1")

    def table(self, name: str) -> Table | None:
        """See Dialect."""
        return table_of(self._session, name)

    def problem(self, table: Table) -> tuple[str, str] | None:
        """See Dialect."""
        settings = self._settings
        if settings.upsert and table.model != UNIQUE:
            reason = f"has the model {table.model} KEY, and insert.mode=upsert needs UNIQUE KEY"
            return reason, "Set insert.mode=insert, or make the table with a UNIQUE KEY"
        if not settings.upsert and table.model == UNIQUE:
            reason = "has the model UNIQUE KEY, in which a row replaces another one of its key, whichever of a batch comes last"
            return reason, "Set insert.mode=upsert, or make the table with a DUPLICATE KEY"
        if settings.upsert and settings.key and set(settings.key) != set(table.key):
            reason = f"has the key {','.join(table.key)}, and pk.fields is {','.join(settings.key)}"
            return reason, f"Set pk.fields={','.join(table.key)}, or leave it out"
        return None

    def create(self, name: str, records: Schema) -> None:
        """See Dialect."""
        fields, key = {each.name: each.schema for each in records.fields}, self._settings.key
        # A key stands first.
        columns = ", ".join(_definition(each, fields[each], key) for each in dict.fromkeys([*key, *fields]))
        listed, given = ", ".join(map(quoted, key)), [self._properties] if self._properties else []
        model = f"UNIQUE KEY ({listed}) DISTRIBUTED BY HASH ({listed})" if key else "DISTRIBUTED BY RANDOM"
        if not key:
            # Else the first columns would be its key, whatever they are.
            given = ['"enable_duplicate_without_keys_by_default" = "true"', *given]
        made = f"CREATE TABLE IF NOT EXISTS {self.place.table(name)} ({columns}) {model} BUCKETS AUTO"
        self._session.run(f"{made} PROPERTIES ({', '.join(given)})" if given else made)

    def alter(self, table: Table, changes: Sequence[Change], columns: Schema) -> None:
        """See Dialect."""
        schemas = {each.name: each.schema for each in columns.fields}
        for change in changes:
            kind = column_type(schemas[change.name])
            self._session.run(f"ALTER TABLE {self.place.table(table.name)} ADD COLUMN {quoted(change.name)} {kind} NULL")

    def typed(self, values: pa.Array, schema: Schema, column: Column) -> tuple[pa.Array, Bad]:
        """See Dialect."""
        return typed(values, schema, column)

    def filled(self, rows: pa.Table, table: Table, unnamed: Sequence[Sequence[str]]) -> pa.Table:
        """See Dialect."""
        return filled(rows, table.columns, unnamed, datetime.now(UTC))

    def encoded(self, written: TableRows[Table]) -> Sequence[Rows]:
        """See Dialect."""
        table, rows, gone, key = written.table, written.rows, written.gone, written.key
        queue = written.batch.queue
        if not key:
            return [Rows(table.name, queue, rows.column_names, lines(rows, {}))]
        deletes = self._settings.delete or gone is not None
        made, keys, columns = lines(rows, {DELETE_SIGN: 0} if deletes else {}), _keys(rows, key), rows.column_names
        if gone is not None:
            others = stand_ins(table.columns, key)
            made, keys = [*made, *lines(gone, {**others, DELETE_SIGN: 1})], [*keys, *_keys(gone, key)]
            columns = list(dict.fromkeys([*columns, *others]))
        return [Rows(table.name, queue, columns, made, keys, deletes)]

    def staged(self) -> None:
        """See Dialect. A connection is of one thread."""
        self._session.close()

    def reader(self) -> DorisReader:
        """See Dialect."""
        return DorisReader(self._session)

    def close(self) -> None:
        """See Dialect."""
        self._session.close()


def _definition(name: str, schema: Schema, key: Sequence[str]) -> str:
    null = "NULL" if schema.optional and name not in key else "NOT NULL"
    return f"{quoted(name)} {column_type(schema, key=name in key)} {null}"


def lines(rows: pa.Table, more: Mapping[str, object]) -> list[bytes]:
    """Rows as JSON objects, each with what else there is."""
    return [msgspec.json.encode({**row, **more}) for row in rows.to_pylist()]


def _keys(rows: pa.Table, key: Sequence[str]) -> list[bytes]:
    return [msgspec.json.encode(list(each.values())) for each in rows.select(list(key)).to_pylist()]
