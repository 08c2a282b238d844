"""A stand-in for Doris, for each test."""

from collections.abc import Iterator

import pytest

from tests.servers.doris import Doris


@pytest.fixture
def doris() -> Iterator[Doris]:
    """With an empty database, shop."""
    with Doris().add("shop").running() as server:
        yield server


@pytest.fixture
def options(doris: Doris) -> dict[str, str]:
    """Of a connector that adds rows to the table rows, which it makes."""
    return doris.options("shop") | {"table": "rows", "table.create": "true"}
