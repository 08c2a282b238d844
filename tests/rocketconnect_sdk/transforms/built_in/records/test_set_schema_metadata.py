"""set_schema_metadata names schemas."""

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from rocketconnect_sdk.conformance.transform import Example, TransformSuite
from rocketconnect_sdk.schema import STRING, Schema, Type, struct
from rocketconnect_sdk.transforms import Record

ROW = replace(struct([("id", Schema(Type.INT64))], name="row"), version=1)


class TestSetSchemaMetadata(TransformSuite):
    transform: ClassVar[str] = "set_schema_metadata"
    wrong: ClassVar = [({}, "neither schema.name nor schema.version"), ({"schema.version": "x"}, "whole number")]

    def examples(self) -> Sequence[Example]:
        given, named = Record({"id": 1}, ROW), replace(STRING, name="k")
        return [
            Example({"schema.name": "line"}, given, Record({"id": 1}, replace(ROW, name="line"))),
            Example({"schema.version": "2"}, given, Record({"id": 1}, replace(ROW, version=2))),
            Example({"schema.name": "", "schema.version": "0"}, given, Record({"id": 1}, replace(ROW, name="", version=0))),
            Example({"schema.name": "k", "on": "key"}, Record(1, None, "a", STRING), Record(1, None, "a", named)),
            Example({"schema.name": "line"}, Record({"id": 1}), "the value has no schema that could be named"),
        ]
