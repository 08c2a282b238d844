"""flatten makes structs within fields of the whole."""

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from rocketconnect_sdk.conformance.transform import Example, TransformSuite
from rocketconnect_sdk.schema import STRING, Schema, Type, struct
from rocketconnect_sdk.transforms import Record

NUMBER = Schema(Type.INT64)
TAGS = Schema(Type.MAP, keys=STRING, items=NUMBER)
ROW = struct(
    [("id", NUMBER), ("of", struct([("a", STRING), ("in", struct([("b", NUMBER)]))], optional=True)), ("tags", TAGS)], name="row"
)
FLAT = struct(
    [("id", NUMBER), ("of.a", replace(STRING, optional=True)), ("of.in.b", replace(NUMBER, optional=True)), ("tags", TAGS)],
    name="row",
)


class TestFlatten(TransformSuite):
    transform: ClassVar[str] = "flatten"

    def examples(self) -> Sequence[Example]:
        value = {"id": 1, "of": {"a": "x", "in": {"b": 2}}, "tags": {"t": 3}}
        twice = struct([("a.b", NUMBER), ("a", struct([("b", NUMBER)]))])
        return [
            Example({}, Record(value, ROW), Record({"id": 1, "of.a": "x", "of.in.b": 2, "tags": {"t": 3}}, FLAT)),
            Example(
                {}, Record({**value, "of": None}, ROW), Record({"id": 1, "of.a": None, "of.in.b": None, "tags": {"t": 3}}, FLAT)
            ),
            Example({"delimiter": "_"}, Record(value), Record({"id": 1, "of_a": "x", "of_in_b": 2, "tags_t": 3})),
            Example({"on": "key"}, Record(1, key={"a": {"b": [{}]}}), Record(1, key={"a.b": [{}]})),
            Example({}, Record({"a.b": 1, "a": {"b": 2}}), "several fields the name 'a.b'"),
            Example({}, Record({"a.b": 1, "a": {"b": 2}}, twice), "several fields the name 'a.b'"),
            Example({}, Record("text"), "is no struct"),
        ]
