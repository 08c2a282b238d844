"""The rows of a table in the order of its keys, for comparisons."""

from collections.abc import Generator, Sequence

from connectors.jdbc.dialect import Table
from connectors.jdbc.keys import among, in_order
from connectors.jdbc.session import Session
from connectors.jdbc.values import to_rows
from rocketconnect_sdk.errors import PermanentError
from rocketconnect_sdk.schema import Schema
from rocketconnect_sdk.verification import Key, ReadRows, joined

_FIRST, _MOST = 500, 10_000
_BYTES = 8 << 20
"""Of rows that are read at once, about."""


def table_of(session: Session, name: str) -> Table:
    """A table as it is now.

    Raises:
        PermanentError: it is not there; and what Session.connected raises.
    """
    with session.connected(name) as connection:
        table = session.dialect.table(connection, name)
        connection.rollback()
    if table is None:
        session.close()
        msg = f"{name} is no table of {session.place} that the user sees: make it, or correct its name"
        raise PermanentError(msg)
    return table


class JdbcRows:
    """Reads a table of a database.

    Args:
        session: The database; it belongs to this object from now on.
        name: Of the table.
        columns: A struct of the columns that are read.
    """

    def __init__(self, session: Session, name: str, columns: Schema) -> None:
        self._session = session
        self._name = name
        self._columns = columns

    def behind(self, key: Key | None, names: Sequence[str]) -> Generator[ReadRows]:
        """See TableRows."""
        quoted, schemas = self._key(names)
        with self._session.connected(self._name) as connection:
            rows = self._session.reading.rows(
                connection, self._select(in_order(self._session.reading, quoted, schemas, key)), self._width
            )
        count = _FIRST
        try:
            while True:
                with self._session.connected(self._name):
                    columns = rows.take(count)
                if not columns:
                    return
                made = to_rows(columns, self._columns)
                yield made
                count = max(1, min(_MOST, _BYTES * len(made.values) // max(1, made.values.nbytes)))
        finally:
            # What is left on the connection would have to be read first.
            self._session.close()

    def of(self, keys: Sequence[Key], names: Sequence[str]) -> ReadRows:
        """See TableRows."""
        quoted, schemas = self._key(names)
        with self._session.connected(self._name) as connection:
            rows = self._session.reading.rows(
                connection, self._select(among(self._session.reading, quoted, keys, schemas)), self._width
            )
            parts = []
            while columns := rows.take(_MOST):
                parts.append(to_rows(columns, self._columns))
            rows.close()
            connection.rollback()
        return joined(parts, self._columns)

    def orders(self, schema: Schema) -> bool:
        """See TableRows."""
        return self._session.reading.orders(schema)

    def close(self) -> None:
        """See TableRows."""
        self._session.close()

    @property
    def _width(self) -> int:
        return len(self._columns.fields)

    def _key(self, names: Sequence[str]) -> tuple[Sequence[str], Sequence[Schema]]:
        schemas = {field.name: field.schema for field in self._columns.fields}
        return [self._quoted(name) for name in names], [schemas[name] for name in names]

    def _select(self, behind: str) -> str:
        columns = [self._session.reading.readable(self._quoted(field.name), field.schema) for field in self._columns.fields]
        return f"SELECT {', '.join(columns)} FROM {self._session.dialect.quoted(self._name)} {behind}"  # noqa: S608  # names are quoted

    def _quoted(self, name: str) -> str:
        """Of a column: a point in it divides nothing."""
        mark = self._session.dialect.quoted("a")[0]
        return mark + name.replace(mark, mark * 2) + mark
