"""The tables that are captured, for comparisons with those of a sink: read as a snapshot reads them."""

from collections.abc import Generator, Sequence
from contextlib import closing
from typing import Any

import pyarrow as pa

from connectors.jdbc.captured import CapturedRows, CapturedTables
from connectors.jdbc.reading.postgres import PostgresReading
from connectors.postgres_cdc_source.logical.catalog import Catalog
from connectors.postgres_cdc_source.logical.connection import connect, quoted
from connectors.postgres_cdc_source.rows.copying import Copy, typed, values
from connectors.postgres_cdc_source.rows.snapshot import transaction
from connectors.postgres_cdc_source.rows.table_rows import path_of
from connectors.postgres_cdc_source.settings import Settings
from connectors.postgres_cdc_source.tables import Name, Table, names, now
from rocketconnect_sdk.errors import RecordError

_ROWS, _BYTES = 10_000, 8 << 20


class PostgresTables(CapturedTables[Name, Table]):
    """See SourceTables."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings.capture, settings.path_of)
        self._settings = settings

    def names(self) -> Sequence[Name]:
        """See CapturedTables."""
        with closing(connect(self._settings.address)) as connection:
            return names(connection, self._settings.chosen)

    def now(self, name: Name) -> Table | None:
        """See CapturedTables."""
        with closing(connect(self._settings.address)) as connection:
            return now(connection, Catalog(connection), name, self._settings.chosen)

    def rows(self, table: Table) -> "_Rows":
        """See CapturedTables."""
        return _Rows(self._settings, table)


class _Rows(CapturedRows):
    def __init__(self, settings: Settings, table: Table) -> None:
        super().__init__(settings.capture, table, PostgresReading(), quoted)
        self._address, self._table = settings.address, table

    def texts(self, behind: str) -> Generator[Sequence[pa.Array]]:
        table = self._table
        wanted = ", ".join(quoted(column.name) for column in table.columns)
        rows = f"{'' if table.partitioned else 'ONLY '}{path_of(table.name)}"
        if table.condition:
            rows = f"(SELECT * FROM {rows} WHERE {table.condition}) AS published"  # noqa: S608 - names are quoted
        query = f"SELECT {wanted} FROM {rows} {behind}"  # noqa: S608 - names are quoted
        with closing(transaction(self._address, "")) as connection, Copy(connection, query) as copy:
            while texts := copy.read(_ROWS, _BYTES, len(table.columns)):
                yield texts

    def arrays(self, texts: Sequence[pa.Array]) -> list[pa.Array] | None:
        try:
            return [typed(text, column.type) for column, text in zip(self._table.columns, texts, strict=True)]
        except RecordError:
            return None

    def values(self, texts: Sequence[pa.Array]) -> list[list[Any]]:
        return [values(text, column.type) for column, text in zip(self._table.columns, texts, strict=True)]
