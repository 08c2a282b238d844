"""Tables with a column of each type, and what a connector says of their rows."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from typing import Any, NamedTuple

import psycopg
from hypothesis import strategies as st

from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.polled import batches_of
from rocketconnect_sdk.schema import Schema
from rocketconnect_sdk.source import SourceTask
from rocketconnect_sdk.testing import at
from tests.connectors.jdbc_source import conftest as jdbc
from tests.connectors.jdbc_source.test_jdbc_source import INCREMENTING, opened
from tests.connectors.mysql_cdc_source import capturing as mysql
from tests.connectors.mysql_cdc_source.binlog.reading import Database
from tests.connectors.postgres_cdc_source import capturing as postgres
from tests.pairs.kinds import Kind
from tests.pairs.mariadb_kinds import MARIADB
from tests.pairs.postgres_kinds import POSTGRES, SHOWN
from tests.pairs.sqlite_kinds import SQLITE

_POLLS = 100_000


class Batch(NamedTuple):
    """Records that have one schema."""

    values: Sequence[Any]
    schema: Schema


class Source(ABC):
    """A database and a connector that reads it. The table is t, its key is id."""

    name: str = ""
    """As the documents call the database."""
    kinds: Mapping[str, Kind]
    types: Sequence[str] = ()
    """Statements that make types."""

    @abstractmethod
    def run(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Its rows."""

    @abstractmethod
    def reading(self) -> AbstractContextManager[SourceTask]:
        """The task, for as long as the block takes."""

    @property
    def table(self) -> str:
        """How statements call it."""
        return "t"

    def make(self) -> None:
        """The table, without rows."""
        for statement in self.types:
            self.run(statement)
        columns = ", ".join(f"c{number} {kind.definition}" for number, kind in enumerate(self.kinds.values()))
        self.run(f"CREATE TABLE {self.table} (id integer PRIMARY KEY, {columns})")

    def fill(self, first: int, rows: Sequence[Sequence[Any]]) -> None:
        """Inserts rows; their ids go from `first` on."""
        places = ", ".join(kind.place for kind in self.kinds.values())
        for number, row in enumerate(rows, first):
            self.run(f"INSERT INTO {self.table} VALUES ({number}, {places})", row)

    def rows(self) -> list[tuple[Any, ...]]:
        """What the table has, as it is meant."""
        columns = ", ".join(kind.select.format(f"c{number}") for number, kind in enumerate(self.kinds.values()))
        told = [kind.told for kind in self.kinds.values()]
        return [
            tuple(None if value is None else of(value) for of, value in zip(told, row, strict=True))
            for row in self.run(f"SELECT {columns} FROM {self.table} ORDER BY id")
        ]


def read(task: SourceTask, count: int) -> list[Batch]:
    """So many records."""
    found: list[Batch] = []
    for _ in range(_POLLS):
        for batch in batches_of(task.poll()):
            task.committed(at({batch.partition: batch.end or batch.offsets[-1]}))
            if len(batch):
                assert batch.schema is not None
                found.append(Batch(list(batch.values), batch.schema))
        if sum(len(each.values) for each in found) >= count:
            return found
    msg = f"only {found} came"
    raise AssertionError(msg)


class MariadbLog(Source):
    """mysql_cdc_source."""

    name = "MariaDB"
    kinds = MARIADB

    def __init__(self, database: Database) -> None:
        self._database = database

    def run(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """See Source."""
        with self._database.connection.cursor() as cursor:
            cursor.execute(statement, values or None)
            return list(cursor.fetchall())

    @contextmanager
    def reading(self) -> Iterator[SourceTask]:
        """See Source."""
        with mysql.running(mysql.options(self._database), context=TaskContext(columns=True)) as run:
            yield run.task


class PostgresLog(Source):
    """postgres_cdc_source."""

    name = "PostgreSQL"
    kinds = POSTGRES

    def __init__(self, shop: postgres.Shop) -> None:
        self._shop = shop
        self.types = _types(f"{shop.name}.")
        shop.run(f"SET search_path TO {shop.name}")

    def run(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """See Source."""
        return _postgres(self._shop.connection, statement, values)

    @contextmanager
    def reading(self) -> Iterator[SourceTask]:
        """See Source."""
        with postgres.capturing(self._shop.config()) as captured:
            yield captured.task


class Queries(Source):
    """jdbc_source."""

    def __init__(self, database: jdbc.Database) -> None:
        self._database = database
        self.kinds = {"mariadb": _MARIADB, "postgres": _POSTGRES, "sqlite": SQLITE}[database.kind]
        self.types = _types("") if database.kind == "postgres" else ()

    def run(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """See Source."""
        with closing(self._database.connect()) as connection:
            if isinstance(connection, psycopg.Connection):
                found = _postgres(connection, statement, values)
            else:
                cursor = connection.cursor()
                is_sqlite = self._database.kind == "sqlite"
                cursor.execute(statement.replace("%s", "?") if is_sqlite else statement, values or (() if is_sqlite else None))
                found = list(cursor.fetchall())
            connection.commit()
            return found

    @contextmanager
    def reading(self) -> Iterator[SourceTask]:
        """See Source."""
        with opened(self._database, {**INCREMENTING, "table.whitelist": "t"}, columns=True) as task:
            yield task


_MARIADB = {**MARIADB, "TINYINT(1)": Kind("TINYINT(1)", st.integers(0, 1), bool)}
_POSTGRES = {
    name: kind._replace(select=SHOWN, told=lambda value: value) if name in ("money", "interval") or name.endswith("[]") else kind
    for name, kind in POSTGRES.items()
}


def _types(schema: str) -> Sequence[str]:
    return (
        f"CREATE TYPE {schema}mood AS ENUM ('sad', 'ok é', 'very, happy')",
        f"CREATE DOMAIN {schema}whole AS integer CHECK (VALUE > 0)",
    )


def _postgres(connection: "psycopg.Connection[Any]", statement: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
    cursor = connection.execute(statement.encode(), values or None)
    return cursor.fetchall() if cursor.description else []
