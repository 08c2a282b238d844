"""A table in a REST catalogue, with Spark and Iceberg's own server."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.table import Table as IcebergTable

from connectors.iceberg_sink import catalogs, rest
from rocketconnect_sdk.conformance import SinkCase
from rocketconnect_sdk.errors import PermanentError, RetriableError, SystemAway
from rocketconnect_sdk.permissions.roots import WRITE_ROOTS
from rocketconnect_sdk.sink import QueuePosition
from tests.connectors.iceberg_sink.tables import Iceberg
from tests.connectors.lakes.changes import QUEUE
from tests.connectors.lakes.conformance import LakeSuite, case_of
from tests.connectors.lakes.owners import ReplacedSuite
from tests.connectors.lakes.table import LakeTable, Owner, Seam
from tests.servers.iceberg_rest import GUEST, SECRET, RestServer, reference

pytestmark = [
    pytest.mark.spark,
    # PySpark leaves the sockets of collect() to the garbage collector.
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
]


class InCatalog(Iceberg):
    """A table that only the server finds."""

    claims = appends = changes = Seam(catalogs, "exchange")
    clears = False

    def __init__(self, place: Path, server: RestServer) -> None:
        super().__init__(place)
        self.server = server
        # No other test has it.
        self.name = f"db.{place.name}.rows"
        self.opened = ExitStack()

    @property
    def options(self) -> Mapping[str, str]:
        return {**self.server.options, "table": self.name}

    @property
    def root(self) -> Path:
        return self.server.warehouse / self.name.replace(".", "/")

    @property
    def newest(self) -> IcebergTable:
        with self.server.client() as catalog:
            return catalog.load_table(self.name)

    def is_there(self) -> bool:
        with self.server.client() as catalog:
            return catalog.table_exists(self.name)

    def owner(self, more: Mapping[str, str | None] | None = None, **given: Any) -> Owner:
        """Without the options that are None."""
        options = {key: value for key, value in {**self.options, **(more or {})}.items() if value is not None}
        made = Owner(self, options, **given)
        self.opened.callback(made.task.close)
        return made


@pytest.fixture
def table(rest_server: RestServer, tmp_path: Path) -> Iterator[InCatalog]:
    made = InCatalog(tmp_path, rest_server)
    with made.opened:
        yield made


@pytest.mark.slow
class TestRows(LakeSuite):
    @pytest.fixture
    def case(self, table: InCatalog) -> SinkCase:
        return case_of(table)


class TestReplaced(ReplacedSuite):
    """A claim changes no rows, and a catalogue compares nothing else of what it changes."""

    @pytest.fixture
    def table(self, table: InCatalog) -> LakeTable:
        return table


@pytest.mark.parametrize("status", [504, *(pytest.param(status, marks=pytest.mark.slow) for status in (409, 429))])
def test_a_commit_whose_answer_is_an_error_is_no_double_and_no_loss(table: InCatalog, status: int) -> None:
    """409: something between has sent the commit twice; 429: Iceberg does so itself."""
    one = table.owner()
    one.start()
    one.append(0, 10)
    table.server.lose_an_answer(status)
    try:
        one.append(10, 20)
    except RetriableError:
        one.append(10, 20)
    other = table.owner(owner=(1, 2))
    assert other.start() == {QUEUE: QueuePosition(20)}
    assert table.ids() == list(range(20))
    assert len(table.on_the_disk()) == 2


@pytest.mark.slow
def test_a_server_that_is_killed_is_waited_for(table: InCatalog) -> None:
    one = table.owner()
    one.start()
    one.append(0, 10)
    table.server.kill()
    with pytest.raises(SystemAway, match="the catalogue does not answer"):
        one.append(10, 20)
    table.server.start()
    one.append(10, 20)
    assert table.ids() == list(range(20))


@pytest.mark.slow
def test_what_others_append_meanwhile_stays(table: InCatalog, monkeypatch: pytest.MonkeyPatch) -> None:
    one = table.owner()
    one.start()
    one.append(0, 2)

    def appended() -> None:
        theirs = table.newest
        theirs.append(theirs.scan().to_arrow())

    table.appends.in_front(monkeypatch, appended)
    one.append(2, 4)
    assert table.ids() == [0, 0, 1, 1, 2, 3]


def test_what_is_wrong_with_a_catalogue_is_told(table: InCatalog) -> None:
    for options, kind, told in (
        ({"catalog.url": "http://127.0.0.1:9/x"}, SystemAway, r"http://127\.0\.0\.1:9/x: the catalogue does not answer: .*refused"),
        ({"catalog.password": reference("WRONG")}, PermanentError, r"is let in by nobody: .*who is that.*Set catalog\.user and"),
        (
            {"catalog.user": "", "catalog.password": None, "catalog.token": reference(GUEST)},
            PermanentError,
            "not allowed .*guests see",
        ),
        ({"catalog.warehouse": "other"}, PermanentError, r"catalog\.warehouse is no warehouse .*Unable to find warehouse other"),
    ):
        with pytest.raises(kind, match=told) as caught:
            table.owner(options).start()
        assert SECRET not in str(caught.value)


def test_where_hosts_are_limited_java_asks_by_way_of_python(table: InCatalog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rest, "proxy", lambda: "http://127.0.0.1:9")
    with pytest.raises(SystemAway, match=r"the catalogue does not answer: .*127\.0\.0\.1:9\D.*refused"):
        table.owner().start()


def test_a_table_elsewhere_than_connectors_may_write_is_refused(
    table: InCatalog, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    one = table.owner()
    one.start()
    one.append(0, 2)
    monkeypatch.setenv(WRITE_ROOTS, str(tmp_path))
    with pytest.raises(PermanentError, match="is not where this executor lets connectors write files"):
        table.owner(owner=(1, 2)).start()
