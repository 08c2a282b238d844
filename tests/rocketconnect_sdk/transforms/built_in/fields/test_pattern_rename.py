"""pattern_rename renames by a regular expression."""

from collections.abc import Sequence
from typing import ClassVar

from rocketconnect_sdk.conformance.transform import Example, TransformSuite
from rocketconnect_sdk.schema import STRING, struct
from rocketconnect_sdk.transforms import Record


class TestPatternRename(TransformSuite):
    transform: ClassVar[str] = "pattern_rename"
    wrong: ClassVar = [
        ({}, "field.pattern"),
        ({"field.pattern": "("}, "is no regular expression"),
        ({"field.pattern": "a", "field.replacement": "$1"}, "refers to the group 1"),
        ({"field.pattern": "(?P<a>a)", "field.replacement": "${b}"}, "refers to the group b"),
        ({"field.pattern": "a", "field.pattern.flags": "CANON_EQ"}, "CANON_EQ, which is not known"),
        ({"field.pattern": "[a #b", "field.pattern.flags": "COMMENTS"}, "is no regular expression"),
    ]

    def examples(self) -> Sequence[Example]:
        return [
            Example(
                {"field.pattern": "^prefixed", "field.replacement": ""},
                Record({"prefixed_a": "x", "b": "y"}, struct([("prefixed_a", STRING), ("b", STRING)], name="p")),
                Record({"_a": "x", "b": "y"}, struct([("_a", STRING), ("b", STRING)], name="p")),
            ),
            Example({"field.pattern": r"\.", "field.replacement": "_"}, Record({"a.b.c": 1}), Record({"a_b_c": 1})),
            Example(
                {
                    "field.pattern": "(?P<first>a)(b)",
                    "field.replacement": r"$2${first}\$1\\",
                    "field.pattern.flags": "CASE_INSENSITIVE",
                },
                Record({"AB": 1}),
                Record({"BA$1\\": 1}),
            ),
            Example(
                {"field.pattern": "a.", "field.replacement": "x", "field.pattern.flags": "LITERAL,CASE_INSENSITIVE"},
                Record({"ab": 1, "A.": 2}),
                Record({"ab": 1, "x": 2}),
            ),
            Example(
                {"field.pattern": "a", "field.replacement": "b", "on": "key"}, Record(1, key={"a": 1}), Record(1, key={"b": 1})
            ),
            Example({"field.pattern": ".", "field.replacement": "b"}, Record({"a": 1, "c": 1}), "several fields the name 'b'"),
        ]
