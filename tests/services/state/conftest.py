"""Fixtures of the state service's tests: makers of what is told and reported, a clock moved by hand, databases."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from rocketconnect_kit.store import database
from tests.services.cluster.databases import fresh_database
from tests.services.state.things import StatesOnPaper


@pytest.fixture
def states() -> StatesOnPaper:
    return StatesOnPaper()


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def store_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/state.db"
    server_url: str = request.getfixturevalue("postgres")
    return fresh_database(server_url)


@pytest.fixture
def engine(store_url: str) -> Iterator[sa.Engine]:
    made = database.engine(store_url)
    database.migrate(made, "state")
    yield made
    made.dispose()
