from collections.abc import Iterator

import pytest

from tests.connectors.mongodb.running import Reading
from tests.servers.mongodb.ferretdb import FerretDb


@pytest.fixture(scope="session")
def ferretdb() -> Iterator[FerretDb]:
    with FerretDb().running() as server:
        yield server


@pytest.fixture(scope="session")
def replica_set() -> Iterator[FerretDb]:
    with FerretDb(oplog=True).running() as server:
        yield server


@pytest.fixture(autouse=True)
def readings() -> Iterator[None]:
    """What a test has left open is closed."""
    yield
    while Reading.opened:
        Reading.opened.pop().kill()
