"""A table in a REST catalogue, with Spark and Iceberg's own server."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.table import Table

from connectors.iceberg_sink import IcebergSink, rest
from rocketconnect_sdk.conformance import SinkCase
from rocketconnect_sdk.errors import PermanentError, RetriableError, SystemAway
from rocketconnect_sdk.permissions.roots import WRITE_ROOTS
from rocketconnect_sdk.sink import QueuePosition
from tests.connectors.iceberg_sink.owner import ONE, Owner, in_front, lose_the_answer_of_a_commit, replace_in_the_middle
from tests.connectors.iceberg_sink.spark import settings
from tests.connectors.iceberg_sink.test_conformance import ROW, IcebergSuite, row
from tests.servers.iceberg_rest import GUEST, SECRET, RestServer, reference

pytestmark = [
    pytest.mark.spark,
    # PySpark leaves the sockets of collect() to the garbage collector.
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
]


@pytest.fixture
def table(tmp_path: Path) -> str:
    """A name that no other test has."""
    return f"db.{tmp_path.name}.rows"


@pytest.fixture
def owner(rest_server: RestServer, table: str, tmp_path: Path) -> Iterator[Callable[..., Owner]]:
    """Makes tasks."""
    with ExitStack() as held:

        def made(*, number: int = 1, **options: str | None) -> Owner:
            told = {key.replace("_", "."): value for key, value in options.items()}
            given = {**rest_server.options, "warehouse": "", "table": table, **told}
            task = Owner(tmp_path, {key: value for key, value in given.items() if value is not None}, owner=(1, number))
            held.callback(task.task.close)
            return task

        yield made


def opened(rest_server: RestServer, table: str) -> Table:
    """As another program has the table."""
    with rest_server.client() as catalog:
        return catalog.load_table(table)


def read(rest_server: RestServer, table: str) -> list[dict[str, object]]:
    """The rows, as another program reads them."""
    try:
        rows: list[dict[str, object]] = opened(rest_server, table).scan().to_arrow().to_pylist()
    except NoSuchTableError:
        return []
    return sorted(rows, key=lambda each: str(each.get("offset", each.get("id"))).zfill(9))


def ids(rest_server: RestServer, table: str) -> list[object]:
    return [each["id"] for each in read(rest_server, table)]


@pytest.mark.slow
class TestRows(IcebergSuite):
    @pytest.fixture
    def case(self, rest_server: RestServer, table: str) -> SinkCase:
        options = {"table": table, **rest_server.options}
        return SinkCase(
            IcebergSink(),
            options,
            lambda: read(rest_server, table),
            row,
            ROW,
            settings=settings(),
            calls=("connectors.iceberg_sink.catalogs:exchange",),
        )


def test_an_owner_that_is_replaced_in_the_middle_of_a_write_adds_nothing(
    rest_server: RestServer, table: str, owner: Callable[..., Owner], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The claim changes no rows, and a catalogue compares nothing else of what it changes."""
    replace_in_the_middle(monkeypatch, owner, lambda: ids(rest_server, table))


@pytest.mark.parametrize("status", [504, 409, pytest.param(429, marks=pytest.mark.slow)])
def test_a_commit_whose_answer_is_an_error_is_no_double_and_no_loss(
    rest_server: RestServer, table: str, owner: Callable[..., Owner], status: int
) -> None:
    """409: something between has sent the commit twice; 429: Iceberg does so itself."""
    one = owner()
    one.start()
    one.write(0, 10)
    rest_server.lose_an_answer(status)
    try:
        one.write(10, 20)
    except RetriableError:
        one.write(10, 20)
    other = owner(number=2)
    assert other.start() == {"orders/broker-a/0": QueuePosition(20)}
    assert ids(rest_server, table) == list(range(20))
    data = [file for file in (rest_server.warehouse / table.replace(".", "/") / "data").iterdir() if file.suffix == ".parquet"]
    assert len(data) == 2


@pytest.mark.slow
@pytest.mark.parametrize("written", [False, True])
def test_a_commit_without_an_answer_is_no_double_and_no_loss(
    rest_server: RestServer, table: str, owner: Callable[..., Owner], monkeypatch: pytest.MonkeyPatch, written: bool
) -> None:
    lose_the_answer_of_a_commit(monkeypatch, owner, lambda: ids(rest_server, table), written=written)


@pytest.mark.slow
def test_a_server_that_is_killed_is_waited_for(rest_server: RestServer, table: str, owner: Callable[..., Owner]) -> None:
    one = owner()
    one.start()
    one.write(0, 10)
    rest_server.kill()
    with pytest.raises(SystemAway, match="the catalogue does not answer"):
        one.write(10, 20)
    rest_server.start()
    one.write(10, 20)
    assert ids(rest_server, table) == list(range(20))


@pytest.mark.slow
def test_what_others_append_meanwhile_stays(
    rest_server: RestServer, table: str, owner: Callable[..., Owner], monkeypatch: pytest.MonkeyPatch
) -> None:
    one = owner()
    one.start()
    one.write(0, 2)

    def appended() -> None:
        theirs = opened(rest_server, table)
        theirs.append(theirs.scan().to_arrow())

    in_front(monkeypatch, "exchange", appended)
    one.write(2, 4, schema=ONE)
    assert ids(rest_server, table) == [0, 0, 1, 1, 2, 3]


def test_what_is_wrong_with_a_catalogue_is_told(rest_server: RestServer, owner: Callable[..., Owner]) -> None:
    for options, kind, told in (
        ({"catalog_url": "http://127.0.0.1:9/x"}, SystemAway, r"http://127\.0\.0\.1:9/x: the catalogue does not answer: .*refused"),
        ({"catalog_password": reference("WRONG")}, PermanentError, r"is let in by nobody: .*who is that.*Set catalog\.user and"),
        (
            {"catalog_user": "", "catalog_password": None, "catalog_token": reference(GUEST)},
            PermanentError,
            "not allowed .*guests see",
        ),
        ({"catalog_warehouse": "other"}, PermanentError, r"catalog\.warehouse is no warehouse .*Unable to find warehouse other"),
    ):
        with pytest.raises(kind, match=told) as caught:
            owner(**options).start()
        assert SECRET not in str(caught.value)


def test_where_hosts_are_limited_java_asks_by_way_of_python(owner: Callable[..., Owner], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rest, "proxy", lambda: "http://127.0.0.1:9")
    with pytest.raises(SystemAway, match=r"the catalogue does not answer: .*127\.0\.0\.1:9\D.*refused"):
        owner().start()


def test_a_table_elsewhere_than_connectors_may_write_is_refused(
    rest_server: RestServer, owner: Callable[..., Owner], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    one = owner()
    one.start()
    one.write(0, 2)
    monkeypatch.setenv(WRITE_ROOTS, str(tmp_path))
    with pytest.raises(PermanentError, match="is not where this executor lets connectors write files"):
        owner(number=2).start()
