import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any

import pytest

from tests.connectors.solr.driven import Run
from tests.servers.solr.real import Solr
from tests.servers.solr.standin import StandIn

_NAMES = count()


@dataclass(frozen=True, slots=True)
class Target:
    """A server with an empty collection.

    Attributes:
        url: Of it.
        name: Of the collection.
        read: The documents of a collection by their ids.
    """

    url: str
    name: str
    read: Callable[[str], Mapping[str, Mapping[str, Any]]]

    @property
    def documents(self) -> Mapping[str, Mapping[str, Any]]:
        """The documents of the collection."""
        return self.read(self.name)


@pytest.fixture(scope="session")
def _standin() -> Iterator[StandIn]:
    with StandIn() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture
def standin(_standin: StandIn) -> StandIn:
    """A server that is empty."""
    return _standin.clear()


@pytest.fixture(scope="session")
def solr() -> Iterator[Solr]:
    """A real server."""
    with Solr().running() as server:
        yield server


@pytest.fixture(params=["standin", pytest.param("real", marks=pytest.mark.slow)])
def target(request: pytest.FixtureRequest) -> Target:
    """Both servers do the same."""
    name = f"orders-{next(_NAMES)}"
    server = request.getfixturevalue("standin" if request.param == "standin" else "solr")
    if isinstance(server, Solr):
        server.make(name)
    return Target(server.url, name, server.documents)


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    while Run.opened:
        Run.opened.pop().task.close()
