from pathlib import Path

import pytest

from connectors.delta_sink import DeltaSink
from rocketconnect_sdk.columns.declared import parse_columns
from rocketconnect_sdk.configuration.connector_options import check_connector, parse_sink
from rocketconnect_sdk.options import parse


def problems(**options: str) -> list[tuple[str, str]]:
    config = parse(DeltaSink.options, {key.replace("_", "."): value for key, value in options.items()})
    return [(problem.key, problem.reason) for problem in DeltaSink().check(config)]


def test_a_directory_of_other_files_is_no_place_for_a_table(tmp_path: Path) -> None:
    assert problems(path=str(tmp_path)) == []
    (tmp_path / "_rocketconnect").mkdir()
    assert problems(path=str(tmp_path)) == []
    (tmp_path / "a.csv").write_text("a\n")
    assert problems(path=str(tmp_path)) == [("path", "is a directory that has files in it and is no Delta table")]
    (tmp_path / "_delta_log").mkdir()
    (tmp_path / "_delta_log" / "00000000000000000000.json").write_text("{}\n")
    assert problems(path=str(tmp_path)) == []
    assert problems(path=str(tmp_path / "a.csv")) == [("path", "is a file")]


@pytest.mark.parametrize("path", ["s3://bucket/table", "file:///data/table"])
def test_an_address_is_refused(path: str) -> None:
    assert problems(path=path) == [("path", "is an address, and only tables in directories of this machine can be written")]


def test_partitions_are_columns(tmp_path: Path) -> None:
    given = {"path": str(tmp_path / "table"), "columns": "id:int64,day:string"}
    assert problems(**given, partition_by="day") == []
    assert problems(**given, partition_by="day,hour") == [("partition.by", "is none of the columns")]


def test_columns_are_all_there_are(tmp_path: Path) -> None:
    given = {"path": str(tmp_path / "table"), "columns": "id:int64", "schema_evolution": "evolve"}
    assert problems(**given) == [("schema.evolution", "means nothing here: the option columns says all columns that there are")]


def test_upserts_need_the_columns_of_the_key(tmp_path: Path) -> None:
    given = {"path": str(tmp_path / "table"), "insert_mode": "upsert"}
    assert problems(**given) == [("pk.fields", "is missing, and insert.mode=upsert needs the key of each row")]
    assert problems(**given, pk_fields="id", delete_enabled="true", truncate_enabled="true") == []
    assert problems(**given, pk_fields="id,day,id") == [("pk.fields", "is there more than once")]
    assert problems(**given, pk_fields="id,hour", columns="id:int64,day:string") == [("pk.fields", "is none of the columns")]


def test_upserts_take_the_key_that_the_records_have(tmp_path: Path) -> None:
    assert problems(path=str(tmp_path / "table"), insert_mode="upsert", pk_mode="record_key") == []


def test_each_topic_has_a_table_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "a.csv").write_text("a\n")
    given = {"connector.class": "delta_sink", "topics": "a,b,c", "path": str(tmp_path / "${topic}"), "columns": "id:int64"}
    config = parse_sink(DeltaSink(), given)
    assert [(problem.value, problem.reason) for problem in DeltaSink().check(config)] == [
        (str(tmp_path / "b"), "is a directory that has files in it and is no Delta table")
    ]
    assert [target.name for target in DeltaSink().targets(config)] == [
        f"topic {topic} in file://{tmp_path / topic}" for topic in ("a", "b", "c")
    ]
    queried = parse_sink(DeltaSink(), given | {"query": "SELECT id FROM records", "topics": "a"})
    assert [problem.key for problem in DeltaSink().check(queried)] == ["path"]
    wrong = parse_sink(DeltaSink(), given | {"insert.mode": "upsert", "topics": "a,c"})
    assert [problem.key for problem in DeltaSink().check(wrong)] == ["pk.fields"], "once, and not for each topic"


@pytest.mark.parametrize(
    "given", [{}, {"topics": "t"}, {"path": "/nowhere/${topic}"}, {"topics": "t", "path": "/nowhere/${topic}"}]
)
def test_what_is_missing_hides_no_other_problem(given: dict[str, str]) -> None:
    found = check_connector({"connector.class": "delta_sink", "insert.mode": "upsert", **given}).problems
    missing = {"topics", "path"} - given.keys()
    nowhere = {"path"} if given.keys() >= {"topics", "path"} else set[str]()
    assert {problem.key for problem in found} >= {"pk.fields", *missing, *nowhere}


def test_columns_are_needed_where_neither_the_converter_nor_a_table_that_is_there_has_some(tmp_path: Path) -> None:
    def wrong(**options: str) -> list[str]:
        given = {"connector.class": "delta_sink", "topics": "t", "path": str(tmp_path / "table")}
        found = check_connector(given | {key.replace("_", "."): value for key, value in options.items()}).problems
        return [f"{problem.key} {problem.reason}" for problem in found]

    one = "the table would have one column, value, with the whole of each value"
    reason = f"columns is not given, and value.converter reads no rows: {one}"
    upsert = {"insert_mode": "upsert", "pk_fields": "id"}
    assert wrong() == wrong(**upsert) == [reason]
    assert wrong(columns="id") == wrong(value_converter="arrow") == []
    assert wrong(transforms="row", transforms_row_type="hoist_field", transforms_row_field="value") == []
    (tmp_path / "table" / "_delta_log").mkdir(parents=True)
    (tmp_path / "table" / "_delta_log" / "00000000000000000000.json").write_text("{}\n")
    assert wrong(**upsert) == []
    assert wrong() == [reason]


def test_topics_of_different_tables_are_told_before_they_are_one_table(tmp_path: Path) -> None:
    def told(**options: str) -> list[tuple[str, bool]]:
        given = {"connector.class": "delta_sink", "topics": "a,b", "path": str(tmp_path / "table"), "value.converter": "arrow"}
        config = parse_sink(DeltaSink(), given | {key.replace("_", "."): value for key, value in options.items()})
        rows = {"a": parse_columns("id:int64"), "b": parse_columns("id:int64,name")}
        return [(problem.reason, problem.is_warning) for problem in DeltaSink().check_rows(config, rows)]

    reason = "have rows of different tables for one table: those of `b` are with name, beside those of `a`"
    assert told() == [(reason, True)]
    assert told(schema_evolution="fail") == [(reason, False)]
    assert told(columns="id:int64") == []


def test_a_key_and_deletions_are_of_upserts(tmp_path: Path) -> None:
    given = {"path": str(tmp_path / "table"), "pk_fields": "id", "delete_enabled": "true", "truncate_enabled": "true"}
    reason = "means nothing where each record is a new row"
    assert problems(**given) == [("pk.fields", reason), ("delete.enabled", reason), ("truncate.enabled", reason)]


def test_columns_that_spark_takes_for_one_are_told(tmp_path: Path) -> None:
    ((key, reason),) = problems(path=str(tmp_path / "table"), columns="Name:string,name:string")
    assert key == "columns"
    assert reason.startswith("makes no table: the columns Name and name differ by the case of their letters alone")
