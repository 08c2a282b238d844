from collections.abc import Iterator

import pytest

from tests.servers.mongodb.ferretdb import FerretDb


@pytest.fixture(scope="session")
def ferretdb() -> Iterator[FerretDb]:
    with FerretDb().running() as server:
        yield server
