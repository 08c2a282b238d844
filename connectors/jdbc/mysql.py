"""MySQL, and what speaks its protocol as it does: MariaDB. With PyMySQL."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import pyarrow as pa

from connectors.databases import sessions
from connectors.databases.tls import untrusted
from connectors.jdbc.dialect import CONNECT_SECONDS, LOCK_SECONDS, Connection, Dialect, Fault, Table
from connectors.jdbc.endpoint import Endpoint
from connectors.jdbc.kept.mysql import Column, checks, key_checks
from rocketconnect_sdk.schema import MOST_DIGITS, STRING, Field, Schema, Type, Unit, decimal, text, timestamp

_TYPES = {
    Type.BOOLEAN: "tinyint(1)",
    Type.INT8: "tinyint",
    Type.INT16: "smallint",
    Type.INT32: "int",
    Type.INT64: "bigint",
    Type.UINT8: "tinyint unsigned",
    Type.UINT16: "smallint unsigned",
    Type.UINT32: "int unsigned",
    Type.UINT64: "bigint unsigned",
    Type.FLOAT32: "float",
    Type.FLOAT64: "double",
    Type.STRING: "longtext",
    Type.BYTES: "longblob",
    Type.DATE: "date",
    Type.UUID: "char(36)",
    Type.JSON: "json",
}
_BACK = {kind: plain for plain, kind in _TYPES.items() if plain is not Type.UUID} | {
    "year": Type.INT16,
    "mediumint": Type.INT32,
    "mediumint unsigned": Type.UINT32,
    "tinyblob": Type.BYTES,
    "blob": Type.BYTES,
    "mediumblob": Type.BYTES,
    "varbinary": Type.BYTES,
    "binary": Type.BYTES,
    "uuid": Type.UUID,
    **dict.fromkeys(("geometry", "point", "linestring", "polygon", "geometrycollection", "geomcollection"), Type.BYTES),
    **dict.fromkeys(("multipoint", "multilinestring", "multipolygon"), Type.BYTES),
}
_COLUMNS = """
SELECT column_name, data_type, column_type, is_nullable, column_default IS NOT NULL OR extra LIKE '%%auto_increment%%',
       numeric_precision, numeric_scale, character_maximum_length, datetime_precision, extra LIKE '%% GENERATED%%',
       collation_name
FROM information_schema.columns WHERE table_schema = %s AND table_name = %s ORDER BY ordinal_position
"""
_VIEW = "SELECT count(*) FROM information_schema.views WHERE table_schema = %s AND table_name = %s AND is_updatable = 'NO'"
_KEY = """
SELECT column_name FROM information_schema.key_column_usage
WHERE table_schema = %s AND table_name = %s AND constraint_name = 'PRIMARY' ORDER BY ordinal_position
"""
_UNIQUE = """
SELECT index_name, column_name FROM information_schema.statistics
WHERE table_schema = %s AND table_name = %s AND non_unique = 0 AND index_name NOT IN (
    SELECT index_name FROM information_schema.statistics AS s
    WHERE s.table_schema = statistics.table_schema AND s.table_name = statistics.table_name AND s.sub_part IS NOT NULL)
"""
_INEXACT = """
SELECT column_name FROM information_schema.columns
WHERE table_schema = %s AND table_name = %s AND collation_name IS NOT NULL
AND collation_name NOT LIKE '%%bin' AND collation_name NOT LIKE '%%cs'
"""
_COLLATIONS = ("utf8mb4_nopad_bin", "utf8mb4_0900_bin", "utf8mb4_bin")
"""By code points. Of MariaDB, of MySQL since 8.0.17, and of all, which takes spaces at the end for nothing."""
_EXACT = "SELECT collation_name FROM information_schema.collations WHERE collation_name IN %s"
_PRIVILEGES = """
SELECT privilege_type FROM information_schema.user_privileges WHERE grantee = %s
UNION SELECT privilege_type FROM information_schema.schema_privileges
    WHERE grantee = %s AND %s LIKE table_schema
UNION SELECT privilege_type FROM information_schema.table_privileges
    WHERE grantee = %s AND table_schema = %s AND table_name = %s
"""
_WRITES_ALWAYS = """
SELECT count(*) FROM information_schema.user_privileges
WHERE privilege_type IN ('SUPER', 'READ_ONLY ADMIN', 'READ ONLY ADMIN', 'CONNECTION_ADMIN')
"""
SETTINGS: Mapping[str, str] = {
    # Nothing is cut off because it does not fit, and 0 is a number, not a wish for the next one.
    "sql_mode": "'STRICT_ALL_TABLES,NO_AUTO_VALUE_ON_ZERO,NO_ZERO_IN_DATE,NO_ZERO_DATE,NO_ENGINE_SUBSTITUTION'",
    "time_zone": "'+00:00'",
    "innodb_lock_wait_timeout": f"{LOCK_SECONDS}",
    "lock_wait_timeout": f"{LOCK_SECONDS}",
    # A server may leave out rows, find those that were inserted where a null is asked for, and refuse deletions of all rows.
    "sql_select_limit": "18446744073709551615",
    "sql_auto_is_null": "0",
    "sql_safe_updates": "0",
}
"""Of the session, whatever the server is set to: what is written and read depends on them."""
_LONGEST = 64
_WORTH_LOADING = 100
"""Rows: fewer are inserted as quickly."""
_UNSET = 1231
"""A variable does not take a value: so OceanBase answers to SETTINGS."""
FAULTS: Mapping[Fault, frozenset[int]] = {
    Fault.AWAY: frozenset({1040, 1053, 1203, 1226, 1927, 2002, 2003, 2006, 2013, 4031}),
    Fault.LOCKED: frozenset({1205, 1213, 3572}),
    Fault.READ_ONLY: frozenset({1290, 1792, 1836}),
    Fault.DENIED: frozenset({1044, 1045, 1142, 1143, 1227, 1698}),
    Fault.MISSING: frozenset({1049, 1051, 1054, 1146}),
    Fault.VALUE: frozenset({1048, 1062, 1264, 1265, 1292, 1364, 1366, 1406, 1451, 1452, 1644, 1690, 3140, 3819, 4025}),
}
"""Numbers of errors."""


class Mysql(Dialect):
    """See Dialect. The session's mode is strict: nothing is cut off or rounded in silence."""

    quote = "`"
    zoneless = True
    row_bytes = 65_535
    stays_filled = " NOT NULL"
    unbounded_keys = False
    settings: ClassVar[Mapping[str, str]] = SETTINGS
    faults: ClassVar[Mapping[Fault, frozenset[int]]] = FAULTS
    flags: ClassVar[int] = 0
    """Of the protocol: what a connection asks for."""

    def connect(self, place: Endpoint, user: str, password: str, seconds: int = CONNECT_SECONDS) -> Connection:
        """See Dialect."""
        from pymysql.err import OperationalError

        try:
            return self._connected(place, user, password, seconds)
        except OperationalError as error:
            if error.args[0] != _UNSET:
                raise
            fix = "If the server is OceanBase, write oceanbase:// in connection.url"
            raise OperationalError(_UNSET, f"{error.args[1]}. {fix}") from None

    def _connected(self, place: Endpoint, user: str, password: str, seconds: int) -> Connection:
        from connectors.jdbc.mysql_connection import BulkConnection

        return BulkConnection(
            local_infile=True,
            host=place.host,
            port=place.port,
            database=place.database,
            user=user,
            password=password,
            charset="utf8mb4",
            connect_timeout=seconds,
            read_timeout=seconds,
            write_timeout=seconds,
            **place.tls.pymysql(),
            client_flag=self.flags,
            init_command=f"SET {', '.join(f'{name} = {value}' for name, value in self.settings.items())}",
        )

    def end_abandoned(self, connection: Connection) -> None:
        """See Dialect."""
        settings = ", ".join(f"SESSION {name} = {value}" for name, value in sessions.writing_mysql().items())
        with connection.cursor() as cursor:
            cursor.execute(f"SET {settings}")

    def fault(self, error: BaseException) -> Fault | None:
        """See Dialect."""
        import pymysql

        if not isinstance(error, pymysql.err.Error):
            return None
        if untrusted(error):
            return Fault.UNTRUSTED
        code = error.args[0] if error.args else 0
        found = next((kind for kind, codes in self.faults.items() if code in codes), None)
        if found is None and isinstance(error, pymysql.err.DataError):
            return Fault.VALUE
        # Without a number: the connection is closed already.
        return found or (Fault.AWAY if isinstance(error, pymysql.err.InterfaceError) else Fault.OTHER)

    def name_problem(self, name: str) -> str:
        """See Dialect."""
        return f"is longer than the {_LONGEST} characters that MySQL takes" if len(name) > _LONGEST else ""

    def is_read_only(self, connection: Connection) -> bool:
        """See Dialect. Some users may write all the same."""
        with connection.cursor() as cursor:
            cursor.execute("SELECT @@global.read_only")
            if cursor.fetchone() in ((0,), ("OFF",)):
                return False
            cursor.execute(_WRITES_ALWAYS)
            return bool(cursor.fetchone() == (0,))

    def table(self, connection: Connection, name: str) -> Table | None:
        """See Dialect."""
        with connection.cursor() as cursor:
            database, table = _parts(cursor, name)
            cursor.execute(_COLUMNS, (database, table))
            rows = cursor.fetchall()
            cursor.execute(_KEY, (database, table))
            key = tuple(column for (column,) in cursor.fetchall())
            cursor.execute(_VIEW, (database, table))
            (is_view,) = cursor.fetchone()
        if not rows:
            return None
        widths = {row[0]: row[7] for row in rows if row[1] in ("varchar", "char")}
        columns = Schema(Type.STRUCT, fields=tuple(Field(row[0], column_schema(row[:9])) for row in rows if not row[9]))
        kept = {row[0]: Column(row[1], self.shown(row[2]), row[6], row[7], row[8], row[10]) for row in rows}
        return Table(
            columns,
            key,
            widths,
            frozenset(row[0] for row in rows if row[9]),
            is_view=bool(is_view),
            filled=frozenset(row[0] for row in rows if row[3] == "NO"),
            checks={name: checks(column) for name, column in kept.items()},
            key_checks={name: key_checks(column) for name, column in kept.items()},
        )

    def shown(self, kind: str) -> str:
        """The column_type of information_schema with its texts as they stand in a statement."""
        return kind

    def is_unique(self, connection: Connection, name: str, columns: Sequence[str]) -> bool:
        """See Dialect."""
        found: dict[str, set[str]] = {}
        with connection.cursor() as cursor:
            cursor.execute(_UNIQUE, _parts(cursor, name))
            for index, column in cursor.fetchall():
                found.setdefault(index, set()).add(column)
        return set(columns) in found.values()

    def inexact(self, connection: Connection, table: str, columns: Sequence[str]) -> Sequence[str]:
        """See Dialect."""
        with connection.cursor() as cursor:
            cursor.execute(_INEXACT, _parts(cursor, table))
            found = {name for (name,) in cursor.fetchall()}
        return [name for name in columns if name in found]

    def grants(self, connection: Connection, table: str, privileges: Sequence[str]) -> Sequence[str]:
        """See Dialect. What a role gives is not known."""
        with connection.cursor() as cursor:
            cursor.execute("SELECT CURRENT_USER(), CURRENT_ROLE()")
            user, role = cursor.fetchone()
            if role not in (None, "NONE"):
                return ()
            database, plain = _parts(cursor, table)
            grantee = "'" + user.replace("@", "'@'") + "'"
            cursor.execute(_PRIVILEGES, (grantee, grantee, database, grantee, database, plain))
            held = {privilege for (privilege,) in cursor.fetchall()}
        wanted = ["CREATE TEMPORARY TABLES" if each == "TEMPORARY" else each for each in privileges]
        lacking = [each for each in wanted if each not in held]
        place = self.column(database) + "." + (self.column(plain) if table else "*")
        return [f"GRANT {', '.join(lacking)} ON {place} TO {grantee}"] if lacking else []

    def column_type(self, schema: Schema, width: int) -> str:
        """See Dialect. A key takes no text without a width."""
        width = width or schema.length
        match schema.type:
            case Type.STRING | Type.JSON | Type.BYTES if width:
                return f"{'varbinary' if schema.type is Type.BYTES else 'varchar'}({width})"
            case Type.DECIMAL:
                return f"decimal({schema.precision},{schema.scale})"
            case Type.TIME | Type.TIMESTAMP if schema.unit is Unit.NANOSECONDS:
                return "bigint"
            case Type.TIME:
                return f"time({_digits(schema)})"
            case Type.TIMESTAMP:
                return f"datetime({_digits(schema)})"
            case plain:
                return _TYPES.get(plain, "json")

    def exact(self, connection: Connection) -> str:
        """See Dialect. Databases mostly take letters in upper and lower case for the same, and spaces at the end for nothing."""
        with connection.cursor() as cursor:
            cursor.execute(_EXACT, (_COLLATIONS,))
            held = {name for (name,) in cursor.fetchall()}
        found = next((name for name in _COLLATIONS if name in held), None)
        return f" CHARACTER SET utf8mb4 COLLATE {found}" if found else ""

    def insert(self, connection: Connection, table: str, rows: pa.Table) -> None:
        """See Dialect. By LOAD DATA LOCAL where the server takes it without a word; otherwise by INSERT, which tells the row."""
        from connectors.jdbc.mysql_connection import CheckedCursor

        if rows.num_rows >= _WORTH_LOADING and self._load(connection, table, rows):
            return
        names = ", ".join(map(self.column, rows.column_names))
        marks = ", ".join(["%s"] * rows.num_columns)
        values = plain_rows(rows)
        with connection.cursor(CheckedCursor) as cursor:
            into = f"{self.quoted(table)} ({names})".replace("%", "%%")
            cursor.executemany(f"INSERT INTO {into} VALUES ({marks})", values)  # noqa: S608  # quoted

    def _load(self, connection: Connection, table: str, rows: pa.Table) -> bool:
        """Whether it was done; else nothing was."""
        from connectors.jdbc.mysql_load import load

        with connection.cursor() as cursor:
            cursor.execute("SELECT @@local_infile")
            if cursor.fetchone() not in ((1,), ("ON",)):
                return False
            cursor.execute("SAVEPOINT rocketconnect_load")
            if load(connection, self.quoted(table), rows, self.column):
                return True
            cursor.execute("ROLLBACK TO SAVEPOINT rocketconnect_load")
            return False

    def merge(self, table: str, columns: Sequence[str], key: Sequence[str], staged: str) -> str:
        """See Dialect."""
        names = ", ".join(map(self.column, columns))
        others = [self.column(name) for name in columns if name not in key] or [self.column(key[0])]
        change = ", ".join(f"{name} = VALUES({name})" for name in others)
        select = f"SELECT {names} FROM {self.quoted(staged)}"  # noqa: S608  # names are quoted
        return f"INSERT INTO {self.quoted(table)} ({names}) {select} ON DUPLICATE KEY UPDATE {change}"

    def raised(self, table: str, columns: Sequence[str], key: Sequence[str], number: str) -> str:
        """See Dialect."""
        del key
        highest = f"GREATEST({self.column(number)}, VALUES({self.column(number)}))"
        return f"{self._inserted(table, columns)} ON DUPLICATE KEY UPDATE {self.column(number)} = {highest}"

    def update(self, table: str, columns: Sequence[str], key: Sequence[str], staged: str) -> str:
        """See Dialect."""
        target, new = self.quoted(table), self.quoted(staged)
        change = ", ".join(f"{target}.{self.column(name)} = {new}.{self.column(name)}" for name in columns if name not in key)
        return f"UPDATE {target} JOIN {new} ON {self._same(target, new, key)} SET {change}"  # noqa: S608  # names are quoted

    def staging(self, table: str, staged: str, columns: Sequence[str]) -> Sequence[str]:
        """See Dialect."""
        names = ", ".join(map(self.column, columns))
        select = f"SELECT {names} FROM {self.quoted(table)} LIMIT 0"  # noqa: S608  # names are quoted
        name = self.quoted(staged)
        return (f"DROP TEMPORARY TABLE IF EXISTS {name}", f"CREATE TEMPORARY TABLE {name} AS {select}")

    def widen(self, table: str, name: str, kind: str) -> Sequence[str]:
        """See Dialect."""
        return (f"ALTER TABLE {self.quoted(table)} MODIFY COLUMN {self.column(name)} {kind}",)

    def allow_nulls(self, table: str, name: str, kind: str) -> Sequence[str]:
        """See Dialect."""
        return (f"ALTER TABLE {self.quoted(table)} MODIFY COLUMN {self.column(name)} {kind} NULL",)

    def delete(self, table: str, key: Sequence[str], staged: str) -> str:
        """See Dialect. A join finds the rows by their index; EXISTS would read the whole table."""
        target, gone = self.quoted(table), self.quoted(staged)
        return f"DELETE {target} FROM {target} JOIN {gone} ON {self._same(target, gone, key)}"

    def rename(self, table: str, key: Sequence[str], old: str, new: str) -> str:
        """See Dialect."""
        target, was, now = map(self.quoted, (table, old, new))
        change = ", ".join(f"{target}.{self.column(name)} = {now}.{self.column(name)}" for name in key)
        return f"UPDATE {target} JOIN {was} ON {self._same(target, was, key)} JOIN {now} SET {change}"  # noqa: S608  # names are quoted


def _parts(cursor: Any, name: str) -> tuple[str, str]:
    """The database of a table, and its name."""
    database, _, table = name.rpartition(".")
    if not database:
        cursor.execute("SELECT DATABASE()")
        (database,) = cursor.fetchone()
    return database, table


def column_schema(row: Sequence[Any]) -> Schema:
    """The type of a column, by what information_schema.columns says of it: see _COLUMNS."""
    _, data_type, column_type, nullable, has_default, precision, scale, length, digits = row
    optional = nullable == "YES" or bool(has_default)
    if data_type == "decimal":
        known = precision <= MOST_DIGITS
        return decimal(scale, precision=precision, optional=optional) if known else Schema(Type.STRING, optional=optional)
    if data_type in ("datetime", "timestamp"):
        # A DATETIME has no zone; a TIMESTAMP is a point in time.
        return timestamp(_unit(digits), zone=data_type == "timestamp", optional=optional)
    if data_type == "time":
        return Schema(Type.TIME, optional=optional, unit=_unit(digits))
    if data_type == "bit":
        return Schema(Type.BOOLEAN if precision == 1 else Type.UINT64, optional=optional)
    if data_type in ("char", "varchar"):
        return text(length or 0, optional=optional)
    # Floats without a sign are read and written as others.
    is_unsigned = "unsigned" in column_type and data_type not in ("float", "double")
    kind = "tinyint(1)" if column_type == "tinyint(1)" else data_type + " unsigned" * is_unsigned
    return Schema(_BACK.get(kind, STRING.type), optional=optional)


def _unit(digits: int) -> Unit:
    return Unit.MICROSECONDS if digits > 3 else Unit.MILLISECONDS


def _digits(schema: Schema) -> int:
    return 3 if schema.unit is Unit.MILLISECONDS else 6


def plain_rows(rows: pa.Table) -> Sequence[tuple[object, ...]]:
    """Rows as PyMySQL takes them."""
    return list(zip(*(_plain(column) for column in rows.columns), strict=True))


def _plain(column: Any) -> list[object]:
    """What has a zone is in UTC, and is written without it."""
    if pa.types.is_timestamp(column.type) and column.type.tz:
        column = column.cast(pa.timestamp(column.type.unit))
    if pa.types.is_temporal(column.type):
        column = column.cast(pa.string())
    values: list[object] = column.to_pylist()
    return values
