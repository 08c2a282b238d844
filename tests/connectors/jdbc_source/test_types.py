import struct
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import TYPE_CHECKING
from uuid import UUID

import pytest

from tests.connectors.jdbc_source.test_jdbc_source import opened, read, values

if TYPE_CHECKING:
    from tests.connectors.jdbc_source.conftest import Database

WALL = datetime(2026, 1, 31, 23, 59, 59, 123456)  # noqa: DTZ001  # what a clock on a wall shows
POSTGRES = {
    "bool": ("true", True),
    "int2": ("-32768", -32768),
    "int8": ("9223372036854775807", 9223372036854775807),
    "float8": ("'-Infinity'", float("-inf")),
    "float4": ("1.5", 1.5),
    "numeric(10,2)": ("-1234.50", Decimal("-1234.50")),
    "numeric": (f"{'9' * 50}.{'1' * 30}", f"{'9' * 50}.{'1' * 30}"),
    "numeric(3,-2)": ("12300", "12300"),
    "text": ("E'a,\"\\n'", 'a,"\n'),
    "bytea": ("'\\x00ff'", b"\0\xff"),
    "date": ("'2026-01-31'", date(2026, 1, 31)),
    "time": ("'23:59:59.5'", time(23, 59, 59, 500000)),
    "timestamp": ("'2026-01-31 23:59:59.123456'", WALL),
    "timestamptz": ("'2026-02-01 00:59:59.123456+01'", WALL.replace(tzinfo=UTC)),
    "uuid": ("'00112233-4455-6677-8899-aabbccddeeff'", UUID("00112233-4455-6677-8899-aabbccddeeff")),
    "jsonb": ("'{\"a\": [1]}'", '{"a": [1]}'),
    "int4[]": ("'{1,2}'", "{1,2}"),
    "interval": ("'1 day'", "1 day"),
}
MARIADB = {
    "tinyint(1)": ("1", True),
    "bigint": ("-9223372036854775808", -9223372036854775808),
    "bigint unsigned": ("18446744073709551615", 18446744073709551615),
    "mediumint unsigned": ("16777215", 16777215),
    "double": ("1e300", 1e300),
    "float": ("1.5", 1.5),
    "decimal(30,10)": ("12345678901234567890.0000000001", Decimal("12345678901234567890.0000000001")),
    "longtext": ("'ü\\n'", "ü\n"),
    "enum('a','b')": ("'b'", "b"),
    "blob": ("x'00ff'", b"\0\xff"),
    "varbinary(9)": ("x'27'", b"'"),
    "date": ("'2026-01-31'", date(2026, 1, 31)),
    "time(3)": ("'23:59:59.5'", time(23, 59, 59, 500000)),
    "datetime(6)": ("'2026-01-31 23:59:59.123456'", WALL),
    "timestamp(6) NULL": ("'2026-01-31 23:59:59.123456'", WALL.replace(tzinfo=UTC)),
    "uuid": ("'00112233-4455-6677-8899-aabbccddeeff'", UUID("00112233-4455-6677-8899-aabbccddeeff")),
    "bit(1)": ("b'1'", True),
    "bit(10)": ("b'1000000001'", 513),
    "bit(64)": ("x'FFFFFFFFFFFFFFFF'", (1 << 64) - 1),
    "point": ("ST_GeomFromText('POINT(1 -2.5)', 4326)", struct.pack("<BIdd", 1, 1, 1.0, -2.5)),
    "year": ("2155", 2155),
}
OCEANBASE = {kind: pair for kind, pair in MARIADB.items() if kind != "uuid"} | {
    # It shows what it has parsed, with the digits of a double.
    "json": ("'{\"a\":  [1.50]}'", '{"a": [1.5]}'),
    "point": ("ST_GeomFromText('POINT(1 -2.5)')", struct.pack("<BIdd", 1, 1, 1.0, -2.5)),
}
SQLITE = {
    "boolean": ("1", True),
    "bigint": ("-9223372036854775808", -9223372036854775808),
    "double": ("1e300", 1e300),
    "text_decimal(10,2)": ("'1.50'", Decimal("1.50")),
    "text": ("'ü'", "ü"),
    "blob": ("x'00ff'", b"\0\xff"),
    "date": ("'2026-01-31'", date(2026, 1, 31)),
    "time": ("'23:59:59.500000'", time(23, 59, 59, 500000)),
    "datetime": ("'2026-01-31 23:59:59.123456'", WALL),
    "timestamp": ("'2026-01-31 23:59:59.123456Z'", WALL.replace(tzinfo=UTC)),
}
KINDS = {"postgres": POSTGRES, "mariadb": MARIADB, "oceanbase": OCEANBASE, "sqlite": SQLITE}


@pytest.mark.parametrize("query", [False, True])
def test_values_are_what_the_columns_hold(database: "Database", query: bool) -> None:
    kinds = {
        kind: pair for kind, pair in KINDS[database.kind].items() if not (query and kind == "uuid" and database.kind == "mariadb")
    }
    names = [f"c{number}" for number in range(len(kinds))]
    columns = ", ".join(f"{name} {kind}" for name, kind in zip(names, kinds, strict=True))
    database.run(
        f"CREATE TABLE t (id integer PRIMARY KEY, {columns})",
        f"INSERT INTO t VALUES (1, {', '.join(literal for literal, _ in kinds.values())})",
        "INSERT INTO t (id) VALUES (2)",
    )
    options = {"query": "SELECT * FROM t"} if query else {}
    with opened(database, {"mode": "incrementing", "incrementing.column.name": "id", **options}) as task:
        full, empty = values(read(task))
    assert full == {"id": 1, **dict(zip(names, (value for _, value in kinds.values()), strict=True))}
    assert empty == {"id": 2, **dict.fromkeys(names)}


@pytest.mark.parametrize("database", ["postgres"], indirect=True)
def test_values_do_not_depend_on_what_sessions_begin_with(database: "Database") -> None:
    settings = {"datestyle": "SQL, DMY", "intervalstyle": "sql_standard", "extra_float_digits": "-5", "timezone": "Asia/Kathmandu"}
    name = database.options["connection.url"].rpartition("/")[2]
    database.run(*(f"ALTER DATABASE {name} SET {setting} = '{value}'" for setting, value in settings.items()))
    database.run(
        "CREATE TABLE t (id integer PRIMARY KEY, number float8, day date, span interval, at timestamptz)",
        "INSERT INTO t VALUES (1, 0.1::float8 + 0.2::float8, '2026-02-01', '1 day -01:00:00', '2026-02-01 00:00:00+00')",
    )
    with opened(database, {"mode": "incrementing", "incrementing.column.name": "id"}) as task:
        (row,) = values(read(task))
    at = datetime(2026, 2, 1, tzinfo=UTC)
    assert row == {"id": 1, "number": 0.1 + 0.2, "day": date(2026, 2, 1), "span": "1 day -01:00:00", "at": at}
