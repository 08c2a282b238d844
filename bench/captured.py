"""Databases with flights in them: the changes that are made to them while their logs are read, and where a sink writes."""

import os
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg
from psycopg.rows import dict_row

from bench import tables
from demo import flights
from tests.servers import debezium
from tests.servers.mariadb import PASSWORD, Mariadb
from tests.servers.postgres import Postgres

SECRET = "BENCH_MARIADB_PASSWORD"
"""The variable of the environment that has the password; instances are started behind it."""
STATEMENT_ROWS = 1_000
"""The rows of each statement that changes some."""
_PART = 1 << 20
DATABASE = "bench"
TABLE, CHANGED = "flights", "changed"
"""The table that a snapshot is taken of, and the one that is changed."""


@dataclass(frozen=True)
class Database:
    """A running database with the flights.

    Attributes:
        title: For people.
        run: Runs statements, each a transaction.
        rows: The rows of a table, as dicts.
        dump: The command that writes the table to its output.
        debezium: The properties of Debezium's connector for a table.
        source: The configuration of our connector for a table.
        sink: Where our connector writes tables.
        load: Fills a table that has the columns of the flights, and no rows, from the file, by what the database has for that.
        quote: Around names.
    """

    title: str
    run: Callable[[Iterable[str]], None]
    rows: Callable[[str], Iterator[dict[str, object]]]
    dump: Sequence[str]
    debezium: Callable[[str], Mapping[str, str]]
    source: Callable[[str], Mapping[str, str]]
    sink: Mapping[str, str]
    load: Callable[[str], None]
    quote: str


def changes(count: int, quote: str) -> Iterator[str]:
    """Statements that change rows of CHANGED: of each ten one deletes a row, three update one and the others insert one.

    Args:
        count: Rows altogether.
        quote: Around names.
    """
    number = f"{quote}{tables.COLUMN}{quote}"
    deleted, updated = count // 10, count * 3 // 10
    for rows, statement in (
        (count - updated - deleted, f"INSERT INTO {CHANGED} SELECT * FROM {TABLE} WHERE"),
        (updated, f"UPDATE {CHANGED} SET distance = distance + 1 WHERE"),
        (deleted, f"DELETE FROM {CHANGED} WHERE"),
    ):
        for first in range(0, rows, STATEMENT_ROWS):
            yield f"{statement} {number} >= {first} AND {number} < {min(first + STATEMENT_ROWS, rows)}"


@contextmanager
def mariadb(table: Path, columns: str) -> Iterator[Database]:
    """MariaDB with the rows of a CSV file.

    Raises:
        MariadbFailed: it is not installed, or does not start.
    """
    with Mariadb().running() as server, server.connect(local_infile=True) as connection:

        def run(statements: Iterable[str]) -> None:
            with connection.cursor() as cursor:
                for statement in statements:
                    cursor.execute(statement)

        def rows(name: str) -> Iterator[dict[str, object]]:
            import pymysql.cursors

            with connection.cursor(pymysql.cursors.DictCursor) as cursor:
                cursor.execute(f"SELECT * FROM {name}")
                yield from cursor.fetchall()

        run([f"CREATE DATABASE {DATABASE}", f"USE {DATABASE}", *_tables(columns, "`")])
        variables = [f"@{number}" for number in range(columns.count(",") + 1)]
        values = ", ".join(
            f"`{name}` = NULLIF({at}, '{flights.NULL}')" for (name, _), at in zip(_split(columns), variables, strict=True)
        )

        def load(name: str) -> None:
            into = f"LOAD DATA LOCAL INFILE '{table}' INTO TABLE {name} FIELDS TERMINATED BY ',' IGNORE 1 LINES"
            run([f"{into} ({', '.join(variables)}) SET {values}"])

        load(TABLE)
        place = ["-h127.0.0.1", f"-P{server.port}", "-uroot", f"-p{PASSWORD}"]
        dump = ["mariadb-dump", *place, "--single-transaction", DATABASE, TABLE]

        def properties(name: str) -> Mapping[str, str]:
            return debezium.mariadb(server.port, PASSWORD, rf"{DATABASE}\.{name}", include_schema_changes="false")

        def source(name: str) -> Mapping[str, str]:
            where = {"hostname": "127.0.0.1", "port": str(server.port), "username": "root", "password": f"${{env:{SECRET}}}"}
            return {"connector.class": "mysql_cdc_source", **where, "table.include": rf"{DATABASE}\.{name}"}

        os.environ[SECRET] = PASSWORD
        url = f"mysql://127.0.0.1:{server.port}/{DATABASE}"
        sink = {"connection.url": url, "user": "root", "password": f"${{env:{SECRET}}}"}
        yield Database("MariaDB", run, rows, dump, properties, source, sink, load, "`")


@contextmanager
def postgres(table: Path, columns: str) -> Iterator[Database]:
    """PostgreSQL with the rows of a CSV file.

    Raises:
        PostgresFailed: it is not installed, or does not start.
    """
    server = Postgres(wal_level="logical", fsync="off")
    with server.running(DATABASE) as url, psycopg.connect(url.replace("+psycopg", ""), autocommit=True) as connection:

        def run(statements: Iterable[str]) -> None:
            for statement in statements:
                connection.execute(statement.encode())

        def rows(name: str) -> Iterator[dict[str, object]]:
            with connection.cursor(row_factory=dict_row) as cursor:
                yield from cursor.execute(f"SELECT * FROM {name}".encode())

        def load(name: str) -> None:
            into = f"COPY {name} FROM STDIN (FORMAT csv, HEADER, NULL '{flights.NULL}')"
            with table.open("rb") as file, connection.cursor() as cursor, cursor.copy(into.encode()) as copy:
                while part := file.read(_PART):
                    copy.write(part)

        run(_tables(columns, '"'))
        load(TABLE)
        where = ["-h", "127.0.0.1", "-p", str(server.port), "-U", "postgres", "-d", DATABASE]
        dump = ["psql", *where, "-c", f"COPY {TABLE} TO STDOUT"]

        def properties(name: str) -> Mapping[str, str]:
            return debezium.postgres(server.port, DATABASE, rf"public\.{name}")

        def source(name: str) -> Mapping[str, str]:
            where = {"hostname": "127.0.0.1", "port": str(server.port), "username": "postgres", "database": DATABASE}
            names = {"slot.name": f"ours_{name}", "publication.name": f"ours_{name}"}
            return {"connector.class": "postgres_cdc_source", **where, **names, "table.include": rf"public\.{name}"}

        sink = {"connection.url": f"postgresql://127.0.0.1:{server.port}/{DATABASE}", "user": "postgres"}
        yield Database("PostgreSQL", run, rows, dump, properties, source, sink, load, '"')


def dump(database: Database) -> None:
    """Writes the table with the database's own program, to nowhere."""
    subprocess.run(database.dump, check=True, stdout=subprocess.DEVNULL)


def _split(columns: str) -> list[tuple[str, str]]:
    return [(name, kind) for name, _, kind in (column.partition(":") for column in columns.split(","))]


def _tables(columns: str, quote: str) -> list[str]:
    types = {"int64": "BIGINT", "string": "VARCHAR(40)"}
    listed = ", ".join(f"{quote}{name}{quote} {types[kind]}" for name, kind in _split(columns))
    return [f"CREATE TABLE {name} ({listed}, PRIMARY KEY ({quote}{tables.COLUMN}{quote}))" for name in (TABLE, CHANGED)]
