"""Stores in PostgreSQL: one snapshot, one transaction; and from there into files and back."""

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from rocketconnect_cli.backups.endpoints import ORDER
from rocketconnect_kit.store import database
from tests.rocketconnect_cli.backups.conftest import fill, rows, run, stored

pytestmark = pytest.mark.postgres


@pytest.fixture
def url(postgres: str) -> Iterator[str]:
    """An empty database of its own."""
    name = f"backup_{uuid.uuid4().hex[:8]}"
    admin = sa.create_engine(postgres, isolation_level="AUTOCOMMIT")
    with admin.connect() as connection:
        connection.execute(sa.text(f"CREATE DATABASE {name}"))
    yield sa.make_url(postgres).set(database=name, drivername="postgresql").render_as_string(hide_password=False)
    with admin.connect() as connection:
        connection.execute(sa.text(f"DROP DATABASE {name} WITH (FORCE)"))
    admin.dispose()


def test_a_database_is_saved_and_restored_over_itself_and_into_files_but_not_under_a_service(url: str, tmp_path: Path) -> None:
    engine = database.engine(url)
    fill(engine, ORDER)
    with database.writing(engine) as connection:
        connection.execute(sa.text("CREATE TABLE config_of_somebody_else (id int)"))
    file = tmp_path / "b.zip"
    assert run("backup", file, "--store-url", url).exit_code == 0
    before = rows(url)
    with database.writing(engine) as connection:
        connection.execute(sa.text("DELETE FROM position_positions"))
        connection.execute(sa.text("UPDATE state_leader SET term = 70"))
    # A service is there, and idle.
    refused = run("restore", file, "--store-url", url, "--yes")
    assert refused.exit_code == 4
    assert "Stop all services first" in refused.output
    engine.dispose()
    assert run("restore", file, "--store-url", url).exit_code == 2
    result = run("restore", file, "--store-url", url, "--yes")
    assert result.exit_code == 0, result.output
    after = rows(url)
    # No term comes again that a replica may still believe in.
    assert (before.pop("state_leader"), after.pop("state_leader")) == ([("a", 7, 99.0)], [("", 71, 0.0)])
    assert [each.pop("cluster_leader")[0][1] for each in (before, after)] == [0, 1]
    assert after == before

    assert run("restore", file, "--data", tmp_path / "files").exit_code == 0
    files = {name: kept for tables in stored(tmp_path / "files").values() for name, kept in tables.items()}
    del before["config_of_somebody_else"], files["state_leader"], files["cluster_leader"]
    assert files == before
    again = run("backup", tmp_path / "c.zip", "--data", tmp_path / "files")
    assert again.exit_code == 0
    assert run("restore", tmp_path / "c.zip", "--store-url", url, "--yes").exit_code == 0
    assert rows(url)["position_positions"] == before["position_positions"]


def test_a_database_that_is_away_is_told_of_without_its_password(tmp_path: Path) -> None:
    result = run("backup", tmp_path / "b.zip", "--store-url", "postgresql://me:canary@127.0.0.1:1/x")
    assert (result.exit_code, "canary" in result.output) == (5, False)
    assert "the store does not answer" in result.output
    assert not (tmp_path / "b.zip").exists()
