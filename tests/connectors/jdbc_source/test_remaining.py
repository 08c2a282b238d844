"""How many rows a source has still to read, by the statistics of its database."""

from typing import TYPE_CHECKING

import pytest

from connectors.jdbc_source.task import JdbcSourceTask
from tests.connectors.jdbc_source.test_jdbc_source import INCREMENTING, opened, read

if TYPE_CHECKING:
    from tests.connectors.jdbc_source.conftest import Database

_ROWS = 1_000
_BULK = {"mode": "bulk", "poll.interval": "1h"}
_ONE = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000) SELECT i FROM n"


def filled(database: "Database") -> None:
    """A table that its server has counted, where it does."""
    analyze = {"postgres": "ANALYZE t", "sqlite": "ANALYZE"}.get(database.kind, "ANALYZE TABLE t")
    into = f"INSERT INTO t {_ONE}" if database.kind != "mariadb" else "INSERT INTO t SELECT seq FROM seq_1_to_1000"
    database.run("CREATE TABLE t (id integer PRIMARY KEY)", into)
    if not database.is_mysql:
        database.run(analyze)
        return
    with database.connect() as connection, connection.cursor() as cursor:
        cursor.execute(analyze)
        cursor.fetchall()


@pytest.mark.parametrize("options", [INCREMENTING, _BULK], ids=["incrementing", "bulk"])
def test_it_falls_from_what_the_server_has_counted_to_nothing(database: "Database", options: dict[str, str]) -> None:
    filled(database)
    with opened(database, options) as task:
        assert task.remaining() is None
        task.poll()
        assert _is_about(task, database, _ROWS - 100)
        read(task)
        assert task.remaining() == 0
    assert task.remaining_unit == "rows"


def test_behind_a_position_and_of_a_query_nobody_has_counted(database: "Database") -> None:
    filled(database)
    with opened(database, INCREMENTING, {"incrementing t": (10,), "incrementing public.t": (10,)}) as task:
        task.poll()
        assert task.remaining() is None
        read(task)
        assert task.remaining() == 0
    with opened(database, {**INCREMENTING, "query": "SELECT * FROM t"}) as task:
        task.poll()
        assert task.remaining() is None


def test_of_rows_that_come_later_it_is_not_told_that_none_are_left_before_they_are_read(database: "Database") -> None:
    database.run("CREATE TABLE t (id integer PRIMARY KEY)", "INSERT INTO t VALUES (1)")
    with opened(database, INCREMENTING) as task:
        read(task)
        assert task.remaining() == 0
        more = f"SELECT i + 1 FROM ({_ONE}) n" if database.kind != "mariadb" else "SELECT seq + 1 FROM seq_1_to_1000"
        database.run(f"INSERT INTO t {more}")
        while task.poll() is None:
            pass
        assert task.remaining() is None


def _is_about(task: JdbcSourceTask, database: "Database", rows: int) -> bool:
    left = task.remaining()
    if database.kind == "sqlite":
        return left is None
    assert left is not None
    return left == rows if database.kind == "postgres" else 0 < left < 2 * rows
