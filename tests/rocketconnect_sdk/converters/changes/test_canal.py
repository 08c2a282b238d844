"""Messages of Canal are changes of rows, and changes are messages of Canal."""

import json
from collections.abc import Mapping
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import pytest

from rocketconnect_sdk.arrow import to_array
from rocketconnect_sdk.converters import converter
from rocketconnect_sdk.converters.base import Decoded
from rocketconnect_sdk.errors import ConfigError, RecordError
from rocketconnect_sdk.schema import Schema, Type, Unit, decimal, struct, text

CANAL = converter("canal", {"time.zone": "Asia/Shanghai"}, is_key=False)
UPDATE: Mapping[str, Any] = {
    "data": [{"id": "111", "name": "scooter", "weight": "5.18"}, {"id": "112", "name": None, "weight": "7.0"}],
    "database": "inventory",
    "es": 1589373560000,
    "id": 9,
    "isDdl": False,
    "mysqlType": {"id": "INTEGER", "name": "VARCHAR(255)", "weight": "DOUBLE"},
    "old": [{"weight": "5.15"}, {"name": "b"}],
    "pkNames": ["id"],
    "sql": "",
    "sqlType": {"id": 4, "name": 12, "weight": 8},
    "table": "products",
    "ts": 1589373560798,
    "type": "UPDATE",
}


def records(message: Mapping[str, Any]) -> tuple[list[Decoded], Schema | None]:
    found, schema = CANAL.records(json.dumps(message).encode())
    return list(found), schema


def changes(message: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    found = [each.value for each in records(message)[0]]
    return [(each["op"], each["before"], each["after"]) for each in found if isinstance(each, dict)]


def test_each_row_of_a_message_is_a_change_with_types_a_key_and_the_time_of_the_log() -> None:
    found, schema = records(UPDATE)
    first, second = ({"id": 111, "name": "scooter", "weight": 5.18}, {"id": 112, "name": None, "weight": 7.0})
    assert changes(UPDATE) == [("u", {**first, "weight": 5.15}, first), ("u", {**second, "name": "b"}, second)]
    assert [(each.key, each.timestamp_ms) for each in found] == [({"id": 111}, 1589373560000), ({"id": 112}, 1589373560000)]
    source: Any = found[0].value
    assert source["source"] == {
        "connector": "canal",
        "name": "",
        "db": "inventory",
        "table": "products",
        "snapshot": "false",
        "ts_ms": 1589373560000,
    }
    assert schema is not None
    # What says that it fits its schema makes columns of it.
    assert len(to_array([each.value for each in found], schema)) == 2


def test_inserts_and_deletes_have_one_row_each() -> None:
    row = {"id": 1, "name": "a", "weight": 2.5}
    said = {**UPDATE, "data": [{"id": "1", "name": "a", "weight": "2.5"}], "old": None}
    assert changes({**said, "type": "INSERT"}) == [("c", None, row)]
    assert changes({**said, "type": "DELETE"}) == [("d", row, None)]


def test_a_row_that_gets_another_key_is_gone_under_the_old_one() -> None:
    message = {**UPDATE, "old": [{"id": "110"}, {"name": "b"}]}
    assert [(op, before and before["id"], after and after["id"]) for op, before, after in changes(message)] == [
        ("d", 110, None),
        ("c", None, 111),
        ("u", 112, 112),
    ]
    data = json.dumps(message).encode()
    alone = [CANAL.records(CANAL.alone(data, row)) for row in range(3)]
    assert [list(found) for found, _ in alone] == [[each] for each in records(message)[0]]


def test_definitions_are_no_records_and_an_emptied_table_is_one() -> None:
    definition = {**UPDATE, "data": None, "old": None, "isDdl": True, "mysqlType": None, "sqlType": None}
    assert [records({**definition, "type": kind})[0] for kind in ("ALTER", "CREATE", "QUERY", "ERASE")] == [[]] * 4
    assert changes({**definition, "type": "TRUNCATE"}) == [("t", None, None)]


def test_rows_without_types_are_texts() -> None:
    message = {**UPDATE, "mysqlType": None, "sqlType": None, "type": "INSERT", "old": None, "pkNames": None}
    found, schema = records(message)
    assert schema is None
    assert changes(message)[0] == ("c", None, {"id": "111", "name": "scooter", "weight": "5.18"})
    assert found[0].key is None


@pytest.mark.parametrize(
    ("kind", "written", "value"),
    [
        ("bigint(20) unsigned", "18446744073709551615", (1 << 64) - 1),
        ("tinyint(1)", "-1", -1),
        ("mediumint", "8388607", 8388607),
        ("decimal(10,2)", "-12.50", Decimal("-12.50")),
        ("decimal", "7", Decimal(7)),
        ("float", "1.5E10", 1.5e10),
        ("date", "2024-02-29", date(2024, 2, 29)),
        ("time(6)", "23:59:59.000001", time(23, 59, 59, 1)),
        ("datetime(3)", "2024-02-29 01:02:03.120000", datetime(2024, 2, 29, 1, 2, 3, 120_000)),  # noqa: DTZ001 - it has none
        ("timestamp", "2024-02-29 08:00:00", datetime(2024, 2, 29, tzinfo=UTC)),
        ("varchar(10)", "ü", "ü"),
        ("enum('a','b')", "1", "1"),
        ("blob", "\u00ff\u0000", b"\xff\x00"),
        ("bit(1)", "1", True),
        ("bit(8)", "255", 255),
        ("json", '{"a": 1}', '{"a": 1}'),
        ("year(4)", "2024", 2024),
        ("an unknown type", "x", "x"),
    ],
)
def test_values_have_the_types_that_mysql_names(kind: str, written: str, value: object) -> None:
    message = {**UPDATE, "type": "INSERT", "old": None, "data": [{"v": written}], "mysqlType": {"v": kind}, "pkNames": None}
    found, schema = records(message)
    assert changes(message) == [("c", None, {"v": value})]
    assert schema is not None
    assert len(to_array([found[0].value], schema)) == 1


@pytest.mark.parametrize(
    ("kind", "written"),
    [("int", "x"), ("tinyint", "128"), ("date", "0000-00-00"), ("bit(1)", "2"), ("decimal(3,1)", "100.25"), ("blob", "\u2028")],
)
def test_a_row_with_a_value_that_is_none_is_bad_and_the_others_are_not(kind: str, written: str) -> None:
    message = {**UPDATE, "type": "INSERT", "old": None, "data": [{"v": None}, {"v": written}], "mysqlType": {"v": kind}}
    good, bad = (each.value for each in records(message)[0])
    assert isinstance(good, dict)
    assert isinstance(bad, RecordError)
    assert "the column v has no value of its type" in str(bad)


def test_a_column_that_a_row_lacks_is_told_as_unchanged() -> None:
    message = {**UPDATE, "type": "INSERT", "old": None, "data": [{"id": "1", "name": "a"}, {"id": "2"}]}
    value: Any = records(message)[0][1].value
    assert (value["after"], value["unchanged"]) == ({"id": 2, "name": None}, ["name"])


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"type": None}, "its type is None, and no text"),
        ({"table": 7}, "its table is 7, and no text"),
        ({"data": None}, "its data is no list of rows"),
        ({"data": [1]}, "its data is no list of rows"),
        ({"old": [{}]}, "2 rows in data, and 1 in old"),
        ({"old": {}}, "its old is no list of rows"),
    ],
)
def test_what_is_no_message_of_canal_is_told(changed: Mapping[str, Any], said: str) -> None:
    with pytest.raises(RecordError, match=said):
        records({**UPDATE, **changed})
    for data in (b"[]", b"7", b"{", b"\xff"):
        with pytest.raises(RecordError):
            CANAL.records(data)


def test_a_zone_that_is_none_is_told() -> None:
    with pytest.raises(ConfigError, match="is no time zone"):
        converter("canal", {"time.zone": "Mars/Base"}, is_key=False)


COLUMNS = struct(
    [
        ("id", Schema(Type.INT64)),
        ("name", text(20, optional=True)),
        ("price", decimal(2)),
        ("at", Schema(Type.TIMESTAMP, unit=Unit.MILLISECONDS, zone=True)),
        ("big", Schema(Type.STRING, optional=True)),
    ]
)


def test_changes_are_written_as_canal_writes_them_and_read_back() -> None:
    schema = struct(
        [("before", COLUMNS), ("after", COLUMNS), ("op", Schema(Type.STRING)), ("source", struct([("db", Schema(Type.STRING))]))]
    )
    row = {"id": 1, "name": "a", "price": Decimal("1.50"), "at": datetime(2024, 2, 29, tzinfo=UTC), "big": None}
    change = {
        "op": "u",
        "before": {**row, "name": "old"},
        "after": row,
        "source": {"db": "shop", "table": "t", "ts_ms": 5},
        "ts_ms": 6,
        "unchanged": ["big"],
    }
    message = json.loads(CANAL.encode(change, schema))
    assert message == {
        "id": 0,
        "database": "shop",
        "table": "t",
        "pkNames": None,
        "isDdl": False,
        "type": "UPDATE",
        "es": 5,
        "ts": 6,
        "sql": "",
        "sqlType": {"id": -5, "name": 2005, "price": 3, "at": 93},
        "mysqlType": {"id": "bigint", "name": "text", "price": "decimal(38,2)", "at": "timestamp(3)"},
        "data": [{"id": "1", "name": "a", "price": "1.50", "at": "2024-02-29 08:00:00"}],
        "old": [{"name": "old"}],
    }
    del row["big"]
    assert changes(message) == [("u", {**row, "name": "old"}, row)]
    assert changes(json.loads(CANAL.encode({**change, "op": "t", "before": None, "after": None}, schema))) == [("t", None, None)]
    assert changes(json.loads(CANAL.encode({"id": 7}, struct([("id", Schema(Type.INT64))])))) == [("c", None, {"id": 7})]


@pytest.mark.parametrize("value", ["text", {"op": "x", "before": None, "after": None}])
def test_what_is_no_change_is_not_written(value: object) -> None:
    with pytest.raises(RecordError):
        CANAL.encode(value, None)
