"""Tables on real servers are compared with what a sink keeps of them: nothing that is equal is told, and all that differs."""

import itertools
import json
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pyarrow as pa
import pytest

from connectors.jdbc import dialect_of, parse_url
from connectors.jdbc_sink import JdbcSink
from connectors.jdbc_sink.shape import create
from connectors.postgres_cdc_source.logical.connection import Address
from rocketconnect_cli.tables.settling import Suspects
from rocketconnect_sdk.configuration.connector_options import parse_sink, parse_source
from rocketconnect_sdk.plugins.loader import find
from rocketconnect_sdk.source import Source
from services.executor.contract.answers import RowDifference, Verified
from services.executor.contract.questions import NamedConnector, TableKey, VerifyConnector
from services.executor.host.jobs.verification import verify
from services.executor.secrets.resolving import resolve
from tests.connectors.mysql_cdc_source.binlog.reading import Database
from tests.connectors.mysql_cdc_source.capturing import options
from tests.connectors.postgres_cdc_source.capturing import config_of
from tests.servers.mariadb import PASSWORD, Mariadb

pytestmark = [pytest.mark.mariadb, pytest.mark.postgres]

EVERYTHING = {
    "id": "BIGINT UNSIGNED PRIMARY KEY",
    "small": "TINYINT",
    "yes": "TINYINT(1)",
    "many": "INT UNSIGNED",
    "most": "BIGINT UNSIGNED",
    "price": "DECIMAL(20, 4)",
    "near": "FLOAT",
    "far": "DOUBLE",
    "name": "VARCHAR(200)",
    "code": "CHAR(6)",
    "data": "VARBINARY(50)",
    "body": "LONGTEXT",
    "day": "DATE",
    "moment": "TIME(6)",
    "made": "DATETIME(6)",
    "seen": "TIMESTAMP(3) NULL",
    "year_": "YEAR",
    "flags": "BIT(12)",
    "one": "BIT(1)",
    "mood": "ENUM('good', 'bad')",
    "tags": "SET('a', 'b', 'c')",
    "facts": "JSON",
    "code_": "UUID",
    "place": "POINT",
}
FULL = (
    "1, -128, 1, 4294967295, 18446744073709551615, 1234567890123456.7890, 3.14159274, 1e308, 'é😀', 'ab ', x'00ff', 'x', "
    "'2024-02-29', '23:59:59.999999', '2024-02-29 12:00:00.123456', '2024-06-01 00:00:00.5', 2024, 4095, 1, 'bad', 'a,c', "
    """'{"b": 1.50, "a": [1e2, null]}', '12345678-1234-5678-1234-567812345678', POINT(1, 2)"""
)
NULLS = "2" + ", NULL" * (len(EVERYTHING) - 1)
EDGES = (
    "18446744073709551615, 0, 0, 0, 0, 0, 0, -0.0, '', '', '', '', '0001-01-01', '00:00:00', '9999-12-31 23:59:59', "
    "'1970-01-01 00:00:01', 1901, 0, 0, 'good', '', 'null', '00000000-0000-0000-0000-000000000000', NULL"
)


@dataclass(frozen=True, slots=True)
class Sides:
    """A source and the sink of its topics."""

    source: NamedConnector
    sink: NamedConnector

    def verify(
        self, *, keys: list[TableKey] | None = None, token: str = "", seconds: float = 60.0, next_table: bool = False, **tables: str
    ) -> Verified:
        return verify(VerifyConnector(self.source, [self.sink], tables, keys or [], token, seconds, next_table))

    def differences(self) -> list[tuple[str, str, str]]:
        """Of all pages: one ends when its time is over, on a busy machine in the middle of a table."""
        differences: list[tuple[str, str, str]] = []
        token = ""
        while True:
            found = self.verify(token=token)
            assert (found.problems, found.trouble) == ([], "")
            differences += [told(each) for each in found.differences]
            token = found.next_page_token
            if not token:
                return differences

    def copy(self, name: str, key: tuple[str, ...] = ("id",)) -> None:
        """Makes the target as the sink would, and puts the rows there as the sink would."""
        plugin = find(self.source.config["connector.class"])
        assert isinstance(plugin, Source)
        tables = plugin.tables(resolve(parse_source(plugin, self.source.config)))
        config = resolve(parse_sink(JdbcSink(), self.sink.config))
        place = parse_url(config["connection.url"])
        dialect = dialect_of(place)
        assert tables is not None
        target = JdbcSink().tables(config).target(next(each for each in tables.tables() if each.name == name))
        with tables.open(name) as rows, closing(dialect.connect(place, config["user"], config["password"] or "")) as database:
            database.cursor().execute(create(dialect, target, rows.columns, key, 100))
            database.commit()
            with JdbcSink().tables(config).open(target) as kept:
                for read in rows.behind(None, key):
                    values, wrong = kept.kept(read.values, rows.columns)
                    assert not wrong
                    dialect.insert(database, target, values)
            database.commit()


def told(each: RowDifference) -> tuple[str, str, str]:
    return each.key, each.kind, each.about


@pytest.fixture
def database(mariadb: Mariadb, monkeypatch: pytest.MonkeyPatch) -> Iterator[Database]:
    monkeypatch.setenv("MARIADB_PASSWORD", PASSWORD)
    with Database(mariadb) as made:
        yield made


@pytest.fixture
def copy(postgres: str, database: Database) -> Iterator["psycopg.Connection[Any]"]:
    """An empty schema of PostgreSQL of the name of the database."""
    with psycopg.connect(postgres.replace("+psycopg", ""), autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {database.name}".encode())
        connection.execute(f"SET search_path TO {database.name}".encode())
        yield connection
        connection.execute(f"DROP SCHEMA {database.name} CASCADE".encode())


@pytest.fixture
def to_postgres(database: Database, copy: "psycopg.Connection[Any]", postgres: str) -> Sides:
    at = urlsplit(postgres)
    source = {
        "connector.class": "mysql_cdc_source",
        **options(database, table_topic="${topic}-${table}", snapshot_mode="initial"),
        "topic": "shop",
    }
    sink = {
        "connector.class": "jdbc_sink",
        "topics": "shop-t,shop-u",
        "connection.url": f"postgresql://{at.hostname}:{at.port}{at.path}",
        "user": at.username or "postgres",
        "table.name.format": f"{database.name}.${{table}}",
    }
    return Sides(NamedConnector("orders", source), NamedConnector("copy", sink))


def table(database: Database, columns: dict[str, str], *rows: str) -> None:
    database.run(f"CREATE TABLE t ({', '.join(f'{name} {kind}' for name, kind in columns.items())})")
    for row in rows:
        database.run(f"INSERT INTO t VALUES ({row})")


def test_rows_of_every_type_are_equal_under_the_mapping(database: Database, to_postgres: Sides) -> None:
    table(database, EVERYTHING, FULL, NULLS, EDGES)
    to_postgres.copy(f"{database.name}.t")
    assert to_postgres.differences() == []


def test_each_way_in_which_a_row_can_differ_is_told_with_its_key_and_columns(
    database: Database, to_postgres: Sides, copy: "psycopg.Connection[Any]"
) -> None:
    table(database, EVERYTHING, FULL, NULLS, EDGES)
    to_postgres.copy(f"{database.name}.t")
    copy.execute("DELETE FROM t WHERE id = 2")
    copy.execute("INSERT INTO t (id) VALUES (3), (18446744073709551614)")
    copy.execute("UPDATE t SET price = price + 0.0001, name = NULL WHERE id = 1")
    copy.execute("UPDATE t SET place = '' WHERE id = 18446744073709551615")
    assert to_postgres.differences() == [
        ("[1]", "DIFFERENT", "price, name"),
        ("[2]", "MISSING", ""),
        ("[3]", "EXTRA", ""),
        ("[18446744073709551614]", "EXTRA", ""),
        ("[18446744073709551615]", "DIFFERENT", "place"),
    ]


def test_a_value_that_became_null_differs_whatever_its_type(
    database: Database, to_postgres: Sides, copy: "psycopg.Connection[Any]"
) -> None:
    table(database, EVERYTHING, FULL)
    to_postgres.copy(f"{database.name}.t")
    for column in list(EVERYTHING)[1:]:
        copy.execute(f"CREATE TEMPORARY TABLE saved AS SELECT {column} FROM t".encode())
        copy.execute(f"UPDATE t SET {column} = NULL".encode())
        assert to_postgres.differences() == [("[1]", "DIFFERENT", column)]
        copy.execute(f"UPDATE t SET {column} = saved.{column} FROM saved".encode())
        copy.execute("DROP TABLE saved")


def test_a_value_without_a_counterpart_is_told_and_is_not_taken_for_null(
    database: Database, to_postgres: Sides, copy: "psycopg.Connection[Any]"
) -> None:
    table(database, {"id": "INT PRIMARY KEY", "day": "DATE", "name": "TEXT"}, "1, '2024-01-01', ''", "2, '2024-01-01', 'a'")
    to_postgres.copy(f"{database.name}.t")
    database.run("SET SESSION sql_mode = ''", "UPDATE t SET day = '0000-00-00' WHERE id = 1")
    database.run("UPDATE t SET name = CONCAT('a', CHAR(0)) WHERE id = 2")
    copy.execute("UPDATE t SET day = NULL WHERE id = 1")
    found = to_postgres.differences()
    assert [each[:2] for each in found] == [("[1]", "REFUSED"), ("[2]", "REFUSED")]
    assert found[0][2].startswith("day: '0000-00-00' is no value of its type")
    assert "U+0000" in found[1][2]


def test_texts_as_keys_are_in_one_order_whatever_their_collation_is(
    database: Database, to_postgres: Sides, copy: "psycopg.Connection[Any]"
) -> None:
    keys = ["a", "B", "ö", "Z", "é", "zz", "😀", "_", "a b", "'", "\\", "\uffee", ""]
    table(database, {"name": "VARCHAR(40) COLLATE utf8mb4_general_ci", "number": "INT", "PRIMARY": "KEY (name, number)"})
    with database.connection.cursor() as cursor:
        cursor.executemany("INSERT INTO t VALUES (%s, %s)", [(key, number) for key in keys for number in range(-1, 60)])
    to_postgres.copy(f"{database.name}.t", ("name", "number"))
    assert to_postgres.differences() == []
    copy.execute("DELETE FROM t WHERE name IN ('ö', '😀') AND number = 9")
    assert to_postgres.differences() == [('["ö", 9]', "MISSING", ""), ('["😀", 9]', "MISSING", "")]
    asked = [TableKey(f"{database.name}.t", json.dumps(key)) for key in (["ö", 9], ["'", 9], ["\\", 9])]
    assert [told(each) for each in to_postgres.verify(keys=asked).differences] == [('["ö", 9]', "MISSING", "")]


TYPED = {
    "price": "DECIMAL(20, 4)",
    "day": "DATE",
    "made": "DATETIME(6)",
    "data": "VARBINARY(8)",
    "PRIMARY": "KEY (price, day, made, data)",
    "number": "INT",
}
PRICES = ("-1234567890123456.7891", "-1", "-0.5", "0", "9.5", "10.0001", "10", "9007199254740993.0001", "9007199254740993.0002")
"""Neither their texts nor floating point numbers have their order."""


def typed_rows(count: int) -> list[tuple[object, ...]]:
    """In no order of the keys."""
    days, moments = ("0099-01-01", "2024-02-29", "9999-12-31"), ("1969-12-31 23:59:59.999999", "2024-02-29 12:00:00.5")
    data = (b"", b"\x00", b"\x00\xff", b"'", b"\\", b"\xff")
    return [(*key, number) for number, key in enumerate(itertools.islice(itertools.product(PRICES, days, moments, data), count))]


def test_decimals_dates_timestamps_and_bytes_as_keys_are_in_one_order(
    database: Database, to_postgres: Sides, copy: "psycopg.Connection[Any]"
) -> None:
    key = ("price", "day", "made", "data")
    table(database, TYPED)
    with database.connection.cursor() as cursor:
        cursor.executemany("INSERT INTO t VALUES (%s, %s, %s, %s, %s)", typed_rows(324))
    to_postgres.copy(f"{database.name}.t", key)
    assert to_postgres.differences() == []
    copy.execute(
        "DELETE FROM t WHERE price = 9007199254740993.0002 AND day = '2024-02-29' AND made > '2000-01-01' AND data = '\\x00ff'"
    )
    copy.execute("UPDATE t SET number = -1 WHERE price = -0.5 AND day = '0099-01-01' AND made < '2000-01-01' AND data = ''")
    missing = '["9007199254740993.0002", "2024-02-29", "2024-02-29T12:00:00.500000", "00ff"]'
    changed = '["-0.5", "0099-01-01", "1969-12-31T23:59:59.999999", ""]'
    differing = [(changed, "DIFFERENT", "number"), (missing, "MISSING", "")]
    assert to_postgres.differences() == differing
    asked = [
        TableKey(f"{database.name}.t", text) for text in (changed, missing, '[10, "9999-12-31", "2024-02-29T12:00:00.5", "ff"]')
    ]
    found = to_postgres.verify(keys=asked)
    assert [told(each) for each in found.differences] == differing
    for each in found.differences:
        with database.connection.cursor() as cursor:
            assert cursor.execute(f"SELECT * FROM t WHERE {each.condition}") == 1
    keys: list[tuple[str, str, str]] = []
    token, pages = "", 0
    while token or not pages:
        part = to_postgres.verify(token=token, seconds=0)
        assert (part.problems, part.trouble) == ([], "")
        keys, token, pages = [*keys, *(told(each) for each in part.differences)], part.next_page_token, pages + 1
    assert keys == differing
    for wrong in ('[1, "2024-02-29"]', '["a", "b", "c", "d"]', '[true, "2024-02-29", "2024-02-29T12:00:00", "00"]'):
        assert "is no key of 4 columns" in refusal(to_postgres.verify(keys=[TableKey(f"{database.name}.t", wrong)]))[1]


def test_keys_of_decimals_dates_timestamps_and_bytes_of_postgresql_are_those_of_mariadb(
    database: Database, to_mariadb: Sides, copy: "psycopg.Connection[Any]"
) -> None:
    columns = "price numeric(20, 4), day date, made timestamptz, data bytea, number int, PRIMARY KEY (price, day, made, data)"
    copy.execute(f"CREATE TABLE t ({columns})".encode())
    with copy.cursor() as cursor:
        cursor.execute("SET timezone TO 'UTC'")
        # MariaDB's DATE begins at the year 1000.
        rows = [row for row in typed_rows(324) if str(row[1]) > "1000"]
        cursor.executemany("INSERT INTO t VALUES (%s, %s, %s, %s, %s)", rows)
    to_mariadb.copy(f"{database.name}.t", ("price", "day", "made", "data"))
    assert to_mariadb.differences() == []
    one = "price = 10 AND day = '2024-02-29' AND data = x'' AND made > '2000-01-01'"
    database.run(f"UPDATE t SET made = '2024-02-29 12:00:00.6' WHERE {one}")
    assert to_mariadb.differences() == [
        ('[10, "2024-02-29", "2024-02-29T12:00:00.500000", ""]', "MISSING", ""),
        ('[10, "2024-02-29", "2024-02-29T12:00:00.600000", ""]', "EXTRA", ""),
    ]
    extra = to_mariadb.verify().differences[1]
    assert extra.condition == "", "a source is told no such keys of rows that it does not have"


def test_a_comparison_goes_on_behind_the_page_before(
    database: Database, to_postgres: Sides, copy: "psycopg.Connection[Any]"
) -> None:
    table(database, {"id": "INT PRIMARY KEY", "name": "TEXT"})
    database.run("INSERT INTO t SELECT seq, CONCAT('n', seq) FROM seq_1_to_5000")
    to_postgres.copy(f"{database.name}.t")
    copy.execute("DELETE FROM t WHERE id IN (1, 2500, 5000)")
    keys, rows, token, pages = [], 0, "", 0
    while token or not pages:
        found = to_postgres.verify(token=token, seconds=0)
        keys += [each.key for each in found.differences]
        rows += sum(each.rows for each in found.tables)
        token, pages = found.next_page_token, pages + 1
        assert [each.done for each in found.tables] == [not token]
    assert (keys, rows) == (["[1]", "[2500]", "[5000]"], 5000)
    assert pages > 2


def test_more_rows_that_differ_than_an_answer_holds_are_told_in_several(
    database: Database, to_postgres: Sides, copy: "psycopg.Connection[Any]"
) -> None:
    table(database, {"id": "INT PRIMARY KEY"})
    database.run("INSERT INTO t SELECT seq FROM seq_1_to_2500")
    to_postgres.copy(f"{database.name}.t")
    copy.execute("UPDATE t SET id = id + 10000")
    keys, rows, token, pages = [], 0, "", 0
    while token or not pages:
        found = to_postgres.verify(token=token)
        assert len(found.differences) <= 1_000
        keys += [json.loads(each.key)[0] for each in found.differences]
        rows += sum(each.rows for each in found.tables)
        token, pages = found.next_page_token, pages + 1
    assert keys == [*range(1, 2501), *range(10_001, 12_501)]
    assert rows == 2_500


def test_the_rest_of_a_table_is_left_out_for_the_next_one(
    database: Database, to_postgres: Sides, copy: "psycopg.Connection[Any]"
) -> None:
    table(database, {"id": "INT PRIMARY KEY"})
    database.run("INSERT INTO t SELECT seq FROM seq_1_to_5000")
    to_postgres.copy(f"{database.name}.t")
    copy.execute("DELETE FROM t WHERE id = 5000")
    begun = to_postgres.verify(seconds=0)
    assert [each.done for each in begun.tables] == [False]
    left = to_postgres.verify(token=begun.next_page_token, next_table=True)
    assert (left.tables, left.differences, left.next_page_token, left.problems) == ([], [], "", [])


def test_rows_that_are_asked_for_are_compared_and_no_others(
    database: Database, to_postgres: Sides, copy: "psycopg.Connection[Any]"
) -> None:
    table(database, {"id": "INT PRIMARY KEY", "name": "TEXT"}, "1, 'a'", "2, 'b'", "3, 'c'", "4, 'd'")
    to_postgres.copy(f"{database.name}.t")
    copy.execute("UPDATE t SET name = 'x' WHERE id IN (1, 2)")
    copy.execute("DELETE FROM t WHERE id = 3")
    copy.execute("INSERT INTO t VALUES (9, '')")
    found = to_postgres.verify(keys=[TableKey(f"{database.name}.t", f"[{key}]") for key in (2, 3, 4, 9, 10)]).differences
    assert [(*told(each), bool(each.source_digest), bool(each.sink_digest)) for each in found] == [
        ("[2]", "DIFFERENT", "name", True, True),
        ("[3]", "MISSING", "", True, False),
        ("[9]", "EXTRA", "", False, True),
    ]


def test_columns_of_one_side_are_told_and_the_others_are_compared(
    database: Database, to_postgres: Sides, copy: "psycopg.Connection[Any]"
) -> None:
    table(database, {"id": "INT PRIMARY KEY", "name": "TEXT", "note": "TEXT"}, "1, 'a', 'b'")
    to_postgres.copy(f"{database.name}.t")
    copy.execute("ALTER TABLE t DROP COLUMN note, ADD COLUMN loaded timestamptz DEFAULT now()")
    found = to_postgres.verify()
    name = f"{database.name}.t"
    assert [each.left_out for each in found.tables] == [[f"note: not in {name}", f"loaded: not in {name}"]]
    assert found.differences == []


@pytest.fixture
def to_mariadb(database: Database, copy: "psycopg.Connection[Any]", postgres: str) -> Sides:
    at = urlsplit(postgres)
    source = {
        "connector.class": "postgres_cdc_source",
        **config_of(Address(at.hostname or "", at.port or 0, at.username or "", at.path[1:]), database.name),
        "table.topic": "${topic}-${table}",
        "topic": "shop",
    }
    sink = {
        "connector.class": "jdbc_sink",
        "topics": "shop-t",
        "connection.url": f"mysql://127.0.0.1:{database.server.port}/{database.name}",
        "user": "root",
        "password": "${env:MARIADB_PASSWORD}",
        "table.name.format": "${table}",
        "table.name.allowed": ".*",
    }
    return Sides(NamedConnector("orders", source), NamedConnector("copy", sink))


def test_rows_of_postgresql_are_equal_in_mariadb_and_what_is_changed_there_is_told(
    database: Database, to_mariadb: Sides, copy: "psycopg.Connection[Any]"
) -> None:
    columns = {
        "id": "uuid PRIMARY KEY",
        "small": "smallint",
        "yes": "boolean",
        "price": "numeric(20, 4)",
        "near": "real",
        "far": "double precision",
        "name": "text",
        "code": "char(6)",
        "data": "bytea",
        "day": "date",
        "moment": "time",
        "made": "timestamp",
        "seen": "timestamptz",
        "facts": "jsonb",
        "tags": "text[]",
        "spot": "point",
        "span": "interval",
    }
    copy.execute(f"CREATE TABLE t ({', '.join(f'{name} {kind}' for name, kind in columns.items())})".encode())
    copy.execute(
        "INSERT INTO t VALUES (gen_random_uuid(), 1, true, 1.5, 3.14159274, 1e308, 'é😀', 'ab', '\\x00ff', '2024-02-29', "
        "'23:59:59.999999', '2024-02-29 12:00:00.123456', '2024-06-01 00:00:00.5+02', '{\"b\": 1.50, \"a\": [1e2, null]}', "
        "'{a,NULL,b}', '(1,2)', '1 day 2 hours')"
    )
    copy.execute("INSERT INTO t (id) SELECT gen_random_uuid() FROM generate_series(1, 300)")
    name = f"{database.name}.t"
    to_mariadb.copy(name)
    assert to_mariadb.differences() == []
    database.run("""UPDATE t SET facts = '{ "a":[100,null],"b":1.5 }' WHERE facts IS NOT NULL""")
    assert to_mariadb.differences() == []
    database.run("UPDATE t SET near = 3.14159, facts = '{}' WHERE facts IS NOT NULL")
    assert [each[1:] for each in to_mariadb.differences()] == [("DIFFERENT", "near, facts")]
    database.run("UPDATE t SET id = UUID() WHERE facts IS NOT NULL")
    assert sorted(each[1] for each in to_mariadb.differences()) == ["EXTRA", "MISSING"]


def refusal(found: Verified) -> tuple[str, str]:
    (problem,) = found.problems
    assert problem.fix
    return problem.key, problem.reason


def test_what_cannot_be_compared_is_told_with_what_to_do(
    database: Database, to_postgres: Sides, copy: "psycopg.Connection[Any]"
) -> None:
    source, sink = to_postgres.source, to_postgres.sink
    file = NamedConnector("lines", {"connector.class": "file_source", "filename": "/nowhere", "topic": "shop-t"})
    elsewhere = NamedConnector("copy", {**sink.config, "topics": "other"})
    again = NamedConnector("again", sink.config)
    renaming = NamedConnector("orders", {**source.config, "transforms": "route"})
    name = f"{database.name}.t"
    table(database, {"id": "INT", "name": "TEXT"}, "1, 'a'")
    assert refusal(Sides(file, sink).verify()) == ("connector", "reads no tables of a database: its class is file_source")
    assert refusal(Sides(sink, sink).verify()) == ("connector", "is no source: its class is jdbc_sink")
    assert refusal(Sides(source, NamedConnector("out", {"connector.class": "stdout"})).verify())[0] == "sink"
    assert "reads none of the topics of these tables (shop-t), but other" in refusal(Sides(source, elsewhere).verify())[1]
    assert refusal(to_postgres.verify(nothing=""))[1] == "is no table that the source reads"
    both = verify(VerifyConnector(source, [sink, again], {}, [], "", 5))
    assert refusal(both) == ("sink", "again, copy all read shop-t")
    assert refusal(to_postgres.verify(token="{")) == ("page_token", "is none that an answer had")
    assert f"{name} is no table of" in to_postgres.verify().trouble
    to_postgres.copy(name)
    assert refusal(to_postgres.verify()) == ("tables", "has no key")
    database.run("ALTER TABLE t ADD PRIMARY KEY (id)")
    for key in ("{", "1", "[1, 2]", "[1.5]", "[null]"):
        option, why = refusal(to_postgres.verify(keys=[TableKey(name, key)]))
        assert option == "keys"
        assert why.startswith("is no key of 1 column")
    copy.execute("ALTER TABLE t RENAME COLUMN id TO number")
    assert "has no id" in refusal(to_postgres.verify())[1]
    assert "transforms" in refusal(Sides(renaming, sink).verify())[1]


@pytest.mark.slow
def test_a_million_rows_are_compared_in_little_memory(
    database: Database, to_postgres: Sides, copy: "psycopg.Connection[Any]"
) -> None:
    table(database, {"id": "INT PRIMARY KEY", "name": "VARCHAR(100)", "price": "DECIMAL(10,2)", "made": "DATETIME(6)"})
    database.run(
        "INSERT INTO t SELECT seq, CONCAT('the name of a row ', seq), seq / 100, '2024-01-01' + INTERVAL seq SECOND "
        "FROM seq_1_to_1000000"
    )
    to_postgres.copy(f"{database.name}.t")
    copy.execute("DELETE FROM t WHERE id IN (7, 500000, 1000000)")
    pa.default_memory_pool().release_unused()
    before = pa.default_memory_pool().bytes_allocated()
    most = 0

    def watch() -> None:
        nonlocal most
        while not over.wait(0.01):
            most = max(most, pa.default_memory_pool().bytes_allocated() - before)

    over = threading.Event()
    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        assert [each[:2] for each in to_postgres.differences()] == [
            ("[7]", "MISSING"),
            ("[500000]", "MISSING"),
            ("[1000000]", "MISSING"),
        ]
    finally:
        over.set()
        watcher.join()
    assert 0 < most < 64 << 20


def test_rows_that_are_on_their_way_are_told_as_such_and_are_equal_when_they_have_come(
    database: Database, to_postgres: Sides, copy: "psycopg.Connection[Any]"
) -> None:
    table(database, {"id": "INT PRIMARY KEY", "n": "BIGINT"})
    database.run("INSERT INTO t SELECT seq, 0 FROM seq_1_to_2000")
    name = f"{database.name}.t"
    to_postgres.copy(name)
    copy.execute("UPDATE t SET n = -1 WHERE id = 1999")
    over = threading.Event()

    def change() -> None:
        """Both sides, the sink a little later: for each row it is as if a change were under way."""
        with closing(database.server.connect()) as source, psycopg.connect(copy.info.dsn, autocommit=True) as sink:
            for number in itertools.count(1):
                key = number * 7 % 1998 + 1
                with source.cursor() as cursor:
                    cursor.execute(f"UPDATE {name} SET n = {number} WHERE id = {key}")
                if over.wait(0.02):
                    return
                sink.execute(f"UPDATE {name} SET n = {number} WHERE id = {key}".encode())

    writer = threading.Thread(target=change)
    writer.start()
    suspects = Suspects(1.0)
    try:
        for _ in range(10):
            suspects.add(map(as_answered, to_postgres.verify().differences), time.monotonic())
        assert len(suspects) > 1
        until = time.monotonic() + 30
        while len(suspects) and time.monotonic() < until:
            time.sleep(0.25)
            asked = suspects.rows
            again = to_postgres.verify(keys=[TableKey(of, key) for of, _, key in asked])
            now = time.monotonic()
            suspects.look_again(asked, map(as_answered, again.differences), now, passed=now)
    finally:
        over.set()
        writer.join()
    assert [each["key"] for each in suspects.different] == ["[1999]"]
    assert len(suspects) == 0


def as_answered(each: RowDifference) -> dict[str, str]:
    answered = {"table": each.table, "sink": each.sink, "key": each.key}
    return {**answered, "sourceDigest": each.source_digest, "sinkDigest": each.sink_digest}
