"""replace_field keeps, leaves out and renames."""

from collections.abc import Sequence
from typing import ClassVar

from rocketconnect_sdk.conformance.transform import Example, TransformSuite
from rocketconnect_sdk.schema import STRING, Schema, Type, struct
from rocketconnect_sdk.transforms import Record
from tests.rocketconnect_sdk.transforms.changes import NUMBER as WHOLE
from tests.rocketconnect_sdk.transforms.changes import SECRET, change

NUMBER = Schema(Type.INT64)
PERSON = struct([("id", NUMBER), ("name", STRING), ("age", NUMBER)], name="person")
ADA = Record({"id": 1, "name": "Ada", "age": 36}, PERSON, topic="t")


class TestReplaceField(TransformSuite):
    transform: ClassVar[str] = "replace_field"
    wrong: ClassVar = [
        ({}, "neither include nor exclude nor renames"),
        ({"renames": "a"}, "instead of old:new"),
        ({"include": "a", "inclde": "b"}, "inclde"),
    ]

    def examples(self) -> Sequence[Example]:
        return [
            Example(
                {"include": "name, id"},
                ADA,
                Record({"id": 1, "name": "Ada"}, struct([("id", NUMBER), ("name", STRING)], name="person"), topic="t"),
            ),
            Example({"exclude": "id,name"}, ADA, Record({"age": 36}, struct([("age", NUMBER)], name="person"), topic="t")),
            Example({"exclude": "id,name,age"}, ADA, Record({}, struct([], name="person"), topic="t")),
            Example({"renames": "id:number,none:x"}, Record({"id": 1, "b": 2}), Record({"number": 1, "b": 2})),
            Example({"renames": "id:name"}, ADA, "would give several fields the name 'name'"),
            Example({"include": "id"}, Record("text", STRING), "is no struct, whose fields"),
            Example({"include": "id", "on": "key"}, Record(1, key={"id": 1, "x": 2}), Record(1, key={"id": 1})),
            Example({"exclude": "x", "on": "key"}, Record(1), Record(1)),
            # Of `before` nothing is there, and yet its schema says nothing of a secret any more.
            Example(
                {"exclude": "after.secret,before.secret,after.none"},
                change([("id", WHOLE), ("secret", SECRET)], None, {"id": 1, "secret": "s"}),
                change([("id", WHOLE)], None, {"id": 1}),
            ),
            Example({"exclude": "after.secret"}, Record({"after": {"id": 1, "secret": "s"}}), Record({"after": {"id": 1}})),
            Example({"exclude": "a.b,c.d"}, Record({"a.b": 1, "a": {"b": 2}, "c": 3}), Record({"a": {"b": 2}, "c": 3})),
            Example(
                {"exclude": "tags.secret"},
                Record({"tags": {"secret": "s"}}, struct([("tags", Schema(Type.MAP, keys=STRING, items=STRING))])),
                "in which secret can't be named as a field",
            ),
        ]
