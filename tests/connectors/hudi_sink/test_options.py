from pathlib import Path

import pytest

from connectors.hudi_sink import HudiSink
from rocketconnect_sdk.configuration.connector_options import check_connector
from rocketconnect_sdk.errors import ConfigError
from rocketconnect_sdk.options import parse


def problems(**options: str) -> list[tuple[str, str]]:
    config = parse(HudiSink.options, {key.replace("_", "."): value for key, value in options.items()})
    return [(problem.key, problem.reason) for problem in HudiSink().check(config)]


def test_a_directory_of_other_files_is_no_place_for_a_table(tmp_path: Path) -> None:
    assert problems(path=str(tmp_path)) == []
    (tmp_path / ".hoodie").mkdir()
    assert problems(path=str(tmp_path)) == []
    (tmp_path / "a.csv").write_text("a\n")
    assert problems(path=str(tmp_path)) == [("path", "is a directory that has files in it and is no table of Hudi")]
    (tmp_path / ".hoodie" / "hoodie.properties").touch()
    assert problems(path=str(tmp_path)) == []
    assert problems(path=str(tmp_path / "a.csv")) == [("path", "is a file")]


@pytest.mark.parametrize("path", ["s3://bucket/table", "file:///data/table"])
def test_an_address_is_refused(path: str) -> None:
    assert problems(path=path) == [("path", "is an address, and only tables in directories of this machine can be written")]


def test_columns_have_names_that_avro_allows_and_partitions_and_keys_are_some_of_them(tmp_path: Path) -> None:
    given = {"path": str(tmp_path / "table"), "columns": "id:int64,day:string"}
    assert problems(**given, partition_by="day", insert_mode="upsert", pk_fields="id") == []
    assert problems(**given, partition_by="day,hour") == [("partition.by", "is none of the columns")]
    assert problems(**given, insert_mode="upsert", pk_fields="key") == [("pk.fields", "is none of the columns")]
    named = {**given, "columns": "a-b:string,_hoodie_file_name:string"}
    reason = "is no name for a column of Hudi, which has letters, digits and _, and does not begin with a digit"
    assert problems(**named) == [("columns", reason), ("columns", "is a name of Hudi's own columns")]


def test_settings_of_hudi_are_of_its_upkeep(tmp_path: Path) -> None:
    path = str(tmp_path / "table")
    kept = "hoodie.cleaner.commits.retained=20, hoodie.parquet.small.file.limit=0"
    assert problems(path=path, hudi_settings=kept) == []
    for wrong in ("hoodie.write.concurrency.mode=OPTIMISTIC", "hoodie.cleaner.policy.failed.writes=LAZY", "retained=20"):
        with pytest.raises(ConfigError, match="which is no setting of how Hudi cleans, archives or lays out files"):
            problems(path=path, hudi_settings=wrong)


def test_columns_are_needed_where_neither_the_converter_nor_a_table_that_is_there_has_some(tmp_path: Path) -> None:
    given = {"connector.class": "hudi_sink", "topics": "t", "path": str(tmp_path / "table")}
    (found,) = check_connector(given).problems
    assert found.reason.startswith("is not given, and value.converter reads no rows")
    assert not check_connector({**given, "columns": "id:int64"}).problems
