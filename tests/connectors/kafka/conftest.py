from collections.abc import Iterator
from functools import partial
from itertools import count
from typing import TYPE_CHECKING

import pytest

from tests.connectors.kafka.stand_in import Cluster
from tests.connectors.kafka.stand_in_producer import ProducerInMemory

if TYPE_CHECKING:
    from tests.servers.kafka.broker import Kafka

_NUMBERS = count(1)


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Cluster:
    """Kafka in memory, in the place of its client."""
    made = Cluster()
    for name in ("log.consumer_of", "log.admin_of", "topics.admin_of", "positions.admin_of", "positions.consumer_of"):
        monkeypatch.setattr(f"connectors.kafka.{name}", made)
    for name in ("connection", "checks"):
        monkeypatch.setattr(f"connectors.kafka.{name}.producer_of", partial(ProducerInMemory, made))
    return made


@pytest.fixture(scope="session")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator["Kafka"]:
    """One server for all tests of a session; topics have names of their own."""
    from tests.servers.kafka.broker import Kafka

    with Kafka(tmp_path_factory.mktemp("certificates")).running() as server:
        yield server


@pytest.fixture
def topic() -> str:
    """The name of a topic that is not there."""
    return f"orders.{next(_NUMBERS)}"
