"""Tasks of the Hudi sink, driven by hand."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pytest

from connectors.hudi_sink import HudiSink, table
from rocketconnect_sdk.arrow import to_array
from rocketconnect_sdk.conformance.sink_case import spark_session
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.options import parse
from rocketconnect_sdk.schema import STRING, Schema, Type, struct
from rocketconnect_sdk.sink import DataFrameSinkTask, QueuePosition, SinkCommit
from rocketconnect_sdk.spark.types import to_spark
from tests.connectors.hudi_sink.spark import read, settings
from tests.connectors.lakes.changes import Frame

PLAN, EPOCH = 28_342_800_000, 28_342_800_417
"""As they come from the clock: milliseconds since 2026 began."""
NUMBER = Schema(Type.INT64, optional=True)
TEXT = Schema(Type.STRING, optional=True)
ONE = struct([("id", NUMBER), ("day", NUMBER)], name="row")
TWO = struct([("id", NUMBER), ("day", NUMBER), ("more", NUMBER)], name="row")
ROW = struct([("id", NUMBER), ("text", TEXT)], name="row", optional=True)
WIDER = struct([("id", NUMBER), ("text", TEXT), ("more", NUMBER)], name="row", optional=True)
UPSERT = {"insert.mode": "upsert", "pk.fields": "id", "delete.enabled": "true", "truncate.enabled": "true"}


class Owner:
    """A task, and the batches that it gets. Plans and epochs count from those above."""

    def __init__(
        self,
        path: Path,
        more: Mapping[str, str] | None = None,
        *,
        task: int = 0,
        owner: tuple[int, int] = (1, 1),
        uid: str = "uid",
        **options: str,
    ) -> None:
        given = {"path": str(path), **(more or {}), **{key.replace("_", "."): value for key, value in options.items()}}
        generation, epoch = PLAN + owner[0], EPOCH + owner[1]
        context = TaskContext(connector_uid=uid, task=task, generation=generation, epoch=epoch, spark=spark_session(settings()))
        self.task: DataFrameSinkTask = HudiSink().open(parse(HudiSink.options, given), {}, context)
        self.queue = f"orders/broker-a/{task}"
        self.at = 0

    def start(self) -> Mapping[str, QueuePosition]:
        stored = self.task.start()
        self.at = stored.get(self.queue, QueuePosition(0)).until
        return stored

    def append(self, begin: int, end: int, *, queue: int = 0, schema: Schema = ONE, **fields: int) -> None:
        """A row for each offset."""
        self.task.columns_for(schema)
        values = [{"id": offset, "day": 5, **fields} for offset in range(begin, end)]
        rows = pa.table({"value": to_spark(to_array(values, schema))})
        self.task.write(spark_session(settings()).createDataFrame(rows), commit_of(f"orders/broker-a/{queue}", begin, end))

    def write(self, values: Sequence[object], schema: Schema | None, keys: Sequence[str | None] | None = None) -> None:
        """The next messages, of rows that change."""
        until = self.at + len(values)
        if schema is not None:
            self.task.columns_for(schema)
        held = {"value": to_spark(to_array(values, schema or STRING))}
        if keys is not None:
            held["key"] = pa.array(keys, pa.string())
        self.task.write(Frame(pa.table(held)), commit_of(self.queue, self.at, until))  # type: ignore[arg-type]
        self.at = until

    def rows(self, **texts: str) -> None:
        """A row for each key, which is a letter and a number."""
        self.write([{"id": int(name[1:]), "text": text} for name, text in texts.items()], ROW)


def commit_of(queue: str, begin: int, end: int) -> SinkCommit:
    return SinkCommit("uid", 0, 1, {queue: QueuePosition(begin)}, {queue: QueuePosition(end)}, end - begin, f"token{begin}")


def in_front(monkeypatch: pytest.MonkeyPatch, happens: Callable[[], object]) -> None:
    """Has something happen once, immediately before the next commit."""
    does = table.commit

    def behind(*args: object) -> None:
        monkeypatch.setattr(table, "commit", does)
        happens()
        does(*args)

    monkeypatch.setattr(table, "commit", behind)


def ids(path: Path) -> list[object]:
    return sorted(row["id"] for row in read(path))  # type: ignore[type-var]


def texts(path: Path) -> dict[object, object]:
    return {row["id"]: row["text"] for row in read(path)}
