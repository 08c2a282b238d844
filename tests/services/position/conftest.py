"""A store on SQLite and on PostgreSQL."""

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from rocketconnect_kit.store import database
from services.position.store import PositionStore


class Clock:
    """Microseconds since 1970, one more with each look."""

    def __init__(self) -> None:
        self.microseconds = 1_700_000_000_000_000

    def __call__(self) -> int:
        self.microseconds += 1
        return self.microseconds


def fresh_database(server_url: str) -> str:
    """Return the URL of a new database on the PostgreSQL server."""
    name = f"t{uuid.uuid4().hex}"
    admin = sa.create_engine(server_url, isolation_level="AUTOCOMMIT")
    with admin.connect() as connection:
        connection.execute(sa.text(f"CREATE DATABASE {name}"))
    admin.dispose()
    return sa.make_url(server_url).set(database=name).render_as_string(hide_password=False)


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def store_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/position.db"
    server_url: str = request.getfixturevalue("postgres")
    return fresh_database(server_url)


@pytest.fixture
def engine(store_url: str) -> Iterator[sa.Engine]:
    made = database.engine(store_url)
    database.migrate(made, "position")
    yield made
    made.dispose()


@pytest.fixture
def store(engine: sa.Engine) -> Iterator[PositionStore]:
    made = PositionStore(engine, Clock(), Clock())
    yield made
    made.close()
