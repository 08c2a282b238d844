"""cast makes values of one type values of another."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, time
from decimal import Decimal
from math import inf, nan
from typing import Any, ClassVar
from uuid import UUID

import pytest

from rocketconnect_sdk.conformance.transform import Example, TransformSuite
from rocketconnect_sdk.schema import BYTES, OPTIONAL_STRING, STRING, Schema, Type, Unit, decimal, struct, timestamp
from rocketconnect_sdk.transforms import Record
from rocketconnect_sdk.transforms.casting import cast
from rocketconnect_sdk.transforms.type_names import read_type
from tests.rocketconnect_sdk.transforms.changes import NUMBER as WHOLE
from tests.rocketconnect_sdk.transforms.changes import SECRET, change

NUMBER, SMALL, FLOAT = Schema(Type.INT64), Schema(Type.INT8), Schema(Type.FLOAT64)
PRICE = decimal(2, precision=4)
POINT, CLOCK = timestamp(Unit.MILLISECONDS), timestamp(Unit.MICROSECONDS, zone=False)
NANOSECONDS, NANO_TIME = timestamp(Unit.NANOSECONDS), Schema(Type.TIME, unit=Unit.NANOSECONDS)
NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)


class TestCast(TransformSuite):
    transform: ClassVar[str] = "cast"
    wrong: ClassVar = [
        ({}, "spec"),
        ({"spec": "a:int12"}, "names the type 'int12'"),
        ({"spec": "a:decimal"}, "names the type 'decimal'"),
        ({"spec": "a:decimal(2,3)"}, "decimal(2,3)"),
        ({"spec": "a:time(s)"}, "time(s)"),
        ({"spec": "int8,int16"}, "instead of field:type"),
        ({"spec": "a:int8,a:int16"}, "names the field a twice"),
        ({"spec": ","}, "names no type"),
    ]

    def examples(self) -> Sequence[Example]:
        row = struct([("a", replace(NUMBER, optional=True, doc="about", name="n", default=5)), ("b", STRING)], name="row")
        cast_row = struct([("a", replace(OPTIONAL_STRING, doc="about", default="5")), ("b", PRICE)], name="row")
        spec = {"spec": "a:string, b:decimal(4, 2), c:boolean"}
        return [
            Example(spec, Record({"a": 1, "b": "1.5"}, row), Record({"a": "1", "b": Decimal("1.50")}, cast_row)),
            Example(spec, Record({"a": None, "b": "-0"}, row), Record({"a": None, "b": Decimal("-0.00")}, cast_row)),
            Example(spec, Record({"a": 1.5, "b": 12, "x": 1}), Record({"a": "1.5", "b": Decimal("12.00"), "x": 1})),
            Example(
                spec,
                Record({"a": 1, "b": "1.505"}, row),
                "the field b can't be cast from string to decimal(4,2): '1.505' has more than 2",
            ),
            Example({"spec": "int8"}, Record(127, NUMBER), Record(127, SMALL)),
            Example({"spec": "int8"}, Record(128, NUMBER), "the value can't be cast from int64 to int8: 128 is not between"),
            Example(
                {"spec": "a:int8"}, Record({"a": 200, "b": ""}, row), "the field a can't be cast from int64 to int8: 200 is not"
            ),
            Example({"spec": "int8", "on": "key"}, Record(1, key="7"), Record(1, key=7)),
            Example({"spec": "float64"}, Record(7, NUMBER), Record(7.0, FLOAT)),
            Example({"spec": "a:int8"}, Record("text"), "is no struct"),
            Example(
                {"spec": "after.id:string,before.id:string"},
                change([("id", WHOLE), ("secret", SECRET)], None, {"id": 1, "secret": "s"}),
                change([("id", SECRET), ("secret", SECRET)], None, {"id": "1", "secret": "s"}),
            ),
        ]


@pytest.mark.parametrize(
    ("value", "source", "target", "expected"),
    [
        (True, None, "int32", 1),
        (3.0, None, "int32", 3),
        (Decimal("3.00"), None, "uint8", 3),
        ("+12", STRING, "int64", 12),
        (10**18, NUMBER, "uint64", 10**18),
        (date(1970, 1, 11), Schema(Type.DATE), "int32", 10),
        (NOON, POINT, "int64", 1_714_564_800_000),
        (NOON, None, "int64", 1_714_564_800_000_000),
        (time(0, 0, 1), Schema(Type.TIME, unit=Unit.MILLISECONDS), "int32", 1000),
        (5, NANOSECONDS, "int64", 5),
        ("1e3", STRING, "float64", 1000.0),
        ("1e3", STRING, "double", 1000.0),
        ("1.5", STRING, "float", 1.5),
        ("-Infinity", STRING, "float64", -inf),
        (0.1, FLOAT, "float32", 0.10000000149011612),
        (Decimal("1.5"), None, "float64", 1.5),
        (0, NUMBER, "boolean", False),
        (0.5, FLOAT, "boolean", True),
        ("TRUE", STRING, "boolean", True),
        (0.1, FLOAT, "decimal(4,2)", Decimal("0.10")),
        (0.10000000149011612, Schema(Type.FLOAT32), "decimal(4,2)", Decimal("0.10")),
        (True, None, "decimal(1)", Decimal(1)),
        (True, None, "string", "true"),
        (1e16, FLOAT, "string", "1e+16"),
        (0.10000000149011612, Schema(Type.FLOAT32), "string", "0.1"),
        (nan, FLOAT, "string", "NaN"),
        (-inf, FLOAT, "string", "-Infinity"),
        (Decimal("1E+3"), None, "string", "1000"),
        (b"\xff", BYTES, "string", "/w=="),
        ("/w==", STRING, "bytes", b"\xff"),
        (b"\xff", BYTES, "bytes", b"\xff"),
        (UUID(int=1), None, "string", "00000000-0000-0000-0000-000000000001"),
        ("00000000-0000-0000-0000-000000000001", STRING, "uuid", UUID(int=1)),
        (UUID(int=1), None, "uuid", UUID(int=1)),
        ([1, None], None, "string", "[1,null]"),
        ({"a": [1.5]}, None, "json", '{"a":[1.5]}'),
        ('{"a": 1}', STRING, "json", '{"a": 1}'),
        ("[", Schema(Type.JSON), "json", "["),
        (date(2024, 5, 1), None, "string", "2024-05-01"),
        (time(1, 2, 3, 40), None, "string", "01:02:03.000040"),
        (NOON, POINT, "string", "2024-05-01T12:00:00Z"),
        (NOON.replace(tzinfo=None), CLOCK, "string", "2024-05-01T12:00:00"),
        (1_000_000, NANOSECONDS, "string", "1970-01-01T00:00:00.001Z"),
        (86_400 * 10**9 - 1, NANO_TIME, "string", "23:59:59.999999999"),
        ("2024-05-01", STRING, "date", date(2024, 5, 1)),
        (10, NUMBER, "date", date(1970, 1, 11)),
        (NOON.replace(hour=0), POINT, "date", date(2024, 5, 1)),
        ("12:30", STRING, "time", time(12, 30)),
        ("12:30:00.5", STRING, "time(ns)", 45_000_500_000_000),
        ("2024-05-01T14:00:00.001+02:00", STRING, "timestamp(ms)", NOON.replace(microsecond=1000)),
        ("2024-05-01 12:00:00", STRING, "local_timestamp", NOON.replace(tzinfo=None)),
        ("2024-05-01 12:00:00", STRING, "timestamp_ntz", NOON.replace(tzinfo=None)),
        (1_714_564_800_000, NUMBER, "timestamp(ms)", NOON),
        (NOON, POINT, "timestamp(ns)", 1_714_564_800 * 10**9),
        (date(2024, 5, 1), None, "local_timestamp", NOON.replace(hour=0, tzinfo=None)),
    ],
)
def test_a_value_is_cast_exactly(value: object, source: Schema | None, target: str, expected: Any) -> None:
    found = cast(value, source, read_type(target))
    assert (found, type(found)) == (expected, type(expected))


@pytest.mark.parametrize(
    ("value", "source", "target", "why"),
    [
        (3.5, FLOAT, "int32", "is no whole number"),
        (inf, FLOAT, "int32", "is no whole number"),
        ("3.0", STRING, "int32", "is no whole number"),
        ("1_000", STRING, "int32", "is no whole number"),
        (-1, NUMBER, "uint8", "is not between 0 and 255"),
        (b"", BYTES, "int8", "is no text, but bytes"),
        ("1_0", STRING, "float64", "is no number"),
        (10**400, None, "float64", "is too large for double"),
        (1e300, FLOAT, "float32", "is too large for float"),
        ("yes", STRING, "boolean", "neither true nor false"),
        (100, NUMBER, "decimal(4,2)", "more than 2 digits before its point"),
        (0.125, FLOAT, "decimal(4,2)", "more than 2 digits behind its point"),
        ("1e-999999", STRING, "decimal(4,2)", "digits behind its point"),
        (nan, FLOAT, "decimal(4,2)", "is no number that a decimal can hold"),
        (NOON, POINT, "date", "is finer than a day"),
        (NOON, POINT, "time", "is no time of a day alone"),
        (time(1), None, "date", "is a time of a day and no point in time"),
        (NOON, POINT, "local_timestamp", "can't get or lose a zone"),
        (1, NANOSECONDS, "timestamp(us)", "is finer than what us can tell"),
        (-1, NUMBER, "time", "is no time of a day"),
        (10**7, NUMBER, "date", "is beyond the years 1 to 9999"),
        (date(9999, 1, 1), None, "timestamp(ns)", "is beyond what nanoseconds can tell"),
        ("2024-5-1", STRING, "date", "is no date"),
        ("20240501", STRING, "date", "is no date"),
        ("1230", STRING, "time", "is no time"),
        ("2024-05-01T12:00:00", STRING, "timestamp", "with a zone"),
        ("2024-05-01T12:00:00Z", STRING, "local_timestamp", "without a zone"),
        ("0001-01-01T00:00:00+10:00", STRING, "timestamp", "is beyond the years"),
        (True, None, "date", "can't become a date"),
        ("x", STRING, "bytes", "is no text in base64"),
        ("x", STRING, "uuid", "hexadecimal"),
        ("{", STRING, "json", "is no JSON"),
        ([object], None, "string", "no JSON form"),
    ],
)
def test_what_does_not_fit_is_refused(value: object, source: Schema | None, target: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        cast(value, source, read_type(target))


def test_a_struct_is_no_target() -> None:
    with pytest.raises(ValueError, match="can't become struct"):
        cast({}, None, struct([]))
