"""jdbc_source in the runtime: what was read is in the topic once, also when its task is stopped and goes on."""

import json
import sqlite3
from contextlib import closing

import pytest

from services.executor.contract.task import Kind, State
from tests.services.executor.runtime.conftest import Tasks

pytestmark = pytest.mark.rocketmq

TASK = {"tables": "t"}


def test_rows_are_in_the_topic_once_and_after_a_stop_only_the_rest_is_read(tasks: Tasks) -> None:
    path = tasks.path / "db"
    config = {
        "connector.class": "jdbc_source",
        "connection.url": f"sqlite:///{path}",
        "mode": "incrementing",
        "incrementing.column.name": "id",
        "poll.interval": "10ms",
        "value.converter": "json",
        "value.converter.schemas.enable": "false",
    }
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE t (id integer PRIMARY KEY, name text)")
        database.executemany("INSERT INTO t VALUES (?, ?)", [(number, f"n{number}") for number in range(1, 501)])
        database.commit()
        running = tasks.start(Kind.SOURCE, config, task_config=TASK)
        running.reporter.wait_for_out(500)
        assert running.stop().clean
        database.executemany("INSERT INTO t VALUES (?, NULL)", [(number,) for number in range(501, 601)])
        database.commit()
    running = tasks.start(Kind.SOURCE, config, epoch=2, task_config=TASK)
    running.reporter.wait_for_out(100)
    assert running.stop().clean
    found = sorted((json.loads(body) for body in tasks.bodies()), key=lambda row: row["id"])
    assert found == [{"id": number, "name": f"n{number}" if number <= 500 else None} for number in range(1, 601)]


def test_a_table_that_is_read_as_a_whole_is_not_read_again_after_a_stop(tasks: Tasks) -> None:
    path = tasks.path / "db"
    config = {
        "connector.class": "jdbc_source",
        "connection.url": f"sqlite:///{path}",
        "value.converter": "json",
        "value.converter.schemas.enable": "false",
    }
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE t (a integer)")
        database.executemany("INSERT INTO t VALUES (?)", [(number,) for number in range(500)])
        database.commit()
    running = tasks.start(Kind.SOURCE, config, task_config=TASK)
    running.reporter.wait_for_out(500)
    assert running.stop().clean
    again = tasks.start(Kind.SOURCE, config, epoch=2, task_config=TASK)
    again.reporter.wait_for_state(State.IDLE)
    assert again.stop().clean
    assert sorted(json.loads(body)["a"] for body in tasks.bodies()) == list(range(500))
