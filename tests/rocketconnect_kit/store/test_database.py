import asyncio
import sqlite3
import subprocess
import sys
import threading
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from unittest import mock

import pytest
import sqlalchemy as sa

from rocketconnect_kit.errors import FailedPrecondition, Unavailable
from rocketconnect_kit.store import database


def test_a_sqlite_commit_waits_for_the_disk(tmp_path: Path) -> None:
    engine = database.engine(f"sqlite:///{tmp_path}/new/folder/x.db")
    with database.reading(engine) as connection:
        settings = {name: connection.exec_driver_sql(f"PRAGMA {name}").scalar() for name in ("journal_mode", "synchronous")}
    assert settings == {"journal_mode": "wal", "synchronous": 2}
    engine.dispose()


@pytest.mark.postgres
def test_a_postgresql_commit_waits_for_the_disk_even_if_the_user_turned_that_off(postgres: str) -> None:
    admin = sa.create_engine(postgres, isolation_level="AUTOCOMMIT")
    with admin.connect() as connection:
        connection.execute(sa.text("ALTER ROLE postgres SET synchronous_commit = off"))
    engine = database.engine(postgres.replace("postgresql+psycopg", "postgresql"))
    try:
        with database.reading(engine) as connection:
            assert connection.exec_driver_sql("SHOW synchronous_commit").scalar() == "on"
    finally:
        with admin.connect() as connection:
            connection.execute(sa.text("ALTER ROLE postgres RESET synchronous_commit"))
        admin.dispose()
        engine.dispose()


def test_a_store_is_migrated_by_another_process_so_that_the_service_does_not_hold_what_that_needs(tmp_path: Path) -> None:
    code = f"""
import asyncio, sys
from rocketconnect_kit.store import database
bound = asyncio.run(database.open_store("sqlite:///{tmp_path}/x.db", "position"))
with database.reading(bound) as connection:
    print(connection.exec_driver_sql("SELECT count(*) FROM position_positions").scalar(), "alembic" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["0", "False"]


async def test_a_store_that_is_away_is_waited_for_and_then_said_to_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "_START_SECONDS", 0.3)
    began = time.monotonic()
    with pytest.raises(Unavailable, match="does not answer"):
        await database.open_store("postgresql://u:hunter2@127.0.0.1:1/x", "position")
    assert time.monotonic() - began > 0.3


async def test_a_store_that_goes_away_while_it_is_migrated_is_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(database, "_START_SECONDS", 0.0)
    monkeypatch.setattr(database, "_is_usable", lambda _bound, _service: False)
    with pytest.raises(Unavailable, match="does not answer") as raised:
        await database.open_store("postgresql://u:hunter2@127.0.0.1:1/x", "position")
    assert "hunter2" not in raised.value.message


def test_what_raises_is_undone(tmp_path: Path) -> None:
    engine = database.engine(f"sqlite:///{tmp_path}/x.db")
    with database.writing(engine) as connection:
        connection.exec_driver_sql("CREATE TABLE t (a INTEGER)")
    with pytest.raises(KeyError), database.writing(engine) as connection:
        connection.exec_driver_sql("INSERT INTO t VALUES (1)")
        raise KeyError
    with database.reading(engine) as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM t").scalar() == 0
    engine.dispose()


def test_readers_see_one_snapshot_beside_a_writer(tmp_path: Path) -> None:
    engine = database.engine(f"sqlite:///{tmp_path}/x.db")
    with database.writing(engine) as connection:
        connection.exec_driver_sql("CREATE TABLE t (a INTEGER)")
    with database.reading(engine) as before:
        assert before.exec_driver_sql("SELECT count(*) FROM t").scalar() == 0
        with database.writing(engine) as connection:
            connection.exec_driver_sql("INSERT INTO t VALUES (1)")
        assert before.exec_driver_sql("SELECT count(*) FROM t").scalar() == 0
    engine.dispose()


def test_a_locked_store_is_unavailable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "_BUSY_SECONDS", 0.1)
    engine = database.engine(f"sqlite:///{tmp_path}/x.db")
    holder = sqlite3.connect(tmp_path / "x.db", isolation_level=None)
    holder.execute("PRAGMA journal_mode=WAL")
    holder.execute("BEGIN IMMEDIATE")
    with pytest.raises(Unavailable) as caught, database.writing(engine):
        pass
    assert caught.value.reason == "STORE_UNAVAILABLE"
    holder.close()
    engine.dispose()


async def test_the_health_check_fails_while_the_database_is_away_and_shows_no_password() -> None:
    engine = database.engine("postgresql://u:hunter2@127.0.0.1:1/d")
    with pytest.raises(Unavailable) as caught:
        await asyncio.wait_for(database.check(engine), 10)
    assert "hunter2" not in caught.value.message
    engine.dispose()


@pytest.mark.parametrize("url", ["nonsense", "mysql://u:hunter2@h/d", "sqlite://", "sqlite:///:memory:", "u:hunter2@h/d"])
def test_a_wrong_url_is_refused_without_repeating_it(url: str) -> None:
    with pytest.raises(FailedPrecondition) as caught:
        database.engine(url)
    assert "use sqlite:///FILE" in caught.value.message
    assert "hunter2" not in caught.value.message


def test_a_full_disk_is_unavailable_and_breaks_nothing(tmp_path: Path) -> None:
    engine = database.engine(f"sqlite:///{tmp_path}/x.db")
    with database.writing(engine) as connection:
        connection.exec_driver_sql("CREATE TABLE t (a TEXT)")
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar()
    with engine.connect() as connection:
        connection.exec_driver_sql(f"PRAGMA max_page_count={pages}")
    with pytest.raises(Unavailable, match="full"), database.writing(engine) as connection:
        connection.exec_driver_sql("INSERT INTO t VALUES (hex(randomblob(100000)))")
    with database.reading(engine) as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM t").scalar() == 0
    engine.dispose()


@pytest.mark.slow
def test_a_new_sqlite_store_that_many_open_at_once_opens_for_all(tmp_path: Path) -> None:
    def opened(made: sa.Engine) -> None:
        barrier.wait()
        with database.writing(made) as connection:
            connection.execute(sa.text("CREATE TABLE IF NOT EXISTS t (a INTEGER)"))

    barrier = threading.Barrier(12)
    with ThreadPoolExecutor(12) as pool:
        for number in range(100):
            made = [database.engine(f"sqlite:///{tmp_path}/{number}.db") for _ in range(12)]
            list(pool.map(opened, made))
            for each in made:
                each.dispose()


@pytest.mark.postgres
def test_what_writes_sees_what_others_have_written_whatever_the_database_has_as_its_default(postgres: str) -> None:
    name = f"t{uuid.uuid4().hex}"
    admin = sa.create_engine(postgres, isolation_level="AUTOCOMMIT")
    with admin.connect() as connection:
        connection.execute(sa.text(f"CREATE DATABASE {name}"))
        connection.execute(sa.text(f"ALTER DATABASE {name} SET default_transaction_isolation = 'serializable'"))
    admin.dispose()
    bound = database.engine(sa.make_url(postgres).set(database=name).render_as_string(hide_password=False))
    shown = sa.text("SHOW transaction_isolation")
    with database.writing(bound) as connection:
        assert connection.scalar(shown) == "read committed"
    with database.reading(bound) as connection:
        assert connection.scalar(shown) == "repeatable read"
    with database.writing(bound) as connection:
        assert connection.scalar(shown) == "read committed", "also behind a reader on the same connection"
    bound.dispose()


@pytest.mark.parametrize("name", ["", "config.db"])
def test_a_store_of_another_user_is_refused_with_what_to_do(tmp_path: Path, name: str) -> None:
    (tmp_path / "config.db").touch()
    with (
        mock.patch("os.access", lambda path, _mode: path != tmp_path / name),
        pytest.raises(
            FailedPrecondition, match=r"belongs to user \d+, and this process, user \d+, can't write there: `chown -R \d+`"
        ),
    ):
        database.engine(f"sqlite:///{tmp_path}/config.db")


@pytest.mark.postgres
async def test_a_database_that_knows_no_encoding_takes_the_store(postgres: str) -> None:
    name = f"ascii_{uuid.uuid4().hex}"
    admin = sa.create_engine(postgres, isolation_level="AUTOCOMMIT")
    with admin.connect() as connection:
        connection.execute(sa.text(f"CREATE DATABASE {name} ENCODING 'SQL_ASCII' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0"))
    try:
        engine = database.engine(postgres.replace("postgresql+psycopg", "postgresql").rpartition("/")[0] + f"/{name}")
        with database.reading(engine) as connection:
            assert connection.scalar(sa.text("SELECT 'Zürich'")) == "Zürich"
        engine.dispose()
    finally:
        with admin.connect() as connection:
            connection.execute(sa.text(f"DROP DATABASE {name} WITH (FORCE)"))
        admin.dispose()
