"""hoist_field puts a struct around."""

from collections.abc import Sequence
from typing import ClassVar

from rocketconnect_sdk.conformance.transform import Example, TransformSuite
from rocketconnect_sdk.schema import STRING, Schema, Type, struct
from rocketconnect_sdk.transforms import Record

NUMBER = Schema(Type.INT64)


class TestHoistField(TransformSuite):
    transform: ClassVar[str] = "hoist_field"
    wrong: ClassVar = [({}, "field"), ({"field": ""}, "field")]

    def examples(self) -> Sequence[Example]:
        row = struct([("a", NUMBER)], name="row")
        return [
            Example(
                {"field": "line"}, Record("x", STRING, topic="t"), Record({"line": "x"}, struct([("line", STRING)]), topic="t")
            ),
            Example({"field": "row"}, Record({"a": 1}, row), Record({"row": {"a": 1}}, struct([("row", row)]))),
            Example({"field": "line"}, Record("x"), Record({"line": "x"})),
            Example(
                {"field": "id", "on": "key"},
                Record("x", key=1, key_schema=NUMBER),
                Record("x", None, {"id": 1}, struct([("id", NUMBER)])),
            ),
            Example({"field": "id", "on": "key"}, Record("x"), Record("x")),
        ]
