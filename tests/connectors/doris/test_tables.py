"""Tables that are made, changed and found, and what their columns take."""

from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest

from connectors.doris.types import column_type, parts, schema_of
from rocketconnect_sdk.conformance.runs import QUEUE
from rocketconnect_sdk.errors import PermanentError, RecordRefused
from rocketconnect_sdk.record import SinkBatch
from rocketconnect_sdk.schema import Schema, Type, Unit, decimal, struct, timestamp
from tests.connectors.doris.run import opened
from tests.servers.doris import Doris

INT, TEXT = Schema(Type.INT32), Schema(Type.STRING, optional=True)
ALL = struct(
    [
        ("flag", Schema(Type.BOOLEAN)),
        ("small", Schema(Type.INT8)),
        ("big", Schema(Type.INT64)),
        ("byte", Schema(Type.UINT8)),
        ("huge", Schema(Type.UINT64)),
        ("real", Schema(Type.FLOAT64)),
        ("price", decimal(4, precision=38)),
        ("name", Schema(Type.STRING)),
        ("data", Schema(Type.BYTES)),
        ("day", Schema(Type.DATE)),
        ("at", timestamp(Unit.MICROSECONDS)),
        ("wall", timestamp(Unit.MILLISECONDS, zone=False)),
        ("clock", Schema(Type.TIME, unit=Unit.MILLISECONDS)),
        ("id", Schema(Type.UUID)),
        ("tags", Schema(Type.ARRAY, items=INT)),
        ("part", struct([("x", INT)])),
        ("nothing", TEXT),
    ]
)
VALUES = {
    "flag": True,
    "small": -7,
    "big": -(1 << 63),
    "byte": 255,
    "huge": (1 << 64) - 1,
    "real": 0.1,
    "price": Decimal("1234567890123456789012345678901234.5678"),
    "name": 'it\'s \\ "ü"\n',
    "data": "bytes ü".encode(),
    "day": date(2026, 2, 3),
    "at": datetime(2026, 2, 3, 4, 5, 6, 789012, tzinfo=UTC),
    "wall": datetime(2026, 2, 3, 4, 5, 6, 789000),  # noqa: DTZ001 - of no zone
    "clock": time(4, 5, 6, 789000),
    "id": UUID(int=5),
    "tags": [1, 2],
    "part": {"x": 1},
    "nothing": None,
}


def refusals(doris: Doris, options: dict[str, str], values: list[object], schema: Schema | None) -> dict[int, str]:
    """By index what was said of values that were refused."""
    del doris
    run = opened(options)
    try:
        run.stage(SinkBatch(QUEUE, "orders", values, range(len(values)), schema=schema))
    except RecordRefused as error:
        return dict(error.refused)
    return {}


def test_every_type_has_a_column_that_has_its_values(doris: Doris, options: dict[str, str]) -> None:
    opened(options).start().write_values([VALUES], ALL)
    kinds = {name: kind for name, (kind, _) in doris.tables["shop", "rows"].columns.items()}
    assert kinds == {
        "flag": "boolean",
        "small": "tinyint",
        "big": "bigint",
        "byte": "smallint",
        "huge": "largeint",
        "real": "double",
        "price": "decimal(38, 4)",
        **dict.fromkeys(("name", "data", "clock", "id", "tags", "part", "nothing"), "string"),
        "day": "date",
        "at": "datetime(6)",
        "wall": "datetime(3)",
    }
    (found,) = doris.run("SELECT * FROM shop.rows")
    assert dict(zip(VALUES, found, strict=True)) == {
        "flag": 1,
        "small": -7,
        "big": -(1 << 63),
        "byte": 255,
        "huge": str((1 << 64) - 1),
        "real": 0.1,
        "price": "1234567890123456789012345678901234.5678",
        "name": 'it\'s \\ "ü"\n',
        "data": "bytes ü",
        "day": "2026-02-03",
        "at": "2026-02-03 04:05:06.789012",
        "wall": "2026-02-03 04:05:06.789",
        "clock": "04:05:06.789",
        "id": str(UUID(int=5)),
        "tags": "[1,2]",
        "part": '{"x":1}',
        "nothing": None,
    }


@pytest.mark.parametrize(
    ("kind", "schema"),
    [
        ("int(11)", Schema(Type.INT32)),
        ("tinyint(1)", Schema(Type.BOOLEAN)),
        ("tinyint(4)", Schema(Type.INT8)),
        ("decimalv3(10, 2)", decimal(2, precision=10)),
        ("decimal(9,0)", decimal(0, precision=9)),
        ("datetime", timestamp(Unit.MILLISECONDS)),
        ("datetimev2(6)", timestamp(Unit.MICROSECONDS)),
        ("datev2", Schema(Type.DATE)),
        ("varchar(65533)", Schema(Type.STRING)),
        ("array<int(11)>", Schema(Type.STRING)),
        ("variant", Schema(Type.JSON)),
        ("LARGEINT", decimal(0)),
    ],
)
def test_types_are_understood_as_versions_write_them(kind: str, schema: Schema) -> None:
    assert schema_of(kind) == schema


def test_a_text_of_a_key_has_a_width_and_no_limit_elsewhere() -> None:
    assert (column_type(TEXT), column_type(TEXT, key=True)) == ("STRING", "VARCHAR(1024)")
    assert column_type(timestamp(Unit.NANOSECONDS)) == "STRING"
    assert parts("DECIMAL(10, 2)") == ("decimal", [10, 2])


def test_values_that_do_not_fit_are_bad_records_and_the_others_are_written(doris: Doris, options: dict[str, str]) -> None:
    columns = "`id` INT NOT NULL, `short` VARCHAR(4) NULL, `at` DATETIME NULL, `real` DOUBLE NULL"
    doris.run(f"CREATE TABLE IF NOT EXISTS `shop`.`rows` ({columns}) DUPLICATE KEY (`id`) DISTRIBUTED BY RANDOM BUCKETS AUTO")
    schema = struct([("id", Schema(Type.INT64)), ("short", TEXT), ("at", timestamp(optional=True)), ("real", Schema(Type.FLOAT64))])
    good = {"id": 1, "short": "four", "at": datetime(2026, 1, 1, tzinfo=UTC), "real": 0.5}
    values: list[object] = [
        good,
        good | {"id": 1 << 40},
        good | {"short": "fünf"},
        good | {"at": datetime(2026, 1, 1, microsecond=5, tzinfo=UTC)},
        good | {"real": float("nan")},
        good,
    ]
    options = options | {"schema.evolution": "ignore"}
    said = refusals(doris, options, values, schema)
    assert sorted(said) == [1, 2, 3, 4]
    assert "short fünf is longer than the 4 bytes of its column" in said[2]
    assert "has no place in a column of timestamp(ms)" in said[3]
    assert "real nan is no finite number" in said[4]
    run = opened(options).start()
    with pytest.raises(RecordRefused) as told:
        run.stage(SinkBatch(QUEUE, "orders", values, range(6), schema=schema))
    run.task.commit([told.value.receipt], run.commit_of(6))
    assert doris.run("SELECT id, short, at, real FROM shop.rows") == [(1, "four", "2026-01-01 00:00:00", 0.5)] * 2


def test_bytes_that_are_no_text_are_a_bad_record(doris: Doris, options: dict[str, str]) -> None:
    said = refusals(doris, options, [{"data": b"\xff"}, {"data": b"ok"}], struct([("data", Schema(Type.BYTES))]))
    assert list(said) == [0]
    assert "is no text in UTF-8" in said[0]


def test_objects_without_a_schema_are_rows_of_the_table(doris: Doris, options: dict[str, str]) -> None:
    columns = "`id` INT NOT NULL, `name` STRING NULL, `day` DATE NULL"
    doris.run(f"CREATE TABLE IF NOT EXISTS `shop`.`rows` ({columns}) DUPLICATE KEY (`id`) DISTRIBUTED BY RANDOM BUCKETS AUTO")
    run = opened(options).start()
    run.write_values(['{"id": 1, "name": "a", "other": 5}', '{"id": 2, "day": "2026-01-02"}'], None)
    assert doris.run("SELECT * FROM shop.rows") == [(1, "a", None), (2, None, "2026-01-02")]
    assert sorted(refusals(doris, options, ["[1]", '{"name": "a"}', '{"id": 3}', None], None)) == [0, 1, 3]
    run = opened(options | {"columns": "id:int32, name:string"}, epoch=2).start()
    run.write_values([{"id": 4, "name": "c", "day": "2026-01-02"}], None)
    assert doris.run("SELECT * FROM shop.rows WHERE id = 4") == [(4, "c", None)]


def test_a_batch_whose_records_get_a_column_is_one_load(doris: Doris, options: dict[str, str]) -> None:
    run = opened(options | {"schema.evolution": "evolve"}).start()
    parts = []
    for begin, (values, schema) in enumerate(
        [([{"id": 1}], struct([("id", INT)])), ([{"id": 2, "b": 5}], struct([("id", INT), ("b", INT)]))]
    ):
        parts.append(run.stage(SinkBatch(QUEUE, "orders", values, range(begin, begin + 1), schema=schema)))
    run.task.commit(parts, run.commit_of(2))
    assert doris.states() == ["VISIBLE"]
    assert doris.run("SELECT * FROM shop.rows ORDER BY id") == [(1, None), (2, 5)]


def test_properties_are_those_of_all_tables_that_are_made(doris: Doris, options: dict[str, str]) -> None:
    statements: list[str] = []
    real = doris.statement

    def seen(statement: str) -> tuple[list[str], list[tuple[Any, ...]]]:
        statements.append(statement)
        return real(statement)

    doris.statement = seen  # type: ignore[method-assign]
    opened(options | {"table.properties": '"replication_num" = "1"'}).start().write(3)
    made = [each for each in statements if each.startswith("CREATE")]
    assert [each.rpartition(" PROPERTIES ")[2] for each in made] == [
        '("function_column.sequence_col" = "number", "replication_num" = "1")',
        '("enable_duplicate_without_keys_by_default" = "true", "replication_num" = "1")',
    ]


def test_what_only_the_server_refuses_stops_the_task_and_says_where_to_look(doris: Doris, options: dict[str, str]) -> None:
    columns = "`id` INT NOT NULL, `must` INT NOT NULL"
    run = opened(options).start()
    receipt = run.stage(run.batch(1))
    doris.tables["shop", "rows"].columns["text"] = ("int", True)
    doris.run(f"CREATE TABLE IF NOT EXISTS `shop`.`x` ({columns}) DUPLICATE KEY (`id`) DISTRIBUTED BY RANDOM BUCKETS AUTO")
    commit = run.commit_of(1)
    doris.tables["shop", "rows"].columns["text"] = ("int", False)
    with pytest.raises(PermanentError, match=r"does not take these rows: .*too many filtered rows.*see http://.*error_log"):
        run.task.commit([receipt], commit)
    assert doris.states() == ["ABORTED"]


def of_letters(offset: int, topic: str) -> SinkBatch:
    """A record that comes back from the queue of dead letters, or whose topic a transform has changed."""
    schema = struct([("id", INT)])
    return SinkBatch("letters/broker-a/0", topic, [{"id": offset}], [offset], schema=schema)


def test_records_whose_topic_is_not_that_of_their_queue_go_to_the_table_of_theirs(doris: Doris, options: dict[str, str]) -> None:
    run = opened(options | {"table": "${topic}"}).start()
    run.write(1, "letters/broker-a/0", of_letters(0, "orders"))
    assert doris.run("SELECT id FROM shop.orders") == [(0,)]


def test_records_of_one_queue_that_go_to_several_tables_stop_the_task_before_any_is_written(
    doris: Doris, options: dict[str, str]
) -> None:
    run = opened(options | {"table": "${topic}"}).start()
    receipts = [run.stage(of_letters(offset, topic)) for offset, topic in enumerate(("orders", "returns"))]
    with pytest.raises(PermanentError, match=r"records of letters/broker-a/0 go to several tables \(orders, returns\)"):
        run.task.commit(receipts, run.commit_of(2, "letters/broker-a/0"))
    assert [doris.run(f"SELECT id FROM shop.{table}") for table in ("orders", "returns")] == [[], []]
    assert opened(options | {"table": "${topic}"}, epoch=2).start().positions == {}
