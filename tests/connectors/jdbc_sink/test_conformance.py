import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest

from connectors.jdbc_sink import JdbcSink
from rocketconnect_sdk.conformance import SinkCase, SinkSuite
from rocketconnect_sdk.schema import Schema, Type, struct
from tests.servers.mariadb import Mariadb
from tests.servers.oceanbase.seekdb import Seekdb
from tests.suites import slow_but

# A process that is killed on purpose leaves its connection to the server open.
pytestmark = pytest.mark.filterwarnings("ignore:.*was deleted while still open:ResourceWarning")

ROW = struct([("queue", Schema(Type.INT32)), ("offset", Schema(Type.INT64)), ("text", Schema(Type.STRING, optional=True))])


STEPS = ("connectors.jdbc_sink.task:execute", "connectors.jdbc_sink.task:commit_all")


def row(queue: int, offset: int) -> dict[str, object]:
    return {"queue": queue, "offset": offset, "text": None if offset % 7 == 0 else f'"ü", {offset}\n'}


UNWRITABLE = {"queue": 0, "offset": 1 << 40, "text": "\0"}
OPTIONS = {"table.name.format": "rows", "auto.create": "true"}
"""Rows without a key: what is written twice is there twice."""
READ = "SELECT queue, {0}offset{0}, text FROM {0}rows{0} ORDER BY queue, {0}offset{0}"


@pytest.fixture(params=["insert", pytest.param("upsert", marks=pytest.mark.slow)])
def options(request: pytest.FixtureRequest) -> dict[str, str]:
    keyed = {"insert.mode": "upsert", "pk.fields": "queue,offset"}
    return {**OPTIONS, **(keyed if request.param == "upsert" else {})}


def named(rows: object) -> list[dict[str, object]]:
    return [dict(zip(("queue", "offset", "text"), each, strict=True)) for each in rows]  # type: ignore[attr-defined]


class TestSqlite(SinkSuite):
    @pytest.fixture
    def case(self, tmp_path: Path, options: dict[str, str]) -> SinkCase:
        path = tmp_path / "rows.db"

        def read() -> list[dict[str, object]]:
            with closing(sqlite3.connect(path)) as database:
                return named(database.execute(READ.format('"')).fetchall())

        options |= {"connection.url": f"sqlite:///{path}"}
        return SinkCase(JdbcSink(), options, read, row, ROW, calls=STEPS)


@slow_but("test_every_record_is_there_and_in_order", "test_a_large_batch_is_there_and_in_order")
class TestPostgres(SinkSuite):
    @pytest.fixture
    def case(self, postgres: str, options: dict[str, str]) -> Iterator[SinkCase]:
        server = urlsplit(postgres)
        options |= {"connection.url": f"postgresql://{server.hostname}:{server.port}/test", "user": "postgres"}

        def connect() -> "psycopg.Connection[tuple[object, ...]]":
            return psycopg.connect(host=server.hostname, port=server.port or 0, dbname="test", user="postgres", autocommit=True)

        def read() -> list[dict[str, object]]:
            with connect() as database:
                return named(database.execute(READ.format('"').encode()).fetchall())

        yield SinkCase(JdbcSink(), options, read, row, ROW, unwritable=UNWRITABLE, calls=STEPS)
        with connect() as database:
            database.execute('DROP TABLE IF EXISTS "rows", rocketconnect_positions')


@pytest.mark.slow
class TestOceanbase(SinkSuite):
    @pytest.fixture
    def case(self, oceanbase: Seekdb, options: dict[str, str]) -> Iterator[SinkCase]:
        oceanbase.make("sink", "sink")
        options |= {"connection.url": f"jdbc:oceanbase://127.0.0.1:{oceanbase.port}/sink", "user": "sink"}

        def read() -> list[dict[str, object]]:
            with oceanbase.connect(database="sink") as database, database.cursor() as cursor:
                cursor.execute(READ.format("`"))
                return named(cursor.fetchall())

        yield SinkCase(JdbcSink(), options, read, row, ROW, calls=(*STEPS, "connectors.jdbc.sent:send"))
        with oceanbase.connect() as database, database.cursor() as cursor:
            cursor.execute("DROP DATABASE sink")


@slow_but("test_every_record_is_there_and_in_order", "test_a_large_batch_is_there_and_in_order")
class TestMariadb(SinkSuite):
    @pytest.fixture
    def case(self, mariadb: Mariadb, options: dict[str, str]) -> Iterator[SinkCase]:
        with mariadb.connect() as database, database.cursor() as cursor:
            cursor.execute("CREATE DATABASE sink")
            cursor.execute("CREATE OR REPLACE USER sink@'%'")
            cursor.execute("GRANT ALL ON sink.* TO sink@'%'")
        options |= {"connection.url": f"jdbc:mariadb://127.0.0.1:{mariadb.port}/sink", "user": "sink"}

        def read() -> list[dict[str, object]]:
            with mariadb.connect(database="sink") as database, database.cursor() as cursor:
                cursor.execute(READ.format("`"))
                return named(cursor.fetchall())

        yield SinkCase(JdbcSink(), options, read, row, ROW, calls=STEPS)
        with mariadb.connect() as database, database.cursor() as cursor:
            cursor.execute("DROP DATABASE sink")
