"""set_null and drop put nothing in the place of fields, values and keys."""

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from rocketconnect_sdk.conformance.transform import Example, TransformSuite
from rocketconnect_sdk.schema import STRING, Schema, Type, struct
from rocketconnect_sdk.transforms import Record
from tests.rocketconnect_sdk.transforms.changes import NUMBER as WHOLE
from tests.rocketconnect_sdk.transforms.changes import SECRET, change

NUMBER = Schema(Type.INT64)
ROW = Record({"id": 1, "name": "a"}, struct([("id", NUMBER), ("name", STRING)]), "k", STRING)


class TestSetNull(TransformSuite):
    transform: ClassVar[str] = "set_null"

    def examples(self) -> Sequence[Example]:
        nulled = struct([("id", NUMBER), ("name", replace(STRING, optional=True))])
        return [
            Example({"fields": "name,x"}, ROW, replace(ROW, value={"id": 1, "name": None}, schema=nulled)),
            Example({"fields": "name,x"}, Record({"name": "a"}), Record({"name": None})),
            Example({"fields": "name", "on": "key"}, Record(1, key={"name": "a"}), Record(1, key={"name": None})),
            Example({"fields": "name"}, Record("text"), "is no struct"),
            Example({}, ROW, replace(ROW, value=None, schema=None)),
            Example({"on": "key"}, ROW, replace(ROW, key=None, key_schema=None)),
            Example(
                {"fields": "after.secret"},
                change([("id", WHOLE), ("secret", SECRET)], None, {"id": 1, "secret": "s"}),
                change([("id", WHOLE), ("secret", SECRET)], None, {"id": 1, "secret": None}),
            ),
            Example({"fields": "a.b"}, Record({"a": {"b": 1}}), Record({"a": {"b": None}})),
        ]


class TestDrop(TransformSuite):
    transform: ClassVar[str] = "drop"

    def examples(self) -> Sequence[Example]:
        return [
            Example({}, ROW, replace(ROW, value=None, schema=None)),
            Example({"on": "key"}, ROW, replace(ROW, key=None, key_schema=None)),
        ]
