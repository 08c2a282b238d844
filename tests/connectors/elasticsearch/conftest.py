import threading
from collections.abc import Iterator

import pytest

from tests.connectors.elasticsearch.driven import Run
from tests.servers.search.standin import StandIn


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


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    while Run.opened:
        Run.opened.pop().task.close()
