"""Rows in a temporary table."""

from collections.abc import Sequence
from typing import Self

import pyarrow as pa

from connectors.jdbc import Dialect
from connectors.jdbc.dialect import Connection, execute
from connectors.jdbc.given import Given


class Staged(Given):
    """See Given. The rows are in the temporary table from the beginning.

    Args:
        dialect: Of the database.
        connection: With a transaction.
        table: Where the rows belong.
        key: Its columns.
        staged: The name of the temporary table.
        rows: Some of the columns of the table, and the key.
    """

    def __init__(
        self, dialect: Dialect, connection: Connection, table: str, key: Sequence[str], staged: str, rows: pa.Table
    ) -> None:
        self._dialect = dialect
        self._connection = connection
        self._table = table
        self._key = key
        self._staged = staged
        self._columns: Sequence[str] = rows.column_names
        for statement in dialect.staging(table, staged, rows.column_names):
            execute(self._connection, statement)
        dialect.insert(connection, staged, rows)

    def delete(self) -> None:
        """See Given."""
        execute(self._connection, self._dialect.delete(self._table, self._key, self._staged))

    def merge(self) -> None:
        """See Given."""
        execute(self._connection, self._dialect.merge(self._table, self._columns, self._key, self._staged))

    def update(self) -> None:
        """See Given."""
        execute(self._connection, self._dialect.update(self._table, self._columns, self._key, self._staged))

    def missing(self) -> int:
        """See Given."""
        cursor = self._connection.cursor()
        cursor.execute(self._dialect.missing(self._table, self._key, self._staged))
        (count,) = cursor.fetchone()
        return int(count)

    def merge_missing(self) -> None:
        """See Given."""
        execute(self._connection, self._dialect.delete(self._staged, self._key, self._table))
        self.merge()

    def rename(self, now: Self) -> None:
        """See Given."""
        execute(self._connection, self._dialect.rename(self._table, self._key, self._staged, now._staged))
