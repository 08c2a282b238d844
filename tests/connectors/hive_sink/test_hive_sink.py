"""With a metastore of Hive 2.3."""

import socket
import threading
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import pytest

from connectors.hive import thrift
from connectors.hive.metastore import HiveTable, Metastore
from connectors.hive.thrift import BOOL, STRUCT, Value
from connectors.hive_sink import HiveSink
from rocketconnect_sdk.conformance.runs import QUEUE
from rocketconnect_sdk.errors import PermanentError, RecordRefused, RetriableError, SystemAway
from rocketconnect_sdk.evolution import OtherColumns
from rocketconnect_sdk.record import SinkBatch
from rocketconnect_sdk.schema import Schema, Type, decimal, struct, timestamp
from tests import free_ports
from tests.connectors.hive_sink.spark_reader import spark
from tests.connectors.hive_sink.table import Table, columns_of, location_of
from tests.connectors.object_store_sink.run import Run
from tests.servers.hive_metastore import HiveMetastore

pytestmark = pytest.mark.spark
ORDER = struct([("Id", Schema(Type.INT64)), ("country", Schema(Type.STRING, optional=True))])
WIDER = struct([("id", Schema(Type.INT64)), ("country", Schema(Type.STRING, optional=True)), ("total", decimal(2, optional=True))])
BY_COUNTRY = {"partition.path": "country={field:country}"}
_TIME = 1_751_500_000_000


def batch(values: list[dict[str, object]], schema: Schema = ORDER, *, begin: int = 0, queue: str = QUEUE) -> SinkBatch:
    offsets = range(begin, begin + len(values))
    return SinkBatch(queue, "orders", values, offsets, timestamps_ms=[_TIME + each for each in offsets], schema=schema)


def write(run: Run, values: list[dict[str, object]], schema: Schema = ORDER, queue: str = QUEUE) -> None:
    begin = run.positions[queue].until if queue in run.positions else 0
    run.write(begin + len(values), queue, batch(values, schema, begin=begin, queue=queue))


@pytest.mark.slow
def test_spark_reads_a_table_that_was_made_with_all_of_its_types_and_partitions(
    table: Table, metastore: HiveMetastore, tmp_path: Path
) -> None:
    schema = struct(
        [
            ("Id", Schema(Type.UINT32)),
            ("day", Schema(Type.DATE)),
            ("at", timestamp()),
            ("shown", timestamp(zone=False)),
            ("total", decimal(2, precision=12)),
            ("raw", Schema(Type.BYTES)),
            ("ok", Schema(Type.BOOLEAN)),
            ("parts", struct([("A", Schema(Type.INT32)), ("b", Schema(Type.ARRAY, items=Schema(Type.STRING)))])),
        ]
    )
    at = datetime(2026, 7, 1, 12, 30, 0, 123456, UTC)
    first = {
        "Id": 4_000_000_000,
        "day": date(2026, 7, 1),
        "at": at,
        "shown": at.replace(tzinfo=None),
        "total": Decimal("12.50"),
        "raw": b"\x00\xff",
        "ok": True,
        "parts": {"A": 7, "b": ["x", "y"]},
    }
    run = table.opened({"partition.path": "day={field:day}/hour={yyyy}-{MM}-{dd}-{HH}"}).start()
    write(run, [first, first | {"Id": 1, "day": date(2026, 7, 2)}], schema)
    rows, partitions, filtered, added = spark(
        metastore.uri,
        tmp_path,
        f"SELECT id, CAST(at AS STRING), CAST(shown AS STRING), total, hex(raw), ok, parts.a, parts.b, CAST(day AS STRING), hour "
        f"FROM {table.name} ORDER BY id",
        f"SHOW PARTITIONS {table.name}",
        f"SELECT id FROM {table.name} WHERE day = DATE'2026-07-02'",
        f"INSERT INTO {table.name} PARTITION (day = '2026-07-03', hour = 'x') "
        f"SELECT 5, at, shown, total, raw, ok, parts FROM {table.name} LIMIT 1",
    )
    told = ["2026-07-01 12:30:00.123456", "2026-07-01 12:30:00.123456", "12.50", "00FF", True, 7, ["x", "y"]]
    assert rows == [[1, *told, "2026-07-02", "2025-07-02-23"], [4_000_000_000, *told, "2026-07-01", "2025-07-02-23"]]
    assert partitions == [["day=2026-07-01/hour=2025-07-02-23"], ["day=2026-07-02/hour=2025-07-02-23"]]
    assert filtered == [[1]]
    assert added == []
    assert len(table.rows()) == 3


@pytest.mark.slow
def test_a_table_that_spark_has_made_gets_rows_partitions_and_columns(
    table: Table, metastore: HiveMetastore, tmp_path: Path
) -> None:
    place = f"LOCATION 'file:{table.folder}'"
    table.options()
    spark(
        metastore.uri,
        tmp_path,
        f"CREATE EXTERNAL TABLE {table.name} (id BIGINT) PARTITIONED BY (country STRING) STORED AS PARQUET {place}",
        f"INSERT INTO {table.name} PARTITION (country = 'ch') VALUES (1)",
    )
    write(table.opened(BY_COUNTRY).start(), [{"id": 2, "country": "ch", "total": Decimal("1.50")}], WIDER)
    (rows,) = spark(metastore.uri, tmp_path, f"SELECT id, total, country FROM {table.name} ORDER BY id")
    assert rows == [[1, None, "ch"], [2, "1.50", "ch"]]


def test_values_of_all_kinds_have_the_folders_that_hive_itself_would_give_them(table: Table) -> None:
    countries = ["a/b", "x=1", "50%", "ü ñ", "%41", "a:b'c\"d", "{e}[f]^", None, " .", "_y"]
    run = table.opened(BY_COUNTRY).start()
    write(run, [{"Id": number, "country": country} for number, country in enumerate(countries)])
    found = {row["id"]: row["country"] for row in table.rows()}
    assert found == {number: country or "__HIVE_DEFAULT_PARTITION__" for number, country in enumerate(countries)}
    folders = sorted(location_of(each).removeprefix(f"file:{table.folder}/") for each in table.partitions())
    assert folders == table.partition_names()


def test_a_text_that_hive_has_as_null_where_it_is_a_partition_is_a_bad_record(table: Table) -> None:
    run = table.opened(BY_COUNTRY).start()
    values: list[dict[str, object]] = [
        {"Id": number, "country": country} for number, country in enumerate(["ch", "", "__HIVE_DEFAULT_PARTITION__", None])
    ]
    with pytest.raises(RecordRefused, match="the field country is '', which is null where Hive has it as a partition") as refused:
        write(run, values)
    assert list(refused.value.refused) == [1, 2]


def test_a_partition_is_told_when_its_files_are_there_and_told_again_when_somebody_dropped_it(table: Table) -> None:
    run = table.opened(BY_COUNTRY).start()
    write(run, [{"Id": 1, "country": "ch"}])
    assert table.partition_names() == ["country=ch"]
    table.asked("drop_partition_by_name", thrift.text("country=ch"), Value(BOOL, False))
    assert table.partition_names() == []
    write(run, [{"Id": 2, "country": "ch"}])
    assert [row["id"] for row in table.rows()] == [1, 2]


def test_new_fields_become_columns_of_the_table_and_of_the_partitions_that_are_there(table: Table) -> None:
    run = table.opened(BY_COUNTRY).start()
    write(run, [{"Id": 1, "country": "ch"}])
    write(run, [{"id": 2, "country": "ch", "total": Decimal("1.50")}], WIDER)
    write(run, [{"Id": 3, "country": "fr"}])
    assert table.found().columns == [("id", "bigint"), ("total", "decimal(38,2)")]
    assert [columns_of(each) for each in table.partitions()] == [["id", "total"]] * 2
    rows = table.rows()
    assert [(row["id"], row.get("total")) for row in rows] == [(1, None), (2, Decimal("1.50")), (3, None)]


def test_of_two_changes_of_a_table_at_once_the_later_one_is_made_anew(table: Table) -> None:
    write(table.opened().start(), [{"Id": 1, "country": "ch"}])
    before = table.found()
    assert table.metastore.alter(before, [*before.columns, ("a", "int")])
    assert not table.metastore.alter(before, [*before.columns, ("b", "int")])
    assert [name for name, _ in table.found().columns] == ["id", "country", "a"]


def test_tasks_that_add_columns_at_the_same_time_lose_none(table: Table) -> None:
    runs = [table.opened(task=number).start() for number in range(3)]
    write(runs[0], [{"Id": 0, "country": "ch"}])

    def add(number: int) -> None:
        schema = struct([("id", Schema(Type.INT64)), (f"extra{number}", Schema(Type.INT32))])
        write(runs[number], [{"id": number, f"extra{number}": 7}], schema, f"orders/broker-a/{number + 1}")

    threads = [threading.Thread(target=add, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {name for name, _ in table.found().columns} == {"id", "country", "extra0", "extra1", "extra2"}
    assert sorted(row["id"] for row in table.rows()) == [0, 0, 1, 2]


def test_the_policy_says_what_becomes_of_other_columns(table: Table) -> None:
    write(table.opened().start(), [{"Id": 1, "country": "ch"}])
    wider: list[dict[str, object]] = [{"id": 2, "country": "ch", "total": Decimal(1)}]
    left = table.opened({"schema.evolution": "ignore"}, epoch=2).start()
    write(left, wider, WIDER)
    with pytest.raises(OtherColumns, match=f"default.{table.name}: .*total .* is no column"):
        write(table.opened({"schema.evolution": "fail"}, epoch=3).start(), wider, WIDER)
    dead = {"schema.evolution": "dead_letter"}
    with pytest.raises(RecordRefused, match="total"):
        write(table.opened(dead, epoch=4).start(), wider, WIDER)
    assert table.found().columns == [("id", "bigint"), ("country", "string")]
    assert [row["id"] for row in table.rows()] == [1, 2]


def test_a_value_that_does_not_fit_is_refused_alone(table: Table) -> None:
    run = table.opened().start()
    write(run, [{"Id": 1, "country": "ch"}])
    texts = struct([("id", decimal(0)), ("country", Schema(Type.STRING, optional=True))])
    values: list[dict[str, object]] = [{"id": Decimal(2), "country": "a"}, {"id": Decimal(1 << 70), "country": "b"}]
    with pytest.raises(RecordRefused, match="id 1180591620717411303424 has no place") as refused:
        run.stage(batch(values, texts, begin=1))
    assert list(refused.value.refused) == [1]


def test_json_without_a_schema_has_the_given_columns(table: Table) -> None:
    run = table.opened({"columns": "Id:int64,country", **BY_COUNTRY}).start()
    values = ['{"Id": 1, "country": "ch", "more": 2}', '{"country": "fr"}']
    run.write(2, batch=SinkBatch(QUEUE, "orders", values, range(2)))
    assert table.rows() == [{"country": "ch", "id": 1}, {"country": "fr", "id": None}]


@pytest.mark.slow
def test_a_metastore_that_is_away_is_waited_for_and_the_batch_is_there_once(table: Table, metastore: HiveMetastore) -> None:
    run = table.opened(BY_COUNTRY).start()
    write(run, [{"Id": 1, "country": "ch"}])
    commit = run.commit_of(2)
    receipt = run.stage(batch([{"Id": 2, "country": "fr"}], begin=1))
    metastore.kill()
    try:
        with pytest.raises(SystemAway, match="does not answer"):
            run.task.commit([receipt], commit)
    finally:
        metastore.start()
    assert [row["id"] for row in table.rows()] == [1]
    run.task.commit([receipt], commit)
    assert [row["id"] for row in table.rows()] == [1, 2]


def test_the_next_owner_tells_the_metastore_what_the_one_before_could_not(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    run = table.opened(BY_COUNTRY).start()
    write(run, [{"Id": 1, "country": "ch"}])
    with monkeypatch.context() as patched:

        def away(*_: object) -> None:
            msg = "away"
            raise SystemAway(msg)

        patched.setattr(Metastore, "add_partitions", away)
        with pytest.raises(SystemAway):
            write(run, [{"Id": 2, "country": "fr"}])
    assert table.partition_names() == ["country=ch"]
    table.opened(BY_COUNTRY, epoch=2).start()
    assert [row["id"] for row in table.rows()] == [1, 2]


def test_a_connector_that_is_deleted_leaves_every_partition_known(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    run = table.opened(BY_COUNTRY).start()
    with monkeypatch.context() as patched:

        def away(*_: object) -> None:
            msg = "away"
            raise SystemAway(msg)

        patched.setattr(Metastore, "add_partitions", away)
        with pytest.raises(SystemAway):
            write(run, [{"Id": 1, "country": "ch"}])
    HiveSink().deleted(table.config(BY_COUNTRY), "uid")
    assert [row["id"] for row in table.rows()] == [1]


def test_a_table_that_was_dropped_is_made_anew_and_what_was_on_its_way_is_told(
    table: Table, caplog: pytest.LogCaptureFixture
) -> None:
    run = table.opened(BY_COUNTRY).start()
    commit, receipt = run.commit_of(1), run.stage(batch([{"Id": 1, "country": "ch"}]))
    table.call("drop_table", thrift.text("default"), thrift.text(table.name), Value(BOOL, False))
    run.task.commit([receipt], commit)
    run.positions |= commit.after
    assert "the table is gone; let MSCK REPAIR TABLE find" in caplog.text
    write(run, [{"Id": 2, "country": "fr"}])
    assert [row["id"] for row in table.rows()] == [2]
    write(run, [{"Id": 3, "country": "ch"}])
    assert sorted(row["id"] for row in table.rows()) == [1, 2, 3]


def test_a_partition_that_is_elsewhere_is_told(table: Table, tmp_path: Path) -> None:
    run = table.opened(BY_COUNTRY).start()
    write(run, [{"Id": 1, "country": "ch"}])
    (partition,) = table.partitions()
    storage = thrift.struct_in(partition, 6) | {2: thrift.text(f"file:{tmp_path}/elsewhere")}
    moved = {**partition, 6: Value(STRUCT, storage)}
    table.call("alter_partition", thrift.text("default"), thrift.text(table.name), Value(STRUCT, moved))
    with pytest.raises(PermanentError, match=r"the partition country=ch is in file:.*elsewhere"):
        write(run, [{"Id": 2, "country": "ch"}])


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"partition.path": "dt={yyyy}"}, "partition.path has dt, and the table .* is partitioned by country"),
        (
            {"partition.path": "country={field:country}", "url": "file:///tmp/other"},
            "url is file:///tmp/other, and the table .* is in",
        ),
    ],
)
def test_a_table_that_is_another_one_is_told_before_anything_is_claimed(table: Table, options: dict[str, str], reason: str) -> None:
    write(table.opened(BY_COUNTRY).start(), [{"Id": 1, "country": "ch"}])
    with pytest.raises(PermanentError, match=reason):
        table.opened(options, epoch=2).start()
    problems = list(HiveSink().check(table.config(options)))
    assert [each.key for each in problems if not each.is_warning] == [reason.partition(" ")[0]]


def test_tables_that_hive_writes_itself_are_told(table: Table) -> None:
    write(table.opened().start(), [{"Id": 1, "country": "ch"}])
    landing = table.opened(epoch=2).task._landing  # type: ignore[attr-defined]
    found = table.found()

    def with_parameters(**more: str) -> str:
        changed = type(found)({**found.raw, 9: thrift.pairs(found.parameters | more)})
        return str(landing.problem(changed)[1])

    assert "is transactional" in with_parameters(transactional="true")
    assert "is one of Iceberg" in with_parameters(table_type="ICEBERG")
    view = type(found)({**found.raw, 12: thrift.text("VIRTUAL_VIEW")})
    assert "is a VIRTUAL_VIEW" in landing.problem(view)[1]


def test_a_database_that_is_missing_is_told_and_a_metastore_that_is_away_is_a_warning(table: Table) -> None:
    (problem,) = HiveSink().check(table.config({"table": "shop.orders"}))
    assert (problem.key, problem.is_warning) == ("table", False)
    assert "CREATE DATABASE shop" in problem.fix
    (problem,) = HiveSink().check(table.config({"metastore": f"thrift://127.0.0.1:{free_ports.choose()}"}))
    assert (problem.key, problem.is_warning) == ("metastore", True)


def test_rows_that_do_not_fit_the_table_are_told_before_they_come(table: Table) -> None:
    write(table.opened().start(), [{"Id": 1, "country": "ch"}])
    other = struct([("id", Schema(Type.STRING)), ("country", Schema(Type.STRING))])
    config = table.config({"schema.evolution": "fail"})
    problems = list(HiveSink().check_rows(config, {"orders": other}))
    assert any("id is string, and the column is int64" in each.reason for each in problems)


def test_what_answers_but_speaks_no_thrift_is_told() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(1 << 16)
                connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        thread = threading.Thread(target=answer)
        thread.start()
        with pytest.raises(SystemAway, match="none of Thrift's binary protocol"):
            Metastore([("127.0.0.1", server.getsockname()[1])], 5).table("default", "x")
        thread.join()


def test_another_address_is_asked_where_one_does_not_answer(table: Table) -> None:
    both = table.opened({"metastore": f"thrift://127.0.0.1:{free_ports.choose()},{table.uri}"}).start()
    write(both, [{"Id": 1, "country": "ch"}])
    assert [row["id"] for row in table.rows()] == [1]


def test_a_call_that_a_metastore_does_not_know_is_told(table: Table) -> None:
    with pytest.raises(PermanentError, match="has no make_coffee"):
        table.metastore._call("make_coffee", {})


def test_a_metastore_that_fails_is_asked_again(table: Table) -> None:
    write(table.opened().start(), [{"Id": 1, "country": "ch"}])
    gone = HiveTable(table.found().raw | {1: thrift.text("another")})
    with pytest.raises(RetriableError, match="the metastore failed"):
        table.metastore.partitions(gone, ["country=ch"])
