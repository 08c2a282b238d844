from collections.abc import Iterator

import pytest

from tests.connectors.logs.following import Following


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    while Following.opened:
        Following.opened.pop().task.close()
