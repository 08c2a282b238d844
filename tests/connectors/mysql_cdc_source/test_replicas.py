"""Two replicas with one server id would end each other's streams in turns: it is told, and the one that was there goes on."""

import time
from dataclasses import replace

import pytest

from connectors.mysql_cdc_source import MysqlCdcSource
from connectors.mysql_cdc_source.binlog.server import connected
from connectors.mysql_cdc_source.binlog.stream import BinlogStream
from connectors.mysql_cdc_source.replicas import replicas
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import PermanentError
from tests.connectors.mysql_cdc_source.binlog.reading import Database
from tests.connectors.mysql_cdc_source.capturing import Run, options, parsed, running

pytestmark = pytest.mark.mariadb


@pytest.fixture
def table(database: Database) -> Database:
    """With a table t."""
    database.run("CREATE TABLE t (id INT PRIMARY KEY)")
    return database


def _context(uid: str) -> TaskContext:
    return TaskContext(columns=True, connector_uid=uid)


def _streams(run: Run) -> None:
    run.until(lambda run: run.task.log is not None and run.task.log.place is not None)  # type: ignore[attr-defined]


def test_a_connector_does_not_take_the_server_id_of_another_one(table: Database) -> None:
    given = options(table, snapshot_mode="never", server_id="4998")
    with running(given, context=_context("a")) as first:
        _streams(first)
        with running(given, context=_context("b")) as second, pytest.raises(PermanentError, match="rocketconnect a reads the log"):
            _streams(second)
        table.run("INSERT INTO t VALUES (1)")
        first.until_records(1)


def test_a_connector_takes_the_place_of_a_task_of_its_own(table: Database) -> None:
    given = options(table, snapshot_mode="never", server_id="4997")
    with running(given, context=_context("a")) as first:
        _streams(first)
        with running(given, first.positions, _context("a")) as second:
            _streams(second)
            table.run("INSERT INTO t VALUES (1)")
            second.until_records(1)


def test_a_task_whose_stream_was_taken_says_why_and_does_not_take_it_back(table: Database) -> None:
    given = options(table, snapshot_mode="never", server_id="4996")
    with running(given, context=_context("a")) as first:
        _streams(first)
        with BinlogStream(table.login, table.end(), server_id=4_996), pytest.raises(PermanentError, match=r"4996.*server\.id"):
            deadline = time.monotonic() + 60
            while time.monotonic() < deadline:
                first.poll()


def test_another_replica_with_the_server_id_is_told_and_a_connector_is_not(table: Database) -> None:
    given = options(table, server_id="4995")
    with BinlogStream(table.login, table.end(), server_id=4_995, host="replica.example"):
        (problem,) = MysqlCdcSource().check(parsed(given))
    assert (problem.key, problem.value) == ("server.id", "4995")
    assert "replica.example" in problem.reason


def test_a_connector_with_the_server_id_may_be_the_one_that_is_checked(table: Database) -> None:
    given = options(table, snapshot_mode="never", server_id="4994")
    with running(given, context=_context("a")) as run:
        _streams(run)
        assert list(MysqlCdcSource().check(parsed(given))) == []


def test_a_user_that_may_not_see_replicas_captures_all_the_same(table: Database) -> None:
    table.run(
        "CREATE OR REPLACE USER poor@'%' IDENTIFIED BY 'test'", "GRANT REPLICATION SLAVE, BINLOG MONITOR, SELECT ON *.* TO poor@'%'"
    )
    with connected(replace(table.login, user="poor", password="test")) as connection:
        assert replicas(connection) == []
