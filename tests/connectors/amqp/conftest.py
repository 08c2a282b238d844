from collections.abc import Iterator

import pytest

from tests.servers.amqp.brokers import Artemis, Classic
from tests.servers.amqp.standin import StandIn


@pytest.fixture
def standin() -> Iterator[StandIn]:
    with StandIn().running() as broker:
        yield broker


@pytest.fixture(scope="session")
def _artemis() -> Iterator[Artemis]:
    with Artemis().running() as broker:
        yield broker


@pytest.fixture(scope="session")
def _classic() -> Iterator[Classic]:
    with Classic().running() as broker:
        yield broker


@pytest.fixture
def artemis(_artemis: Artemis, request: pytest.FixtureRequest) -> Artemis:
    """A broker in which names that begin with `broker.root` are of this test alone."""
    _artemis.begin(request.node.name)
    return _artemis


@pytest.fixture
def classic(_classic: Classic, request: pytest.FixtureRequest) -> Classic:
    """The same."""
    _classic.begin(request.node.name)
    return _classic
