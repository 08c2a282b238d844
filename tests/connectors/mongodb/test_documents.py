"""What records become in BSON, without a server."""

from contextlib import closing
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any
from uuid import UUID

import bson
import pytest
from bson.binary import Binary
from bson.decimal128 import Decimal128
from bson.objectid import ObjectId
from pymongo import DeleteOne, MongoClient, ReplaceOne, UpdateOne
from pymongo.errors import BulkWriteError, DocumentTooLarge

from connectors.mongodb import connection
from connectors.mongodb.client import OPTIONS, own_errors
from connectors.mongodb.connection import read_bulk_error
from connectors.mongodb.documents import Typed, document, identity
from connectors.mongodb.options import of_url, url_problem
from connectors.mongodb.requests import SinkSettings
from rocketconnect_sdk.errors import PermanentError, RecordError, SystemAway
from rocketconnect_sdk.schema import Schema, Type, Unit, struct, timestamp
from rocketconnect_sdk.writes import Op, Operation

MOMENT = datetime(2024, 12, 31, 23, 59, 59, 123_000, tzinfo=UTC)
TIMES = struct(
    [
        ("ms", timestamp(Unit.MILLISECONDS)),
        ("us", timestamp(Unit.MICROSECONDS)),
        ("ns", timestamp(Unit.NANOSECONDS)),
        ("wall", timestamp(Unit.MILLISECONDS, zone=False)),
        ("time", Schema(Type.TIME, unit=Unit.MILLISECONDS)),
        ("day", Schema(Type.DATE)),
        ("more", Schema(Type.JSON)),
    ]
)
ROW = {
    "ms": MOMENT,
    "us": MOMENT.replace(microsecond=123_456),
    "ns": int(MOMENT.timestamp()) * 10**9 + 123_456_789,
    "wall": MOMENT.replace(tzinfo=None),
    "time": time(1, 2, 3),
    "day": date(2024, 12, 31),
    "more": '{"a": [1, 2.5]}',
}


def stored(value: Any) -> Any:
    """What a document is when it is read again."""
    return bson.decode(bson.encode(document(value)), OPTIONS.with_options(tz_aware=True))


def test_times_that_a_date_holds_whole_are_dates_and_others_are_text() -> None:
    (row,) = Typed(dates=False)([ROW], TIMES)
    assert stored(row) == {
        "ms": MOMENT,
        "us": "2024-12-31T23:59:59.123456Z",
        "ns": "2024-12-31T23:59:59.123456789Z",
        "wall": "2024-12-31T23:59:59.123",
        "time": "01:02:03",
        "day": "2024-12-31",
        "more": {"a": [1, 2.5]},
    }


def test_all_timestamps_are_dates_where_that_is_asked_for() -> None:
    (row,) = Typed(dates=True)([ROW], TIMES)
    found = stored(row)
    assert [found[name] for name in ("ms", "us", "ns", "wall")] == [MOMENT] * 4
    assert (found["time"], found["day"]) == ("01:02:03", "2024-12-31")
    before = Typed(dates=True)([{"ns": -1}], struct([("ns", timestamp(Unit.NANOSECONDS))]))
    assert before == [{"ns": datetime(1969, 12, 31, 23, 59, 59, 999_000, tzinfo=UTC)}]


def test_numbers_and_bytes_and_names_are_what_they_were() -> None:
    uid = UUID(int=7)
    row = {"i": 2**63 - 1, "u": 2**64 - 1, "d": Decimal("1.50"), "b": b"\x00\xff", "id": uid, "n": None, "l": [True, {"x.y": "z"}]}
    found = stored(row)
    assert found == {**row, "u": Decimal128("18446744073709551615"), "d": Decimal128("1.50")}
    assert str(found["d"]) == "1.50"
    assert document({"id": uid})["id"] == Binary.from_uuid(uid)


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ({"d": Decimal("1." + "1" * 40)}, "34 digits at most"),
        ({"$set": 1}, "a name that MongoDB does not take"),
        ({"a": {"b\0": 1}}, "a name that MongoDB does not take"),
        ({"t": MOMENT.replace(microsecond=1)}, "ends at milliseconds"),
    ],
)
def test_what_bson_cannot_hold_is_refused_with_words(row: dict[str, Any], why: str) -> None:
    with pytest.raises(RecordError, match=why):
        document(row)


def test_values_that_are_nested_too_deep_are_refused() -> None:
    deep: Any = 1
    for _ in range(150):
        deep = [deep]
    with pytest.raises(RecordError, match="nested deeper"):
        document({"deep": deep})


def test_a_list_is_no_id() -> None:
    with pytest.raises(RecordError, match="can be no _id"):
        identity([1])


@pytest.mark.parametrize("op", [Op.DELETE, Op.PUT])
def test_a_key_is_never_a_condition_that_other_documents_meet(op: Op) -> None:
    value = None if op is Op.DELETE else {"a": 1}
    for key in ({"$gt": ""}, {"$in": [1, 2]}, {"a": 1, "$ne": 2}, {"$where": "true"}, {"$oid": "0" * 24}):
        with pytest.raises(RecordError, match=r"its key is an object with '\$"):
            SinkSettings().request(Operation(op, "c", "k", value, key_value=key))
    with pytest.raises(RecordError, match="a regular expression, which can be no _id"):
        SinkSettings(extended=True).request(
            Operation(op, "c", "k", value, key_value={"$regularExpression": {"pattern": ".", "options": ""}})
        )
    found = SinkSettings(extended=True).request(Operation(op, "c", "k", value, key_value={"$oid": "0" * 24}))
    assert found._filter == {"_id": ObjectId("0" * 24)}


def test_each_operation_is_one_request() -> None:
    put = Operation(Op.PUT, "c", "7", {"a": 1}, key_value=7)
    assert SinkSettings().request(put) == ReplaceOne({"_id": 7}, {"a": 1}, upsert=True)
    assert SinkSettings(updates=True).request(put) == UpdateOne({"_id": 7}, {"$set": {"a": 1}}, upsert=True)
    part = Operation(Op.PUT, "c", "7", {"a": 1}, ("big",), key_value=7)
    assert SinkSettings().request(part) == UpdateOne({"_id": 7}, {"$set": {"a": 1}}, upsert=True)
    assert SinkSettings().request(Operation(Op.DELETE, "c", "7", None, key_value=7)) == DeleteOne({"_id": 7})
    empty = Operation(Op.PUT, "c", "7", {"_id": 7}, key_value=7)
    assert SinkSettings(updates=True).request(empty) == UpdateOne({"_id": 7}, {"$setOnInsert": {"_id": 7}}, upsert=True)


@pytest.mark.parametrize(
    ("value", "why"),
    [({"_id": 8}, "set id=\\$\\{value._id\\}"), ({"a.b": 1}, "no update can have"), ({"": 1}, "no update can have")],
)
def test_a_value_that_contradicts_its_id_or_that_no_update_sets_is_refused(value: dict[str, Any], why: str) -> None:
    with pytest.raises(RecordError, match=why):
        SinkSettings(updates=True).request(Operation(Op.PUT, "c", "7", value, key_value=7))


def test_refused_documents_are_told_by_number_and_what_is_about_the_server_ends_the_request() -> None:
    refused = {"index": 3, "code": 121, "errmsg": "Document failed validation"}
    assert read_bulk_error("m", {"writeErrors": [refused]}) == {3: "the server refuses it: Document failed validation"}
    with pytest.raises(SystemAway, match="takes nothing for now"):
        read_bulk_error("m", {"writeErrors": [{"index": 0, "code": 10107, "errmsg": "not primary"}]})
    with pytest.raises(PermanentError, match="readWrite"):
        read_bulk_error("m", {"writeErrors": [{"index": 0, "code": 13, "errmsg": "not authorized"}]})
    with pytest.raises(SystemAway, match="most servers"):
        read_bulk_error("m", {"writeConcernErrors": [{"code": 64, "errmsg": "waiting for replication timed out"}]})


@pytest.mark.parametrize(
    ("url", "hosts"),
    [
        ("mongodb://a", [("a", 27017)]),
        ("mongodb://a:1,[::1]:2/?replicaSet=rs0&tls=true", [("a", 1), ("::1", 2)]),
        ("mongodb://me:pw@a", None),
        ("mongodb://a/?w=0", None),
        ("http://a", None),
        ("mongodb://a:b", None),
    ],
)
def test_urls_name_hosts_and_nothing_that_has_an_option(url: str, hosts: object) -> None:
    assert (url_problem(url) is None) == (hosts is not None)
    assert hosts is None or list(of_url(url)) == hosts


def unconnected() -> connection.MongoConnection:
    client: MongoClient[dict[str, Any]] = MongoClient("mongodb://127.0.0.1:1", connect=False)
    return connection.MongoConnection(client, "m", "shop", SinkSettings())


def test_a_document_that_is_too_large_is_refused_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[object] = []

    def sent(_: object, requests: list[ReplaceOne[dict[str, Any]]], *, ordered: bool) -> None:
        assert not ordered
        if any(request._doc["n"] == 5 for request in requests):
            raise DocumentTooLarge("of 17 MB")
        made.extend(request._filter["_id"] for request in requests)

    monkeypatch.setattr(connection, "sent", sent)
    with closing(unconnected()) as writes:
        puts = [Operation(Op.PUT, "c", str(number), {"n": number}, key_value=number) for number in range(8)]
        refused = writes.write(puts)
    assert list(refused) == [5]
    assert "too large for MongoDB" in refused[5]
    assert made == [0, 1, 2, 3, 4, 6, 7]


def test_each_refused_document_of_one_key_is_told_and_those_behind_it_are_written(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[object] = []

    def sent(_: object, requests: list[ReplaceOne[dict[str, Any]]], *, ordered: bool) -> None:
        assert ordered
        for index, request in enumerate(requests):
            if request._doc["n"] in (2, 5):
                raise BulkWriteError({"writeErrors": [{"index": index, "code": 121, "errmsg": "no"}]})
            made.append(request._doc["n"])

    monkeypatch.setattr(connection, "sent", sent)
    with closing(unconnected()) as writes:
        refused = writes.write([Operation(Op.PUT, "c", "k", {"n": number}, key_value="k") for number in range(8)])
    assert list(refused) == [2, 5]
    assert made == [0, 1, 3, 4, 6, 7]


def test_an_answer_that_no_mongodb_gives_is_waited_for() -> None:
    with pytest.raises(SystemAway, match="speaks no MongoDB"), own_errors("m"):
        raise KeyError("nModified")
