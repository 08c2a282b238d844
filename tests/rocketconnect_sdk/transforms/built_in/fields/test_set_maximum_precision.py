"""set_maximum_precision gives decimals fewer digits."""

from collections.abc import Sequence
from decimal import Decimal
from typing import ClassVar

from rocketconnect_sdk.conformance.transform import Example, TransformSuite
from rocketconnect_sdk.schema import Schema, Type, decimal, struct
from rocketconnect_sdk.transforms import Record

NUMBER = Schema(Type.INT64)


class TestSetMaximumPrecision(TransformSuite):
    transform: ClassVar[str] = "set_maximum_precision"
    wrong: ClassVar = [({}, "precision.max"), ({"precision.max": "0"}, "at least 1"), ({"precision.max": "77"}, "at most 76")]

    def examples(self) -> Sequence[Example]:
        wide = struct([("a", decimal(2, precision=38, optional=True)), ("b", decimal(0, precision=3)), ("c", NUMBER)])
        narrow = struct([("a", decimal(2, precision=5, optional=True)), ("b", decimal(0, precision=3)), ("c", NUMBER)])
        value = {"a": Decimal("-123.45"), "b": Decimal(999), "c": 1}
        config = {"precision.max": "5"}
        return [
            Example(config, Record(value, wide), Record(value, narrow)),
            Example(config, Record({**value, "a": None}, wide), Record({**value, "a": None}, narrow)),
            Example(config, Record({**value, "a": Decimal("1234.50")}, wide), "the field a can't have at most 5 digits: 1234.50"),
            Example({"precision.max": "1"}, Record(value, wide), "the field a has 2 digits behind its point, more than 1"),
            Example(config, Record(value), Record(value)),
            Example({**config, "on": "key"}, Record(1, None, value, wide), Record(1, None, value, narrow)),
        ]
