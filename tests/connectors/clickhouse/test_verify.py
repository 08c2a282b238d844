"""Tables of a source are compared with those of ClickHouse."""

from pathlib import Path

import pytest

from connectors.clickhouse.client import Client
from connectors.clickhouse.endpoint import Endpoint
from connectors.clickhouse.reader import ClickHouseReader
from connectors.clickhouse.sink import ClickHouseSink
from connectors.clickhouse.types import column_of
from connectors.mysql_cdc_source import MysqlCdcSource
from rocketconnect_sdk.columns.compact import Column
from rocketconnect_sdk.configuration.connector_options import parse_source
from rocketconnect_sdk.conformance.runs import QUEUE
from rocketconnect_sdk.errors import RecordRefused
from rocketconnect_sdk.http import HttpClient
from rocketconnect_sdk.record import SinkBatch
from rocketconnect_sdk.schema import Schema, Type, struct
from rocketconnect_sdk.tables import verification
from services.executor.contract.questions import NamedConnector, VerifyConnector
from services.executor.host.jobs.verification import verify
from services.executor.secrets.resolving import resolve
from tests.connectors.clickhouse.run import opened
from tests.connectors.mysql_cdc_source import capturing
from tests.connectors.mysql_cdc_source.binlog.reading import Database
from tests.connectors.verified import LINE, Shop, goes_on_behind_the_key_at_which_it_ended, line, says_what_cannot_be_compared
from tests.servers.clickhouse import ClickHouse
from tests.servers.mariadb import PASSWORD, Mariadb
from tests.services.executor.host.jobs.test_verification import EDGES, EVERYTHING, FULL, NULLS

REPLACING = {"delivery": "at_least_once", "table.engine": "ReplacingMergeTree", "table.order.by": "id"}


@pytest.fixture
def options(clickhouse: ClickHouse) -> dict[str, str]:
    return clickhouse.options() | {"table": "rows", "table.create": "true"}


@pytest.fixture
def shop(tmp_path: Path, options: dict[str, str]) -> Shop:
    return Shop(tmp_path, ClickHouseSink, options | REPLACING)


def test_rows_that_were_replaced_do_not_count_and_what_is_sent_again_is_equal(options: dict[str, str], shop: Shop) -> None:
    shop.fill(1300)
    run = opened(options | REPLACING).start()
    run.write_values([line(number) | {"name": "old"} for number in range(1300) if number != 700], LINE)
    run.write_values([line(number) for number in range(1300) if number != 700], LINE)
    assert shop.differences() == [("[700]", "MISSING", "")]
    run.write_values([{"id": -1, "name": "x", "price": 1.0}, {"id": 9, "name": None, "price": 1.5}], LINE)
    told = [("[-1]", "EXTRA", ""), ("[9]", "DIFFERENT", "name, price"), ("[700]", "MISSING", "")]
    assert shop.differences() == told
    assert shop.differences("[-1]", "[9]", "[10]", "[700]", "[701]") == told
    run.write_values([line(9), line(700)], LINE)
    assert shop.differences() == told[:1]
    # The row that is too many stays: what deletes it is no record of this sink.
    row_schema = struct([(field.name, field.schema) for field in LINE.fields], optional=True)
    envelope = struct([("op", Schema(Type.STRING)), ("before", row_schema), ("after", row_schema)])
    gone = {"op": "d", "before": {"id": -1, "name": "x", "price": 1.0}, "after": None}
    with pytest.raises(RecordRefused, match="never deleted by this sink"):
        run.stage(SinkBatch(QUEUE, "orders", [gone], range(1), schema=envelope))


def test_each_record_that_is_a_row_of_its_own_is_one_too_many(
    options: dict[str, str], shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wherever a page ends: rows of one key are never on two."""
    monkeypatch.setattr(verification, "_FIRST", 4)
    monkeypatch.setattr(verification, "_MOST", 4)
    shop.fill(12)
    run = opened(options).start()
    for _ in range(2):
        run.write_values([line(number) for number in range(12)], LINE)
    run.write_values([line(5)] * 10, LINE)
    again = "there is more than one row of this key"
    wanted = [(f"[{number}]", "EXTRA", again) for number in range(12) for _ in range(11 if number == 5 else 1)]
    assert shop.differences() == wanted


def test_a_comparison_goes_on_behind_the_key_at_which_it_ended(
    options: dict[str, str], shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Keys are of two columns, one of them a text, in the order of its bytes."""
    monkeypatch.setattr(verification, "_FIRST", 7)
    monkeypatch.setattr(verification, "_MOST", 7)
    assert goes_on_behind_the_key_at_which_it_ended(shop, opened(options | REPLACING | {"table.order.by": "number, town"}))


def test_what_cannot_be_compared_is_said(options: dict[str, str], shop: Shop) -> None:
    says_what_cannot_be_compared(shop, opened(options))


def test_names_may_be_anything(options: dict[str, str], shop: Shop) -> None:
    odd = 'a`b \\ "c'
    quoted = odd.replace('"', '""')
    shop.run(f'CREATE TABLE orders ("{quoted}" INTEGER PRIMARY KEY, "from" TEXT)')
    shop.run("INSERT INTO orders VALUES (1, 'x'), (2, 'y')")
    named = options | {"table": "the `rows`", "delivery": "at_least_once"}
    schema = struct([(odd, Schema(Type.INT64)), ("from", Schema(Type.STRING))])
    opened(named).start().write_values([{odd: 1, "from": "x"}, {odd: 2, "from": "z"}], schema)
    assert shop.differences(target="the `rows`") == [("[2]", "DIFFERENT", "from")]


@pytest.mark.parametrize(
    ("kind", "value", "said"),
    [
        ("Int64", -5, "(-5)"),
        ("UInt256", 10**70, f"CAST('{10**70}' AS UInt256)"),
        ("Date", "2024-02-29", "CAST('2024-02-29' AS Date)"),
        ("DateTime64(3)", "1970-01-01T00:00:00.000007", "fromUnixTimestamp64Micro(toInt64(7), 'UTC')"),
        ("String", "it's \\", r"'it\'s \\'"),
        ("UUID", "0-0", "'0-0'"),
    ],
)
def test_a_value_of_a_key_is_written_as_its_column_has_it(kind: str, value: int | str, said: str) -> None:
    assert reader((20, 5)).literal(value, column_of("c", kind)) == said


def test_where_times_are_whole_seconds_those_of_keys_are_the_last_before() -> None:
    column = column_of("c", "DateTime")
    assert reader((18, 16)).literal("1970-01-01T00:00:02.999999", column) == "toDateTime(2, 'UTC')"


@pytest.mark.parametrize("kind", ["UUID", "Enum8('b' = 1, 'a' = 2)", "LowCardinality(String)", "String"])
def test_what_has_an_order_of_its_own_is_ordered_as_text(kind: str) -> None:
    is_text = kind in ("String", "LowCardinality(String)")
    assert reader((20, 5)).ordered(column_of("c`", kind)) == ("`c\\``" if is_text else "toString(`c\\``)")


def reader(version: tuple[int, int]) -> ClickHouseReader:
    client = Client(Endpoint("", ""), HttpClient(["http://h"]), "")
    client._version = version
    return ClickHouseReader(client)


def test_rows_that_a_column_says_are_deleted_do_not_count(new_clickhouse: ClickHouse, database: str, tmp_path: Path) -> None:
    server = new_clickhouse.with_database(database)
    engine = "ReplacingMergeTree(version, is_deleted) ORDER BY id"
    server.run(f"CREATE TABLE rows (id Int64, tags Array(String), version UInt32, is_deleted UInt8) ENGINE = {engine}")
    server.run("INSERT INTO rows VALUES (1, ['a'], 1, 0), (2, [], 1, 0)", "INSERT INTO rows VALUES (2, [], 2, 1)")
    shop = Shop(tmp_path, ClickHouseSink, server.options() | {"table": "rows", "delivery": "at_least_once"})
    shop.run("CREATE TABLE orders (id INTEGER PRIMARY KEY)")
    shop.run("INSERT INTO orders VALUES (1), (2)")
    found = shop.verified()
    assert [(each.key, each.kind) for each in found.differences] == [("[2]", "MISSING")]
    assert found.tables[0].left_out == [f"{name}: not in orders" for name in ("tags", "version", "is_deleted")]


@pytest.mark.slow
@pytest.mark.mariadb
def test_rows_of_every_type_of_mariadb_are_equal_or_refused(
    mariadb: Mariadb, clickhouse: ClickHouse, options: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """And a value that became null is another one."""
    monkeypatch.setenv("MARIADB_PASSWORD", PASSWORD)
    with Database(mariadb) as made:
        columns = ", ".join(f"{name} {kind}" for name, kind in EVERYTHING.items())
        made.run(f"CREATE TABLE t ({columns})", *(f"INSERT INTO t VALUES ({each})" for each in (FULL, NULLS, EDGES)))
        name = f"{made.name}.t"
        given = capturing.options(made, table_topic="orders", snapshot_mode="initial")
        source = NamedConnector("shop", {"connector.class": "mysql_cdc_source", "topic": "orders", **given})
        config = {"connector.class": "clickhouse_sink", "topics": "orders", **options, **REPLACING}
        run = opened(options | REPLACING).start()
        tables = MysqlCdcSource().tables(resolve(parse_source(MysqlCdcSource(), source.config)))
        assert tables is not None
        with tables.open(name) as rows:
            (read,) = rows.behind(None, ["id"])
            whole = Column(read.values)
            refused = run.refused(whole, rows.columns)
        assert list(refused) == [2]
        order = VerifyConnector(source, [NamedConnector("copy", config)], {}, [], "", 60.0)
        found = verify(order)
        assert (found.problems, found.trouble) == ([], "")
        # An old server shows bytes that are no text as other ones.
        other = [] if clickhouse.run("SELECT version()")[0][0] > "20" else [("[1]", "DIFFERENT")]
        assert [(each.key, each.kind) for each in found.differences] == [*other, ("[18446744073709551615]", "REFUSED")]
        made.run(*(f"UPDATE t SET {each} = NULL WHERE id = 1" for each in list(EVERYTHING)[1:]))
        (changed, _) = verify(order).differences
        assert (changed.key, changed.kind, changed.about) == ("[1]", "DIFFERENT", ", ".join(list(EVERYTHING)[1:]))
        assert changed.condition
