"""Tables that are made, that change, and that do not take a record."""

from collections.abc import Sequence

import pytest

from rocketconnect_sdk.conformance.runs import QUEUE
from rocketconnect_sdk.errors import PermanentError, RecordRefused
from rocketconnect_sdk.record import SinkBatch
from rocketconnect_sdk.schema import Schema, Type, struct
from tests.connectors.clickhouse.run import Run, opened
from tests.servers.clickhouse import ClickHouse

_INT, _LONG, _TEXT = Schema(Type.INT32), Schema(Type.INT64), Schema(Type.STRING)
_MAYBE = Schema(Type.STRING, optional=True)
FIRST = struct([("id", _INT), ("name", _TEXT)])
WIDER = struct([("id", _LONG), ("name", _MAYBE), ("town", _TEXT), ("tags", Schema(Type.ARRAY, optional=True, items=_TEXT))])
GROWN = {"id": 1 << 40, "name": None, "town": "Bern", "tags": ["a"]}


def run_of(server: ClickHouse, policy: str, **options: str) -> Run:
    given = {name.replace("_", "."): value for name, value in options.items()}
    return opened(server.options() | {"table": "t", "table.create": "true", "schema.evolution": policy} | given).start()


def refusals(run: Run, values: Sequence[object], schema: Schema | None) -> dict[int, str]:
    with pytest.raises(RecordRefused) as refused:
        run.stage(SinkBatch(QUEUE, "orders", values, range(len(values)), schema=schema))
    if refused.value.receipt is not None:
        run.task.commit([refused.value.receipt], run.commit_of(len(values)))
    return refused.value.refused


def columns(server: ClickHouse, table: str = "t") -> dict[str, str]:
    return {name: kind for name, kind, *_ in server.run(f"DESCRIBE TABLE {table}") if not name.startswith("_rc")}


def test_a_table_gets_new_columns_wider_types_and_nulls(clickhouse: ClickHouse) -> None:
    run = run_of(clickhouse, "evolve")
    run.write_values([{"id": 1, "name": "a"}], FIRST)
    run.write_values([GROWN], WIDER)
    run.write_values([{"id": 3, "name": "c"}], FIRST)
    wanted = {"id": "Int64", "name": "Nullable(String)", "town": "Nullable(String)", "tags": "Array(String)"}
    assert columns(clickhouse) == wanted
    found = [[1, "a", None, []], [3, "c", None, []], [1 << 40, None, "Bern", ["a"]]]
    assert clickhouse.run("SELECT id, name, town, tags FROM t ORDER BY id") == found


def test_the_columns_that_sort_a_made_table_stand_first_in_their_order(clickhouse: ClickHouse) -> None:
    run = run_of(clickhouse, "evolve", table_order_by="(town, toUInt64(id))")
    run.write_values([{"name": "a", "id": 1, "town": "Bern"}], struct([("name", _TEXT), ("id", _INT), ("town", _TEXT)]))
    assert list(columns(clickhouse)) == ["town", "id", "name"]
    assert clickhouse.run("SELECT town, id, name FROM t") == [["Bern", 1, "a"]]


def test_columns_of_the_key_keep_their_types_and_what_they_lack_is_refused_alone(clickhouse: ClickHouse) -> None:
    run = run_of(clickhouse, "evolve", table_order_by="id")
    run.write_values([{"id": 1, "name": "a"}], FIRST)
    keyed = struct([("id", Schema(Type.INT64, optional=True)), ("name", _TEXT)])
    values = [{"id": 1 << 40, "name": "b"}, {"id": 2, "name": "c"}, {"id": None, "name": "d"}]
    run.positions = {QUEUE: run.positions[QUEUE]}
    with pytest.raises(RecordRefused) as refused:
        run.stage(SinkBatch(QUEUE, "orders", values, range(1, 4), schema=keyed))
    assert sorted(refused.value.refused) == [0, 2]
    assert columns(clickhouse)["id"] == "Int32"


def test_few_values_stay_few_where_a_column_begins_to_take_nulls(new_clickhouse: ClickHouse) -> None:
    server = new_clickhouse.with_database("few")
    server.run(
        "CREATE TABLE t (id Int32, name LowCardinality(String), _rc_queue String, _rc_offset UInt64, _rc_row UInt32) "
        "ENGINE = MergeTree ORDER BY id"
    )
    run_of(server, "evolve").write_values([{"id": 1, "name": None}], struct([("id", _INT), ("name", _MAYBE)]))
    assert columns(server)["name"] == "LowCardinality(Nullable(String))"
    assert server.run("SELECT id, name FROM t") == [[1, None]]


def test_a_policy_of_fail_stops_before_the_first_row_and_ignore_leaves_fields_out(clickhouse: ClickHouse) -> None:
    run_of(clickhouse, "fail").write_values([{"id": 1, "name": "a"}], FIRST)
    with pytest.raises(PermanentError, match="is no column"):
        run_of(clickhouse, "fail").write_values([GROWN], WIDER)
    ignoring = run_of(clickhouse, "ignore")
    assert list(refusals(ignoring, [GROWN, {**GROWN, "id": 2}, {**GROWN, "id": 3, "name": "c"}], WIDER)) == [0, 1]
    assert clickhouse.run("SELECT id, name FROM t ORDER BY id") == [[1, "a"], [3, "c"]]
    letters = refusals(run_of(clickhouse, "dead_letter"), [GROWN] * 2, WIDER)
    assert list(letters) == [0, 1]
    assert "the record does not have the columns of the table" in letters[0]


def test_a_record_of_another_table_is_refused(clickhouse: ClickHouse) -> None:
    run_of(clickhouse, "evolve").write_values([{"id": 1, "name": "a"}], FIRST)
    told = refusals(run_of(clickhouse, "evolve"), [{"x": 1}], struct([("x", _INT)]))
    assert "the record is of another table" in told[0]


def test_a_table_without_places_is_refused_with_what_gives_it_them(clickhouse: ClickHouse) -> None:
    clickhouse.run("CREATE TABLE t (id Int32, name String) ENGINE = MergeTree ORDER BY id")
    with pytest.raises(PermanentError, match="lacks the columns _rc_queue, _rc_offset, _rc_row") as told:
        run_of(clickhouse, "fail").write_values([{"id": 1, "name": "a"}], FIRST)
    statement = str(told.value).partition("Run ")[2].partition("; or")[0]
    clickhouse.run(statement)
    run_of(clickhouse, "fail").write_values([{"id": 1, "name": "a"}], FIRST)
    assert clickhouse.run("SELECT id, name FROM t") == [[1, "a"]]


def test_objects_without_a_schema_are_rows_of_the_table(clickhouse: ClickHouse) -> None:
    clickhouse.run(
        "CREATE TABLE t (id Int32, name Nullable(String), at DateTime, _rc_queue String, _rc_offset UInt64, _rc_row UInt32) "
        "ENGINE = MergeTree ORDER BY id"
    )
    run = run_of(clickhouse, "fail")
    good = ['{"id": 1, "at": "2024-01-01T00:00:00Z", "more": 1}', '{"id": 2, "name": "b", "at": "2024-01-01T00:00:00Z"}']
    told = refusals(run, [good[0], "no JSON", '{"x": 1}', good[1], "[1]", '{"id": "x", "at": null}', '{"id": 3}'], None)
    assert sorted(told) == [1, 2, 4, 5, 6]
    assert clickhouse.run("SELECT id, name, toString(at, 'UTC') FROM t ORDER BY id") == [
        [1, None, "2024-01-01 00:00:00"],
        [2, "b", "2024-01-01 00:00:00"],
    ]


def test_changes_are_their_rows_and_what_is_no_whole_row_is_refused(clickhouse: ClickHouse) -> None:
    row = struct([("id", _INT), ("name", _TEXT)], optional=True)
    names = Schema(Type.ARRAY, optional=True, items=_TEXT)
    envelope = struct([("op", _TEXT), ("before", row), ("after", row), ("unchanged", names)])
    changes = [
        {"op": "c", "before": None, "after": {"id": 1, "name": "a"}, "unchanged": None},
        {"op": "d", "before": {"id": 1, "name": "a"}, "after": None, "unchanged": None},
        {"op": "u", "before": None, "after": {"id": 1, "name": "b"}, "unchanged": None},
        {"op": "u", "before": None, "after": {"id": 1, "name": ""}, "unchanged": ["name"]},
    ]
    run = run_of(clickhouse, "fail")
    told = refusals(run, changes, envelope)
    assert "never deleted by this sink" in told[1]
    assert "leaves out what name had" in told[3]
    assert len(told) == 2
    assert sorted(clickhouse.run("SELECT id, name FROM t")) == [[1, "a"], [1, "b"]]


def test_a_table_that_replaces_rows_is_refused_where_each_record_is_to_be_a_row(clickhouse: ClickHouse) -> None:
    clickhouse.run(
        "CREATE TABLE t (id Int32, name String, _rc_queue String, _rc_offset UInt64, _rc_row UInt32) "
        "ENGINE = ReplacingMergeTree ORDER BY id"
    )
    with pytest.raises(PermanentError, match="has the engine ReplacingMergeTree"):
        run_of(clickhouse, "fail").write_values([{"id": 1, "name": "a"}], FIRST)


def test_each_topic_has_its_table_and_names_may_be_anything(clickhouse: ClickHouse) -> None:
    odd = "or`der's \\ {data}"
    schema = struct([(odd, _INT), ("from", _TEXT)])
    run = opened(clickhouse.options() | {"table": "${topic}", "table.create": "true"}).start()
    batches = [SinkBatch(f"{topic}/b/0", topic, [{odd: 1, "from": "x"}], range(1), schema=schema) for topic in ("a-b", "c%d")]
    receipts = [run.stage(batch) for batch in batches]
    commits = [run.commit_of(1, batch.queue) for batch in batches]
    whole = commits[0].__class__(
        "uid", 0, 1, {**commits[0].before, **commits[1].before}, {**commits[0].after, **commits[1].after}, 2, "t"
    )
    run.task.commit(receipts, whole)
    assert [clickhouse.run(f"SELECT `from` FROM `{topic}`") for topic in ("a-b", "c%d")] == [[["x"]]] * 2


def test_records_of_one_queue_go_to_the_tables_of_their_topics(clickhouse: ClickHouse) -> None:
    run, queue = run_of(clickhouse, "fail", table="${topic}"), "letters/b/0"
    topics = ("a", "c")
    batches = [SinkBatch(queue, topic, [{"id": 1, "name": topic}], [at], schema=FIRST) for at, topic in enumerate(topics)]
    run.task.commit([run.stage(batch) for batch in batches], run.commit_of(2, queue))
    assert [clickhouse.run(f"SELECT id, name FROM {topic}") for topic in topics] == [[[1, topic]] for topic in topics]


def test_a_batch_of_too_many_partitions_says_what_to_do_and_is_not_waited_for(new_clickhouse: ClickHouse, database: str) -> None:
    server = new_clickhouse.with_database(database)
    run = run_of(server, "fail", table_partition_by="id")
    with pytest.raises(PermanentError, match="Partition the table by less, make batches smaller"):
        run.write_values([{"id": number, "name": "x"} for number in range(200)], FIRST)
