"""Keys of one's own: for tables without a primary key, and in its place."""

from typing import Any

import pytest

from connectors.mysql_cdc_source import MysqlCdcSource
from connectors.mysql_cdc_source.streaming import LogReader
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import PermanentError
from tests.connectors.mysql_cdc_source.binlog.reading import Database
from tests.connectors.mysql_cdc_source.capturing import Run, options, parsed, running

pytestmark = pytest.mark.mariadb
KEY = r".*\.t:region,number; .*\.nothing:id"


@pytest.fixture
def table(database: Database) -> Database:
    """With a table without a key, which has two rows."""
    database.run("CREATE TABLE t (region VARCHAR(5), number INT, name VARCHAR(20))")
    database.run("INSERT INTO t VALUES ('eu', 1, 'a'), (NULL, 2, 'b')")
    return database


def _keys(run: Run) -> list[tuple[str, Any]]:
    keys = [key for batch in run.batches for key in batch.keys or ()]
    return [(value["op"], key) for value, key in zip(run.values, keys, strict=True)]


@pytest.mark.parametrize("columns", [True, False])
def test_rows_and_changes_of_a_table_without_a_primary_key_have_the_key_that_is_configured(table: Database, columns: bool) -> None:
    with running(options(table, message_key_columns=KEY), context=TaskContext(columns=columns)) as run:
        run.until_records(2)
        run.until(lambda run: run.positions.get("log", (0,) * 4)[3] == 1)
        table.run(
            "UPDATE t SET name = 'c' WHERE number = 1",
            "UPDATE t SET region = 'us' WHERE number = 2",
            "DELETE FROM t WHERE number = 1",
        )
        run.until_records(6)
    eu, none, us = ({"region": region, "number": number} for region, number in (("eu", 1), (None, 2), ("us", 2)))
    assert _keys(run) == [("r", eu), ("r", none), ("u", eu), ("d", none), ("c", us), ("d", eu)]


def test_a_statement_of_many_rows_finds_those_whose_key_was_null(table: Database) -> None:
    with running(options(table, message_key_columns=KEY, snapshot_mode="never")) as run:
        run.until(lambda run: "log" in run.positions)
        table.run("INSERT INTO t SELECT NULL, seq, 'x' FROM seq_10_to_1009", "UPDATE t SET region = 'x' WHERE number >= 10")
        run.until_records(3_000)
    made = [(op, key["region"]) for op, key in _keys(run)]
    assert made == [("c", None)] * 1_000 + [("d", None), ("c", "x")] * 1_000


def test_a_key_of_ones_own_takes_the_place_of_the_primary_key_and_rows_are_read_by_that(database: Database) -> None:
    database.run("CREATE TABLE t (id INT PRIMARY KEY, number INT NOT NULL)", "INSERT INTO t SELECT seq, 7 FROM seq_1_to_20")
    given = options(database, message_key_columns=r".*\.t:number", incremental_snapshot_chunk_size="3", snapshot_mode="incremental")
    with running(given) as run:
        run.until(lambda run: run.positions.get(f"incremental {database.name}.t", ()) >= (1, 2))
    assert [value["after"]["id"] for value in run.values] == list(range(1, 21))
    assert _keys(run) == [("r", {"number": 7})] * 20


def test_rows_of_a_chunk_are_compared_with_the_log_by_the_primary_key(database: Database) -> None:
    database.run("CREATE TABLE t (id INT PRIMARY KEY, number INT NOT NULL)", "INSERT INTO t SELECT seq, 7 FROM seq_1_to_20")
    given = options(database, message_key_columns=r".*\.t:number", snapshot_mode="never")
    with running(given) as run:
        run.until(lambda run: "log" in run.positions)
        run.task.signal("execute-snapshot", {"tables": f"{database.name}.t", "condition": "SLEEP(0.02) = 0"})
        run.until(lambda run: run.task.log is not None and run.task.log.window is not None)  # type: ignore[attr-defined]
        log: LogReader = run.task.log  # type: ignore[attr-defined]
        database.run("UPDATE t SET number = 8 WHERE id = 5")
        while not log.poll():
            pass
        run.until(lambda run: run.positions.get(f"incremental {database.name}.t", ()) >= (1, 2))
    assert [value["after"]["id"] for value in run.values] == [number for number in range(1, 21) if number != 5]


def test_tables_and_columns_that_are_not_there_are_told(table: Database) -> None:
    problems = list(
        MysqlCdcSource().check(parsed(options(table, message_key_columns=rf"{KEY};.*:x", column_exclude=r".*\.region")))
    )
    assert [(problem.key, problem.value) for problem in problems] == [
        ("message.key.columns", r".*\.nothing"),
        ("message.key.columns", "region,number"),
    ]
    assert "has no column region that is captured" in problems[1].reason
    with (
        running(options(table, message_key_columns=".*:absent")) as run,
        pytest.raises(PermanentError, match="has no column absent"),
    ):
        run.until_records(1)


def test_a_log_that_lacks_the_key_of_rows_before_a_change_fails_the_task(database: Database) -> None:
    database.run("CREATE TABLE t (id INT PRIMARY KEY, number INT)", "INSERT INTO t VALUES (1, 7)")
    with running(options(database, message_key_columns=r".*\.t:number", snapshot_mode="never")) as run:
        run.until(lambda run: "log" in run.positions)
        database.run("SET SESSION binlog_row_image = 'MINIMAL'", "DELETE FROM t")
        with pytest.raises(PermanentError, match="lacks number of rows"):
            run.until_records(1)
