"""A PostgreSQL that bears no silence, and a connector that is paused, or whose broker is away, for longer than that."""

import json
import time
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from services.executor.contract.task import Kind, State
from tests.servers.postgres import Postgres, PostgresFailed
from tests.services.executor.runtime.conftest import Running, Tasks
from tests.services.executor.runtime.rocketmq.test_broker_away import OwnBroker, broker, own_tasks

pytestmark = [pytest.mark.rocketmq, pytest.mark.postgres]

__all__ = ["broker", "own_tasks"]

LIMIT = 2.0
SETTINGS = dict.fromkeys(("wal_sender_timeout", "idle_session_timeout", "idle_in_transaction_session_timeout"), f"{LIMIT:g}s")
ROWS = 40_000
"""More than the buffers between the server and a reader that does not read hold."""

Connection = psycopg.Connection[Any]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    try:
        with Postgres(fsync="off", wal_level="logical", **SETTINGS).running("shop") as url:
            yield url.replace("+psycopg", "")
    except PostgresFailed as error:
        pytest.fail(str(error), pytrace=False)


@pytest.fixture
def connection(url: str) -> Iterator[Connection]:
    with psycopg.connect(url, autocommit=True, options="-c idle_session_timeout=0") as connection:
        yield connection


def start(tasks: Tasks, connection: Connection, name: str, **more: str) -> Running:
    config = {
        "connector.class": "postgres_cdc_source",
        "hostname": "127.0.0.1",
        "port": str(connection.info.port),
        "database": connection.info.dbname,
        "username": "postgres",
        "slot.name": name,
        "publication.name": name,
        "heartbeat.interval": "0.2",
        "table.include": rf"public\.{name}.*",
        "table.topic": "${topic}",
        "value.converter": "json",
        "value.converter.schemas.enable": "false",
        **{key.replace("_", "."): value for key, value in more.items()},
    }
    return tasks.start(Kind.SOURCE, config)


def sessions(connection: Connection) -> set[tuple[int, str]]:
    """The connector's sessions, by their processes."""
    rows = connection.execute("SELECT pid, backend_type FROM pg_stat_activity WHERE application_name = 'rocketconnect'")
    return {(pid, kind) for pid, kind in rows.fetchall()}


def wait_until_streaming(running: Running, connection: Connection) -> set[tuple[int, str]]:
    running.reporter.wait_for_out(ROWS)
    streaming = "SELECT FROM pg_stat_replication WHERE state = 'streaming'"
    running.reporter.wait_for(lambda: connection.execute(streaming).rowcount == 1)
    running.reporter.wait_for_state(State.IDLE)
    return sessions(connection)


def outlast(running: Running, connection: Connection) -> None:
    """The server's patience, three times over; what it has to send is more than anybody takes."""
    connection.execute(b"UPDATE kept SET name = repeat('x', 100) || id")
    began = time.monotonic()
    running.reporter.wait_for(lambda: time.monotonic() > began + 3 * LIMIT)


def ids(tasks: Tasks, op: str) -> list[int]:
    changes = [json.loads(body) for body in tasks.bodies()]
    return sorted(change["after"]["id"] for change in changes if change["op"] == op)


@pytest.fixture
def table(connection: Connection) -> Iterator[None]:
    connection.execute(b"CREATE TABLE kept (id int PRIMARY KEY, name text)")
    connection.execute(f"INSERT INTO kept SELECT n, '' FROM generate_series(1, {ROWS}) n".encode())
    yield
    connection.execute(b"DROP TABLE kept")


@pytest.mark.slow
@pytest.mark.usefixtures("table")
def test_a_connector_that_is_paused_for_longer_than_the_server_bears_silence_keeps_its_connections(
    tasks: Tasks, connection: Connection
) -> None:
    running = start(tasks, connection, "kept")
    before = wait_until_streaming(running, connection)
    running.control.pause()
    running.reporter.wait_for_state(State.PAUSED)
    outlast(running, connection)
    assert sessions(connection) == before
    running.control.resume()
    running.reporter.wait_for_out(2 * ROWS)
    assert sessions(connection) == before
    assert running.stop().clean
    assert not [text for level, text in running.reporter.logs if level != "INFO"]
    assert ids(tasks, "r") == ids(tasks, "u") == list(range(1, ROWS + 1))
    connection.execute(b"SELECT pg_drop_replication_slot('kept')")


@pytest.mark.slow
@pytest.mark.usefixtures("table")
def test_a_snapshot_that_is_paused_goes_on_in_its_transaction(tasks: Tasks, connection: Connection) -> None:
    connection.execute(b"CREATE TABLE kept_later (id int PRIMARY KEY, name text)")
    running = start(tasks, connection, "kept", batch_records="100", max_rate_records="5000")
    running.reporter.wait_for_out(1)
    before = sessions(connection)
    running.control.pause()
    running.reporter.wait_for_state(State.PAUSED)
    assert running.reporter.metrics.records_out < ROWS
    outlast(running, connection)
    assert sessions(connection) == before
    connection.execute(b"INSERT INTO kept_later VALUES (0, '')")
    running.control.resume()
    running.reporter.wait_for_out(2 * ROWS + 1)
    assert running.stop().clean
    assert ids(tasks, "r") == list(range(1, ROWS + 1))
    connection.execute(b"SELECT pg_drop_replication_slot('kept')")
    connection.execute(b"DROP TABLE kept_later")


@pytest.mark.slow
@pytest.mark.usefixtures("table")
def test_a_connector_whose_broker_is_away_for_longer_than_the_server_bears_silence_keeps_its_connections(
    own_tasks: Tasks, broker: OwnBroker, connection: Connection
) -> None:
    running = start(own_tasks, connection, "kept", buffer_bytes="262144")
    before = wait_until_streaming(running, connection)
    broker.kill()
    outlast(running, connection)
    running.reporter.wait_for_state(State.WAITING)
    assert sessions(connection) == before
    broker.start()
    running.reporter.wait_for_out(2 * ROWS)
    assert sessions(connection) == before
    assert running.stop().clean
    connection.execute(b"SELECT pg_drop_replication_slot('kept')")
