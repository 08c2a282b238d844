"""Records that name their tables name no other than the operator allows, and never those of positions."""

import json
from dataclasses import replace

import pytest

from connectors.jdbc_sink import JdbcSink
from connectors.jdbc_sink.naming import naming_problems
from connectors.jdbc_sink.task import JdbcTask
from rocketconnect_sdk.errors import PermanentError, RecordError
from rocketconnect_sdk.options import parse
from rocketconnect_sdk.schema import STRING, Schema, Type, struct
from rocketconnect_sdk.sink import QueuePosition
from tests.connectors.jdbc_sink.conftest import EACH, OCEANBASE, QUEUE, Target

BIGINT, MAYBE = Schema(Type.INT64), Schema(Type.STRING, optional=True)
FIELDS = [("connector", STRING), ("place", STRING), ("position", STRING), ("generation", BIGINT), ("epoch", BIGINT)]
PLACED = Schema(Type.STRUCT, fields=struct(FIELDS).fields, optional=True)
SOURCE = struct([("db", MAYBE), ("schema", MAYBE), ("table", MAYBE)])
ENVELOPE = struct([("op", STRING), ("before", PLACED), ("after", PLACED), ("source", SOURCE)])
OPTIONS = {"insert_mode": "upsert", "pk_fields": "connector,place", "delete_enabled": "true", "truncate_enabled": "true"}
POSITIONS = "SELECT place, position, generation, epoch FROM rocketconnect_positions ORDER BY place"


def change(table: str, schema: str = "", op: str = "c") -> dict[str, object]:
    """One that would move the position of the sink itself by a billion, or remove it."""
    far = json.dumps(QueuePosition(10**9).to_json())
    row = {"connector": "", "place": QUEUE, "position": far, "generation": 9, "epoch": 9}
    source = {"db": schema, "schema": schema, "table": table}
    return {"op": op, "before": row if op == "d" else None, "after": row if op == "c" else None, "source": source}


def started(target: Target, form: str, **options: str) -> JdbcTask:
    """A sink that has positions."""
    target.run("CREATE TABLE mine (connector VARCHAR(9), place VARCHAR(99), epoch BIGINT, PRIMARY KEY (connector, place))")
    task = target.start(**OPTIONS, schema_evolution="ignore", **{"table.name.format": form, **options})
    home = "public" if target.kind == "postgres" else target.options["connection.url"].rpartition("/")[2]
    target.write(task, [change("mine", home)], ENVELOPE)
    return task


def refused(target: Target, task: JdbcTask, given: dict[str, object]) -> str:
    """What is wrong with a change, of which nothing is there."""
    before = target.run(POSITIONS)
    assert any(place == QUEUE for place, *_ in before)
    with pytest.raises(RecordError):
        target.write(task, [given], ENVELOPE)
    assert target.run(POSITIONS) == before
    ((_, reason),) = task.unwritable(None).items()
    return reason


@EACH
def test_no_record_reaches_the_positions_by_whatever_name(target: Target) -> None:
    task = started(target, "${table}")
    target.run("CREATE VIEW seen AS SELECT * FROM rocketconnect_positions")
    names = ["rocketconnect_positions", "seen", *(["RocketConnect_Positions"] if target.kind == "sqlite" else [])]
    for name in names:
        for op in ("c", "d", "t"):
            assert "is a table of positions" in refused(target, task, change(name, op=op))
    before = target.run(POSITIONS)
    for name in ('"rocketconnect_positions"', "`rocketconnect_positions`", "rocketconnect_positions ", "Rocketconnect_positionS;"):
        with pytest.raises((RecordError, PermanentError)):
            target.write(task, [change(name)], ENVELOPE)
        assert target.run(POSITIONS) == before


@pytest.mark.parametrize("target", ["postgres", pytest.param("mariadb", marks=pytest.mark.slow), OCEANBASE], indirect=True)
def test_no_record_reaches_them_by_the_name_of_a_schema(target: Target) -> None:
    home = "public" if target.kind == "postgres" else target.options["connection.url"].rpartition("/")[2]
    task = started(target, "${schema}.${table}")
    assert "is a table of positions" in refused(target, task, change("rocketconnect_positions", home))
    for named in (change(f"{home}.rocketconnect_positions"), change("rocketconnect_positions", f"{home}.x")):
        assert "a point divides a schema from a table" in refused(target, task, named)


@pytest.mark.parametrize("target", ["postgres"], indirect=True)
def test_a_record_names_no_table_that_is_not_allowed(target: Target) -> None:
    task = started(target, "${table}", **{"table.name.allowed": "mine,our_.*"})
    target.run("CREATE TABLE users (connector TEXT, place TEXT, PRIMARY KEY (connector, place))")
    for name in ("users", "mine2", "Mine", "not_our_s"):
        assert "table.name.allowed does not allow" in refused(target, task, change(name))
    assert target.run("SELECT * FROM users") == []


@pytest.mark.parametrize("target", ["postgres"], indirect=True)
def test_a_configuration_that_names_the_positions_ends_with_words(target: Target) -> None:
    task = target.start(**OPTIONS, **{"table.name.format": "rocketconnect_positions"})
    with pytest.raises(PermanentError, match="is a table of positions"):
        target.write(task, [change("any")], ENVELOPE)


@pytest.mark.parametrize(
    ("form", "allowed", "key"),
    [
        ("${table}", "", "table.name.allowed"),
        ("${schema}.x", "", "table.name.allowed"),
        ("${topic}", "x", "table.name.allowed"),
        ("public.RocketConnect_Positions", "", "table.name.format"),
        ("${topic}", "", ""),
        ("${database}_${table}", "a_.*,b_c", ""),
    ],
)
def test_what_records_may_name_has_to_be_said(form: str, allowed: str, key: str) -> None:
    given = {"connection.url": "sqlite:////tmp/x", "table.name.format": form, "table.name.allowed": allowed}
    assert [each.key for each in naming_problems(parse(JdbcSink().options, given))] == ([key] if key else [])


ROW = struct([("id", BIGINT), ("text", MAYBE)])


@EACH
def test_a_header_names_the_table_also_of_a_deletion(target: Target) -> None:
    for name in ("left_one", "right_one"):
        target.run(f"CREATE TABLE {name} (id BIGINT PRIMARY KEY, text VARCHAR(9))")
    named = {"table.name.format": "${header.__source_table}", "table.name.allowed": "left_.*,right_.*"}
    task = target.start(insert_mode="upsert", pk_mode="record_key", pk_fields="id", delete_enabled="true", **named)
    rows = [{"id": 1, "text": "a"}, {"id": 1, "text": "b"}]
    headers = [{"__source_table": "left_one"}, {"__source_table": "right_one"}]
    target.write(task, rows, ROW, keys=['{"id": 1}'] * 2, headers=headers)
    assert target.run("SELECT text FROM left_one") == [("a",)]
    target.write(task, [None], None, keys=['{"id": 1}'], headers=headers[1:])
    assert (target.run("SELECT text FROM left_one"), target.run("SELECT text FROM right_one")) == ([("a",)], [])
    for wrong in ({}, {"__source_table": "users"}):
        with pytest.raises(RecordError, match=r"name of the table|does not allow"):
            target.write(task, [rows[0]], ROW, keys=['{"id": 1}'], headers=[wrong])


@pytest.mark.parametrize("target", ["sqlite", "postgres"], indirect=True)
def test_the_name_of_its_schema_names_the_table_of_a_record_and_never_that_of_one_without_a_value(target: Target) -> None:
    target.run("CREATE TABLE goods (id BIGINT PRIMARY KEY, text VARCHAR(9))")
    named = {"table.name.format": "${schema.name}", "table.name.allowed": ".*"}
    task = target.start(insert_mode="upsert", pk_mode="record_key", pk_fields="id", delete_enabled="true", **named)
    target.write(task, [{"id": 1, "text": "a"}], replace(ROW, name="goods"), keys=['{"id": 1}'])
    assert target.run("SELECT text FROM goods") == [("a",)]
    with pytest.raises(RecordError, match="does not say what belongs into the name of the table"):
        target.write(task, [{"id": 2, "text": "b"}, None], replace(ROW, name="goods"), keys=['{"id": 2}', '{"id": 1}'])
    assert target.run("SELECT text FROM goods") == [("a",)]
    with pytest.raises(RecordError, match="does not say what belongs into the name of the table"):
        target.write(task, [{"id": 2, "text": "b"}], ROW, keys=['{"id": 2}'])
