"""Drives a task of the sink as the runtime does, and a row of many types."""

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any, ClassVar
from uuid import UUID

from connectors.elasticsearch.sink import ElasticsearchSink
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import RecordRefused
from rocketconnect_sdk.options import parse
from rocketconnect_sdk.record import SinkBatch
from rocketconnect_sdk.schema import STRING, Schema, Type, Unit, decimal, struct
from rocketconnect_sdk.sink import QueuePosition, RecordSinkTask, SinkCommit

QUEUE = "orders/b/0"
TIME_MS = 1_767_225_600_000
"""The time of all records: 2026-01-01."""


class Run:
    """A task that writes one queue. All of them are closed behind each test."""

    opened: ClassVar[list["Run"]] = []

    def __init__(self, url: str, **options: str) -> None:
        sink = ElasticsearchSink()
        given = {"url": url, **{key.replace("_", "."): value for key, value in options.items()}}
        config = parse(sink.options, given).replaced(lambda text: "wrong" if text == "${env:SECRET}" else text)
        assert list(sink.check(config)) == []
        self.context = TaskContext()
        self.task: RecordSinkTask = sink.open(config, {}, self.context)
        self.opened.append(self)
        self.task.start()
        self.at = 0

    def write(self, values: Sequence[object], keys: Sequence[object] | None = None, schema: Schema | None = None) -> dict[int, str]:
        """Writes a batch, and returns what was refused. After an error the same batch is to be written again."""
        end = self.at + len(values)
        offsets, times = range(self.at, end), [TIME_MS] * len(values)
        batch = SinkBatch(QUEUE, "Orders", values, offsets, keys, times, [{"h": "x"}] * len(values), schema)
        refused: dict[int, str] = {}
        try:
            receipts: Any = [self.task.writer().stage(batch, "part")]
        except RecordRefused as error:
            refused, receipts = error.refused, [error.receipt]
        commit = SinkCommit("test", 0, 1, {QUEUE: QueuePosition(self.at)}, {QUEUE: QueuePosition(end)}, len(values), f"t{self.at}")
        try:
            self.task.commit(receipts, commit)
        except RecordRefused as error:
            refused |= error.refused
        self.at = end
        return refused


TYPED = struct(
    [
        ("flag", Schema(Type.BOOLEAN)),
        ("small", Schema(Type.INT8)),
        ("long", Schema(Type.INT64)),
        ("double", Schema(Type.FLOAT64)),
        ("price", decimal(2)),
        ("text", STRING),
        ("bytes", Schema(Type.BYTES)),
        ("day", Schema(Type.DATE)),
        ("clock", Schema(Type.TIME, unit=Unit.MICROSECONDS)),
        ("at", Schema(Type.TIMESTAMP, unit=Unit.MICROSECONDS, zone=True)),
        ("nanos", Schema(Type.TIMESTAMP, unit=Unit.NANOSECONDS, zone=True)),
        ("id", Schema(Type.UUID)),
        ("inner", struct([("n", Schema(Type.INT32))])),
        ("list", Schema(Type.ARRAY, items=Schema(Type.INT32))),
    ]
)
_ID = UUID("00000000-0000-0000-0000-000000000007")
TYPED_ROW: Mapping[str, object] = {
    "flag": True,
    "small": -7,
    "long": 9_007_199_254_740_993,
    "double": 0.1,
    "price": Decimal("12345678901234567890.25"),
    "text": "ünï",
    "bytes": b"\x00\xff",
    "day": date(2026, 1, 2),
    "clock": time(1, 2, 3, 4),
    "at": datetime(2026, 1, 2, 3, 4, 5, 678_901, tzinfo=UTC),
    "nanos": 1_767_323_045_678_901_234,
    "id": _ID,
    "inner": {"n": 1},
    "list": [1, 2],
}
TYPED_DOCUMENT: Mapping[str, object] = {
    **TYPED_ROW,
    "price": 12345678901234567890.25,
    "bytes": "AP8=",
    "day": "2026-01-02",
    "clock": "01:02:03.000004",
    "at": "2026-01-02T03:04:05.678901Z",
    "nanos": "2026-01-02T03:04:05.678901234Z",
    "id": str(_ID),
}
