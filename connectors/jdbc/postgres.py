"""PostgreSQL, with psycopg."""

import io
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from pyarrow import csv

from connectors.databases import sessions
from connectors.databases.tls import untrusted_text
from connectors.jdbc.dialect import CONNECT_SECONDS, LOCK_SECONDS, Connection, Dialect, Fault, Table
from connectors.jdbc.endpoint import Endpoint
from connectors.jdbc.kept.postgres import Column, checks, key_checks, scale
from rocketconnect_sdk.permissions.connections import libpq
from rocketconnect_sdk.schema import MOST_DIGITS, STRING, Field, Schema, Type, Unit, decimal, text, timestamp

_TYPES = {
    Type.BOOLEAN: "boolean",
    Type.INT8: "smallint",
    Type.INT16: "smallint",
    Type.UINT8: "smallint",
    Type.INT32: "integer",
    Type.UINT16: "integer",
    Type.INT64: "bigint",
    Type.UINT32: "bigint",
    Type.UINT64: "numeric(20,0)",
    Type.FLOAT32: "real",
    Type.FLOAT64: "double precision",
    Type.STRING: "text",
    Type.BYTES: "bytea",
    Type.DATE: "date",
    Type.UUID: "uuid",
    Type.JSON: "json",
}
_BACK = {
    "bool": Schema(Type.BOOLEAN),
    "int2": Schema(Type.INT16),
    "int4": Schema(Type.INT32),
    "int8": Schema(Type.INT64),
    "oid": Schema(Type.UINT32),
    "float4": Schema(Type.FLOAT32),
    "float8": Schema(Type.FLOAT64),
    "bytea": Schema(Type.BYTES),
    "date": Schema(Type.DATE),
    "time": Schema(Type.TIME),
    "timestamp": timestamp(zone=False),
    "timestamptz": timestamp(),
    "uuid": Schema(Type.UUID),
    "json": Schema(Type.JSON),
    "jsonb": Schema(Type.JSON),
}
_REFUSALS = {
    "authentication failed": Fault.DENIED,
    "no password supplied": Fault.DENIED,
    "pg_hba.conf": Fault.DENIED,
    "role": Fault.DENIED,
    "does not exist": Fault.MISSING,
}
_STATES = {
    "25006": Fault.READ_ONLY,
    "25P03": Fault.AWAY,
    "25P04": Fault.AWAY,
    "55P03": Fault.LOCKED,
    "40P01": Fault.LOCKED,
    "40001": Fault.LOCKED,
    "42501": Fault.DENIED,
    "44000": Fault.VALUE,
    "P0001": Fault.VALUE,
    "428C9": Fault.VALUE,
    "42P01": Fault.MISSING,
    "42703": Fault.MISSING,
    "3D000": Fault.MISSING,
    "3F000": Fault.MISSING,
}
_CLASSES = {
    "28": Fault.DENIED,
    "22": Fault.VALUE,
    "23": Fault.VALUE,
    "08": Fault.AWAY,
    "53": Fault.AWAY,
    "57": Fault.AWAY,
}
_SETTINGS = {
    "timezone": "UTC",
    "lock_timeout": f"{LOCK_SECONDS}s",
    "datestyle": "ISO,YMD",
    "intervalstyle": "postgres",
    "extra_float_digits": "3",
    "bytea_output": "hex",
    "lc_monetary": "C",
    "array_nulls": "on",
    "xmloption": "content",
    "standard_conforming_strings": "on",
    **sessions.POSTGRES,
}
"""Of the session, whatever the server, the database and the role are set to: what is written and read depends on them."""
_LONGEST = 63
_MOST_CHARACTERS = 10_485_760
_COLUMNS = """
SELECT a.attname, b.typname, CASE t.typtype WHEN 'd' THEN t.typtypmod ELSE a.atttypmod END, a.attnotnull,
       pg_get_expr(d.adbin, d.adrelid) IS NOT NULL OR a.attidentity <> '',
       array_position(i.indkey::int2[], a.attnum), a.attgenerated <> '', a.attidentity = 'a',
       format_type(b.oid, CASE t.typtype WHEN 'd' THEN t.typtypmod ELSE a.atttypmod END),
       c.relkind = 'm' OR c.relkind = 'v' AND NOT EXISTS (SELECT 1 FROM pg_trigger g WHERE g.tgrelid = c.oid AND g.tgtype & 64 <> 0)
FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_type t ON t.oid = a.atttypid
JOIN pg_type b ON b.oid = CASE t.typtype WHEN 'd' THEN t.typbasetype ELSE t.oid END
LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
LEFT JOIN pg_index i ON i.indrelid = a.attrelid AND i.indisprimary
WHERE a.attrelid = to_regclass(%s) AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum
"""
_UNIQUE = """
SELECT array_agg(a.attname::text) FROM pg_index i
JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY(i.indkey::int2[])
WHERE i.indrelid = to_regclass(%s) AND i.indisunique AND i.indpred IS NULL AND i.indexprs IS NULL GROUP BY i.indexrelid
"""
_INEXACT = """
SELECT a.attname FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid LEFT JOIN pg_collation c ON c.oid = a.attcollation
WHERE a.attrelid = to_regclass(%s) AND a.attnum > 0 AND (t.typname = 'citext' OR NOT c.collisdeterministic)
"""
_OWNER = "SELECT pg_get_userbyid(relowner), pg_has_role(relowner, 'USAGE') FROM pg_class WHERE oid = to_regclass(%s)"


class Postgres(Dialect):
    """See Dialect."""

    finite = False
    nul = False
    check_now = "SET CONSTRAINTS ALL IMMEDIATE"

    def connect(self, place: Endpoint, user: str, password: str, seconds: int = CONNECT_SECONDS) -> Connection:
        """See Dialect."""
        import psycopg

        try:
            where = libpq(place.host, place.port)
        except OSError as error:
            raise psycopg.OperationalError(str(error)) from None
        return psycopg.connect(
            **where,  # type: ignore[arg-type]  # psycopg takes any parameter of libpq
            port=place.port,
            dbname=place.database,
            user=user or None,
            password=password or None,
            connect_timeout=seconds,
            options=" ".join(f"-c {name}={value}" for name, value in _SETTINGS.items()),
            client_encoding="utf8",
            **sessions.LIBPQ,  # type: ignore[arg-type]  # as above
            **place.tls.libpq(),  # type: ignore[arg-type]  # as above
        )

    def end_abandoned(self, connection: Connection) -> None:
        """See Dialect. Not every server has all of the settings."""
        for name, value in sessions.writing_postgres().items():
            connection.execute("SELECT set_config(name, %s, false) FROM pg_settings WHERE name = %s", (value, name))
        connection.commit()

    def fault(self, error: BaseException) -> Fault | None:
        """See Dialect. https://www.postgresql.org/docs/current/errcodes-appendix.html."""
        import psycopg

        if not isinstance(error, psycopg.Error):
            return None
        if error.sqlstate is None:
            if isinstance(error, psycopg.ProgrammingError):
                return Fault.OTHER
            # A connection that could not be made has only a text.
            if untrusted_text(str(error)):
                return Fault.UNTRUSTED
            return next((fault for words, fault in _REFUSALS.items() if words in str(error)), Fault.AWAY)
        return _STATES.get(error.sqlstate) or _CLASSES.get(error.sqlstate[:2], Fault.OTHER)

    def name_problem(self, name: str) -> str:
        """See Dialect. The rest is cut off without an error, so two names could mean one table."""
        return f"is longer than {_LONGEST} bytes, which is all that PostgreSQL keeps" if len(name.encode()) > _LONGEST else ""

    def is_read_only(self, connection: Connection) -> bool:
        """See Dialect."""
        return bool(connection.execute("SHOW transaction_read_only").fetchone() == ("on",))

    def table(self, connection: Connection, name: str) -> Table | None:
        """See Dialect."""
        rows = connection.execute(_COLUMNS, (self.quoted(name),)).fetchall()
        if not rows:
            return None
        fields, widths, key, kept = [], {}, {}, {}
        computed, numbered = ({row[0] for row in rows if row[place]} for place in (6, 7))
        for column, kind, modifier, filled, has_default, place, is_computed, _, shown, _ in rows:
            if is_computed:
                continue
            schema = column_schema(kind, modifier, optional=not filled or has_default)
            if kind in ("varchar", "bpchar") and modifier > 4:
                widths[column] = modifier - 4
            if place is not None:
                key[place] = column
            kept[column] = Column(kind, modifier, shown)
            fields.append(Field(column, schema))
        keys = tuple(key[place] for place in sorted(key))
        return Table(
            Schema(Type.STRUCT, fields=tuple(fields)),
            keys,
            widths,
            frozenset(computed),
            frozenset(numbered),
            is_view=rows[0][9],
            decimals=frozenset(
                each.name for each in fields if each.schema.type is Type.STRING and kept[each.name].kind == "numeric"
            ),
            padded=frozenset(name for name, column in kept.items() if column.kind == "bpchar"),
            filled=frozenset(row[0] for row in rows if row[3]),
            checks={name: checks(column) for name, column in kept.items()},
            key_checks={name: key_checks(column) for name, column in kept.items()},
        )

    def is_unique(self, connection: Connection, name: str, columns: Sequence[str]) -> bool:
        """See Dialect."""
        rows = connection.execute(_UNIQUE, (self.quoted(name),)).fetchall()
        return any(sorted(found) == sorted(columns) for (found,) in rows)

    def inexact(self, connection: Connection, table: str, columns: Sequence[str]) -> Sequence[str]:
        """See Dialect."""
        found = {name for (name,) in connection.execute(_INEXACT, (self.quoted(table),)).fetchall()}
        return [name for name in columns if name in found]

    def grants(self, connection: Connection, table: str, privileges: Sequence[str]) -> Sequence[str]:
        """See Dialect."""
        user, database, schema = connection.execute("SELECT current_user, current_database(), current_schema()").fetchone()
        to = self.column(user)
        if "TEMPORARY" in privileges:
            there = _is_true(connection, "SELECT has_database_privilege(%s, %s)", database, "TEMPORARY")
            return [] if there else [f"GRANT TEMPORARY ON DATABASE {self.column(database)} TO {to}"]
        if "CREATE" in privileges:
            # Who makes a table has all privileges on it.
            schema = table.rpartition(".")[0] or schema
            there = _is_true(connection, "SELECT has_schema_privilege(%s, %s)", schema, "CREATE")
            return [] if there else [f"GRANT CREATE ON SCHEMA {self.column(schema)} TO {to}"]
        if "ALTER" in privileges:
            # There is no such privilege: it belongs to the owner.
            return self._owner_grants(connection, table, to)
        question = "SELECT has_table_privilege(%s, %s)"
        lacking = [each for each in privileges if not _is_true(connection, question, self.quoted(table), each)]
        return [f"GRANT {', '.join(lacking)} ON {self.quoted(table)} TO {to}"] if lacking else []

    def _owner_grants(self, connection: Connection, table: str, to: str) -> Sequence[str]:
        found = connection.execute(_OWNER, (self.quoted(table),)).fetchone()
        return [] if found is None or found[1] else [f"GRANT {self.column(found[0])} TO {to}"]

    def column_type(self, schema: Schema, width: int) -> str:
        """See Dialect."""
        del width
        match schema.type:
            case Type.STRING if 0 < schema.length <= _MOST_CHARACTERS:
                return f"varchar({schema.length})"
            case Type.DECIMAL:
                return f"numeric({schema.precision},{schema.scale})"
            case Type.TIME:
                return "bigint" if schema.unit is Unit.NANOSECONDS else "time(6)"
            case Type.TIMESTAMP if schema.unit is Unit.NANOSECONDS:
                return "bigint"
            case Type.TIMESTAMP:
                return "timestamptz(6)" if schema.zone else "timestamp(6)"
            case plain:
                return _TYPES.get(plain, "json")

    def insert(self, connection: Connection, table: str, rows: pa.Table) -> None:
        """See Dialect. As CSV, which Arrow writes: text is in quotes, and what has none and is empty is null."""
        made = io.BytesIO()
        names = ", ".join(map(self.column, rows.column_names))
        columns = [_texts(column) for column in rows.columns]
        csv.write_csv(pa.table(columns, rows.column_names), made, csv.WriteOptions(include_header=False))
        with (
            connection.cursor() as cursor,
            cursor.copy(f"COPY {self.quoted(table)} ({names}) FROM STDIN (FORMAT csv, ENCODING 'UTF8')") as copy,
        ):
            copy.write(made.getbuffer())

    def merge(self, table: str, columns: Sequence[str], key: Sequence[str], staged: str) -> str:
        """See Dialect."""
        names = ", ".join(map(self.column, columns))
        others = [self.column(name) for name in columns if name not in key]
        change = "UPDATE SET " + ", ".join(f"{name} = EXCLUDED.{name}" for name in others) if others else "NOTHING"
        on = ", ".join(map(self.column, key))
        # A number that is generated always is given all the same, as COPY gives it.
        select = f"OVERRIDING SYSTEM VALUE SELECT {names} FROM {self.quoted(staged)}"  # noqa: S608  # names are quoted
        return f"INSERT INTO {self.quoted(table)} ({names}) {select} ON CONFLICT ({on}) DO {change}"

    def raised(self, table: str, columns: Sequence[str], key: Sequence[str], number: str) -> str:
        """See Dialect."""
        on, raised = ", ".join(map(self.column, key)), self.column(number)
        highest = f"GREATEST({self.quoted(table)}.{raised}, EXCLUDED.{raised})"
        return f"{self._inserted(table, columns)} ON CONFLICT ({on}) DO UPDATE SET {raised} = {highest}"

    def update(self, table: str, columns: Sequence[str], key: Sequence[str], staged: str) -> str:
        """See Dialect."""
        target, new = self.quoted(table), self.quoted(staged)
        change = ", ".join(f"{self.column(name)} = {new}.{self.column(name)}" for name in columns if name not in key)
        return f"UPDATE {target} SET {change} FROM {new} WHERE {self._same(target, new, key)}"  # noqa: S608  # names are quoted

    def staging(self, table: str, staged: str, columns: Sequence[str]) -> Sequence[str]:
        """See Dialect."""
        names = ", ".join(map(self.column, columns))
        select = f"SELECT {names} FROM {self.quoted(table)} WITH NO DATA"  # noqa: S608  # names are quoted
        return (f"CREATE TEMPORARY TABLE {self.quoted(staged)} ON COMMIT DROP AS {select}",)

    def widen(self, table: str, name: str, kind: str) -> Sequence[str]:
        """See Dialect."""
        return (f"ALTER TABLE {self.quoted(table)} ALTER COLUMN {self.column(name)} TYPE {kind}",)

    def allow_nulls(self, table: str, name: str, kind: str) -> Sequence[str]:
        """See Dialect."""
        del kind
        return (f"ALTER TABLE {self.quoted(table)} ALTER COLUMN {self.column(name)} DROP NOT NULL",)


def _is_true(connection: Connection, question: str, *values: str | None) -> bool:
    (found,) = connection.execute(question, values).fetchone()
    return found is not False


def column_schema(kind: str, modifier: int, *, optional: bool) -> Schema:
    """The type of a column, by the name of its type and its modifier in pg_attribute."""
    if kind == "numeric":
        # A modifier is -1 (any digits), or 4 more than precision and scale in 16 bits each.
        precision, behind = (modifier - 4) >> 16, scale(modifier)
        if modifier < 0 or not 0 <= behind <= precision <= MOST_DIGITS:
            return Schema(Type.STRING, optional=optional)
        return decimal(behind, precision=precision, optional=optional)
    if kind in ("varchar", "bpchar"):
        return text(max(modifier - 4, 0), optional=optional)
    found = _BACK.get(kind, STRING)
    return Schema(found.type, optional=optional, unit=found.unit, zone=found.zone)


def _texts(column: Any) -> Any:
    """A column that Arrow writes as PostgreSQL reads it."""
    if pa.types.is_binary(column.type):
        return pa.chunked_array([[None if value is None else f"\\x{value.hex()}" for value in column.to_pylist()]], pa.string())
    return column.cast(pa.string()) if pa.types.is_decimal(column.type) or pa.types.is_time(column.type) else column
