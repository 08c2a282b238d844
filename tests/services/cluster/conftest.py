"""Fixtures of the cluster service's tests."""

from collections.abc import Callable, Mapping

import pytest

from services.cluster.model import Connector, Wanted
from tests.services.cluster.paper import ClusterOnPaper


@pytest.fixture
def cluster() -> ClusterOnPaper:
    return ClusterOnPaper()


@pytest.fixture
def new_cluster() -> Callable[..., ClusterOnPaper]:
    return ClusterOnPaper


@pytest.fixture
def connector() -> Callable[..., Connector]:
    def make(
        uid: str = "u1",
        revision: int = 1,
        wanted: Wanted = Wanted.RUNNING,
        restarts: int = 0,
        config: Mapping[str, str] | None = None,
    ) -> Connector:
        configuration = {"connector.class": "file_source", **(config or {})}
        return Connector(uid, f"name-{uid}", revision, configuration, wanted, 1, restarts)

    return make
