"""timestamp_router gives topics by time."""

from collections.abc import Sequence
from typing import ClassVar

from rocketconnect_sdk.conformance.transform import Example, TransformSuite
from rocketconnect_sdk.transforms import Record

MS = 1_714_575_849_070


class TestTimestampRouter(TransformSuite):
    transform: ClassVar[str] = "timestamp_router"
    wrong: ClassVar = [({"timestamp.format": "bb"}, "has bb, and the letters"), ({"topic.format": " "}, "is empty")]

    def examples(self) -> Sequence[Example]:
        config = {"topic.format": "${timestamp}/${topic}/${topic}", "timestamp.format": "yyyy-MM"}
        return [
            Example({}, Record(1, topic="t", timestamp_ms=MS), Record(1, topic="t-20240501", timestamp_ms=MS)),
            Example({}, Record(1, topic="t", timestamp_ms=MS + 10**8), Record(1, topic="t-20240502", timestamp_ms=MS + 10**8)),
            Example(config, Record(1, topic="t", timestamp_ms=MS), Record(1, topic="2024-05/t/t", timestamp_ms=MS)),
            Example({}, Record(1, topic="${timestamp}", timestamp_ms=0), Record(1, topic="${timestamp}-19700101", timestamp_ms=0)),
            Example({}, Record(1, topic="t"), "the record has no time"),
            Example({}, Record(1, topic="t", timestamp_ms=1 << 60), "is beyond the years 1 to 9999"),
        ]
