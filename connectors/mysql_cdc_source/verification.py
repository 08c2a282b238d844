"""The tables that are captured, for comparisons with those of a sink: read as a snapshot reads them."""

from collections.abc import Generator, Sequence

import pyarrow as pa

from connectors.jdbc.keys import among, in_order, same
from connectors.jdbc.reading.mysql import MysqlReading
from connectors.jdbc.reading.table_rows import joined
from connectors.mysql_cdc_source.binlog.server import connected
from connectors.mysql_cdc_source.columns import schema_of
from connectors.mysql_cdc_source.rows.snapshot import transaction
from connectors.mysql_cdc_source.rows.text_query import TextQueries
from connectors.mysql_cdc_source.rows.text_rows import selected, split, typed, values
from connectors.mysql_cdc_source.settings import Settings, path_of
from connectors.mysql_cdc_source.tables import Table, names, now
from rocketconnect_sdk.changes.arrays import compared
from rocketconnect_sdk.database_logs.making import named_of
from rocketconnect_sdk.errors import PermanentError
from rocketconnect_sdk.schema import Schema
from rocketconnect_sdk.verification import CapturedTable, Key, ReadRows, SourceTables, TableRows

_ROWS, _BYTES = 10_000, 8 << 20
_SECONDS = 0.5


class MysqlTables(SourceTables):
    """See SourceTables."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def tables(self) -> Sequence[CapturedTable]:
        """See SourceTables."""
        settings, capture = self._settings, self._settings.capture
        with connected(settings.login) as connection:
            found = names(connection, settings.chosen)
        made = []
        for name in found:
            path = path_of(name)
            topic = named_of(capture.template, capture.topic, name, path).topic
            made.append(CapturedTable(str(name), topic, path._asdict()))
        return made

    def open(self, name: str) -> TableRows:
        """See SourceTables."""
        settings = self._settings
        with connected(settings.login) as connection:
            found = next((each for each in names(connection, settings.chosen) if str(each) == name), None)
            table = None if found is None else now(connection, found, settings.chosen)
        if table is None:
            msg = f"{name} is no table that the connector captures: name one that it does"
            raise PermanentError(msg)
        return _Rows(settings, table)


class _Rows(TableRows):
    def __init__(self, settings: Settings, table: Table) -> None:
        self._login = settings.login
        self._table = table
        self._masks = settings.capture.masks.on_compared(str(table.name), table.schema, table.key)
        self.columns, self.key = self._masks.schema(table.schema), table.key
        self._fitting = settings.capture.masks.unfit.fitting(str(table.name), self.columns, table.key)

    def behind(self, key: Key | None, names: Sequence[str]) -> Generator[ReadRows]:
        """See TableRows."""
        return self._rows(in_order(MysqlReading(), [_quoted(name) for name in names], self._schemas(names), key))

    def of(self, keys: Sequence[Key], names: Sequence[str]) -> ReadRows:
        """See TableRows."""
        condition = among(MysqlReading(), [_quoted(name) for name in names], keys, self._schemas(names))
        return joined(list(self._rows(condition)), self.columns)

    def condition(self, key: Key, names: Sequence[str]) -> str:
        """See TableRows."""
        return same(MysqlReading(), [_quoted(name) for name in names], key, self._schemas(names))

    def orders(self, schema: Schema) -> bool:
        """See TableRows."""
        return MysqlReading().orders(schema)

    def close(self) -> None:
        """See TableRows. A connection ends with its rows."""

    def _schemas(self, names: Sequence[str]) -> Sequence[Schema]:
        schemas = {str(column.name): schema_of(column) for column in self._table.columns}
        return [schemas[name] for name in names]

    def _rows(self, behind: str) -> Generator[ReadRows]:
        columns = self._table.columns
        wanted = ", ".join(selected(column, _quoted(str(column.name))) for column in columns)
        name = self._table.name
        connection, _ = transaction(self._login)
        with TextQueries(connection, self._login.server) as queries:
            rows = queries.run(f"SELECT {wanted} FROM {_quoted(name.database)}.{_quoted(name.table)} {behind}")  # noqa: S608 - quoted
            while not rows.finished:
                packets = rows.read(_ROWS, _BYTES, _SECONDS)
                if packets:
                    yield self._made(split(packets, columns))

    def _made(self, texts: Sequence[pa.Array]) -> ReadRows:
        columns = self._table.columns
        try:
            arrays = [typed(column, text) for column, text in zip(columns, texts, strict=True)]
        except pa.ArrowInvalid:
            found = [values(column, text) for column, text in zip(columns, texts, strict=True)]
            rows = self._fitting.after(self._masks.rows(list(zip(*found, strict=True))))
            return ReadRows(*compared(self.columns, [row for row in rows if row is not None]))
        names = [str(column.name) for column in columns]
        return ReadRows(pa.StructArray.from_arrays(self._masks.arrays(arrays), names), {})


def _quoted(name: str) -> str:
    return f"`{name.replace('`', '``')}`"
