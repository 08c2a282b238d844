import asyncio
import sqlite3
from pathlib import Path
from unittest import mock

import pytest
import sqlalchemy as sa
from alembic import command
from alembic.util import CommandError

from rocketconnect_kit import database
from rocketconnect_kit.errors import FailedPrecondition, Unavailable


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


def test_tables_that_are_new_enough_are_not_migrated(tmp_path: Path) -> None:
    engine = database.engine(f"sqlite:///{tmp_path}/x.db")
    with mock.patch.object(command, "upgrade", side_effect=command.upgrade) as upgrade:
        for _ in range(2):
            database.migrate(engine, "position")
            assert upgrade.call_count == 1
    with database.writing(engine) as connection:
        connection.exec_driver_sql("UPDATE position_schema_version SET version_num = '0009'")
    with pytest.raises(CommandError, match="0009"):
        database.migrate(engine, "position")
    engine.dispose()


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
