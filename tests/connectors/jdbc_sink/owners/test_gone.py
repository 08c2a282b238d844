"""A machine, or the line to it, that is gone without a word."""

import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pymysql
import pytest

from connectors.databases import sessions
from connectors.jdbc import Fault, dialect_of, parse_url
from connectors.jdbc_sink import task as of_task
from connectors.jdbc_sink.task import commit_all
from rocketconnect_sdk.errors import RetriableError, SystemAway
from rocketconnect_sdk.schema import STRING, Schema, Type, struct
from tests import free_ports
from tests.chaos.network import Proxy
from tests.connectors.jdbc_sink.conftest import OCEANBASE, Target

SERVERS = pytest.mark.parametrize("target", ["postgres", pytest.param("mariadb", marks=pytest.mark.slow), OCEANBASE], indirect=True)
ROWS = struct([("id", Schema(Type.INT32)), ("text", STRING)])
OPTIONS = {"auto_create": "true", "insert_mode": "upsert", "pk_fields": "id"}
_SLACK_SECONDS = 20.0
"""For a machine that is busy."""


@pytest.fixture
def line(target: Target) -> Iterator[tuple[Proxy, Target]]:
    """What is between a sink and the database, and the database behind it."""
    url = target.options["connection.url"]
    server, port = urlsplit(url).port, free_ports.choose()
    proxy = Proxy({("127.0.0.1", port): ("127.0.0.1", int(server or 0))})
    beyond = replace(target, options={**target.options, "connection.url": url.replace(f":{server}/", f":{port}/")}, tasks=[])
    yield proxy, beyond
    proxy.release()
    for task in beyond.tasks:
        task.close()


def succeeded_after(target: Target, line: tuple[Proxy, Target], monkeypatch: pytest.MonkeyPatch) -> float:
    """How long it takes who succeeds a sink whose line is gone in the middle of a transaction to own its task, and to write."""
    proxy, beyond = line
    ends: list[BaseException] = []
    holds = threading.Event()

    def held(connection: Any) -> None:
        if threading.current_thread() is thread:
            proxy.hold()
            holds.set()
        commit_all(connection)

    gone = beyond.start(**OPTIONS)
    beyond.write(gone, [{"id": 1, "text": "first"}], ROWS)

    def write() -> None:
        try:
            beyond.write(gone, [{"id": 2, "text": "lost"}], ROWS)
        except BaseException as error:  # handed to the test
            ends.append(error)

    thread = threading.Thread(target=write)
    # Not the look at the table, which holds no lock.
    monkeypatch.setattr(of_task, "commit_all", held_at(2, held))
    thread.start()
    assert holds.wait(60)
    # Whoever succeeds it is assigned later.
    target.tasks += [gone]
    since = time.monotonic()
    while True:
        try:
            task = target.start(**OPTIONS)
        except RetriableError:
            assert time.monotonic() - since < 2 * sessions.ABANDONED_SECONDS + _SLACK_SECONDS
        else:
            break
    seconds = time.monotonic() - since
    target.offset = beyond.offset
    target.write(task, [{"id": 2, "text": "second"}], ROWS)
    proxy.release()
    thread.join(60)
    assert [type(error) for error in ends] == [SystemAway]
    assert target.run('SELECT id, text FROM "rows" ORDER BY id') == [(1, "first"), (2, "second")]
    return seconds


def held_at(number: int, held: Callable[[Any], None]) -> Callable[[Any], None]:
    """Commits as it is done, but for one of the commits."""
    left = [number]

    def commit(connection: Any) -> None:
        left[0] -= 1
        (held if left[0] == 0 else commit_all)(connection)

    return commit


@SERVERS
def test_who_succeeds_a_sink_that_is_cut_off_waits_until_the_server_ends_its_session(
    target: Target, line: tuple[Proxy, Target], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "ABANDONED_SECONDS", 2)
    assert succeeded_after(target, line, monkeypatch) < 2 + _SLACK_SECONDS


@pytest.mark.slow
@pytest.mark.parametrize("target", ["postgres", "mariadb", "oceanbase"], indirect=True)
def test_who_succeeds_a_sink_that_is_cut_off_waits_no_longer_than_is_documented(
    target: Target, line: tuple[Proxy, Target], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert sessions.ABANDONED_SECONDS == 60
    assert succeeded_after(target, line, monkeypatch) < 60 + _SLACK_SECONDS


@SERVERS
def test_a_sink_that_rests_for_longer_than_the_server_lets_it_goes_on(target: Target, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "ABANDONED_SECONDS", 1)
    monkeypatch.setattr(of_task, "_IDLE_SECONDS", 0.5)
    task = target.start(**OPTIONS)
    target.write(task, [{"id": 1, "text": "first"}], ROWS)
    time.sleep(2)
    target.write(task, [{"id": 2, "text": "second"}], ROWS)
    assert target.run('SELECT id FROM "rows" ORDER BY id') == [(1,), (2,)]


@pytest.mark.parametrize("target", ["postgres"], indirect=True)
def test_both_ends_of_a_session_of_postgresql_find_out_that_a_machine_is_gone(target: Target) -> None:
    place = parse_url(target.options["connection.url"])
    with closing(dialect_of(place).connect(place, "postgres", "")) as connection:
        dialect_of(place).end_abandoned(connection)
        # Of a connection over TCP they are what its socket has.
        shown = {name: connection.execute(f"SHOW {name}").fetchone()[0] for name in (*sessions.POSTGRES, "tcp_user_timeout")}
        assert shown == {**sessions.POSTGRES, "tcp_user_timeout": "30000"}
        assert connection.execute("SHOW idle_in_transaction_session_timeout").fetchone() == ("1min",)
        assert ends_of(connection.fileno()) == (1, 10, 5, 3, 30_000)


@pytest.mark.slow
@pytest.mark.parametrize("target", ["mariadb", OCEANBASE], indirect=True)
def test_a_connection_to_mariadb_finds_out_that_a_machine_is_gone(target: Target) -> None:
    place = parse_url(target.options["connection.url"])
    with closing(dialect_of(place).connect(place, "plain", "")) as connection:
        assert ends_of(connection._sock.fileno()) == (1, 10, 5, 3, 30_000)


def ends_of(descriptor: int) -> tuple[int, ...]:
    with socket.socket(fileno=os.dup(descriptor)) as own:
        tcp = (socket.TCP_KEEPIDLE, socket.TCP_KEEPINTVL, socket.TCP_KEEPCNT, socket.TCP_USER_TIMEOUT)
        given = (own.getsockopt(socket.IPPROTO_TCP, option) for option in tcp)
        return (own.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE), *given)


@pytest.mark.parametrize("kind", ["postgresql", "mysql"])
def test_a_server_that_takes_connections_and_says_nothing_is_away(kind: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        place = parse_url(f"{kind}://127.0.0.1:{silent.getsockname()[1]}/d")
        with pytest.raises((psycopg.OperationalError, pymysql.err.OperationalError)) as raised:
            dialect_of(place).connect(place, "u", "p", 2)
    assert dialect_of(place).fault(raised.value) is Fault.AWAY
