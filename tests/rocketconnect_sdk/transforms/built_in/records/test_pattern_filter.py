"""pattern_filter drops by the text in fields."""

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from rocketconnect_sdk.conformance.transform import Example, TransformSuite
from rocketconnect_sdk.schema import STRING, Schema, Type, struct
from rocketconnect_sdk.transforms import Record

ROW = struct([("id", Schema(Type.INT64)), ("name", replace(STRING, optional=True)), ("city", STRING), ("note", STRING)])
CONFIG = {"pattern": "test-.*", "fields": "id,name,city,elsewhere"}


class TestPatternFilter(TransformSuite):
    transform: ClassVar[str] = "pattern_filter"
    wrong: ClassVar = [({"fields": "a"}, "pattern"), ({"pattern": "(", "fields": "a"}, "is no regular expression")]

    def examples(self) -> Sequence[Example]:
        kept = [
            Record({"id": 1, "name": "x", "city": "a test-b", "note": "test-c"}, ROW),
            Record({"id": 1, "name": None, "city": "test", "note": ""}, ROW),
            Record({"name": 7}),
            Record({"other": "test-a"}),
            Record("test-a", STRING),
        ]
        return [
            *(Example(CONFIG, record, record) for record in kept),
            Example(CONFIG, Record({"id": 1, "name": "test-a", "city": "", "note": ""}, ROW), None),
            Example(CONFIG, Record({"id": 1, "name": None, "city": "test-", "note": ""}, ROW), None),
            Example(CONFIG, Record({"name": "test-a"}), None),
            Example({**CONFIG, "on": "key"}, Record(1, key={"name": "test-a"}), None),
            Example({**CONFIG, "on": "key"}, Record({"name": "test-a"}), Record({"name": "test-a"})),
        ]
