"""What entries, events and documents become, without a server."""

import math
import random
from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

import bson
import pytest
from bson.binary import Binary
from bson.code import Code
from bson.decimal128 import Decimal128
from bson.int64 import Int64
from bson.max_key import MaxKey
from bson.min_key import MinKey
from bson.objectid import ObjectId
from bson.regex import Regex
from bson.timestamp import Timestamp
from hypothesis import given
from hypothesis import strategies as st

from connectors.mongodb import extended as written
from connectors.mongodb.documents import Typed, document
from connectors.mongodb.reading.changes import event_of, time_of
from connectors.mongodb.reading.documents import decoded, extended, keyed, relaxed, restored, typed
from connectors.mongodb.reading.entries import described, events
from connectors.mongodb.reading.events import Description
from connectors.mongodb.reading.identities import integers
from connectors.mongodb.source import MongodbSource
from rocketconnect_sdk.changes import Operation
from rocketconnect_sdk.errors import PermanentError, RecordError
from rocketconnect_sdk.options import parse, read
from rocketconnect_sdk.record import Position
from rocketconnect_sdk.schema import Schema, Type

ALL = {
    "oid": ObjectId("65f000000000000000000001"),
    "int32": 7,
    "int64": Int64(7),
    "double": 7.0,
    "nan": math.inf,
    "decimal": Decimal128("1.50"),
    "date": datetime(2024, 2, 29, 1, 2, 3, 4000, UTC),
    "timestamp": Timestamp(1, 2),
    "binary": Binary(b"\x00\xff", 5),
    "bytes": b"\x01",
    "uuid": Binary.from_uuid(UUID(int=5)),
    "regex": Regex("^a", "i"),
    "code": Code("f()", {"x": 1}),
    "min": MinKey(),
    "max": MaxKey(),
    "null": None,
    "true": True,
    "text": "é$",
    "list": [1, Int64(2), "x", {"y": Decimal128("NaN")}],
}


def entry(**more: Any) -> dict[str, Any]:
    return {"ts": Timestamp(10, 3), "t": 1, "v": 2, "wall": datetime(2024, 1, 1, tzinfo=UTC), **more}


def made(given: Mapping[str, Any], *parts: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    return [(each.offset, each.op and each.op.value, each.identity) for each in events(given, lambda: parts, lookup=True)]


def test_every_type_of_bson_comes_back_from_extended_json_as_it_was() -> None:
    there: dict[str, Any] = bson.decode(bson.encode(ALL), bson.CodecOptions(tz_aware=True))
    back = restored(extended(decoded(bson.encode(ALL))[0]))
    assert bson.encode(back) == bson.encode(there)


def test_the_sink_writes_of_it_the_same_bytes() -> None:
    (value,) = written.Extended(Typed(dates=False))([extended(decoded(bson.encode(ALL))[0])], Schema(Type.JSON))
    assert isinstance(value, Mapping)
    assert bson.encode(document(value)) == bson.encode(ALL)


@pytest.mark.parametrize(
    "wrong", [{"$oid": "no"}, {"$date": "tomorrow"}, {"$numberInt": "x"}, {"$binary": {"base64": 5}}, {"$binary": 5}]
)
def test_what_only_looks_like_extended_json_is_a_bad_record(wrong: Mapping[str, Any]) -> None:
    with pytest.raises(RecordError, match="stands for nothing"):
        written.restored({"a": [wrong]})


def test_a_value_that_is_nested_deeper_than_anybody_gets_is_a_bad_record() -> None:
    value: Any = 1
    for _ in range(900):
        value = [value]
    with pytest.raises(RecordError, match="nested too deep"):
        written.restored(value)


def test_documents_as_rows_have_the_types_of_their_values() -> None:
    schema, value = typed({**ALL, "list": [{"a": 1}, {"b": Int64(2)}, None], "mixed": [1, "x"], "wide": [1, Int64(2)], "empty": {}})
    kinds = {field.name: field.schema.type for field in schema.fields}
    assert {kinds[name] for name in ("oid", "text")} == {Type.STRING}
    assert (kinds["int32"], kinds["int64"], kinds["double"], kinds["decimal"]) == (
        Type.INT32,
        Type.INT64,
        Type.FLOAT64,
        Type.DECIMAL,
    )
    assert (kinds["date"], kinds["uuid"], kinds["binary"]) == (Type.TIMESTAMP, Type.UUID, Type.BYTES)
    assert (kinds["regex"], kinds["mixed"], kinds["wide"], kinds["empty"]) == (Type.JSON, Type.JSON, Type.ARRAY, Type.JSON)
    assert "null" not in kinds
    assert value["list"] == [{"a": 1, "b": None}, {"a": None, "b": 2}, None]
    assert (value["decimal"], value["uuid"]) == (Decimal("1.50"), UUID(int=5))
    with pytest.raises(RecordError, match=r"document\.form=extended"):
        typed({"a": Decimal128("Infinity")})
    assert typed(Decimal128("12E+3"))[1] == 12000


def test_keys_have_the_type_that_plain_values_have_and_else_extended_json() -> None:
    assert keyed(7)[1] == keyed(Int64(7))[1] == 7
    assert keyed("a")[1] == "a"
    schema, value = keyed(ObjectId("65f000000000000000000001"))
    assert (schema.fields[0].name, value) == ("$oid", {"$oid": "65f000000000000000000001"})
    assert keyed({"a": 1, "b": "x"})[1] == {"a": 1, "b": "x"}
    assert relaxed({"a": Int64(1), "b": 1.5}) == '{"a":1,"b":1.5}'


def test_texts_that_are_no_utf8_are_told_and_the_rest_is_there() -> None:
    data = bson.encode({"_id": 5, "a": "xy"}).replace(b"xy", b"x\xff")
    found, flaw = decoded(data)
    assert (found, "utf8" in flaw.lower() or "utf-8" in flaw.lower()) == ({"_id": 5, "a": "x\\xff"}, True)


ORDERED: list[Any] = [
    MinKey(),
    None,
    math.nan,
    -math.inf,
    Int64(-(2**63)),
    -1.5,
    Decimal128("-1.25"),
    -1,
    -0.1,
    Decimal128("-0.1"),
    0,
    Decimal128("1E-6000"),
    5e-324,
    0.1,
    Decimal128("0.2"),
    1,
    1.5,
    2**53,
    Int64(2**53 + 1),
    Int64(2**63 - 1),
    1e300,
    Decimal128("9E+6000"),
    math.inf,
    "",
    "A",
    "a",
    "a\0",
    "aaaaaaa",
    "aaaaaaaa",
    "é",
    {},
    {"a": 1},
    {"a": 1, "b": 1},
    {"b": 1},
    {"a": "x"},
    b"",
    b"\xff",
    Binary(b"\x00", 3),
    b"\x00\x00",
    ObjectId("000000000000000000000000"),
    ObjectId("65f000000000000000000001"),
    False,
    True,
    datetime(1960, 1, 1, tzinfo=UTC),
    datetime(2024, 1, 1, tzinfo=UTC),
    Timestamp(1, 2),
    Timestamp(2, 1),
    MaxKey(),
]


def test_ids_are_integers_in_the_order_that_mongodb_has() -> None:
    numbers = [integers(each) for each in ORDERED]
    assert numbers == sorted(numbers)
    assert len(set(numbers)) == len(ORDERED)
    assert min(number for each in numbers for number in each) == 0
    assert integers(7) == integers(7.0) == integers(Decimal128("7.00"))


@given(st.lists(st.one_of(st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False)), min_size=2))
def test_numbers_are_compared_exactly_whatever_their_types(values: list[Any]) -> None:
    assert sorted(values) == sorted(values, key=lambda each: integers(Int64(each) if isinstance(each, int) else each))


@given(st.lists(st.text(), min_size=2))
def test_texts_are_compared_by_their_bytes(values: list[str]) -> None:
    assert sorted(values, key=str.encode) == sorted(values, key=integers)


def test_operations_on_documents_are_events() -> None:
    assert made(entry(op="i", ns="a.b", o={"_id": 1})) == [((10, 3, 1), "c", 1)]
    assert made(entry(op="d", ns="a.b", o={"_id": 1})) == [((10, 3, 1), "d", 1)]
    assert made(entry(op="u", ns="a.b", o={"$v": 2, "diff": {"u": {"x": 1}}}, o2={"_id": 4})) == [((10, 3, 1), "u", 4)]
    assert made(entry(op="n", ns="", o={"msg": "periodic noop"})) == [((10, 3, 1), None, None)]
    assert made(entry(op="i", ns="a.b", o={"_id": 1}, fromMigrate=True)) == [((10, 3, 1), None, None)]
    (event,) = events(entry(op="u", ns="a.b.c", o={"_id": 1, "x": 2}, o2={"_id": 1}), tuple, lookup=True)
    assert (event.document, event.lookup, event.name, event.ts_ms) == ({"_id": 1, "x": 2}, False, ("a", "b.c"), 1704067200000)


def test_updates_say_what_they_have_changed_in_all_versions() -> None:
    assert described({"$v": 1, "$set": {"a.b": 1}, "$unset": {"c": True}}) == Description({"a.b": 1}, ["c"])
    diff = {"u": {"a": 1}, "i": {"n": 2}, "d": {"gone": False}, "ssub": {"u": {"x": 3}, "d": {"y": False}}}
    lists = {"slist": {"a": True, "l": 2, "u0": "first", "s1": {"u": {"z": 4}}}, "sd": {"u": {"u": 5}}}
    told = described({"$v": 2, "diff": {**diff, **lists}})
    assert told == Description(
        {"a": 1, "n": 2, "sub.x": 3, "list.0": "first", "list.1.z": 4, "d.u": 5}, ["gone", "sub.y"], [("list", 2)]
    )
    assert described({"_id": 1, "x": 2}) is None


def test_a_transaction_is_unpacked_in_order_where_it_is_committed() -> None:
    lsid = {"id": Binary(b"s" * 16, 4)}
    more = {"op": "c", "ns": "admin.$cmd", "lsid": lsid, "txnNumber": Int64(3)}

    def applied(*numbers: int) -> dict[str, Any]:
        return {"applyOps": [{"op": "i", "ns": "a.b", "o": {"_id": number}} for number in numbers]}

    nowhere = {"ts": Timestamp(0, 0), "t": Int64(-1)}
    alone = entry(**more, o=applied(1, 2), prevOpTime=nowhere)
    (first, second) = events(alone, tuple, lookup=True)
    assert (first.offset, second.offset, second.transaction) == ((10, 3, 1), (10, 3, 2), (f"{(b's' * 16).hex()}:3", 2))
    part = entry(**more, o={**applied(1, 2), "partialTxn": True}, prevOpTime=nowhere)
    assert made(part) == [((10, 3, 1), None, None)]
    last = {**entry(**more, o={**applied(3), "count": 3}, prevOpTime={"ts": Timestamp(10, 2)}), "ts": Timestamp(11, 1)}
    assert made(last, part, last) == [((11, 1, 1), "c", 1), ((11, 1, 2), "c", 2), ((11, 1, 3), "c", 3)]
    prepared = entry(**more, o={**applied(5), "prepare": True}, prevOpTime=nowhere)
    assert made(prepared) == [((10, 3, 1), None, None)]
    commit = entry(**more, o={"commitTransaction": 1}, prevOpTime={"ts": Timestamp(10, 2)})
    assert made(commit, prepared, commit) == [((10, 3, 1), "c", 5)]
    # Many writes in one entry are no transaction, and what comes before them is none of them.
    vector = entry(**more, o=applied(8, 9), multiOpType=1, prevOpTime={"ts": Timestamp(9, 9)})
    assert made(vector) == [((10, 3, 1), "c", 8), ((10, 3, 2), "c", 9)]
    assert [each.transaction for each in events(vector, tuple, lookup=True)] == [None, None]
    assert made(entry(**more, o={"abortTransaction": 1}, prevOpTime={"ts": Timestamp(10, 2)})) == [((10, 3, 1), None, None)]
    nested = entry(op="c", ns="admin.$cmd", o={"applyOps": [{"op": "c", "ns": "admin.$cmd", "o": applied(1, 2)}]})
    assert [each[2] for each in made(nested)] == [1, 2]


@pytest.mark.parametrize(
    ("command", "name", "told"),
    [
        ({"drop": "b"}, "a.b", "was dropped"),
        ({"dropDatabase": 1}, "a.$cmd", "was dropped with its database"),
        ({"renameCollection": "a.b", "to": "a.c"}, "a.b", "was renamed to a.c"),
        ({"create": "b"}, "a.b", ""),
    ],
)
def test_commands_that_change_documents_without_saying_each_are_told(command: Mapping[str, Any], name: str, told: str) -> None:
    (event,) = events(entry(op="c", ns="a.$cmd", o=command), tuple, lookup=True)
    assert (str(event.name), event.told, event.op) == (name, told, None)


def change(kind: str, **more: Any) -> dict[str, Any]:
    place = {"db": "a", "coll": "b"}
    key = {"documentKey": {"_id": 1}}
    return {"_id": {"_data": "82"}, "operationType": kind, "clusterTime": Timestamp(10, 3), "ns": place, **key, **more}


def test_events_of_change_streams_are_numbered_within_their_time() -> None:
    first = event_of(change("insert", fullDocument={"_id": 1}), (10, 2, 7))
    second = event_of(change("replace", fullDocument={"_id": 1, "x": 2}), first.offset)
    third = event_of(change("delete", txnNumber=Int64(3), lsid={"id": Binary(b"s" * 16, 4)}), second.offset)
    assert [each.offset for each in (first, second, third)] == [(10, 3, 1), (10, 3, 2), (10, 3, 3)]
    assert [each.op for each in (first, second, third)] == [Operation.CREATE, Operation.UPDATE, Operation.DELETE]
    assert third.transaction == (f"{(b's' * 16).hex()}:3", 3)
    described = {"updatedFields": {"x": 1}, "removedFields": ["y"], "truncatedArrays": [{"field": "z", "newSize": 2}], "new": 1}
    updated = event_of(change("update", updateDescription=described, fullDocumentBeforeChange={"_id": 1}, unknown=True), (10, 2, 1))
    assert (updated.description, updated.before) == (Description({"x": 1}, ["y"], [("z", 2)]), {"_id": 1})


@pytest.mark.parametrize("kind", ["createIndexes", "drop", "rename", "dropDatabase", "invalidate", "somethingNew"])
def test_events_of_other_kinds_only_move_the_place(kind: str) -> None:
    event = event_of({**change(kind, to={"db": "a", "coll": "c"}), "documentKey": None}, (10, 2, 7))
    assert (event.op, event.offset) == (None, (10, 3, 1))
    assert event.told == {"drop": "was dropped to a.c", "rename": "was renamed to a.c"}.get(kind, event.told)


@pytest.mark.parametrize("field", ["clusterTime", "documentKey", "ns"])
def test_what_a_pipeline_must_not_take_away_is_told(field: str) -> None:
    given = change("insert")
    del given[field]
    with pytest.raises(PermanentError, match="pipeline"):
        event_of(given, (10, 2, 7))


def test_a_stream_that_goes_back_in_time_is_told() -> None:
    with pytest.raises(PermanentError, match="goes back"):
        event_of(change("insert"), (11, 0, 0))


def test_tokens_tell_their_time_or_nothing() -> None:
    assert time_of({"_data": "8265F00000000000070000"}) == Timestamp(0x65F00000, 7)
    assert [time_of(each) for each in (None, {}, {"_data": "82"}, {"_data": "X" * 30}, {"_data": "9" * 30}, {"_data": 5})] == [
        None
    ] * 6


SOURCE = MongodbSource()


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"pipeline": "[{"}, "pipeline: is no JSON"),
        ({"pipeline": '{"$match": {}}'}, "is no list of stages"),
        ({"pipeline": '[{"$out": "x"}]'}, "has the stage $out"),
        ({"change.form": "row", "change.stream.full.document": "default"}, "leaves updates without documents"),
        ({"capture.mode": "oplog", "change.stream.full.document": "required"}, "can't be had from an oplog"),
        ({"capture.mode": "oplog", "pipeline": "[]"}, "means nothing with capture.mode=oplog"),
        ({"capture.mode": "oplog", "change.stream.full.document.before.change": "required"}, "means nothing"),
        ({"snapshot.mode": "earliest"}, "is known of an oplog alone"),
        ({"url": "mongodb://me:secret@a"}, "has a user or a password in it"),
        ({"collection.include": "a.(b"}, "is no regular expression"),
    ],
)
def test_what_is_wrong_with_options_is_told_without_a_server(options: Mapping[str, str], told: str) -> None:
    given = {"url": "mongodb://127.0.0.1:1/", "request.timeout": "0.1s", **options}
    config, wrong = read(SOURCE.options, given)
    problems = [f"{each.key}: {each.reason}" for each in wrong or SOURCE.check(config)]
    assert any(told in each for each in problems), problems


@pytest.mark.parametrize(
    ("partition", "position", "is_good"),
    [
        ("oplog", Position((1, 2, 3)), True),
        ("changes", Position((1, 2, 3, 1)), True),
        ("oplog", Position((1, 2)), False),
        ("changes", Position((2**32, 2, 3)), False),
        ("snapshot a.b", Position((1, 1, 7)), False),
        ("snapshot a.b", Position((1, 1, 7), {"_id": "{}"}), True),
        ("snapshot a.b", Position((1,)), True),
        ("snapshot", Position((1, 2)), True),
    ],
)
def test_positions_are_looked_at(partition: str, position: Position, is_good: bool) -> None:
    problems = list(SOURCE.check_position(parse(SOURCE.options, {"url": "mongodb://a"}), partition, position))
    assert (problems == []) is is_good
    assert SOURCE.find_position(parse(SOURCE.options, {"url": "mongodb://a"}), "changes", 17.9) == Position((17, 0, 0))


def test_shuffled_ids_are_sorted_again_by_their_integers() -> None:
    shuffled = random.Random(7).sample(ORDERED, len(ORDERED))
    assert [integers(each) for each in sorted(shuffled, key=integers)] == [integers(each) for each in ORDERED]
