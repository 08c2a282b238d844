"""extract_field puts a field in the place of its struct."""

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from rocketconnect_sdk.conformance.transform import Example, TransformSuite
from rocketconnect_sdk.schema import STRING, Schema, Type, struct
from rocketconnect_sdk.transforms import Record, Records
from rocketconnect_sdk.transforms.chain import make

NUMBER = Schema(Type.INT64)
ROW = struct([("id", NUMBER), ("of", struct([("a.b", STRING)], optional=True))])


def test_by_kafka_connects_name_a_text_with_dots_is_one_name() -> None:
    kafka = {"transforms": "x", "transforms.x.type": "org.apache.kafka.connect.transforms.ExtractField$Value"}
    for more, made in (({}, 1), ({"transforms.x.field.syntax.version": "V2"}, 2)):
        done = make({**kafka, "transforms.x.field": "a.b", **more}).run(Records([{"a.b": 1, "a": {"b": 2}}], [0], "t"))
        assert list(done.runs[0].values) == [made]


class TestExtractField(TransformSuite):
    transform: ClassVar[str] = "extract_field"
    wrong: ClassVar = [
        ({}, "field"),
        ({"field": "a..b"}, "is no path"),
        ({"field": "`a"}, "is no path"),
        ({"field": "a."}, "is no path"),
        ({"field": "a`b`"}, "is no path"),
        ({"field": "a", "field.syntax.version": "V3"}, "must be one of"),
    ]

    def examples(self) -> Sequence[Example]:
        within = {"field": "of.`a.b`"}
        return [
            Example({"field": "id"}, Record({"id": 1, "of": None}, ROW, topic="t"), Record(1, NUMBER, topic="t")),
            Example(within, Record({"id": 1, "of": {"a.b": "x"}}, ROW), Record("x", replace(STRING, optional=True))),
            Example(within, Record({"id": 1, "of": None}, ROW), Record(None, replace(STRING, optional=True))),
            Example({"field": "of.x"}, Record({"id": 1, "of": None}, ROW), "no field of.x; those that are there: a.b"),
            Example({"field": "id.x"}, Record({"id": 1, "of": None}, ROW), "the field id is no struct with fields, but int64"),
            Example({"field": "id"}, Record("text", STRING), "the record is no struct with fields, but string"),
            Example(within, Record({"of": {"a.b": 7}}), Record(7)),
            Example(within, Record({"of": None}), Record(None)),
            Example(within, Record({"of": {}}), "there is no field of.`a.b`; those that are there: none"),
            Example(within, Record({"of": 1}), "the field of is no struct with fields, but int"),
            Example({"field": "a.b", "field.syntax.version": "V1"}, Record({"a.b": 1}), Record(1)),
            Example({"field": "id", "on": "key"}, Record(1, key={"id": 2}), Record(1, key=2)),
            Example({"field": "id", "on": "key"}, Record(1), Record(1)),
        ]
