"""SQLite: a database in a file, for a first try."""

import os
import re
import sqlite3
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from connectors.jdbc.dialect import CONNECT_SECONDS, LOCK_SECONDS, Connection, Dialect, Fault, Table
from connectors.jdbc.endpoint import Endpoint
from connectors.jdbc.kept.sqlite import checks
from rocketconnect_sdk.permissions.roots import Access, roots
from rocketconnect_sdk.schema import WHOLE, Field, Schema, Type, Unit, decimal, timestamp

_TYPES = {
    Type.BOOLEAN: "boolean",
    Type.FLOAT32: "double",
    Type.FLOAT64: "double",
    Type.BYTES: "blob",
    Type.DATE: "date",
    Type.TIME: "time",
}
_BACK = {
    "boolean": Schema(Type.BOOLEAN),
    "int": Schema(Type.INT64),
    "integer": Schema(Type.INT64),
    "bigint": Schema(Type.INT64),
    "real": Schema(Type.FLOAT64),
    "double": Schema(Type.FLOAT64),
    "blob": Schema(Type.BYTES),
    "date": Schema(Type.DATE),
    "time": Schema(Type.TIME),
    "timestamp": timestamp(),
    "datetime": timestamp(zone=False),
}
_COMPUTED = (2, 3)
"""What PRAGMA table_xinfo says of columns that are computed."""
_VIEW = """
SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE type = 'view' AND name = ?)
AND NOT EXISTS (SELECT 1 FROM sqlite_master WHERE type = 'trigger' AND tbl_name = ?)
"""


class Sqlite(Dialect):
    """See Dialect. What SQLite has no type for is text: times, and decimals, which keep all their digits so."""

    parameter = "?"
    lock = ""

    def connect(self, place: Endpoint, user: str, password: str, seconds: int = CONNECT_SECONDS) -> Connection:
        """See Dialect."""
        del user, password, seconds
        allowed = roots(Access.WRITE if place.writes else Access.READ)
        allowed.check(place.database)
        path = os.path.realpath(place.database)
        connection = sqlite3.connect(path, timeout=LOCK_SECONDS, isolation_level=None)
        try:
            # A query reads the database that is named, and attaches no other.
            connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
            connection.execute("PRAGMA synchronous = FULL")
            # SQLite opens files by their names: where it is now is looked at again before anything is read or written.
            connection.execute("PRAGMA schema_version")
            allowed.check(path)
        except BaseException:
            connection.close()
            raise
        return connection

    def begin(self, connection: Connection) -> None:
        """See Dialect. A transaction that reads before it writes must be the only writer from its start."""
        connection.execute("BEGIN IMMEDIATE")

    def fault(self, error: BaseException) -> Fault | None:
        """See Dialect."""
        if not isinstance(error, sqlite3.Error):
            return None
        text = str(error)
        if "locked" in text:
            return Fault.LOCKED
        if "readonly" in text:
            return Fault.READ_ONLY
        if "no such" in text or "no column" in text:
            return Fault.MISSING
        if isinstance(error, sqlite3.IntegrityError | sqlite3.DataError):
            return Fault.VALUE
        return Fault.AWAY if any(word in text for word in ("unable to open", "full", "I/O")) else Fault.OTHER

    def quoted(self, name: str) -> str:
        """See Dialect. A point is part of the name."""
        return self.column(name)

    def table(self, connection: Connection, name: str) -> Table | None:
        """See Dialect."""
        every = connection.execute(f"PRAGMA table_xinfo({self.quoted(name)})").fetchall()
        rows = [row[:-1] for row in every if not row[-1]]
        if not every:
            return None
        fields = [
            Field(column, _schema(kind.lower(), optional=not filled or default is not None))
            for _, column, kind, filled, default, _ in rows
        ]
        key = sorted((place, column) for _, column, _, _, _, place in rows if place)
        computed = frozenset(row[1] for row in every if row[-1] in _COMPUTED)
        (is_view,) = connection.execute(_VIEW, (name, name)).fetchone()
        columns = Schema(Type.STRUCT, fields=tuple(fields))
        texts = {field.name for field in fields if field.schema.type is Type.STRING}
        return Table(
            columns,
            tuple(column for _, column in key),
            {},
            computed,
            is_view=bool(is_view),
            filled=frozenset(row[1] for row in rows if row[3] or (row[5] and len(key) == 1 and row[2].lower() == "integer")),
            checks={row[1]: checks(row[2]) for row in rows if row[1] in texts},
        )

    def is_unique(self, connection: Connection, name: str, columns: Sequence[str]) -> bool:
        """See Dialect."""
        found = connection.execute(f"PRAGMA index_list({self.quoted(name)})").fetchall()
        whole = [index for _, index, unique, _, partial in found if unique and not partial]
        parts = [connection.execute(f"PRAGMA index_info({self.quoted(index)})").fetchall() for index in whole]
        return any({column for _, _, column in part} == set(columns) for part in parts)

    def inexact(self, connection: Connection, table: str, columns: Sequence[str]) -> Sequence[str]:
        """See Dialect."""
        found = set()
        for _, index, unique, *_ in connection.execute(f"PRAGMA index_list({self.quoted(table)})").fetchall():
            parts = connection.execute(f"PRAGMA index_xinfo({self.quoted(index)})").fetchall() if unique else []
            found |= {column for _, _, column, _, collation, is_key in parts if is_key and collation != "BINARY"}
        return [name for name in columns if name in found]

    def grants(self, connection: Connection, table: str, privileges: Sequence[str]) -> Sequence[str]:
        """See Dialect. There are no users."""
        del connection, table, privileges
        return ()

    def column_type(self, schema: Schema, width: int) -> str:
        """See Dialect."""
        del width
        match schema.type:
            case Type.UINT64:
                return "text_decimal(20,0)"
            case Type.DECIMAL:
                return f"text_decimal({schema.precision},{schema.scale})"
            case Type.TIME | Type.TIMESTAMP if schema.unit is Unit.NANOSECONDS:
                return "bigint"
            case Type.TIMESTAMP:
                return "timestamp" if schema.zone else "datetime"
            case kind:
                return "bigint" if kind in WHOLE else _TYPES.get(kind, "text")

    def insert(self, connection: Connection, table: str, rows: pa.Table) -> None:
        """See Dialect."""
        names = ", ".join(map(self.column, rows.column_names))
        marks = ", ".join("?" * rows.num_columns)
        values = zip(*(_plain(column) for column in rows.columns), strict=True)
        connection.executemany(f"INSERT INTO {self.quoted(table)} ({names}) VALUES ({marks})", values)  # noqa: S608  # quoted

    def merge(self, table: str, columns: Sequence[str], key: Sequence[str], staged: str) -> str:
        """See Dialect."""
        names = ", ".join(map(self.column, columns))
        others = [self.column(name) for name in columns if name not in key]
        change = "UPDATE SET " + ", ".join(f"{name} = excluded.{name}" for name in others) if others else "NOTHING"
        on = ", ".join(map(self.column, key))
        # SQLite reads ON as part of a join where there is no WHERE.
        select = f"SELECT {names} FROM {self.quoted(staged)} WHERE true"  # noqa: S608  # names are quoted
        return f"INSERT INTO {self.quoted(table)} ({names}) {select} ON CONFLICT ({on}) DO {change}"

    def raised(self, table: str, columns: Sequence[str], key: Sequence[str], number: str) -> str:
        """See Dialect."""
        on, raised = ", ".join(map(self.column, key)), self.column(number)
        highest = f"MAX({self.quoted(table)}.{raised}, excluded.{raised})"
        return f"{self._inserted(table, columns)} ON CONFLICT ({on}) DO UPDATE SET {raised} = {highest}"

    def update(self, table: str, columns: Sequence[str], key: Sequence[str], staged: str) -> str:
        """See Dialect."""
        target, new = self.quoted(table), self.quoted(staged)
        change = ", ".join(f"{self.column(name)} = {new}.{self.column(name)}" for name in columns if name not in key)
        return f"UPDATE {target} SET {change} FROM {new} WHERE {self._same(target, new, key)}"  # noqa: S608  # names are quoted

    def staging(self, table: str, staged: str, columns: Sequence[str]) -> Sequence[str]:
        """See Dialect."""
        names = ", ".join(map(self.column, columns))
        select = f"SELECT {names} FROM {self.quoted(table)} LIMIT 0"  # noqa: S608  # names are quoted
        name = self.quoted(staged)
        return (f"DROP TABLE IF EXISTS temp.{name}", f"CREATE TEMPORARY TABLE {name} AS {select}")

    def widen(self, table: str, name: str, kind: str) -> Sequence[str]:
        """See Dialect."""
        del table, name, kind
        return ()

    def allow_nulls(self, table: str, name: str, kind: str) -> Sequence[str]:
        """See Dialect."""
        del table, name, kind
        return ()


def _schema(kind: str, *, optional: bool) -> Schema:
    if found := re.fullmatch(r"text_decimal\((\d+),\s*(\d+)\)", kind):
        return decimal(int(found[2]), precision=int(found[1]), optional=optional)
    known = _BACK.get(kind, Schema(Type.STRING))
    return Schema(known.type, optional=optional, unit=known.unit, zone=known.zone)


def _plain(column: Any) -> list[object]:
    """Values as SQLite keeps them."""
    if pa.types.is_temporal(column.type) or pa.types.is_decimal(column.type):
        column = column.cast(pa.string())
    values: list[object] = column.to_pylist()
    return values
