"""Rows of several topics, and rows beside what is there already, as the check sees them."""

import logging
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import orc, parquet

from connectors.file_sink import FileSink
from rocketconnect_sdk.columns.declared import parse_columns
from rocketconnect_sdk.configuration.connector_options import parse_sink
from rocketconnect_sdk.files import AppendedFile, ManifestLog, Owner
from rocketconnect_sdk.sink import QueuePosition, SinkCommit

COMMIT = SinkCommit("uid", 0, 1, {"orders/b/0": QueuePosition(0)}, {"orders/b/0": QueuePosition(1)}, 1, "token")
OWNER = Owner("uid", 1, 0, 1)


def told(path: Path, rows: dict[str, str], **options: str) -> list[tuple[str, str, bool]]:
    raw = {"connector.class": "file_sink", "topics": ",".join(rows), "filename": str(path), "value.converter": "arrow"}
    raw |= {"format": "parquet"} | {key.replace("_", "."): value for key, value in options.items()}
    found = FileSink().check_rows(
        parse_sink(FileSink(), raw), {topic: parse_columns(columns) for topic, columns in rows.items() if columns}
    )
    return [(problem.key, problem.reason, problem.is_warning) for problem in found]


def write(path: Path, table: dict[str, pa.Array]) -> None:
    path.parent.mkdir(exist_ok=True)
    (parquet.write_table if path.suffix == ".parquet" else orc.write_table)(pa.table(table), path)


@pytest.mark.parametrize("form", ["parquet", "orc"])
def test_rows_of_another_table_than_the_files_of_a_directory_are_warned_of_with_the_columns(tmp_path: Path, form: str) -> None:
    write(tmp_path / "out" / f"a.{form}", {"id": pa.array([1]), "name": pa.array(["x"])})
    ((key, reason, is_warning),) = told(tmp_path / "out", {"orders": "id:int64,total:double"}, format=form)
    assert (key, is_warning) == ("filename", True)
    assert reason.startswith("has files of another table: the rows of `orders` are without name and with total; ")
    assert told(tmp_path / "out", {"orders": "id:int64,name"}, format=form) == []
    assert told(tmp_path / "other", {"orders": "id:int64,total:double"}, format=form) == []


@pytest.mark.parametrize("form", ["parquet", "orc"])
def test_rows_that_nobody_reads_together_with_the_files_of_a_directory_are_refused(tmp_path: Path, form: str) -> None:
    write(tmp_path / "out" / f"a.{form}", {"id": pa.array(["1"])})
    ((key, reason, is_warning),) = told(tmp_path / "out", {"orders": "id:int64"}, format=form)
    assert (key, is_warning) == ("filename", False)
    there = f"{tmp_path}/out/a.{form} as string"
    assert reason == f"has files with other types: the rows of `orders` have the column id as int64, and {there}"
    write(tmp_path / "out" / f"a.{form}", {"id": pa.array(["1"]), "total": pa.array(["1"])})
    ((_, reason, _),) = told(tmp_path / "out", {"orders": "id:int64,total:double"}, format=form)
    assert reason.endswith(f"id as int64, and {there}; the column total as double, and {there}")


def test_what_a_topic_has_written_itself_goes_by_its_policy_alone(tmp_path: Path) -> None:
    write(tmp_path / "out" / "a.parquet", {"id": pa.array(["1"])})
    (tmp_path / "out" / "_rocketconnect").mkdir()
    log = ManifestLog(tmp_path / "out" / "_rocketconnect" / "uid", OWNER, exclusive=False)
    with log.locked() as newest:
        claimed = log.claim(newest, {})
        log.commit(claimed, COMMIT, {})
    assert told(tmp_path / "out", {"orders": "id:int64"}) == []
    ((key, reason, is_warning),) = told(tmp_path / "out", {"orders": "id:int64,new"})
    assert (key, is_warning) == ("filename", True)
    assert reason == "is widened for the rows of `orders`: it gets the column new (string), null in the rows that are there"
    assert told(tmp_path / "out", {"orders": "id:int64,new"}, schema_evolution="ignore") == []
    ((_, reason, is_warning),) = told(tmp_path / "out", {"orders": "code,new"})
    assert "the record is of another table" in reason
    assert not is_warning
    assert len(told(tmp_path / "out", {"customers": "id:int64,new"})) == 1


def test_topics_of_different_tables_in_one_directory_are_warned_of(tmp_path: Path) -> None:
    rows = {"orders": "id:int64,total:double", "empty": "", "customers": "id:int32,name"}
    ((key, reason, is_warning),) = told(tmp_path / "out", rows)
    assert (key, is_warning) == ("topics", True)
    assert reason == (
        "have rows of different tables for one directory: those of `customers` are without total and with name, beside those of "
        "`orders`"
    )
    ((_, _, is_warning),) = told(tmp_path / "out", rows, schema_evolution="fail")
    assert not is_warning
    ((_, reason, is_warning),) = told(tmp_path / "out", {"orders": "id:int64", "customers": "name"})
    assert reason.endswith("; they have no column in common, so whichever come second would be bad records")
    assert not is_warning


def test_topics_that_have_a_column_in_clashing_types_are_refused_unless_bad_records_are_left_out(
    tmp_path: Path,
) -> None:
    rows = {"orders": "id:int64,at:date", "customers": "id:date,at"}
    ((key, reason, is_warning),) = told(tmp_path / "out", rows)
    assert (key, is_warning) == ("topics", False)
    clashes = "id is int64 in `orders`, and date in `customers`; at is date in `orders`, and string in `customers`"
    assert reason == f"have rows that are no one table: {clashes}"
    assert [each for _, _, each in told(tmp_path / "out", rows, errors_tolerance="all")] == [True]


def test_columns_that_are_given_make_one_table_of_all(tmp_path: Path) -> None:
    write(tmp_path / "out" / "a.parquet", {"x": pa.array([1])})
    assert told(tmp_path / "out", {"orders": "id:int64", "customers": "name"}, columns="id:int64") == []
    assert told(tmp_path / "lines", {"orders": "id:int64", "customers": "name"}, format="jsonlines") == []


def test_rows_with_columns_that_a_csv_file_does_not_begin_with_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    path.write_text("id,name\n1,x\n")
    ((key, reason, is_warning),) = told(path, {"orders": "id:int64,total:double"}, format="csv")
    assert (key, is_warning) == ("filename", False)
    assert reason == "does not take the rows of `orders`: the file has a first line of 2 columns already, without 'total'"
    assert told(path, {"orders": "id:int64,name"}, format="csv") == []
    assert told(path, {"orders": "id:int64"}, format="csv", csv_header="false") == []


def test_rows_for_a_csv_file_of_a_sink_are_refused_as_its_policy_says(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    file = AppendedFile(path, OWNER, logging.getLogger())
    file.start()
    file.append([b"1,x\n"], COMMIT, first=b"id,name\n", remember={"columns": ["id", "name"]})
    ((_, reason, is_warning),) = told(path, {"orders": "id:int64,total:double"}, format="csv")
    assert not is_warning
    assert reason == "does not take the rows of `orders`: the file has 2 columns already, without total"
    assert told(path, {"orders": "id:int64"}, format="csv") == []
    policy = {"format": "csv", "schema_evolution": "ignore"}
    assert [each for _, _, each in told(path, {"orders": "id:int64,total:int64"}, **policy)] == [True]
    for tolerance in ("none", "all"):
        ((_, reason, is_warning),) = told(path, {"orders": "total:int64"}, errors_tolerance=tolerance, **policy)
        assert reason.endswith("without total: they are of another table, and all of them would be bad records")
        assert is_warning is (tolerance == "all")


def test_topics_of_different_tables_are_refused_for_one_csv_file(tmp_path: Path) -> None:
    ((key, _, is_warning),) = told(tmp_path / "out.csv", {"orders": "id:int64", "customers": "id:int64,name"}, format="csv")
    assert (key, is_warning) == ("topics", False)


def test_rows_with_names_that_spark_takes_for_one_are_told_by_topic(tmp_path: Path) -> None:
    ((key, reason, is_warning),) = told(tmp_path / "out", {"orders": "id:int64", "people": "Name,name"})
    assert (key, is_warning) == ("topics", False)
    assert reason.startswith("have rows that are no table: the columns Name and name differ by the case of their letters alone")
    assert reason.endswith("all of those of `people` would be bad records")
    assert told(tmp_path / "out", {"people": "Name,name"}, errors_tolerance="all")[0][2]
    assert told(tmp_path / "out.csv", {"people": "Name,name"}, format="csv") == []
