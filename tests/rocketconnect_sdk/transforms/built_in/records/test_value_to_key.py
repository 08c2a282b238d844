"""value_to_key makes fields of the value the key."""

from collections.abc import Sequence
from typing import ClassVar

from rocketconnect_sdk.conformance.transform import Example, TransformSuite
from rocketconnect_sdk.schema import STRING, Schema, Type, struct
from rocketconnect_sdk.transforms import Record

NUMBER = Schema(Type.INT64)
ROW = struct([("id", NUMBER), ("name", STRING), ("x", NUMBER)], name="row")


class TestValueToKey(TransformSuite):
    transform: ClassVar[str] = "value_to_key"
    wrong: ClassVar = [({}, "fields"), ({"fields": ""}, "fields")]

    def examples(self) -> Sequence[Example]:
        value, config = {"id": 1, "name": "a", "x": 2}, {"fields": "name,id"}
        key, key_schema = {"name": "a", "id": 1}, struct([("name", STRING), ("id", NUMBER)])
        return [
            Example(config, Record(value, ROW, key=7, key_schema=NUMBER), Record(value, ROW, key, key_schema)),
            Example(config, Record(value), Record(value, None, key)),
            Example(config, Record(None, None, key=7), Record(None, None, key=7)),
            Example({"fields": "id,y"}, Record(value, ROW), "there is no field y"),
            Example({"fields": "id,y"}, Record(value), "there is no field y"),
            Example(config, Record("text"), "the value is no struct, whose fields could be the key"),
        ]
