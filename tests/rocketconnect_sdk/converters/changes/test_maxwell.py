"""Messages of Maxwell are changes of rows, and changes are messages of Maxwell."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from rocketconnect_sdk.converters import converter
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.schema import Schema, Type, decimal, struct, timestamp

MAXWELL = converter("maxwell", {}, is_key=False)
UPDATE: Mapping[str, Any] = {
    "database": "test",
    "table": "e",
    "type": "update",
    "ts": 1477053234,
    "xid": 23401,
    "commit": True,
    "primary_key_columns": ["id"],
    "data": {"id": 1, "m": 5.444, "c": "2016-10-21 05:33:54.631000", "comment": None},
    "old": {"m": 4.2},
}


def changes(message: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    found, schema = MAXWELL.records(json.dumps(message).encode())
    assert schema is None
    values: list[Any] = [each.value for each in found]
    return [(each["op"], each["before"], each["after"]) for each in values]


def test_a_message_is_a_change_with_a_key_and_the_time_of_the_log() -> None:
    row = UPDATE["data"]
    assert changes(UPDATE) == [("u", {**row, "m": 4.2}, row)]
    ((record,), _) = MAXWELL.records(json.dumps(UPDATE).encode())
    assert (record.key, record.timestamp_ms) == ({"id": 1}, 1477053234000)
    said: Any = record.value
    assert (said["source"]["db"], said["source"]["table"], said["source"]["ts_ms"]) == ("test", "e", 1477053234000)


@pytest.mark.parametrize(("kind", "op"), [("insert", "c"), ("bootstrap-insert", "r")])
def test_rows_that_are_new_or_were_there_have_no_row_before(kind: str, op: str) -> None:
    assert changes({**UPDATE, "type": kind, "old": None}) == [(op, None, UPDATE["data"])]


def test_a_row_that_is_deleted_is_the_row_before() -> None:
    assert changes({**UPDATE, "type": "delete", "old": None}) == [("d", UPDATE["data"], None)]


@pytest.mark.parametrize("kind", ["table-create", "table-alter", "database-drop", "bootstrap-start", "bootstrap-complete"])
def test_what_is_no_row_is_no_record(kind: str) -> None:
    assert changes({"type": kind, "database": "d", "sql": "..."}) == []


def test_a_row_that_gets_another_key_is_gone_under_the_old_one() -> None:
    message = {**UPDATE, "old": {"id": 2}}
    row = UPDATE["data"]
    assert changes(message) == [("d", {**row, "id": 2}, None), ("c", None, row)]
    data = json.dumps(message).encode()
    assert [changes(json.loads(MAXWELL.alone(data, half))) for half in range(2)] == [[each] for each in changes(message)]


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"data": None}, "its data is no row"),
        ({"old": 7}, "its old is no row"),
        ({"type": 1}, "its type is 1"),
        ({"table": None}, "its table"),
    ],
)
def test_what_is_no_message_of_maxwell_is_told(changed: Mapping[str, Any], said: str) -> None:
    with pytest.raises(RecordError, match=said):
        changes({**UPDATE, **changed})


def test_changes_are_written_as_maxwell_writes_them() -> None:
    columns = struct([("id", Schema(Type.INT64)), ("price", decimal(2)), ("at", timestamp())])
    schema = struct([("before", columns), ("after", columns), ("op", Schema(Type.STRING))])
    row = {"id": 1, "price": Decimal("1.50"), "at": datetime(2024, 2, 29, tzinfo=UTC)}
    source = {"db": "d", "table": "t", "ts_ms": 7_000}
    change = {"op": "u", "before": {**row, "id": 2}, "after": row, "source": source, "ts_ms": 8_000}
    assert MAXWELL.encode(change, schema) == (
        b'{"database":"d","table":"t","type":"update","ts":7,'
        b'"data":{"id":1,"price":1.50,"at":"2024-02-29T00:00:00Z"},"old":{"id":2}}'
    )
    assert json.loads(MAXWELL.encode({**change, "op": "d", "after": None}, schema))["type"] == "delete"
    with pytest.raises(RecordError, match="no word for a table that was emptied"):
        MAXWELL.encode({**change, "op": "t", "before": None, "after": None}, schema)
