"""filter drops."""

from collections.abc import Sequence
from typing import ClassVar

from rocketconnect_sdk.conformance.transform import Example, TransformSuite
from rocketconnect_sdk.transforms import Record


class TestFilter(TransformSuite):
    transform: ClassVar[str] = "filter"

    def examples(self) -> Sequence[Example]:
        return [Example({}, Record("v"), None)]
