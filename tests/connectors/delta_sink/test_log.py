"""The columns of a Delta table, read from its log as Delta writes it, without Spark."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from connectors.delta_sink import DeltaSink
from connectors.delta_sink.log import table_columns
from rocketconnect_sdk.columns.declared import parse_columns
from rocketconnect_sdk.configuration.connector_options import check_connector, parse_sink
from rocketconnect_sdk.schema import Schema, Type, struct


def field(name: str, kind: Any, *, nullable: bool = True, said: str = "") -> dict[str, Any]:
    metadata = {"rocketconnect.schema": said} if said else {}
    return {"name": name, "type": kind, "nullable": nullable, "metadata": metadata}


def commit(root: Path, number: int, *fields: dict[str, Any]) -> None:
    log = root / "_delta_log"
    log.mkdir(parents=True, exist_ok=True)
    lines: list[Any] = [{"commitInfo": {"operation": "WRITE"}}, {"add": {"path": "a.parquet"}}]
    if fields:
        lines.append({"metaData": {"id": "x", "schemaString": json.dumps({"type": "struct", "fields": fields})}})
    (log / f"{number:020}.json").write_text("".join(json.dumps(line) + "\n" for line in lines))


def checkpoint(root: Path, number: int, *fields: dict[str, Any]) -> None:
    text = json.dumps({"type": "struct", "fields": fields})
    table = pa.table({"add": [{"path": "a"}, None], "metaData": [None, {"id": "x", "schemaString": text}]})
    parquet.write_table(table, root / "_delta_log" / f"{number:020}.checkpoint.parquet")


def test_the_newest_columns_count_whatever_else_was_committed_since(tmp_path: Path) -> None:
    commit(tmp_path, 0, field("id", "string"))
    commit(tmp_path, 9, field("id", "long", nullable=False), field("day", "date"))
    commit(tmp_path, 10)
    assert table_columns(tmp_path) == struct([("id", Schema(Type.INT64)), ("day", Schema(Type.DATE, optional=True))])


def test_where_commits_were_removed_the_checkpoint_has_them(tmp_path: Path) -> None:
    commit(tmp_path, 20)
    checkpoint(tmp_path, 10, field("id", "string"))
    checkpoint(tmp_path, 19, field("id", "integer"))
    assert table_columns(tmp_path) == parse_columns("id:int32")


def test_types_are_those_that_the_sink_reads_of_the_table(tmp_path: Path) -> None:
    said = json.dumps({"type": "int32", "optional": True, "name": "org.x"})
    commit(
        tmp_path,
        0,
        field("price", "decimal(10,2)"),
        field("at", "timestamp"),
        field("local", "timestamp_ntz"),
        field("data", "binary"),
        field("tags", {"type": "array", "elementType": "string", "containsNull": False}),
        field("by", {"type": "map", "keyType": "string", "valueType": "double", "valueContainsNull": True}),
        field("in", {"type": "struct", "fields": [field("b", "boolean", nullable=False)]}),
        field("wrong", "long", said=said),
    )
    found = table_columns(tmp_path)
    assert found is not None
    kinds = {each.name: each.schema for each in found.fields}
    names = ("price", "at", "local", "data")
    assert [kinds[name] for name in names] == [
        each.schema for each in parse_columns("a:decimal(10,2),b:timestamp,c:timestamp_ntz,d:bytes").fields
    ]
    assert kinds["tags"] == Schema(Type.ARRAY, optional=True, items=Schema(Type.STRING))
    assert kinds["by"] == Schema(Type.MAP, optional=True, keys=Schema(Type.STRING), items=Schema(Type.FLOAT64, optional=True))
    assert kinds["in"] == struct([("b", Schema(Type.BOOLEAN))], optional=True)
    assert kinds["wrong"] == Schema(Type.INT64, optional=True)


@pytest.mark.parametrize("text", ["no json metaData", '{"metaData": {}}', '{"metaData": {"schemaString": "{}"}}'])
def test_of_what_nobody_understands_nothing_is_said(tmp_path: Path, text: str) -> None:
    assert table_columns(tmp_path) is None
    commit(tmp_path, 0)
    assert table_columns(tmp_path) is None
    (tmp_path / "_delta_log" / f"{1:020}.json").write_text(text.replace("metaData", '"metaData"') if text[0] == "n" else text)
    assert table_columns(tmp_path) is None


def test_columns_and_rows_that_a_table_does_not_take_are_refused_before_the_sink_runs(tmp_path: Path) -> None:
    commit(tmp_path, 0, field("id", "long"), field("day", "date"))
    given = {"connector.class": "delta_sink", "topics": "t", "path": str(tmp_path)}
    (problem,) = check_connector({**given, "columns": "id,day:date"}).problems
    assert (problem.key, problem.is_warning) == ("columns", False)
    assert "id is string, and the column is int64" in problem.reason
    assert check_connector({**given, "columns": "id:int64"}).problems == []
    config = parse_sink(DeltaSink(), {**given, "value.converter": "arrow"})
    (problem,) = DeltaSink().check_rows(config, {"t": parse_columns("id,day")})
    assert (problem.key, problem.is_warning) == ("path", False)
    assert "id is string, and the column is int64; day is string, and the column is date" in problem.reason
    (problem,) = DeltaSink().check_rows(config, {"t": parse_columns("id:int64,more")})
    assert problem.is_warning
    assert problem.reason == (
        "is widened for the rows of `t`: it gets the column more (string), null in the rows that are there; these rows have no "
        "day, null in them"
    )
    assert "schema.evolution=fail" in problem.fix
    (problem,) = DeltaSink().check_rows(config, {"t": parse_columns("code,more")})
    assert not problem.is_warning
    assert "the record is of another table" in problem.reason
