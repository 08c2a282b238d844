"""mask_field hides what is in fields."""

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import ClassVar
from uuid import UUID

from rocketconnect_sdk.conformance.transform import Example, TransformSuite
from rocketconnect_sdk.schema import BYTES, OPTIONAL_STRING, STRING, Schema, Type, Unit, decimal, struct, timestamp
from rocketconnect_sdk.transforms import Record
from tests.rocketconnect_sdk.transforms.changes import NUMBER as WHOLE
from tests.rocketconnect_sdk.transforms.changes import SECRET, change

NUMBER = Schema(Type.INT64)
TYPED: Mapping[str, tuple[Schema, object, object]] = {
    "boolean": (Schema(Type.BOOLEAN), True, False),
    "whole": (Schema(Type.UINT8), 7, 0),
    "float": (Schema(Type.FLOAT64), 0.5, 0.0),
    "text": (STRING, "secret", ""),
    "none": (OPTIONAL_STRING, None, None),
    "bytes": (BYTES, b"x", b""),
    "decimal": (decimal(2, precision=10), Decimal("1.25"), Decimal("0.00")),
    "date": (Schema(Type.DATE), date(2024, 5, 1), date(1970, 1, 1)),
    "time": (Schema(Type.TIME), time(12, 30), time(0)),
    "point": (timestamp(Unit.MILLISECONDS), datetime(2024, 5, 1, tzinfo=UTC), datetime(1970, 1, 1, tzinfo=UTC)),
    "clock": (timestamp(zone=False), datetime(2024, 5, 1), datetime(1970, 1, 1)),  # noqa: DTZ001  # what a clock shows
    "nanoseconds": (timestamp(Unit.NANOSECONDS), 12, 0),
    "uuid": (Schema(Type.UUID), UUID(int=7), UUID(int=0)),
    "json": (Schema(Type.JSON), "[1]", "null"),
    "array": (Schema(Type.ARRAY, items=NUMBER), [1], []),
    "map": (Schema(Type.MAP, keys=STRING, items=NUMBER), {"a": 1}, {}),
}


class TestMaskField(TransformSuite):
    transform: ClassVar[str] = "mask_field"
    wrong: ClassVar = [({}, "fields"), ({"fields": "a", "replacement": ""}, "is empty")]

    def examples(self) -> Sequence[Example]:
        schema = struct([("id", NUMBER), *((name, schema) for name, (schema, _, _) in TYPED.items())], name="row")
        row = {"id": 1, **{name: value for name, (_, value, _) in TYPED.items()}}
        masked = {"id": 1, **{name: mask for name, (_, _, mask) in TYPED.items()}}
        every = {"fields": ",".join([*TYPED, "elsewhere"])}
        untyped = {name: value for name, value in row.items() if name not in ("nanoseconds", "json")}
        pair = struct([("id", NUMBER), ("name", STRING)])
        within = struct([("of", struct([("a", NUMBER)]))])
        return [
            Example(every, Record(row, schema), Record(masked, schema)),
            Example(every, Record(untyped), Record({name: masked[name] for name in untyped})),
            Example({"fields": "id", "on": "key"}, Record(2, key={"id": 1}), Record(2, key={"id": 0})),
            Example(
                {"fields": "id,name", "replacement": "007"},
                Record({"id": 1, "name": "Ada"}, pair),
                Record({"id": 7, "name": "007"}, pair),
            ),
            Example({"fields": "id,name", "replacement": "007"}, Record({"id": 1, "name": "A"}), Record({"id": 7, "name": "007"})),
            Example(
                {"fields": "id", "replacement": "x"}, Record({"id": 1, "name": "Ada"}, pair), "id can't be masked: the replacement"
            ),
            Example({"fields": "of"}, Record({"of": {"a": 1}}, within), "of can't be masked: it is a struct"),
            Example({"fields": "of"}, Record({"of": object}), "of can't be masked: its value is a type"),
            Example(
                {"fields": "after.secret,before.secret"},
                change([("id", WHOLE), ("secret", SECRET)], {"id": 1, "secret": None}, {"id": 1, "secret": "s"}),
                change([("id", WHOLE), ("secret", SECRET)], {"id": 1, "secret": None}, {"id": 1, "secret": ""}),
            ),
            Example({"fields": "a.b.c"}, Record({"a": {"b": {"c": "s"}}}), Record({"a": {"b": {"c": ""}}})),
            Example({"fields": "a.`b.c`"}, Record({"a": {"b.c": "s"}}), Record({"a": {"b.c": ""}})),
        ]
