"""Reading PostgreSQL: rows as CSV, which Arrow reads."""

import io
from collections.abc import Sequence
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from typing import Any, LiteralString

import pyarrow as pa
from pyarrow import csv

from connectors.jdbc.dialect import Connection
from connectors.jdbc.postgres import column_schema
from connectors.jdbc.reading.dialect import Reading, Rows
from rocketconnect_sdk.schema import Field, Schema, Type

_TABLES = """
SELECT n.nspname || '.' || c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT c.relispartition AND c.relpersistence <> 't'
AND n.nspname NOT LIKE 'pg\\_%' AND n.nspname <> 'information_schema' ORDER BY 1
"""
_NOT_NULL = "SELECT attname FROM pg_attribute WHERE attrelid = to_regclass(%s) AND attnum > 0 AND attnotnull"
_UNIQUE = """
SELECT a.attname FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]
WHERE i.indrelid = to_regclass(%s) AND i.indisunique AND i.indnkeyatts = 1 AND i.indpred IS NULL AND i.indexprs IS NULL
"""
COUNTED: LiteralString = """
SELECT CASE WHEN min(c.reltuples) >= CASE WHEN current_setting('server_version_num')::int < 140000 THEN 1 ELSE 0 END
THEN sum(c.reltuples)::bigint END
FROM pg_class c WHERE c.relkind IN ('r', 'm', 'f')
AND (c.oid = to_regclass(%(table)s) OR c.oid IN (SELECT relid FROM pg_partition_tree(to_regclass(%(table)s))))
"""
"""How many rows a table has, with its partitions, as the server has counted them last: takes the quoted name.

Null: it never has. It says -1 then, and 0 before version 14.
"""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class PostgresReading(Reading):
    """See Reading."""

    clock = "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint"

    def tables(self, connection: Connection) -> Sequence[str]:
        """See Reading."""
        return [name for (name,) in connection.execute(_TABLES).fetchall()]

    def described(self, connection: Connection, query: str) -> Schema:
        """See Reading."""
        cursor = connection.execute(f"SELECT * FROM ({query}) AS q LIMIT 0")  # noqa: S608  # the user's own query
        oids = [column.type_code for column in cursor.description]
        names = dict(connection.execute("SELECT oid, typname FROM pg_type WHERE oid = ANY(%s)", (oids,)).fetchall())
        fields = []
        for column in cursor.description:
            # As pg_attribute has it: see column_schema.
            modifier = -1 if column.precision is None else (column.precision << 16 | column.scale) + 4
            fields.append(Field(column.name, column_schema(names[column.type_code], modifier, optional=True)))
        return Schema(Type.STRUCT, fields=tuple(fields))

    def not_null(self, connection: Connection, table: str) -> frozenset[str]:
        """See Reading."""
        return frozenset(name for (name,) in connection.execute(_NOT_NULL, (_quoted(table),)).fetchall())

    def unique(self, connection: Connection, table: str) -> frozenset[str]:
        """See Reading."""
        return frozenset(name for (name,) in connection.execute(_UNIQUE, (_quoted(table),)).fetchall())

    def counted(self, connection: Connection, table: str) -> int | None:
        """See Reading."""
        ((rows,),) = connection.execute(COUNTED, {"table": _quoted(table)}).fetchall()
        return None if rows is None else int(rows)

    def readable(self, column: str, schema: Schema) -> str:
        """See Reading."""
        match schema.type:
            case Type.BOOLEAN:
                return f"{column}::int"
            case Type.BYTES:
                return f"encode({column}, 'hex')"
            case Type.TIMESTAMP if schema.zone:
                return f"{column} AT TIME ZONE 'UTC'"
            case _:
                return column

    def ordered(self, column: str, schema: Schema) -> str:
        """See Reading."""
        return f'{column}::text COLLATE "C"' if schema.type in (Type.STRING, Type.UUID) else column

    def micros(self, column: str) -> str:
        """See Reading."""
        return f"(extract(epoch FROM {column}) * 1000000)::bigint"

    def moment(self, micros: int) -> str:
        """See Reading. A time without a zone leaves out that of the literal."""
        return f"'{(_EPOCH + timedelta(microseconds=micros)).isoformat(' ', 'microseconds')}'"

    def text(self, value: str) -> str:
        """See Reading."""
        return "'" + value.replace("'", "''") + "'"

    def octets(self, value: bytes) -> str:
        """See Reading."""
        return f"'\\x{value.hex()}'::bytea"

    def rows(self, connection: Connection, statement: str, width: int) -> Rows:
        """See Reading."""
        return _Copied(connection, statement, width)


class _Copied:
    """The rows that COPY gives: each of its messages is one."""

    def __init__(self, connection: Connection, statement: str, width: int) -> None:
        self._names = [str(index) for index in range(width)]
        self._open = ExitStack()
        cursor = self._open.enter_context(connection.cursor())
        self._copy = self._open.enter_context(cursor.copy(f"COPY ({statement}) TO STDOUT (FORMAT csv, ENCODING 'UTF8')"))

    def take(self, count: int) -> Sequence[Sequence[Any]]:
        """See Rows."""
        messages: list[bytes] = []
        while len(messages) < count and (message := self._copy.read()):
            messages.append(bytes(message))
        return _columns(b"".join(messages), self._names) if messages else ()

    def close(self) -> None:
        """See Rows. A connection takes no other statement before the last row is read."""
        while self._copy.read():
            pass
        self._open.close()


def _columns(data: bytes, names: Sequence[str]) -> Sequence[Sequence[Any]]:
    """Text is in quotes where it is empty; what has none and is empty is null."""
    table = csv.read_csv(
        io.BytesIO(data),
        # No row is longer than a block.
        csv.ReadOptions(column_names=names, block_size=len(data) + 1, use_threads=False),
        csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False),
        csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()),
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
            null_values=[""],
        ),
    )
    return [column.combine_chunks() for column in table.columns]


def _quoted(table: str) -> str:
    return ".".join('"' + part.replace('"', '""') + '"' for part in table.split("."))
