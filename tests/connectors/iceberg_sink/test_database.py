"""A table in the JDBC catalogue, with Spark and a PostgreSQL."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest
from pyiceberg.catalog.sql import SqlCatalog

from connectors.iceberg_sink import IcebergSink
from rocketconnect_sdk.conformance import SinkCase
from rocketconnect_sdk.errors import PermanentError, SystemAway
from tests.connectors.iceberg_sink.owner import Owner, lose_the_answer_of_a_commit, replace_in_the_middle
from tests.connectors.iceberg_sink.spark import settings
from tests.connectors.iceberg_sink.test_conformance import ROW, IcebergSuite, row

pytestmark = [
    pytest.mark.spark,
    pytest.mark.postgres,
    # PySpark leaves the sockets of collect() to the garbage collector.
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
]


@pytest.fixture
def catalog(postgres: str, tmp_path: Path) -> dict[str, str]:
    """The options of a catalogue of this test."""
    parts = urlsplit(postgres)
    url = f"postgresql://{parts.hostname}:{parts.port}{parts.path}"
    return {"catalog": "jdbc", "catalog.url": url, "catalog.user": parts.username or "", "catalog.name": tmp_path.name}


@pytest.fixture
def owner(catalog: dict[str, str], tmp_path: Path) -> Iterator[Callable[..., Owner]]:
    """Makes tasks; they hold connections until their end, and the server waits for these."""
    with ExitStack() as held:

        def made(*, number: int = 1, place: str = "lake", **options: str) -> Owner:
            told = {key.replace("_", "."): value for key, value in options.items()}
            task = Owner(tmp_path / place, {**catalog, **told}, owner=(1, number))
            held.callback(task.task.close)
            return task

        yield made


def read(postgres: str, name: str) -> list[dict[str, object]]:
    """As another program reads the table."""
    found = SqlCatalog(name, uri=postgres, init_catalog_tables="false")
    try:
        if not found.table_exists("db.rows"):
            return []
        rows: list[dict[str, object]] = found.load_table("db.rows").scan().to_arrow().to_pylist()
    finally:
        found.engine.dispose()
    return sorted(rows, key=lambda each: str(each.get("offset", each.get("id"))).zfill(9))


def ids(postgres: str, name: str) -> list[object]:
    return [each["id"] for each in read(postgres, name)]


@pytest.mark.slow
class TestRows(IcebergSuite):
    @pytest.fixture
    def case(self, tmp_path: Path, postgres: str, catalog: dict[str, str]) -> SinkCase:
        options = {"warehouse": str(tmp_path / "lake"), "table": "db.rows", **catalog}
        return SinkCase(IcebergSink(), options, lambda: read(postgres, tmp_path.name), row, ROW, tmp_path, settings=settings())

    @pytest.mark.skip(reason="connections of killed tasks stay in Java; a test below has the answer of a commit lost")
    def test_killed_at_any_step_it_goes_on_with_every_record(self, case: SinkCase) -> None:
        """The steps are those of a table in a directory, but for the commit."""


def test_an_owner_that_is_replaced_in_the_middle_of_a_write_adds_nothing(
    tmp_path: Path, postgres: str, owner: Callable[..., Owner], monkeypatch: pytest.MonkeyPatch
) -> None:
    replace_in_the_middle(monkeypatch, owner, lambda: ids(postgres, tmp_path.name))


@pytest.mark.slow
@pytest.mark.parametrize("written", [False, True])
def test_an_answer_that_is_lost_is_no_double_and_no_loss(
    tmp_path: Path, postgres: str, owner: Callable[..., Owner], monkeypatch: pytest.MonkeyPatch, written: bool
) -> None:
    lose_the_answer_of_a_commit(monkeypatch, owner, lambda: ids(postgres, tmp_path.name), written=written)


def test_a_database_that_is_away_is_waited_for(owner: Callable[..., Owner]) -> None:
    with pytest.raises(SystemAway, match=r"127\.0\.0\.1:9/lake: the catalogue does not answer: Connection to \S+ refused"):
        owner(catalog_url="postgresql://127.0.0.1:9/lake").start()


def test_a_database_that_lets_nobody_in_is_told(owner: Callable[..., Owner]) -> None:
    with pytest.raises(PermanentError, match=r"lets nobody in: .*role \"nobody\" does not exist\. Set catalog\.url, catalog\.user"):
        owner(catalog_user="nobody").start()


@pytest.mark.slow
def test_the_catalogues_of_two_names_are_two(tmp_path: Path, postgres: str, owner: Callable[..., Owner]) -> None:
    names = tmp_path.name, f"{tmp_path.name}-2"
    for name in names:
        one = owner(place=name, catalog_name=name)
        one.start()
        one.write(0, 2)
    assert [len(read(postgres, name)) for name in names] == [2, 2]
    with psycopg.connect(postgres.replace("+psycopg", "")) as connection:
        found = connection.execute("SELECT count(*) FROM iceberg_tables WHERE catalog_name LIKE %s", (f"{tmp_path.name}%",))
        assert found.fetchone() == (2,)
