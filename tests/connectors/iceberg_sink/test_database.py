"""A table in the JDBC catalogue, with Spark and a PostgreSQL."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import Table as IcebergTable

from connectors.iceberg_sink import catalogs
from rocketconnect_sdk.conformance import SinkCase
from rocketconnect_sdk.errors import PermanentError, SystemAway
from tests.connectors.iceberg_sink.tables import Iceberg
from tests.connectors.lakes.conformance import LakeSuite, case_of
from tests.connectors.lakes.owners import ReplacedSuite
from tests.connectors.lakes.table import LakeTable, Owner, Seam

pytestmark = [
    pytest.mark.spark,
    pytest.mark.postgres,
    # PySpark leaves the sockets of collect() to the garbage collector.
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
]


class InDatabase(Iceberg):
    """A table that only the database finds."""

    claims = appends = changes = Seam(catalogs, "exchange")
    clears = False

    def __init__(self, place: Path, database: str, catalog: str) -> None:
        super().__init__(place)
        self.database = database
        self.catalog = catalog
        # Tasks hold connections until their end, and the server waits for these.
        self.opened = ExitStack()

    @property
    def options(self) -> Mapping[str, str]:
        parts = urlsplit(self.database)
        url = f"postgresql://{parts.hostname}:{parts.port}{parts.path}"
        more = {"catalog": "jdbc", "catalog.url": url, "catalog.user": parts.username or "", "catalog.name": self.catalog}
        return {**super().options, **more}

    @property
    def newest(self) -> IcebergTable:
        with self._found() as found:
            return found.load_table("db.rows")

    def is_there(self) -> bool:
        with self._found() as found:
            return found.table_exists("db.rows")

    @contextmanager
    def _found(self) -> Iterator[SqlCatalog]:
        found = SqlCatalog(self.catalog, uri=self.database, init_catalog_tables="false")
        try:
            yield found
        finally:
            found.engine.dispose()

    def owner(self, more: Mapping[str, str] | None = None, **given: Any) -> Owner:
        made = super().owner(more, **given)
        self.opened.callback(made.task.close)
        return made


@pytest.fixture
def table(tmp_path: Path, postgres: str) -> Iterator[InDatabase]:
    """Its catalogue has a name that no other test has."""
    made = InDatabase(tmp_path / "lake", postgres, tmp_path.name)
    with made.opened:
        yield made


@pytest.mark.slow
class TestRows(LakeSuite):
    @pytest.fixture
    def case(self, table: InDatabase, tmp_path: Path) -> SinkCase:
        return case_of(table, tmp_path)

    @pytest.mark.skip(reason="connections of killed tasks stay in Java; a test below has the answer of a commit lost")
    def test_killed_at_any_step_it_goes_on_with_every_record(self, case: SinkCase) -> None:
        """The steps are those of a table in a directory, but for the commit."""


@pytest.mark.slow
class TestReplaced(ReplacedSuite):
    @pytest.fixture
    def table(self, table: InDatabase) -> LakeTable:
        return table


def test_a_database_that_is_away_is_waited_for(table: InDatabase) -> None:
    with pytest.raises(SystemAway, match=r"127\.0\.0\.1:9/lake: the catalogue does not answer: Connection to \S+ refused"):
        table.owner(catalog_url="postgresql://127.0.0.1:9/lake").start()


def test_a_database_that_lets_nobody_in_is_told(table: InDatabase) -> None:
    with pytest.raises(PermanentError, match=r"lets nobody in: .*role \"nobody\" does not exist\. Set catalog\.url, catalog\.user"):
        table.owner(catalog_user="nobody").start()


@pytest.mark.slow
def test_the_catalogues_of_two_names_are_two(tmp_path: Path, postgres: str) -> None:
    names = tmp_path.name, f"{tmp_path.name}-2"
    tables = [InDatabase(tmp_path / name, postgres, name) for name in names]
    for one in tables:
        with one.opened:
            owner = one.owner()
            owner.start()
            owner.append(0, 2)
    assert [len(one.read()) for one in tables] == [2, 2]
    with psycopg.connect(postgres.replace("+psycopg", "")) as connection:
        found = connection.execute("SELECT count(*) FROM iceberg_tables WHERE catalog_name LIKE %s", (f"{tmp_path.name}%",))
        assert found.fetchone() == (2,)
