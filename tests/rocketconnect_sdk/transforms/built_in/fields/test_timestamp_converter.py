"""timestamp_converter gives points in time another form."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, time
from typing import Any, ClassVar

from rocketconnect_sdk.conformance.transform import Example, TransformSuite
from rocketconnect_sdk.schema import STRING, Schema, Type, Unit, struct, timestamp
from rocketconnect_sdk.transforms import Record

NUMBER, DATE = Schema(Type.INT64), Schema(Type.DATE)
TIME_MS, TIME_US = Schema(Type.TIME, unit=Unit.MILLISECONDS), Schema(Type.TIME)
POINT_MS, POINT_US, POINT_NS = (timestamp(unit) for unit in Unit)
AT = datetime(2024, 5, 1, 15, 4, 9, 70_001, tzinfo=UTC)
MS = 1_714_575_849_070
NS = MS * 10**6 + 1234
FORM = "yyyy-MM-dd HH:mm:ss"


def whole(target: str, value: object, schema: Schema, becomes: Any, made: Schema, **more: str) -> Example:
    return Example({"target.type": target, **more}, Record(value, schema), Record(becomes, made))


class TestTimestampConverter(TransformSuite):
    transform: ClassVar[str] = "timestamp_converter"
    wrong: ClassVar = [
        ({}, "target.type"),
        ({"target.type": "date"}, "must be one of string, unix, Date, Time, Timestamp"),
        ({"target.type": "string"}, "is needed to write texts"),
        ({"target.type": "unix", "format": "bb"}, "has bb, and the letters"),
        ({"target.type": "unix", "unix.precision": "days"}, "must be one of seconds"),
    ]

    def examples(self) -> Sequence[Example]:
        row = struct([("id", NUMBER), ("at", replace(POINT_US, optional=True, doc="when", default=AT))], name="row")
        texts = struct([("id", NUMBER), ("at", replace(STRING, optional=True, doc="when"))], name="row")
        field = {"field": "at", "target.type": "string", "format": FORM}
        of_key = {"on": "key", "target.type": "unix"}
        micros, nanos, seconds = ({"unix.precision": name} for name in ("microseconds", "nanoseconds", "seconds"))
        milliseconds = AT.replace(microsecond=70_000)
        return [
            Example(field, Record({"id": 1, "at": AT}, row), Record({"id": 1, "at": "2024-05-01 15:04:09"}, texts)),
            Example(field, Record({"id": 1, "at": None}, row), Record({"id": 1, "at": None}, texts)),
            Example(field, Record({"id": 1, "at": AT}), Record({"id": 1, "at": "2024-05-01 15:04:09"})),
            Example(field, Record({"id": 1}), Record({"id": 1})),
            Example(field, Record("text"), "is no struct"),
            Example(of_key, Record(1, None, AT, POINT_US), Record(1, None, MS, NUMBER)),
            whole("unix", AT, POINT_US, MS, NUMBER),
            whole("unix", AT, POINT_US, MS * 1000 + 1, NUMBER, **micros),
            whole("unix", AT, POINT_US, MS // 1000, NUMBER, **seconds),
            whole("unix", NS, POINT_NS, NS, NUMBER, **nanos),
            whole("unix", date(1970, 1, 2), DATE, 86_400_000, NUMBER),
            whole("unix", "1970-01-02 00:00:00", STRING, 86_400_000, NUMBER, format=FORM),
            whole("Date", AT, POINT_US, AT.date(), DATE),
            whole("Date", -1, NUMBER, date(1969, 12, 31), DATE),
            whole("Time", AT, POINT_US, AT.time(), TIME_US),
            whole("Time", "2024-05-01 15:04:09", STRING, time(15, 4, 9), TIME_MS, format=FORM),
            whole("Timestamp", MS, NUMBER, milliseconds, POINT_MS),
            whole("Timestamp", MS * 1000 + 1, NUMBER, AT, POINT_US, **micros),
            whole("Timestamp", NS, NUMBER, NS, POINT_NS, **nanos),
            whole("Timestamp", AT.replace(tzinfo=None), timestamp(zone=False), AT, POINT_US),
            whole("Timestamp", time(0, 0, 1), TIME_MS, datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC), POINT_MS),
            Example({"target.type": "Timestamp", **nanos}, Record(NS), Record(AT)),
            Example(
                {"target.type": "Timestamp"}, Record("x", STRING), "the value can't become Timestamp: 'x' is a text, and no format"
            ),
            Example({"target.type": "unix", "format": FORM}, Record("1.5.2024", STRING), "'1.5.2024' is no time of that format"),
            Example({"target.type": "unix"}, Record(True, Schema(Type.BOOLEAN)), "the value is no time, text or number since 1970"),
            Example({"target.type": "unix"}, Record([1]), "is no time, text or number since 1970, but list"),
            Example({"target.type": "Date"}, Record(1 << 62, NUMBER), "is beyond the years 1 to 9999"),
            Example({"target.type": "string", "format": FORM}, Record(1 << 62, NUMBER), "is beyond the years 1 to 9999"),
            Example(
                {"target.type": "unix", **nanos}, Record(date(9999, 1, 1), DATE), "is beyond what a number of 64 bits can count"
            ),
        ]
