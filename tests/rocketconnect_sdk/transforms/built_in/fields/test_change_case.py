"""change_case writes names of fields in another style."""

from collections.abc import Sequence
from typing import ClassVar

import pytest

from rocketconnect_sdk.conformance.transform import Example, TransformSuite
from rocketconnect_sdk.schema import STRING, struct
from rocketconnect_sdk.transforms import Record
from rocketconnect_sdk.transforms.built_in.fields.change_case import renamed


class TestChangeCase(TransformSuite):
    transform: ClassVar[str] = "change_case"
    wrong: ClassVar = [({"from": "LOWER_CAMEL"}, "to"), ({"from": "camel", "to": "UPPER_CAMEL"}, "must be one of LOWER_HYPHEN")]

    def examples(self) -> Sequence[Example]:
        upper, lower = (struct([(first, STRING), (last, STRING)], name="p") for first, last in (("A_B", "C"), ("a_b", "c")))
        config = {"from": "UPPER_UNDERSCORE", "to": "LOWER_UNDERSCORE"}
        camel = {"from": "LOWER_CAMEL", "to": "UPPER_UNDERSCORE", "on": "key"}
        return [
            Example(config, Record({"A_B": "x", "C": "y"}, upper), Record({"a_b": "x", "c": "y"}, lower)),
            Example(config, Record({"A": 1, "a": 2}), "several fields the name 'a'"),
            Example(camel, Record(1, key={"firstName": 1}), Record(1, key={"FIRST_NAME": 1})),
            Example(config, Record("text"), "is no struct"),
        ]


@pytest.mark.parametrize(
    ("name", "old", "new", "expected"),
    [
        ("first-name", "LOWER_HYPHEN", "LOWER_UNDERSCORE", "first_name"),
        ("first-name", "LOWER_HYPHEN", "UPPER_CAMEL", "FirstName"),
        ("first_name", "LOWER_UNDERSCORE", "LOWER_CAMEL", "firstName"),
        ("FIRST_NAME", "UPPER_UNDERSCORE", "LOWER_HYPHEN", "first-name"),
        ("FIRST_NAME", "UPPER_UNDERSCORE", "UPPER_CAMEL", "FirstName"),
        ("FirstName", "UPPER_CAMEL", "LOWER_UNDERSCORE", "first_name"),
        ("FirstName", "UPPER_CAMEL", "LOWER_CAMEL", "firstName"),
        ("ABTest", "UPPER_CAMEL", "LOWER_UNDERSCORE", "a_b_test"),
        ("firstName", "LOWER_CAMEL", "LOWER_CAMEL", "firstName"),
        ("_a", "LOWER_UNDERSCORE", "LOWER_CAMEL", "A"),
        ("größeIn", "LOWER_CAMEL", "UPPER_UNDERSCORE", "GRößE_IN"),
        ("", "LOWER_CAMEL", "UPPER_UNDERSCORE", ""),
    ],
)
def test_a_name_is_written_in_another_style(name: str, old: str, new: str, expected: str) -> None:
    assert renamed(name, old, new) == expected
