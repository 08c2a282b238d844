"""Rows in the statements themselves: for what speaks MySQL's protocol, and has no temporary tables."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Self

import pyarrow as pa

from connectors.jdbc.dialect import Connection
from connectors.jdbc.given import Given
from connectors.jdbc.mysql import plain_rows
from connectors.jdbc.mysql_connection import CheckedCursor

_CHARACTERS, _ROWS = 500_000, 1_000
"""Of a statement, at most; a row that is longer is alone in one."""
_Values = tuple[object, ...]


class Sent(Given):
    """See Given.

    Args:
        connection: That counts the rows that a statement finds, whether it changes them or not (CLIENT_FOUND_ROWS).
        table: Where the rows belong, quoted.
        key: Its columns.
        rows: Some of the columns of the table, and the key.
        quoted: Quotes the name of a column.
    """

    def __init__(
        self, connection: Connection, table: str, key: Sequence[str], rows: pa.Table, quoted: Callable[[str], str]
    ) -> None:
        names: Sequence[str] = rows.column_names
        self._connection = connection
        self._table = table
        self._columns = list(map(quoted, names))
        self._key = list(map(quoted, key))
        self._keys = plain_rows(rows.select(list(key)))
        self._rows = plain_rows(rows)
        self._others = [index for index, name in enumerate(names) if name not in key]
        self._lacking: Sequence[int] | None = None

    def delete(self) -> None:
        """See Given."""
        send(self._connection, f"DELETE FROM {self._table} WHERE ({', '.join(self._key)}) IN (", self._keys, ")")  # noqa: S608  # quoted

    def merge(self) -> None:
        """See Given."""
        self._merge(self._rows)

    def update(self) -> None:
        """See Given. Each row is a statement."""
        lacking = []
        with self._connection.cursor(CheckedCursor) as cursor:
            for number, (key, row) in enumerate(zip(self._keys, self._rows, strict=True)):
                change = self._equal([self._columns[index] for index in self._others], [row[index] for index in self._others], ", ")
                if not cursor.execute(f"UPDATE {self._table} SET {change} WHERE {self._is(key)}"):  # noqa: S608  # quoted
                    lacking.append(number)
        self._lacking = lacking

    def missing(self) -> int:
        """See Given. It is known after `update`."""
        if self._lacking is None:
            with self._connection.cursor() as cursor:
                self._lacking = [number for number, key in enumerate(self._keys) if not self._has(cursor, key)]
        return len(self._lacking)

    def merge_missing(self) -> None:
        """See Given."""
        self._merge([self._rows[number] for number in self._lacking or ()])

    def rename(self, now: Self) -> None:
        """See Given."""
        (old,), (new,) = self._keys, now._keys
        with self._connection.cursor(CheckedCursor) as cursor:
            cursor.execute(f"UPDATE {self._table} SET {self._equal(self._key, new, ', ')} WHERE {self._is(old)}")  # noqa: S608  # quoted

    def _merge(self, rows: Sequence[_Values]) -> None:
        others = [self._columns[index] for index in self._others] or [self._key[0]]
        change = ", ".join(f"{name} = VALUES({name})" for name in others)
        into = f"INSERT INTO {self._table} ({', '.join(self._columns)}) VALUES "  # noqa: S608  # quoted
        send(self._connection, into, rows, f" ON DUPLICATE KEY UPDATE {change}")

    def _has(self, cursor: Any, key: _Values) -> bool:
        cursor.execute(f"SELECT 1 FROM {self._table} WHERE {self._is(key)} LIMIT 1")  # noqa: S608  # quoted
        return cursor.fetchone() is not None

    def _is(self, key: _Values) -> str:
        return self._equal(self._key, key, " AND ")

    def _equal(self, names: Sequence[str], values: Sequence[object], between: str) -> str:
        with self._connection.cursor() as cursor:
            literals = [cursor.mogrify("%s", (value,)) for value in values]
        return between.join(f"{name} = {literal}" for name, literal in zip(names, literals, strict=True))


def send(connection: Connection, before: str, rows: Sequence[_Values], after: str = "") -> None:
    """Runs statements that have rows of values with commas between them."""
    if not rows:
        return
    marks = f"({', '.join(['%s'] * len(rows[0]))})"
    with connection.cursor(CheckedCursor) as cursor:
        for part in _parts(cursor.mogrify(marks, row) for row in rows):
            cursor.execute(before + ",".join(part) + after)


def _parts(rows: Iterator[str]) -> Iterator[Sequence[str]]:
    part: list[str] = []
    characters = 0
    for row in rows:
        if part and (characters + len(row) > _CHARACTERS or len(part) == _ROWS):
            yield part
            part, characters = [], 0
        part.append(row)
        characters += len(row)
    if part:
        yield part
