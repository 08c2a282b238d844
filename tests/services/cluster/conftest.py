"""Fixtures of the cluster service's tests."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
import sqlalchemy as sa

from rocketconnect_kit.store import database
from services.cluster.model import Connector, TargetState
from tests.services.cluster.databases import fresh_database
from tests.services.cluster.paper import ClusterOnPaper, MakeConnector


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def store_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/cluster.db"
    server_url: str = request.getfixturevalue("postgres")
    return fresh_database(server_url)


@pytest.fixture
def engine(store_url: str) -> Iterator[sa.Engine]:
    made = database.engine(store_url)
    database.migrate(made, "cluster")
    yield made
    made.dispose()


@pytest.fixture
def cluster() -> ClusterOnPaper:
    return ClusterOnPaper()


@pytest.fixture
def new_cluster() -> Callable[..., ClusterOnPaper]:
    return ClusterOnPaper


@pytest.fixture
def connector() -> MakeConnector:
    def make(
        uid: str = "u1",
        revision: int = 1,
        wanted: TargetState = TargetState.RUNNING,
        restarts: int = 0,
        config: Mapping[str, str] | None = None,
    ) -> Connector:
        configuration = {"connector.class": "file_source", **(config or {})}
        return Connector(uid, f"name-{uid}", revision, configuration, wanted, 1, restarts)

    return make


@pytest.fixture
def running(cluster: ClusterOnPaper, connector: MakeConnector) -> ClusterOnPaper:
    """Connector u1 with three tasks on workers a and b."""
    cluster.register("a")
    cluster.register("b")
    cluster.connectors(connector())
    assert cluster.plan("u1", 3) == 1
    return cluster
