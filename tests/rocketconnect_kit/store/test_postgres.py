"""Stores in a PostgreSQL that changes its part, or says nothing any more."""

import asyncio
import time
from collections.abc import Callable, Iterator

import pytest
import sqlalchemy as sa

from rocketconnect_kit.errors import Unavailable
from rocketconnect_kit.store import database, postgres
from tests import free_ports
from tests.chaos.network import Proxy
from tests.servers.postgres import Postgres
from tests.services.cluster.databases import fresh_database

pytestmark = pytest.mark.postgres

WHO = sa.text("SELECT current_setting('port')::int")


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    made = Postgres(fsync="off")
    with made.running("test"):
        yield made


def table_in(bound: sa.Engine) -> None:
    with database.writing(bound) as connection:
        connection.exec_driver_sql("CREATE TABLE t (a INTEGER)")


def add_row(bound: sa.Engine) -> None:
    with database.writing(bound) as connection:
        connection.exec_driver_sql("INSERT INTO t VALUES (1)")


def rows(bound: sa.Engine) -> int:
    with database.reading(bound) as connection:
        return int(connection.exec_driver_sql("SELECT count(*) FROM t").scalar_one())


def refused(call: Callable[[sa.Engine], object], bound: sa.Engine) -> str:
    """What the call is refused with, as soon as it is."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            call(bound)
        except Unavailable as error:
            return error.message
    pytest.fail("it is still taken")


def done(call: Callable[[sa.Engine], object], bound: sa.Engine) -> None:
    """Have the call done, as soon as it is not refused."""
    deadline = time.monotonic() + 60
    while True:
        try:
            call(bound)
        except Unavailable:
            if time.monotonic() > deadline:
                raise
        else:
            return


def check(bound: sa.Engine) -> None:
    asyncio.run(database.check(bound))


def test_a_server_that_takes_no_changes_for_a_while_is_told_and_gone_on_with_also_behind_a_reader(server: Postgres) -> None:
    engine = database.engine(fresh_database(server.url()))
    table_in(engine)
    assert rows(engine) == 0
    server.take_changes(False)
    try:
        told = "the store takes no changes: it is a standby, or read-only by its settings; the call may be repeated"
        assert refused(add_row, engine) == told
        assert refused(check, engine) == refused(add_row, engine) == told, "by a new session as well"
    finally:
        server.take_changes(True)
    before = rows_when_back(engine)
    add_row(engine)
    assert rows(engine) == before + 1
    check(engine)
    engine.dispose()


def rows_when_back(bound: sa.Engine) -> int:
    done(add_row, bound)
    return rows(bound)


def test_the_health_check_finds_out_by_itself_that_a_server_takes_no_changes(server: Postgres) -> None:
    engine = database.engine(fresh_database(server.url()))
    check(engine)
    server.take_changes(False)
    try:
        assert "takes no changes" in refused(check, engine)
    finally:
        server.take_changes(True)
    done(check, engine)
    engine.dispose()


def test_of_several_servers_the_one_that_takes_changes_is_found_also_when_it_becomes_another_one(server: Postgres) -> None:
    def at_the_other(bound: sa.Engine) -> None:
        with database.writing(bound) as connection:
            assert connection.scalar(WHO) == other.port

    other = Postgres(fsync="off")
    with other.running("x"):
        engine = database.engine(f"postgresql://postgres@127.0.0.1:{server.port},127.0.0.1:{other.port}/postgres")
        with database.writing(engine) as connection:
            assert connection.scalar(WHO) == server.port
        server.take_changes(False)
        try:
            assert "takes no changes" in refused(check, engine)
            at_the_other(engine)
            reader = database.engine(server.url(), writes=False)
            with database.reading(reader) as connection:
                assert connection.scalar(WHO) == server.port, "who only reads takes any"
            reader.dispose()
        finally:
            server.take_changes(True)
        engine.dispose()


def test_a_transaction_that_the_server_has_ended_since_it_stood_still_may_be_repeated(server: Postgres) -> None:
    engine = database.engine(fresh_database(server.url()))
    with pytest.raises(Unavailable, match=r"the store has ended the transaction: .*idle-in-transaction"):  # noqa: SIM117
        with database.writing(engine) as connection:
            connection.exec_driver_sql("SET LOCAL idle_in_transaction_session_timeout = 50")
            server.wait_for_end(connection.exec_driver_sql("SELECT pg_backend_pid()").scalar_one())
            connection.exec_driver_sql("SELECT 1")
    table_in(engine)
    engine.dispose()


@pytest.mark.parametrize(
    ("code", "does"),
    [
        ("08006", "does not answer"),
        ("25P03", "has ended the transaction"),
        ("53100", "has no room"),
        ("53300", "has no room"),
        ("57014", "is ending, starting, or was told to end the call"),
        ("57P01", "is ending, starting, or was told to end the call"),
        ("58030", "can't read or write its files"),
    ],
)
def test_what_a_server_can_do_no_longer_is_told_in_words(server: Postgres, code: str, does: str) -> None:
    engine = database.engine(server.url())
    with pytest.raises(Unavailable, match=f"the store {does}: broken") as caught, database.writing(engine) as connection:
        connection.exec_driver_sql(f"DO $$ BEGIN RAISE EXCEPTION 'broken' USING ERRCODE = '{code}'; END $$")
    assert caught.value.reason == "STORE_UNAVAILABLE"
    engine.dispose()


def test_a_defect_of_what_was_asked_is_not_taken_for_a_store_that_is_away(server: Postgres) -> None:
    engine = database.engine(server.url())
    with pytest.raises(sa.exc.ProgrammingError), database.writing(engine) as connection:
        connection.exec_driver_sql("SELECT nothing")
    engine.dispose()


def test_a_server_that_keeps_the_connection_and_says_nothing_is_left_in_a_bounded_time(
    server: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres, "SILENT_SECONDS", 0.5)
    proxy = Proxy({("127.0.0.1", port := free_ports.choose()): ("127.0.0.1", server.port)})
    engine = database.engine(server.url(port))
    with pytest.raises(Unavailable, match=r"the store does not answer: nothing was heard of the server for 0.5 s"):  # noqa: SIM117
        with database.writing(engine) as connection:
            proxy.hold()
            connection.exec_driver_sql("SELECT 1")
    proxy.release()
    with database.writing(engine) as connection:
        assert connection.scalar(WHO) == server.port
    engine.dispose()


def test_an_answer_that_takes_longer_and_comes_bit_by_bit_is_waited_for(server: Postgres, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres, "SILENT_SECONDS", 0.5)
    engine = database.engine(server.url())
    slow = "SELECT repeat('x', 100000), pg_sleep(0.1) FROM generate_series(1, 12)"
    with database.reading(engine) as connection:
        assert len(connection.exec_driver_sql(slow).all()) == 12
    engine.dispose()


def test_who_is_patient_waits_for_an_answer_for_as_long_as_it_takes(server: Postgres, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres, "SILENT_SECONDS", 0.1)
    engine = database.engine(server.url(), patient=True)
    with database.reading(engine) as connection:
        connection.exec_driver_sql("SELECT pg_sleep(0.5)")
    engine.dispose()


def test_the_server_is_told_to_look_after_sessions_of_machines_that_vanish(server: Postgres) -> None:
    engine = database.engine(server.url())
    names = ("tcp_keepalives_idle", "tcp_keepalives_interval", "tcp_keepalives_count", "tcp_user_timeout")
    with database.reading(engine) as connection:
        assert [connection.exec_driver_sql(f"SHOW {name}").scalar() for name in names] == ["5", "2", "3", "10000"]
    engine.dispose()
