"""One row at a time: from its commit in a database until its event is in the topic, and until another database shows it."""

import itertools
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import psycopg
import pymysql

from bench.measuring.instance import LIMIT_SECONDS, Instance, instance
from bench.measuring.openloop import drive
from bench.topic import Topic
from bench.workload import BenchFailed, Options, Sample, Workload
from rocketmq_remoting import Client
from tests.servers.mariadb import PASSWORD, Mariadb
from tests.servers.postgres import Postgres

RATE = 20.0
ROWS = 400
_WARMING = 40
_SECRET = "BENCH_MARIADB_PASSWORD"
_COLUMNS = "id BIGINT PRIMARY KEY, name VARCHAR(40), price DECIMAL(12, 3)"
_numbers = itertools.count(1)


def run(options: Options) -> Iterator[Sample]:
    """The topic first, then the whole way, so that nothing else runs while the first is measured."""
    os.environ[_SECRET] = PASSWORD
    with _Way() as way:
        for _ in range(options.repeats):
            yield Sample("MariaDB: commit -> topic", way.to_topic(options.rows or ROWS))
        way.begin_sink()
        for _ in range(options.repeats):
            yield Sample("MariaDB: commit -> visible in PostgreSQL", way.to_table(options.rows or ROWS))
        way.check()


class _Way(ExitStack):
    """From a table of MariaDB to one of PostgreSQL."""

    def __enter__(self) -> "_Way":
        """Starts everything but the sink."""
        super().__enter__()
        server = self.enter_context(Mariadb().running())
        self._source = self.enter_context(server.connect())
        with self._source.cursor() as cursor:
            cursor.execute("CREATE DATABASE bench")
            cursor.execute("USE bench")
            cursor.execute(f"CREATE TABLE orders ({_COLUMNS})")
        copies = Postgres(fsync="off")
        url = self.enter_context(copies.running("bench"))
        self._port = copies.port
        self._target = self.enter_context(psycopg.connect(url.replace("+psycopg", ""), autocommit=True))
        self._it: Instance = self.enter_context(instance())
        self._topic = Topic(self.enter_context(Client(self._it.name_server)), "orders", queues=1)
        where = {"hostname": "127.0.0.1", "port": str(server.port), "username": "root", "password": f"${{env:{_SECRET}}}"}
        config = {"connector.class": "mysql_cdc_source", **where, "table.include": r"bench\.orders"}
        json = {"key.converter": "json", "value.converter": "json"}
        self._it.create_running("source", {**config, **json, "topic": "orders", "table.topic": "${topic}"})
        self._it.settle()
        return self

    def to_topic(self, count: int) -> dict[str, float]:
        """Until so many events are there."""
        before = self._topic.count()
        return self._drive(count, lambda: self._topic.count() - before)

    def begin_sink(self) -> None:
        """The way into the table of PostgreSQL."""
        sink = {
            "connector.class": "jdbc_sink",
            "engine": "spark",
            "topics": "orders",
            "connection.url": f"postgresql://127.0.0.1:{self._port}/bench",
            "user": "postgres",
            "insert.mode": "upsert",
            "pk.fields": "id",
            "auto.create": "true",
        }
        self._it.create_running("sink", {**sink, "value.converter": "json"})
        self.to_topic(_WARMING)
        self._it.settle()
        before = self._seen()
        self._drive(_WARMING, lambda: self._seen() - before)

    def to_table(self, count: int) -> dict[str, float]:
        """Until so many rows are there."""
        before = self._seen()
        return self._drive(count, lambda: self._seen() - before)

    def check(self) -> None:
        """Compares both tables.

        Raises:
            BenchFailed
        """
        query = "SELECT id, name, price FROM orders ORDER BY id"
        with self._source.cursor(pymysql.cursors.Cursor) as cursor:
            cursor.execute(query)
            wanted = list(cursor.fetchall())
        found = self._target.execute(query).fetchall()
        if wanted != found:
            msg = f"{len(wanted):,} rows in MariaDB and {len(found):,} in PostgreSQL, or other ones"
            raise BenchFailed(msg)

    def _drive(self, count: int, arrived: Callable[[], int]) -> dict[str, float]:
        try:
            return dict(drive(RATE, count, self._insert, arrived, LIMIT_SECONDS).figures())
        except TimeoutError as error:
            msg = f"{error}; {self._it.states()}"
            raise BenchFailed(msg) from error

    def _insert(self, _: int) -> None:
        number = next(_numbers)
        with self._source.cursor() as cursor:
            cursor.execute("INSERT INTO orders VALUES (%s, %s, %s)", [number, f"order {number}", number / 8])

    def _seen(self) -> int:
        row = self._target.execute("SELECT count(*) FROM orders").fetchone()
        return int(row[0]) if row else 0


WORKLOAD = Workload(
    "A row of MariaDB, at 20 a second",
    run,
    ("p50_ms", "p99_ms", "max_ms", "load_late_p99_ms"),
    ("p50_ms", "p99_ms"),
    usual=False,
)
