"""insert_field adds what a record is about."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import ClassVar

from rocketconnect_sdk.conformance.transform import Example, TransformSuite
from rocketconnect_sdk.schema import OPTIONAL_STRING, STRING, Schema, Type, Unit, struct, timestamp
from rocketconnect_sdk.transforms import Record

NUMBER = Schema(Type.INT64)
ROW = Record({"id": 1}, struct([("id", NUMBER)], name="row"), topic="orders", timestamp_ms=86_400_001)
PLAIN = Record({"id": 1}, topic="orders", timestamp_ms=7)
TIME = timestamp(Unit.MILLISECONDS)


def becomes(value: object, *fields: tuple[str, Schema]) -> Record:
    return replace(ROW, value=value, schema=struct([("id", NUMBER), *fields], name="row"))


class TestInsertField(TransformSuite):
    transform: ClassVar[str] = "insert_field"
    wrong: ClassVar = [
        ({}, "names no field to insert"),
        ({"static.field": "a"}, "goes with static.field"),
        ({"static.value": "a", "topic.field": "t"}, "goes with static.field"),
        ({"topic.field": "!"}, "names no field"),
        ({"topic.field": "t", "offset.field": "o"}, "neither a partition nor an offset"),
        ({"topic.field": "t", "partition.field": "p"}, "neither a partition nor an offset"),
    ]

    def examples(self) -> Sequence[Example]:
        at = datetime(1970, 1, 2, 0, 0, 0, 1000, tzinfo=UTC)
        everything = {"topic.field": "t!", "timestamp.field": "at", "static.field": "from?", "static.value": "a,b"}
        return [
            Example(
                everything,
                ROW,
                becomes(
                    {"id": 1, "t": "orders", "at": at, "from": "a,b"},
                    ("t", STRING),
                    ("at", replace(TIME, optional=True)),
                    ("from", OPTIONAL_STRING),
                ),
            ),
            Example(everything, PLAIN, replace(PLAIN, value={"id": 1, "t": "orders", "at": 7, "from": "a,b"})),
            Example({"timestamp.field": "at!"}, ROW, becomes({"id": 1, "at": at}, ("at", TIME))),
            Example({"timestamp.field": "at!"}, replace(ROW, timestamp_ms=None), "timestamp.field is required"),
            Example({"timestamp.field": "at"}, replace(PLAIN, timestamp_ms=None), Record({"id": 1, "at": None}, topic="orders")),
            Example(
                {"timestamp.field": "at"},
                replace(ROW, timestamp_ms=None),
                replace(becomes({"id": 1, "at": None}, ("at", replace(TIME, optional=True))), timestamp_ms=None),
            ),
            Example({"timestamp.field": "at"}, replace(ROW, timestamp_ms=1 << 60), "is beyond the years 1 to 9999"),
            Example({"topic.field": "id"}, ROW, "would give several fields the name 'id'"),
            Example({"topic.field": "t", "on": "key"}, Record(1, key={}, topic="x"), Record(1, key={"t": "x"}, topic="x")),
            Example({"topic.field": "t"}, Record("text"), "is no struct"),
        ]
