"""The tables that are captured, for comparisons with those of a sink: read as a snapshot reads them."""

from collections.abc import Generator, Sequence
from typing import Any

import pyarrow as pa

from connectors.jdbc.captured import CapturedRows, CapturedTables
from connectors.jdbc.reading.mysql import MysqlReading
from connectors.mysql_cdc_source.binlog.server import connected
from connectors.mysql_cdc_source.rows.snapshot import transaction
from connectors.mysql_cdc_source.rows.table_rows import path_of as sql_of
from connectors.mysql_cdc_source.rows.table_rows import quoted
from connectors.mysql_cdc_source.rows.text_query import TextQueries
from connectors.mysql_cdc_source.rows.text_rows import selected, split, typed, values
from connectors.mysql_cdc_source.settings import Settings, path_of
from connectors.mysql_cdc_source.tables import Name, Table, names, now

_ROWS, _BYTES = 10_000, 8 << 20
_SECONDS = 0.5


class MysqlTables(CapturedTables[Name, Table]):
    """See SourceTables."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings.capture, path_of)
        self._settings = settings

    def names(self) -> Sequence[Name]:
        """See CapturedTables."""
        with connected(self._settings.login) as connection:
            return names(connection, self._settings.chosen)

    def now(self, name: Name) -> Table | None:
        """See CapturedTables."""
        with connected(self._settings.login) as connection:
            return now(connection, name, self._settings.chosen)

    def rows(self, table: Table) -> "_Rows":
        """See CapturedTables."""
        return _Rows(self._settings, table)


class _Rows(CapturedRows):
    def __init__(self, settings: Settings, table: Table) -> None:
        super().__init__(settings.capture, table, MysqlReading(), quoted)
        self._login, self._table = settings.login, table

    def texts(self, behind: str) -> Generator[Sequence[pa.Array]]:
        columns = self._table.columns
        wanted = ", ".join(selected(column, quoted(str(column.name))) for column in columns)
        connection, _ = transaction(self._login)
        with TextQueries(connection, self._login.server) as queries:
            rows = queries.run(f"SELECT {wanted} FROM {sql_of(self._table.name)} {behind}")  # noqa: S608 - quoted
            while not rows.finished:
                packets = rows.read(_ROWS, _BYTES, _SECONDS)
                if packets:
                    yield split(packets, columns)

    def arrays(self, texts: Sequence[pa.Array]) -> list[pa.Array] | None:
        try:
            return [typed(column, text) for column, text in zip(self._table.columns, texts, strict=True)]
        except pa.ArrowInvalid:
            return None

    def values(self, texts: Sequence[pa.Array]) -> list[list[Any]]:
        return [values(column, text) for column, text in zip(self._table.columns, texts, strict=True)]
