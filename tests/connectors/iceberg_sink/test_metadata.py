"""The columns of an Iceberg table, read from its metadata as Iceberg writes it, without Spark."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from connectors.iceberg_sink import IcebergSink
from connectors.iceberg_sink.metadata import table_columns
from rocketconnect_sdk.columns.declared import parse_columns
from rocketconnect_sdk.configuration.connector_options import check_connector, parse_sink
from rocketconnect_sdk.schema import Schema, Type, struct


def schema(number: int, *fields: tuple[str, Any, bool]) -> dict[str, Any]:
    made = [{"id": at, "name": name, "type": kind, "required": needed} for at, (name, kind, needed) in enumerate(fields)]
    return {"type": "struct", "schema-id": number, "fields": made}


def state(root: Path, name: str, *schemas: dict[str, Any], current: int = 0) -> None:
    folder = root / "metadata"
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"format-version": 2, "current-schema-id": current, "schemas": schemas}).encode()
    (folder / name).write_bytes(gzip.compress(text) if ".gz" in name else text)


def test_the_current_columns_of_the_newest_state_count(tmp_path: Path) -> None:
    state(tmp_path, "v9.metadata.json", schema(0, ("id", "string", False)))
    state(tmp_path, "v10.gz.metadata.json", schema(0, ("id", "int", False)), schema(1, ("id", "long", True)), current=1)
    (tmp_path / "metadata" / "snap-11-1-x.avro").write_bytes(b"")
    assert table_columns(tmp_path) == struct([("id", Schema(Type.INT64))])


def test_states_of_a_catalogue_in_a_database_have_other_names(tmp_path: Path) -> None:
    state(tmp_path, "00002-3873f52c-8dd7-48c3-8763-d6eea30b76c6.metadata.json", schema(0, ("id", "long", False)))
    state(tmp_path, "00001-4873f52c-8dd7-48c3-8763-d6eea30b76c6.metadata.json", schema(0, ("id", "int", False)))
    assert table_columns(tmp_path) == parse_columns("id:int64")


def test_types_are_those_that_the_sink_reads_of_the_table(tmp_path: Path) -> None:
    plain = ["decimal(10, 2)", "timestamptz", "timestamp", "fixed[16]", "uuid", "time", "date"]
    nested = [
        {"type": "list", "element-id": 20, "element": "string", "element-required": True},
        {"type": "map", "key-id": 21, "key": "string", "value-id": 22, "value": "double", "value-required": False},
        schema(0, ("b", "boolean", True)),
    ]
    state(tmp_path, "v1.metadata.json", schema(0, *((f"c{at}", kind, False) for at, kind in enumerate([*plain, *nested]))))
    found = table_columns(tmp_path)
    assert found is not None
    kinds = [each.schema for each in found.fields]
    wanted = parse_columns("a:decimal(10,2),b:timestamp,c:timestamp_ntz,d:bytes,e:string,f:time,g:date")
    assert kinds[: len(plain)] == [each.schema for each in wanted.fields]
    assert kinds[len(plain) :] == [
        Schema(Type.ARRAY, optional=True, items=Schema(Type.STRING)),
        Schema(Type.MAP, optional=True, keys=Schema(Type.STRING), items=Schema(Type.FLOAT64, optional=True)),
        struct([("b", Schema(Type.BOOLEAN))], optional=True),
    ]


@pytest.mark.parametrize("text", ["no json", "{}", '{"schemas": [], "current-schema-id": 1}', '{"schema": {"fields": [{}]}}'])
def test_of_what_nobody_understands_nothing_is_said(tmp_path: Path, text: str) -> None:
    assert table_columns(tmp_path) is None
    (tmp_path / "metadata").mkdir()
    (tmp_path / "metadata" / "v1.metadata.json").write_text(text)
    assert table_columns(tmp_path) is None


def test_columns_and_rows_that_a_table_does_not_take_are_refused_before_the_sink_runs(tmp_path: Path) -> None:
    state(tmp_path / "shop" / "orders", "v1.metadata.json", schema(0, ("id", "long", False), ("day", "date", False)))
    given = {"connector.class": "iceberg_sink", "topics": "t", "warehouse": str(tmp_path), "table": "shop.orders"}
    (problem,) = check_connector({**given, "columns": "id,day:date"}).problems
    assert (problem.key, problem.is_warning) == ("columns", False)
    assert "id is string, and the column is int64" in problem.reason
    config = parse_sink(IcebergSink(), {**given, "value.converter": "arrow"})
    (problem,) = IcebergSink().check_rows(config, {"t": parse_columns("id,day")})
    assert (problem.key, problem.value, problem.is_warning) == ("table", "shop.orders", False)
    (problem,) = IcebergSink().check_rows(config, {"t": parse_columns("id:int32,more")})
    assert problem.is_warning
    assert problem.reason.startswith(
        "is widened for the rows of `t`: it gets the column more (string), null in the rows that are there"
    )
    (problem,) = IcebergSink().check_rows(config, {"t": parse_columns("code,more")})
    assert not problem.is_warning
    assert "the record is of another table" in problem.reason
