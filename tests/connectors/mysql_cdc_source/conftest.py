"""A database of its own for each test, and its log from then on."""

from collections.abc import Iterator

import pytest

from tests.connectors.mysql_cdc_source.binlog.reading import Database
from tests.servers.mariadb import Mariadb


@pytest.fixture
def database(mariadb: Mariadb) -> Iterator[Database]:
    """An empty database on the server of the session."""
    with Database(mariadb) as database:
        yield database
