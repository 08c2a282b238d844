from collections.abc import Iterator

import pytest

from tests.servers.mqtt.mosquitto import Mosquitto


@pytest.fixture(scope="session")
def _broker() -> Iterator[Mosquitto]:
    with Mosquitto().running() as broker:
        yield broker


@pytest.fixture
def broker(_broker: Mosquitto, request: pytest.FixtureRequest) -> Iterator[Mosquitto]:
    """A broker in which the topics below `broker.root` are of this test alone."""
    _broker.begin(request.node.name)
    yield _broker
    _broker.end_sessions()
