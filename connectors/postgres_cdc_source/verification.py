"""The tables that are captured, for comparisons with those of a sink: read as a snapshot reads them."""

from collections.abc import Generator, Sequence
from contextlib import closing

import pyarrow as pa

from connectors.jdbc.keys import among, in_order, same
from connectors.jdbc.reading.postgres import PostgresReading
from connectors.jdbc.reading.table_rows import joined
from connectors.postgres_cdc_source.logical.catalog import Catalog
from connectors.postgres_cdc_source.logical.connection import connect, quoted
from connectors.postgres_cdc_source.rows.copying import Copy, typed, values
from connectors.postgres_cdc_source.rows.snapshot import transaction
from connectors.postgres_cdc_source.settings import Settings
from connectors.postgres_cdc_source.tables import Table, names, now
from rocketconnect_sdk.changes.arrays import compared
from rocketconnect_sdk.database_logs.making import named_of
from rocketconnect_sdk.errors import PermanentError, RecordError
from rocketconnect_sdk.schema import Schema
from rocketconnect_sdk.verification import CapturedTable, Key, ReadRows, SourceTables, TableRows

_ROWS, _BYTES = 10_000, 8 << 20


class PostgresTables(SourceTables):
    """See SourceTables."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def tables(self) -> Sequence[CapturedTable]:
        """See SourceTables."""
        settings, capture = self._settings, self._settings.capture
        with closing(connect(settings.address)) as connection:
            found = names(connection, settings.chosen)
        made = []
        for name in found:
            path = settings.path_of(name)
            topic = named_of(capture.template, capture.topic, name, path).topic
            made.append(CapturedTable(str(name), topic, path._asdict()))
        return made

    def open(self, name: str) -> TableRows:
        """See SourceTables."""
        settings = self._settings
        with closing(connect(settings.address)) as connection:
            found = next((each for each in names(connection, settings.chosen) if str(each) == name), None)
            table = None if found is None else now(connection, Catalog(connection), found, settings.chosen)
        if table is None:
            msg = f"{name} is no table that the connector captures: name one that it does"
            raise PermanentError(msg)
        return _Rows(settings, table)


class _Rows(TableRows):
    def __init__(self, settings: Settings, table: Table) -> None:
        self._address = settings.address
        self._table = table
        self._masks = settings.capture.masks.on_compared(str(table.name), table.schema, table.key)
        self.columns, self.key = self._masks.schema(table.schema), table.key
        self._fitting = settings.capture.masks.unfit.fitting(str(table.name), self.columns, table.key)

    def behind(self, key: Key | None, names: Sequence[str]) -> Generator[ReadRows]:
        """See TableRows."""
        return self._rows(in_order(PostgresReading(), [quoted(name) for name in names], self._schemas(names), key))

    def of(self, keys: Sequence[Key], names: Sequence[str]) -> ReadRows:
        """See TableRows."""
        condition = among(PostgresReading(), [quoted(name) for name in names], keys, self._schemas(names))
        return joined(list(self._rows(condition)), self.columns)

    def condition(self, key: Key, names: Sequence[str]) -> str:
        """See TableRows."""
        return same(PostgresReading(), [quoted(name) for name in names], key, self._schemas(names))

    def orders(self, schema: Schema) -> bool:
        """See TableRows."""
        return PostgresReading().orders(schema)

    def close(self) -> None:
        """See TableRows. A connection ends with its rows."""

    def _schemas(self, names: Sequence[str]) -> Sequence[Schema]:
        schemas = {column.name: column.type.schema for column in self._table.columns}
        return [schemas[name] for name in names]

    def _rows(self, behind: str) -> Generator[ReadRows]:
        columns, name = self._table.columns, self._table.name
        wanted = ", ".join(quoted(column.name) for column in columns)
        only = "" if self._table.partitioned else "ONLY "
        rows = f"{only}{quoted(name.schema)}.{quoted(name.table)}"
        if self._table.condition:
            rows = f"(SELECT * FROM {rows} WHERE {self._table.condition}) AS published"  # noqa: S608 - names are quoted
        query = f"SELECT {wanted} FROM {rows} {behind}"  # noqa: S608 - names are quoted
        with closing(transaction(self._address, "")) as connection, Copy(connection, query) as copy:
            while texts := copy.read(_ROWS, _BYTES, len(columns)):
                yield self._made(texts)

    def _made(self, texts: Sequence[pa.StringArray]) -> ReadRows:
        columns = self._table.columns
        try:
            arrays = [typed(text, column.type) for column, text in zip(columns, texts, strict=True)]
        except RecordError:
            found = [values(text, column.type) for column, text in zip(columns, texts, strict=True)]
            rows = self._fitting.after(self._masks.rows(list(zip(*found, strict=True))))
            return ReadRows(*compared(self.columns, [row for row in rows if row is not None]))
        return ReadRows(pa.StructArray.from_arrays(self._masks.arrays(arrays), [column.name for column in columns]), {})
