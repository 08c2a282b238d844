"""Batches in tables of Arrow, written without Spark."""

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from connectors.jdbc_sink import JdbcSink
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.options import parse
from rocketconnect_sdk.record import SinkBatch
from rocketconnect_sdk.schema import Schema, Type, struct
from rocketconnect_sdk.sink import QueuePosition, SinkCommit
from services.executor.runtime.sink.columnar.engine import ArrowEngine
from services.executor.runtime.sink.decode.part import Part

QUEUE = "orders/broker-a/0"


def part(engine: ArrowEngine, values: Sequence[object], schema: Schema | None) -> Part:
    records = SinkBatch(QUEUE, "orders", values, list(range(len(values))), schema=schema)
    made = Part(QUEUE, 0, len(values), {}, records, len(values), 0, topic="orders")
    assert engine.wanted.array is not None
    made.array = engine.wanted.array(values, schema)
    engine.finish(made)
    return made


def commit(rows: int) -> SinkCommit:
    return SinkCommit("test", 0, 1, {QUEUE: QueuePosition(0)}, {QUEUE: QueuePosition(rows)}, rows, "1")


def test_values_that_only_the_database_refuses_are_found_behind_those_that_no_column_has(tmp_path: Path) -> None:
    file = tmp_path / "db"
    with closing(sqlite3.connect(file)) as database:
        database.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, note TEXT NOT NULL CHECK (note <> 'bad'))")
    sink = JdbcSink()
    given = {"connection.url": f"sqlite:///{file}", "schema.evolution": "ignore"}
    task = sink.open(parse(sink.options, given), {}, TaskContext())
    task.start()
    engine = ArrowEngine(task, task.columns)
    notes = [None, "a", "bad", "b", "bad", "c"]
    values = [{"id": number, "note": note} for number, note in enumerate(notes)]
    schema = struct([("id", Schema(Type.INT32)), ("note", Schema(Type.STRING, optional=True))])
    try:
        refused = engine.write([part(engine, values, schema)], commit(len(values)), lambda _: None)
    finally:
        task.close()
    assert sorted(each.offset for each in refused) == [0, 2, 4]
    with closing(sqlite3.connect(file)) as database:
        assert database.execute("SELECT id, note FROM orders ORDER BY id").fetchall() == [(1, "a"), (3, "b"), (5, "c")]
