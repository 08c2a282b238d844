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
from services.executor.runtime.sink.columnar.batches import table_of
from services.executor.runtime.sink.columnar.engine import ArrowEngine
from services.executor.runtime.sink.decode.part import Part

QUEUE = "orders/broker-a/0"


def part(
    engine: ArrowEngine,
    values: Sequence[object],
    schema: Schema | None,
    keys: Sequence[object] | None = None,
    queue: str = QUEUE,
) -> Part:
    records = SinkBatch(queue, "orders", values, list(range(len(values))), keys, schema=schema)
    made = Part(queue, 0, len(values), {}, records, len(values), 0, topic="orders")
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


def test_keys_that_are_numbers_in_one_queue_and_text_in_another_are_read_one_by_one(tmp_path: Path) -> None:
    file = tmp_path / "db"
    with closing(sqlite3.connect(file)) as database:
        database.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, note TEXT)")
    sink = JdbcSink()
    given = {"connection.url": f"sqlite:///{file}", "insert.mode": "upsert", "pk.mode": "record_key"}
    task = sink.open(parse(sink.options, given), {}, TaskContext())
    task.start()
    engine = ArrowEngine(task, task.columns)
    schema = struct([("note", Schema(Type.STRING, optional=True))])
    other = "orders/broker-a/1"
    parts = [part(engine, [{"note": "a"}, {"note": "b"}], schema, [7, 2**53 + 1])]
    parts.append(part(engine, [{"note": "c"}, {"note": "d"}], schema, ["x", "8"], other))
    try:
        refused = engine.write(parts, commit(4), lambda _: None)
    finally:
        task.close()
    assert [(each.queue, each.offset) for each in refused] == [(other, 0)]
    with closing(sqlite3.connect(file)) as database:
        assert database.execute("SELECT id, note FROM orders ORDER BY id").fetchall() == [(7, "a"), (8, "d"), (2**53 + 1, "b")]


def test_values_of_a_schema_keep_their_type_beside_keys_of_several(tmp_path: Path) -> None:
    task = JdbcSink().open(parse(JdbcSink.options, {"connection.url": f"sqlite:///{tmp_path}/db"}), {}, TaskContext())
    engine = ArrowEngine(task, ("value", "key"))
    number = Schema(Type.INT64)
    table = table_of([part(engine, [1], number, [2**53 + 1]), part(engine, [2], number, ["x"], "orders/broker-a/1")])
    assert table.to_pydict() == {"value": [1, 2], "key": ["9007199254740993", "x"]}
