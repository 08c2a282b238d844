"""Reading MySQL and MariaDB: rows as texts, which Arrow reads."""

import sys
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa

from connectors.jdbc.dialect import Connection
from connectors.jdbc.mysql import column_schema
from connectors.jdbc.reading.dialect import Reading, Rows
from connectors.mysql.text_rows import TextRows, split
from rocketconnect_sdk.errors import SystemAway
from rocketconnect_sdk.schema import Field, Schema, Type

_TABLES = "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE() ORDER BY 1"
_NOT_NULL = """
SELECT column_name FROM information_schema.columns WHERE table_schema = {0} AND table_name = {1} AND is_nullable = 'NO'
"""
_COUNTED = "SELECT table_rows FROM information_schema.tables WHERE table_schema = {0} AND table_name = {1}"
_UNIQUE = """
SELECT MAX(column_name) FROM information_schema.statistics
WHERE table_schema = {0} AND table_name = {1} AND non_unique = 0 AND sub_part IS NULL GROUP BY index_name HAVING COUNT(*) = 1
"""
_UNSIGNED, _BINARY = 32, 63
_KINDS = {
    1: "tinyint",
    2: "smallint",
    3: "int",
    4: "float",
    5: "double",
    7: "timestamp",
    8: "bigint",
    9: "mediumint",
    10: "date",
    11: "time",
    12: "datetime",
    13: "year",
    16: "bit",
    245: "json",
    246: "decimal",
    249: "blob",
    250: "blob",
    251: "blob",
    252: "blob",
    253: "varbinary",
    254: "binary",
    255: "geometry",
}
"""Types of the protocol, by the names that columns have; those of texts are told from bytes by their character set."""
_LOST = 2013
"""What PyMySQL calls a connection that is lost while rows come."""
_DROPPED, _SECONDS = 10_000, 60.0
"""So many rows, at most, of those that are left out are held at once; so long one wait for more takes."""
_WRITE_SECONDS = 3600
"""So long the server waits for whoever takes the rows of a statement: a sink that is slow holds them up."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class MysqlReading(Reading):
    """See Reading."""

    clock = "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))"

    def tables(self, connection: Connection) -> Sequence[str]:
        """See Reading."""
        return [name for (name,) in _all(connection, _TABLES)]

    def described(self, connection: Connection, query: str) -> Schema:
        """See Reading."""
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT * FROM ({query}) AS q LIMIT 0")  # noqa: S608  # the user's own query
            columns = cursor._result.fields  # noqa: SLF001  # the description leaves out signs and character sets
            return Schema(Type.STRUCT, fields=tuple(Field(each.name, _schema(each)) for each in columns))

    def not_null(self, connection: Connection, table: str) -> frozenset[str]:
        """See Reading."""
        return frozenset(name for (name,) in _all(connection, self._of(_NOT_NULL, table)))

    def unique(self, connection: Connection, table: str) -> frozenset[str]:
        """See Reading."""
        return frozenset(name for (name,) in _all(connection, self._of(_UNIQUE, table)))

    def counted(self, connection: Connection, table: str) -> int | None:
        """See Reading."""
        ((rows,),) = _all(connection, self._of(_COUNTED, table)) or [(None,)]
        return None if rows is None else int(rows)

    def readable(self, column: str, schema: Schema) -> str:
        """See Reading. The text of a FLOAT has six digits, that of a BIT is bytes."""
        if schema.type is Type.FLOAT32:
            return f"CAST({column} AS DOUBLE)"
        return f"{column} + 0" if schema.type in (Type.BOOLEAN, Type.UINT64) else column

    def ordered(self, column: str, schema: Schema) -> str:
        """See Reading."""
        return f"CAST(CONVERT({column} USING utf8mb4) AS BINARY)" if schema.type in (Type.STRING, Type.UUID) else column

    def micros(self, column: str) -> str:
        """See Reading."""
        return f"TIMESTAMPDIFF(MICROSECOND, '1970-01-01', {column})"

    def moment(self, micros: int) -> str:
        """See Reading."""
        return f"'{(_EPOCH + timedelta(microseconds=micros)).replace(tzinfo=None).isoformat(' ', 'microseconds')}'"

    def text(self, value: str) -> str:
        """See Reading."""
        return f"0x{value.encode().hex()}" if value else "''"

    def literal(self, value: str) -> str:
        """See Reading. The introducer leaves the collation to the column."""
        return f"_utf8mb4 {self.text(value)}"

    def octets(self, value: bytes) -> str:
        """See Reading."""
        return f"x'{value.hex()}'"

    def rows(self, connection: Connection, statement: str, width: int) -> Rows:
        """See Reading."""
        del width
        return _Unread(connection, statement)

    def _of(self, statement: str, table: str) -> str:
        database, _, name = table.rpartition(".")
        return statement.format(self.text(database) if database else "DATABASE()", self.text(name))


class _Unread:
    """The rows of a statement, as texts; what its column cannot hold is told where they are read."""

    def __init__(self, connection: Connection, statement: str) -> None:
        with connection.cursor() as cursor:
            cursor.execute(f"SET SESSION net_write_timeout = {_WRITE_SECONDS}")
        self._rows = TextRows(connection, connection.packets, statement, _refused)

    def take(self, count: int) -> Sequence[pa.Array]:
        """See Rows."""
        packets: list[bytes] = []
        while len(packets) < count and not self._rows.finished:
            packets += self._read(count - len(packets))
        return split(packets, self._rows.kinds) if packets else ()

    def close(self) -> None:
        """See Rows."""
        while not self._rows.finished:
            self._read(_DROPPED)

    def _read(self, most: int) -> Sequence[bytes]:
        from pymysql.err import OperationalError

        try:
            return self._rows.read(most, sys.maxsize, _SECONDS)
        except SystemAway as error:
            raise OperationalError(_LOST, str(error)) from None


def _refused(code: int, text: str) -> Exception:
    from pymysql.err import OperationalError, error_map

    kind: type[Exception] = error_map.get(code, OperationalError)
    return kind(code, text)


def _all(connection: Connection, statement: str) -> Sequence[Any]:
    with connection.cursor() as cursor:
        cursor.execute(statement)
        rows: Sequence[Any] = cursor.fetchall()
        return rows


def _schema(column: Any) -> Schema:
    kind = _KINDS.get(column.type_code, "text")
    if kind in ("blob", "varbinary", "binary") and column.charsetnr != _BINARY:
        kind = "text"
    whole = kind.endswith("int")
    unsigned = " unsigned" if whole and column.flags & _UNSIGNED else ""
    full = "tinyint(1)" if kind == "tinyint" and column.length == 1 else kind + unsigned
    # A decimal's length counts its point and its sign.
    digits = column.length if kind == "bit" else column.length - (column.scale > 0) - (not column.flags & _UNSIGNED)
    return column_schema((None, kind, full, "YES", 0, digits, column.scale, None, column.scale))
