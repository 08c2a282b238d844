"""regex_router gives other topics."""

from collections.abc import Sequence
from typing import ClassVar

from rocketconnect_sdk.conformance.transform import Example, TransformSuite
from rocketconnect_sdk.transforms import Record


class TestRegexRouter(TransformSuite):
    transform: ClassVar[str] = "regex_router"
    wrong: ClassVar = [
        ({"regex": "(", "replacement": "x"}, "is no regular expression"),
        ({"regex": "a"}, "replacement"),
        ({"regex": "a", "replacement": "$1"}, "refers to the group 1"),
    ]

    def examples(self) -> Sequence[Example]:
        config = {"regex": "(.*)-raw-(.*)", "replacement": r"$2\$1-done$1"}
        return [
            Example(config, Record("v", topic="a-raw-b"), Record("v", topic="b$1-donea")),
            Example(config, Record("v", topic="raw"), Record("v", topic="raw")),
        ]
