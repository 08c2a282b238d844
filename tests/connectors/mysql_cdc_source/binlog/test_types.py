"""What a table has is what its log says, for every type."""

import json
import struct
import uuid
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from connectors.mysql_cdc_source.binlog.definitions import completed
from connectors.mysql_cdc_source.binlog.row_reading.parts import Geometry
from connectors.mysql_cdc_source.binlog.server import connected
from connectors.mysql_cdc_source.binlog.values.temporal import InvalidDate
from tests.connectors.mysql_cdc_source.binlog.reading import Database
from tests.examples import some
from tests.pairs.kinds import whole

pytestmark = pytest.mark.mariadb


class Kind(NamedTuple):
    """A column type: values to insert, and what SELECT gives as the value that the log shall have."""

    definition: str
    values: st.SearchStrategy[Any]
    selected: Callable[[Any], Any] = lambda value: value
    select: str = "value"
    place: str = "%s"


def _decimals(precision: int, scale: int) -> st.SearchStrategy[Decimal]:
    most = 10**precision - 1
    # From the text: arithmetic would round to 28 digits.
    return st.integers(-most, most).map(lambda digits: Decimal(f"{digits}E-{scale}"))


def _text(most: int, codec: str = "utf-8") -> st.SearchStrategy[str]:
    return st.text(st.characters(codec=codec), max_size=most)


def _moment(value: Any) -> Any:
    return InvalidDate(value) if isinstance(value, str) else value


def _zoned(value: Any) -> Any:
    return InvalidDate(value) if isinstance(value, str) else value.replace(tzinfo=UTC)


_EPOCH = datetime.fromisoformat("1970-01-01T00:00:00")
_DATES = st.dates().map(str) | st.sampled_from(["0000-00-00", "2024-00-00", "2024-02-00", "2024-02-31", "0000-01-01", "9999-12-31"])
_CLOCKS = st.times().map(lambda time: time.isoformat("microseconds"))
_MOMENTS = st.tuples(_DATES, _CLOCKS).map(" ".join) | st.sampled_from(["0000-00-00 00:00:00", "0000-00-00 00:00:00.000001"])
_POINTS_IN_TIME = st.integers(86_400_000_000, 2_145_000_000_000_000).map(
    lambda microseconds: str(_EPOCH + timedelta(microseconds=microseconds))
) | st.just("0000-00-00 00:00:00")
_TIMES = st.builds(timedelta, seconds=st.integers(-3_020_398, 3_020_398), microseconds=st.integers(0, 999_999)).map(
    lambda time: ("-" if time < timedelta(0) else "") + _clock(abs(time))
)
_JSON = st.recursive(st.none() | st.booleans() | st.integers() | _text(5), lambda inner: st.lists(inner, max_size=3), max_leaves=5)
_LABELS = ["a", "b'é", "", "c\\d", "x y"]


def _clock(time: timedelta) -> str:
    seconds = int(time.total_seconds())
    return f"{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}.{time.microseconds:06}"


def _geometry(value: tuple[str, int]) -> Geometry:
    return Geometry(value[1], bytes.fromhex(value[0]))


KINDS = {
    "tinyint": Kind("TINYINT", whole(8)),
    "tinyint unsigned": Kind("TINYINT UNSIGNED", whole(8, unsigned=True)),
    "smallint": Kind("SMALLINT", whole(16)),
    "smallint unsigned": Kind("SMALLINT UNSIGNED", whole(16, unsigned=True)),
    "mediumint": Kind("MEDIUMINT", whole(24)),
    "mediumint unsigned": Kind("MEDIUMINT UNSIGNED", whole(24, unsigned=True)),
    "int": Kind("INT", whole(32)),
    "int unsigned": Kind("INT UNSIGNED ZEROFILL", whole(32, unsigned=True)),
    "bigint": Kind("BIGINT", whole(64)),
    "bigint unsigned": Kind("BIGINT UNSIGNED", whole(64, unsigned=True) | st.just(2**64 - 1)),
    "decimal(65,30)": Kind("DECIMAL(65,30)", _decimals(65, 30)),
    "decimal(38,38)": Kind("DECIMAL(38,38)", _decimals(38, 38)),
    "decimal(10,2)": Kind("DECIMAL(10,2)", _decimals(10, 2)),
    "decimal(9,0)": Kind("DECIMAL(9,0)", _decimals(9, 0)),
    "decimal(1,1)": Kind("DECIMAL(1,1) UNSIGNED", st.integers(0, 9).map(lambda digit: Decimal(f"0.{digit}"))),
    "float": Kind("FLOAT", st.floats(width=32, allow_nan=False, allow_infinity=False), select="CAST(value AS DOUBLE)"),
    "double": Kind("DOUBLE", st.floats(allow_nan=False, allow_infinity=False), select="value"),
    "bit(1)": Kind("BIT(1)", st.integers(0, 1), lambda raw: int.from_bytes(raw, "big")),
    "bit(10)": Kind("BIT(10)", st.integers(0, 1023), lambda raw: int.from_bytes(raw, "big")),
    "bit(64)": Kind("BIT(64)", whole(64, unsigned=True), lambda raw: int.from_bytes(raw, "big")),
    "year": Kind("YEAR", st.just(0) | st.integers(1901, 2155)),
    "date": Kind("DATE", _DATES, _moment),
    "datetime": Kind("DATETIME", _MOMENTS, _moment),
    "datetime(1)": Kind("DATETIME(1)", _MOMENTS, _moment),
    "datetime(3)": Kind("DATETIME(3)", _MOMENTS, _moment),
    "datetime(6)": Kind("DATETIME(6)", _MOMENTS, _moment),
    "timestamp": Kind("TIMESTAMP NULL", _POINTS_IN_TIME, _zoned),
    "timestamp(2)": Kind("TIMESTAMP(2) NULL", _POINTS_IN_TIME, _zoned),
    "timestamp(5)": Kind("TIMESTAMP(5) NULL", _POINTS_IN_TIME, _zoned),
    "timestamp(6)": Kind("TIMESTAMP(6) NULL", _POINTS_IN_TIME, _zoned),
    "time": Kind("TIME", _TIMES),
    "time(2)": Kind("TIME(2)", _TIMES),
    "time(4)": Kind("TIME(4)", _TIMES),
    "time(6)": Kind("TIME(6)", _TIMES),
    "char": Kind("CHAR(20)", _text(20)),
    "char of two bytes of length": Kind("CHAR(200)", _text(200)),
    "varchar": Kind("VARCHAR(50)", _text(50)),
    "varchar of two bytes of length": Kind("VARCHAR(5000)", _text(500)),
    "varchar utf8mb3": Kind(
        "VARCHAR(50) CHARACTER SET utf8mb3", st.text(st.characters(max_codepoint=0xFFFF, exclude_categories=["Cs"]), max_size=50)
    ),
    "varchar latin1": Kind("VARCHAR(50) CHARACTER SET latin1", _text(50, "iso8859-1").map(lambda text: text + "€ž")),
    "varchar cp1251": Kind("VARCHAR(50) CHARACTER SET cp1251", _text(50, "cp1251")),
    "varchar ucs2": Kind("VARCHAR(50) CHARACTER SET ucs2", st.text("aé中\0", max_size=50)),
    "varchar utf16": Kind("VARCHAR(50) CHARACTER SET utf16", _text(50)),
    "varchar utf32": Kind("VARCHAR(50) CHARACTER SET utf32", _text(50)),
    "varchar sjis": Kind("VARCHAR(50) CHARACTER SET sjis", st.text("aｱ漢字", max_size=50)),
    "varchar gbk": Kind("VARCHAR(50) CHARACTER SET gbk", st.text("a汉字", max_size=50)),
    "tinytext": Kind("TINYTEXT", _text(60)),
    "text": Kind("TEXT", _text(300)),
    "mediumtext": Kind("MEDIUMTEXT", _text(300)),
    "longtext": Kind("LONGTEXT", _text(300)),
    "binary": Kind("BINARY(20)", st.binary(max_size=20)),
    "varbinary": Kind("VARBINARY(300)", st.binary(max_size=300)),
    "tinyblob": Kind("TINYBLOB", st.binary(max_size=255)),
    "blob": Kind("BLOB", st.binary(max_size=1000)),
    "longblob": Kind("LONGBLOB", st.binary(max_size=1000)),
    "varchar compressed": Kind("VARCHAR(2000) COMPRESSED", _text(20).map(lambda text: text * 50)),
    "text compressed": Kind("TEXT COMPRESSED", _text(20).map(lambda text: text * 50)),
    "blob compressed": Kind("BLOB COMPRESSED", st.binary(max_size=20).map(lambda raw: raw * 50)),
    "enum": Kind(
        "ENUM(" + ",".join("'" + label.replace("\\", "\\\\").replace("'", "''") + "'" for label in _LABELS) + ")",
        st.sampled_from(_LABELS),
    ),
    "enum of two bytes": Kind(
        "ENUM(" + ",".join(f"'label {number}'" for number in range(300)) + ")",
        st.integers(0, 299).map(lambda number: f"label {number}"),
    ),
    "enum latin1": Kind("ENUM('é','ü') CHARACTER SET latin1", st.sampled_from("éü")),
    "set": Kind(
        "SET('a','b''é','c d')",
        st.lists(st.sampled_from(["a", "b'é", "c d"]), unique=True).map(lambda labels: ",".join(sorted(labels))),
    ),
    "set of 64": Kind(
        "SET(" + ",".join(f"'{number}'" for number in range(64)) + ")",
        st.lists(st.integers(0, 63), unique=True).map(lambda numbers: ",".join(str(number) for number in sorted(numbers))),
    ),
    "json": Kind("JSON", _JSON.map(json.dumps)),
    "point": Kind(
        "POINT",
        st.tuples(st.integers(-9, 9), st.integers(-9, 9)).map(lambda point: f"POINT({point[0]} {point[1]})"),
        lambda value: _geometry((value.split()[0], int(value.split()[1]))),
        "CONCAT(HEX(ST_AsBinary(value)), ' ', ST_SRID(value))",
        "ST_GeomFromText(%s, 4326)",
    ),
    "geometry": Kind(
        "GEOMETRY",
        st.sampled_from(["LINESTRING(0 0,1 1)", "POLYGON((0 0,1 0,1 1,0 0))", "GEOMETRYCOLLECTION(POINT(1 2))"]),
        lambda value: _geometry((value.split()[0], int(value.split()[1]))),
        "CONCAT(HEX(ST_AsBinary(value)), ' ', ST_SRID(value))",
        "ST_GeomFromText(%s)",
    ),
    "uuid": Kind(
        "UUID",
        st.uuids().map(str) | st.uuids().map(lambda value: f"{value}"[:-2] + "00") | st.just(str(uuid.UUID(int=0))),
        uuid.UUID,
    ),
    "inet6": Kind(
        "INET6",
        (
            st.ip_addresses(v=6).map(str)
            | st.lists(st.integers(0, 2), min_size=8, max_size=8).map(lambda groups: ":".join(map(str, groups)))
        )
        | st.sampled_from(["::", "1::", "::1.2.3.4", "::ffff:1.2.3.0"]),
    ),
    "inet4": Kind("INET4", st.ip_addresses(v=4).map(str) | st.sampled_from(["0.0.0.0", "10.0.0.0"])),
}


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_a_value_of_the_table_is_the_same_in_its_log(database: Database, kind: Kind) -> None:
    database.run(f"CREATE TABLE t (id INT PRIMARY KEY, value {kind.definition}, after VARCHAR(3))")

    @settings(max_examples=some(15, 3), suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(st.lists(kind.values | st.none(), min_size=1, max_size=40))
    def values_are_the_same(values: list[Any]) -> None:
        database.run("DELETE FROM t")
        start = database.end()
        with database.connection.cursor() as cursor:
            # PyMySQL makes one statement of it.
            cursor.executemany(f"INSERT INTO t VALUES (%s, {kind.place}, 'end')", list(enumerate(values)))
        selected = database.select(f"SELECT id, {kind.select}, after FROM t ORDER BY id")
        wanted = [(key, None if value is None else kind.selected(value), after) for key, value, after in selected]
        with connected(database.login) as connection:
            events = database.rows(start, complete=lambda table: completed(connection, table))
        found = [row for event in events for row in event.after]
        assert found == wanted
        assert [tuple(map(type, row)) for row in found] == [tuple(map(type, row)) for row in wanted]

    values_are_the_same()


def test_a_float_is_that_of_32_bits(database: Database) -> None:
    database.run("CREATE TABLE t (value FLOAT)")
    start = database.end()
    database.run("INSERT INTO t VALUES (0.1)")
    assert database.rows(start)[0].after == [struct.unpack("<f", struct.pack("<f", 0.1))]


def test_a_value_that_an_enum_refused_is_the_empty_text(database: Database) -> None:
    database.run("CREATE TABLE t (value ENUM('a'))")
    start = database.end()
    database.run("INSERT IGNORE INTO t VALUES ('b')")
    assert database.rows(start)[0].after == [("",)]


def test_columns_with_the_old_forms_of_times_are_read(database: Database) -> None:
    database.run(
        "SET GLOBAL mysql56_temporal_format = OFF",
        "CREATE TABLE t (a DATETIME, b TIMESTAMP NULL, c TIME)",
        "SET GLOBAL mysql56_temporal_format = ON",
    )
    start = database.end()
    database.run(
        "INSERT INTO t VALUES ('2024-02-29 12:34:56', '2024-02-29 12:34:56', '-838:59:59')",
        "INSERT INTO t VALUES ('2024-00-10 00:00:01', '0000-00-00', '23:59:01')",
    )
    noon = datetime.fromisoformat("2024-02-29T12:34:56")
    assert [event.after for event in database.rows(start)] == [
        [(noon, noon.replace(tzinfo=UTC), -timedelta(hours=838, minutes=59, seconds=59))],
        [(InvalidDate("2024-00-10 00:00:01"), InvalidDate("0000-00-00 00:00:00"), timedelta(hours=23, minutes=59, seconds=1))],
    ]


def test_a_row_of_many_columns_with_any_of_them_null_is_read(database: Database) -> None:
    names = [f"c{number}" for number in range(70)]
    database.run(f"CREATE TABLE t (id INT PRIMARY KEY, {', '.join(f'{name} VARCHAR(9)' for name in names)})")
    start = database.end()
    rows = [(key, *(None if key * 7919 >> place % 13 & 1 else f"{key}.{place}" for place in range(70))) for key in range(2_000)]
    with database.connection.cursor() as cursor:
        cursor.executemany(f"INSERT INTO t VALUES (%s{',%s' * 70})", rows)
    assert [row for event in database.rows(start) for row in event.after] == rows
