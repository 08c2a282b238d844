"""Stores that are older or newer than the service, and migrations that can't be made."""

import sqlite3
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from rocketconnect_kit.errors import FailedPrecondition, Unavailable
from rocketconnect_kit.store import database
from rocketconnect_kit.store.schema import known

MORE = 'op.add_column("position_tasks", sa.Column("more", sa.Integer, nullable=False, server_default="0"))'
LESS = 'op.drop_column("position_tasks", "more")'
REAL = Path(database.__file__).parents[2] / "services/position/migrations"
FIRST = 7
"""So many migrations 0.1.0 has."""


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/x.db"
    return of_postgres(request.getfixturevalue("postgres"))


def of_postgres(server: str, *further: str) -> str:
    """The URL of an empty database; `further` statements name it, or a role like it, as {}."""
    name = f"t{uuid.uuid4().hex}"
    admin = sa.create_engine(server, isolation_level="AUTOCOMMIT")
    with admin.connect() as connection:
        for statement in ("CREATE DATABASE {}", *further):
            connection.execute(sa.text(statement.format(name)))
    admin.dispose()
    return sa.make_url(server).set(database=name).render_as_string(hide_password=False)


@pytest.fixture
def engine(url: str) -> Iterator[sa.Engine]:
    made = database.engine(url)
    yield made
    made.dispose()


@pytest.fixture
def release(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> "Releases":
    return Releases(monkeypatch, tmp_path)


class Releases:
    """Versions of the position service: the first release, 0.1.0, and each later one with a migration more."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
        self._monkeypatch, self._folder = monkeypatch, folder

    def runs(self, *later: tuple[str, str, str]) -> None:
        """From now on the service has these migrations: of which release, compatible from where, what it does."""
        folder = self._folder / f"{len(later)} later"
        folder.mkdir(exist_ok=True)
        for path in sorted(REAL.glob("v*.py"))[:FIRST]:
            (folder / path.name).write_text(path.read_text())
        for number, (release, compatible_from, does) in enumerate(later, FIRST + 1):
            (folder / f"v{number:04}_later.py").write_text(migration(number, release, compatible_from, does))
        self._monkeypatch.setattr(database, "_versions", lambda _service: folder)


def migration(number: int, release: str, compatible_from: str, does: str) -> str:
    mark = f'compatible_from = "{compatible_from}"\n' if compatible_from else ""
    head = f'import sqlalchemy as sa\nfrom alembic import op\nrevision = "{number:04}"\nrelease = "{release}"\n{mark}'
    return f"{head}\ndef upgrade():\n    {does}\n"


def columns(engine: sa.Engine) -> set[str]:
    return {column["name"] for column in sa.inspect(engine).get_columns("position_tasks")}


def mark(engine: sa.Engine) -> str | None:
    with database.reading(engine) as connection:
        return connection.exec_driver_sql("SELECT version_num FROM position_schema_version").scalar()


def test_an_older_service_takes_a_store_to_which_a_newer_one_has_only_added(
    engine: sa.Engine, release: Releases, capsys: pytest.CaptureFixture[str]
) -> None:
    release.runs()
    database.migrate(engine, "position")
    release.runs(("0.2.0", "", MORE))
    database.migrate(engine, "position")
    assert "more" in columns(engine)
    assert mark(engine) == "0007", "0.1.0 takes no store but one with its own last revision"
    release.runs()
    database.migrate(engine, "position")
    assert "more" in columns(engine)


def test_a_store_that_does_without_what_the_service_needs_is_refused_with_the_version_that_it_needs(
    engine: sa.Engine, release: Releases
) -> None:
    expanded, contracted = ("0.2.0", "", MORE), ("0.3.0", "0008", LESS)
    release.runs(expanded, contracted, ("0.4.0", "", MORE))
    database.migrate(engine, "position")
    release.runs(expanded)
    database.migrate(engine, "position")
    release.runs()
    with pytest.raises(FailedPrecondition) as refused:
        database.migrate(engine, "position")
    assert refused.value.reason == "STORE_TOO_NEW"
    assert refused.value.message == (
        "the store of the position service is newer than this service: it has revision 0010, of RocketConnect 0.4.0, and this "
        "service knows revisions up to 0007, of RocketConnect 0.1.0. Start RocketConnect 0.2.0 or newer on it; or go back to the "
        "backup that was made before the upgrade (docs/upgrade.md). Nothing was changed"
    )
    assert mark(engine) == "0008"


def test_a_store_of_the_first_release_is_followed_from_where_it_is(engine: sa.Engine, release: Releases) -> None:
    release.runs()
    database.migrate(engine, "position")
    with database.writing(engine) as connection:
        connection.exec_driver_sql("DROP TABLE position_schema")
    release.runs(("0.2.0", "", MORE))
    database.migrate(engine, "position")
    assert "more" in columns(engine)
    assert mark(engine) == "0007"


def test_a_store_with_a_revision_that_nobody_knows_is_refused_and_left_as_it_is(engine: sa.Engine, release: Releases) -> None:
    release.runs()
    with database.writing(engine) as connection:
        connection.exec_driver_sql("CREATE TABLE position_schema_version (version_num VARCHAR(32) NOT NULL)")
        connection.exec_driver_sql("INSERT INTO position_schema_version VALUES ('0042')")
    with pytest.raises(FailedPrecondition, match="has revision 0042, and this service knows revisions up to 0007"):
        database.migrate(engine, "position")
    assert sa.inspect(engine).get_table_names() == ["position_schema_version"]


def test_tables_that_are_new_enough_are_not_migrated(engine: sa.Engine, release: Releases) -> None:
    release.runs(("0.2.0", "", MORE))
    database.migrate(engine, "position")
    database.migrate(engine, "position")


def test_a_migration_that_fails_changes_nothing_and_is_told_in_words(engine: sa.Engine, release: Releases) -> None:
    release.runs()
    database.migrate(engine, "position")
    release.runs(("0.2.0", "", f"{MORE}; op.execute('INSERT INTO nowhere VALUES (1)')"))
    with pytest.raises((FailedPrecondition, Unavailable), match=r"position service could not be.*nothing was changed.*nowhere"):
        database.migrate(engine, "position")
    assert "more" not in columns(engine)


def test_a_disk_that_gets_full_in_a_migration_changes_nothing_and_is_told_in_words(tmp_path: Path, release: Releases) -> None:
    release.runs()
    engine = database.engine(f"sqlite:///{tmp_path}/x.db")
    database.migrate(engine, "position")
    fill = 'op.execute("INSERT INTO large VALUES (hex(zeroblob(1000000)))")'
    release.runs(("0.2.0", "", f'{MORE}; op.create_table("large", sa.Column("x", sa.Text)); {fill}'))
    with engine.connect() as connection:
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar_one()
        connection.exec_driver_sql(f"PRAGMA max_page_count={pages + 10}")
    with pytest.raises(Unavailable, match=r"nothing was changed: .*disk is full"):
        database.migrate(engine, "position")
    assert "more" not in columns(engine)
    with engine.connect() as connection:
        connection.exec_driver_sql("PRAGMA max_page_count=1000000")
    database.migrate(engine, "position")
    assert "more" in columns(engine)
    engine.dispose()


def test_a_file_that_is_no_database_is_refused_in_words(tmp_path: Path) -> None:
    (tmp_path / "x.db").write_bytes(b"something else" * 1_000)
    engine = database.engine(f"sqlite:///{tmp_path}/x.db")
    with pytest.raises(
        FailedPrecondition, match=r"store of the position service can't be read: .*file is not a database"
    ) as refused:
        database.migrate(engine, "position")
    assert refused.value.reason == "STORE_UNREADABLE"
    engine.dispose()


@pytest.mark.postgres
def test_a_database_that_takes_no_changes_may_do_so_later(postgres: str) -> None:
    engine = database.engine(postgres)
    with pytest.raises(Unavailable, match="the store takes no changes: it is a standby, or read-only"):  # noqa: SIM117
        with database.writing(engine) as connection:
            # What each transaction of a standby is.
            connection.execute(sa.text("SET TRANSACTION READ ONLY"))
            connection.execute(sa.text("CREATE TABLE t (a INTEGER)"))
    engine.dispose()


@pytest.mark.postgres
def test_a_database_that_denies_changes_says_so(postgres: str, release: Releases) -> None:
    release.runs()
    url = sa.make_url(of_postgres(postgres, "CREATE ROLE {} LOGIN"))
    engine = database.engine(url.set(username=url.database).render_as_string())
    with pytest.raises(FailedPrecondition, match=r"nothing was changed: the database says: permission denied for schema") as denied:
        database.migrate(engine, "position")
    assert denied.value.reason == "MIGRATION_FAILED"
    engine.dispose()


@pytest.mark.postgres
def test_a_postgresql_that_is_too_old_is_refused_with_the_version_that_is_needed(
    postgres: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = database.engine(postgres)
    monkeypatch.setattr(database, "OLDEST_POSTGRES", (99,))
    with pytest.raises(FailedPrecondition, match=r"the store is a PostgreSQL \d+\.\d+; 99 or newer is needed"):
        database.migrate(engine, "position")
    engine.dispose()


async def test_what_the_process_that_migrates_has_to_say_is_said_by_the_service_without_a_traceback(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with sqlite3.connect(tmp_path / "x.db") as connection:
        connection.execute("CREATE TABLE position_schema_version (version_num VARCHAR(32) NOT NULL)")
        connection.execute("INSERT INTO position_schema_version VALUES ('0042')")
    connection.close()
    with pytest.raises(FailedPrecondition, match="has revision 0042") as raised:
        await database.open_store(f"sqlite:///{tmp_path}/x.db", "position")
    assert raised.value.reason == "STORE_TOO_NEW"
    assert capfd.readouterr().err == ""


def test_a_service_ends_with_the_words_and_the_reason(tmp_path: Path) -> None:
    engine = database.engine(f"sqlite:///{tmp_path}/position.db")
    database.migrate(engine, "position")
    with database.writing(engine) as connection:
        connection.exec_driver_sql("INSERT INTO position_schema VALUES ('0042', '9.0.0', '0042')")
    engine.dispose()
    command = [sys.executable, "-m", "services.position", "--data-dir", str(tmp_path), "--port", "0"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 1
    assert "STORE_TOO_NEW" in done.stderr
    assert "Start RocketConnect 9.0.0 or newer" in done.stderr
    assert "Traceback" not in done.stderr


def test_what_only_adds_is_compatible_with_whatever_was_before(tmp_path: Path) -> None:
    (tmp_path / "v0001_a.py").write_text(migration(1, "0.1.0", "0001", "pass"))
    (tmp_path / "v0002_b.py").write_text(migration(2, "0.2.0", "", "pass"))
    assert [(each.number, each.release, each.compatible_from) for each in known(tmp_path)] == [
        ("0001", "0.1.0", "0001"),
        ("0002", "0.2.0", "0001"),
    ]
