"""insert_header, drop_headers, header_from and header_to_value change headers."""

from collections.abc import Sequence
from typing import ClassVar

from rocketconnect_sdk.conformance.transform import Example, TransformSuite
from rocketconnect_sdk.schema import OPTIONAL_STRING, STRING, Schema, Type, Unit, struct, timestamp
from rocketconnect_sdk.transforms import Record

NUMBER = Schema(Type.INT64)
ROW = struct([("id", NUMBER), ("name", OPTIONAL_STRING), ("at", timestamp(Unit.NANOSECONDS))], name="row")


class TestInsertHeader(TransformSuite):
    transform: ClassVar[str] = "insert_header"
    wrong: ClassVar = [({"header": "a"}, "value.literal"), ({"value.literal": "a"}, "header")]

    def examples(self) -> Sequence[Example]:
        config = {"header": "from", "value.literal": "a, b"}
        return [
            Example(config, Record(1), Record(1, headers={"from": "a, b"})),
            Example(config, Record(1, headers={"from": "x", "b": "y"}), Record(1, headers={"from": "a, b", "b": "y"})),
        ]


class TestDropHeaders(TransformSuite):
    transform: ClassVar[str] = "drop_headers"
    wrong: ClassVar = [({}, "headers")]

    def examples(self) -> Sequence[Example]:
        config = {"headers": "a, c"}
        return [
            Example(config, Record(1, headers={"a": "x", "b": "y"}), Record(1, headers={"b": "y"})),
            Example(config, Record(1), Record(1)),
        ]


class TestHeaderFrom(TransformSuite):
    transform: ClassVar[str] = "header_from"
    wrong: ClassVar = [
        ({"fields": "a", "headers": "b"}, "operation"),
        ({"fields": "a", "headers": "b", "operation": "cut"}, "must be one of copy, move"),
        ({"fields": "a,b", "headers": "b", "operation": "copy"}, "names 1 header for 2 fields"),
    ]

    def examples(self) -> Sequence[Example]:
        value, headers = {"id": 1, "name": "a", "at": 5}, {"n": "a", "t": "1970-01-01T00:00:00.000000005Z"}
        config = {"fields": "name,at", "headers": "n,t"}
        copy, move = ({**config, "operation": name} for name in ("copy", "move"))
        left = struct([("id", NUMBER)], name="row")
        old = {"n": "old", "x": "y"}
        none = {"id": 1, "name": None, "at": 5}
        return [
            Example(copy, Record(value, ROW, headers=old), Record(value, ROW, headers={**old, **headers})),
            Example(move, Record(value, ROW), Record({"id": 1}, left, headers=headers)),
            Example(copy, Record(none, ROW, headers=old), Record(none, ROW, headers={**old, "t": headers["t"]})),
            Example(move, Record({"name": True, "at": 0.5}), Record({}, headers={"n": "true", "t": "0.5"})),
            Example({**move, "on": "key"}, Record(1, None, value, ROW), Record(1, None, {"id": 1}, left, headers=headers)),
            Example({**copy, "on": "key"}, Record(value), Record(value)),
            Example({**copy, "fields": "id,x"}, Record(value, ROW), "there is no field x"),
            Example({**copy, "fields": "id,x"}, Record(value), "there is no field x"),
            Example(move, Record({"name": [object], "at": 5}), "the field name can't become a header"),
            Example(copy, Record("text", STRING), "is no struct"),
        ]


class TestHeaderToValue(TransformSuite):
    transform: ClassVar[str] = "header_to_value"
    wrong: ClassVar = [
        ({"fields": "a", "headers": "b"}, "operation"),
        ({"fields": "a", "headers": "b,c", "operation": "copy"}, "names 1 field for 2 headers"),
    ]

    def examples(self) -> Sequence[Example]:
        config = {"headers": "h,none", "fields": "x,y"}
        copy, move = ({**config, "operation": name} for name in ("copy", "move"))
        row = struct([("id", NUMBER)], name="row")
        made = struct([("id", NUMBER), ("x", OPTIONAL_STRING), ("y", OPTIONAL_STRING)], name="row")
        headers, value = {"h": "v", "i": "w"}, {"id": 1, "x": "v", "y": None}
        return [
            Example(copy, Record({"id": 1}, row, headers=headers), Record(value, made, headers=headers)),
            Example(move, Record({"id": 1}, row, headers=headers), Record(value, made, headers={"i": "w"})),
            Example(move, Record({"id": 1}, row), Record({"id": 1, "x": None, "y": None}, made)),
            Example(move, Record({"id": 1}, headers=headers), Record(value, headers={"i": "w"})),
            Example({**move, "on": "key"}, Record(1, None, {}, headers={"h": "v"}), Record(1, None, {"x": "v", "y": None})),
            Example({**move, "on": "key"}, Record(1, headers=headers), Record(1, headers=headers)),
            Example({**copy, "fields": "id,y"}, Record({"id": 1}, row, headers=headers), "several fields the name 'id'"),
            Example(copy, Record("text"), "is no struct"),
        ]
