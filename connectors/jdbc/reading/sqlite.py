"""Reading SQLite."""

import sqlite3
from collections.abc import Sequence
from typing import Any

from connectors.jdbc.dialect import Connection
from connectors.jdbc.reading.dialect import Reading, Rows
from connectors.jdbc.sqlite import Sqlite
from rocketconnect_sdk.schema import Schema, Type
from rocketconnect_sdk.verification import has_order

_TABLES = "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY 1"
_VIEW = "rocketconnect_query"


class SqliteReading(Reading):
    """See Reading. Times are texts of several forms: they are compared as milliseconds, so without an index."""

    clock = "CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000"

    def tables(self, connection: Connection) -> Sequence[str]:
        """See Reading."""
        return [name for (name,) in connection.execute(_TABLES)]

    def described(self, connection: Connection, query: str) -> Schema:
        """See Reading. A view knows the types of columns; that of an expression is text."""
        connection.execute(f"CREATE TEMPORARY VIEW {_VIEW} AS {query}")
        try:
            table = Sqlite().table(connection, _VIEW)
        finally:
            connection.execute(f"DROP VIEW {_VIEW}")
        return table.columns if table else Schema(Type.STRUCT)

    def not_null(self, connection: Connection, table: str) -> frozenset[str]:
        """See Reading. INTEGER PRIMARY KEY is another name of the row's number."""
        rows = connection.execute(f"PRAGMA table_info({Sqlite().quoted(table)})").fetchall()
        alone = [row[1] for row in rows if row[5] and row[2].lower() == "integer"] if sum(bool(row[5]) for row in rows) == 1 else []
        return frozenset([*alone, *(row[1] for row in rows if row[3])])

    def unique(self, connection: Connection, table: str) -> frozenset[str]:
        """See Reading."""
        quoted = Sqlite().quoted(table)
        keys = [row[1] for row in connection.execute(f"PRAGMA table_info({quoted})") if row[5]]
        found = set(keys) if len(keys) == 1 else set()
        for _, index, is_unique, _, partial in connection.execute(f"PRAGMA index_list({quoted})").fetchall():
            columns = [row[2] for row in connection.execute(f"PRAGMA index_info({Sqlite().quoted(index)})")]
            if is_unique and not partial and len(columns) == 1:
                found.add(columns[0])
        return frozenset(found)

    def readable(self, column: str, schema: Schema) -> str:
        """See Reading."""
        del schema
        return column

    def ordered(self, column: str, schema: Schema) -> str:
        """See Reading."""
        if schema.type is Type.TIMESTAMP:
            return self.micros(column)
        return f"{column} COLLATE BINARY" if schema.type is Type.STRING else column

    def micros(self, column: str) -> str:
        """See Reading."""
        return f"CAST(round((julianday({column}) - 2440587.5) * 86400000) AS INTEGER) * 1000"

    def moment(self, micros: int) -> str:
        """See Reading."""
        return str(micros)

    def text(self, value: str) -> str:
        """See Reading."""
        return f"CAST(x'{value.encode().hex()}' AS TEXT)"

    def octets(self, value: bytes) -> str:
        """See Reading."""
        return f"x'{value.hex()}'"

    def orders(self, schema: Schema) -> bool:
        """See Reading. Decimals, dates and timestamps are whatever was written: numbers and texts of several forms."""
        return has_order(schema) or schema.type is Type.BYTES

    def rows(self, connection: Connection, statement: str, width: int) -> Rows:
        """See Reading."""
        del width
        return _Fetched(connection.execute(statement))


class _Fetched:
    """The rows of a cursor."""

    def __init__(self, cursor: sqlite3.Cursor) -> None:
        self._cursor = cursor

    def take(self, count: int) -> Sequence[Sequence[Any]]:
        """See Rows."""
        rows = self._cursor.fetchmany(count)
        return list(zip(*rows, strict=True)) if rows else ()

    def close(self) -> None:
        """See Rows."""
        self._cursor.close()
