"""Every source beside every target."""

from collections.abc import Iterator

import pytest

from tests.connectors.jdbc_sink.conftest import target
from tests.connectors.jdbc_source.conftest import Database as Queried
from tests.connectors.jdbc_source.conftest import database as queried
from tests.connectors.mysql_cdc_source.binlog.reading import Database
from tests.connectors.postgres_cdc_source.conftest import connection, database, shop
from tests.pairs.sources import MariadbLog, PostgresLog, Queries, Source
from tests.servers.mariadb import Mariadb

__all__ = ["connection", "database", "queried", "shop", "target"]


@pytest.fixture(params=["mariadb", "postgres"])
def logged(request: pytest.FixtureRequest) -> Iterator[Source]:
    """A database whose changes are captured."""
    if request.param == "postgres":
        yield PostgresLog(request.getfixturevalue("shop"))
    else:
        server: Mariadb = request.getfixturevalue("mariadb")
        with Database(server) as made:
            yield MariadbLog(made)


@pytest.fixture
def asked(queried: Queried) -> Source:
    """A database that is asked by queries."""
    return Queries(queried)
