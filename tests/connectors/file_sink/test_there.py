"""Types of columns in files that are in the directory already, as the check sees them."""

import os
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import orc, parquet

from connectors.file_sink import FileSink
from rocketconnect_sdk.columns.arrow_types import to_arrow_type
from rocketconnect_sdk.columns.declared import parse_columns
from rocketconnect_sdk.options import parse
from rocketconnect_sdk.spark.types import stored_type

ALL = (
    "s,b:boolean,i:int8,l:int64,u:uint64,f:float,d:double,y:bytes,day:date,t:time,at:timestamp,local:timestamp_ntz,id:uuid,j:json,"
    "p:decimal(7,2)"
)


def problems(path: Path, columns: str, form: str = "parquet") -> list[tuple[str, str]]:
    config = parse(FileSink.options, {"filename": str(path), "format": form, "columns": columns})
    return [(problem.reason, problem.fix) for problem in FileSink().check(config) if not problem.is_warning]


def write(path: Path, columns: str, form: str = "parquet") -> None:
    """An empty file of the types that Spark stores."""
    stored = [(field.name, stored_type(to_arrow_type(field.schema))) for field in parse_columns(columns).fields]
    table = pa.schema(stored).empty_table()
    path.parent.mkdir(exist_ok=True)
    (parquet.write_table if form == "parquet" else orc.write_table)(table, path)


@pytest.mark.parametrize("form", ["parquet", "orc"])
def test_a_column_that_has_another_type_in_a_file_is_refused_with_both_types(tmp_path: Path, form: str) -> None:
    out = tmp_path / "out"
    write(out / f"a.{form}", "id:int64,name,at:timestamp", form)
    ((reason, fix),) = problems(out, "id:int32,name,at:timestamp", form)
    assert reason.startswith(f"makes the column id int32, and {out}/a.{form} has it as int64: ")
    assert fix.startswith("Write id:int64, or write into another directory")
    assert [reason for reason, _ in problems(out, "name:json,at,more:date", form)] == [
        f"makes the column at string, and {out}/a.{form} has it as timestamp: nobody reads a directory with both"
    ]
    assert problems(tmp_path / "other", "id:int32", form) == []


@pytest.mark.parametrize("form", ["parquet", "orc"])
def test_columns_that_are_in_files_as_they_are_to_be_are_right(tmp_path: Path, form: str) -> None:
    write(tmp_path / "out" / f"a.{form}", ALL, form)
    assert problems(tmp_path / "out", f"{ALL},new:int64", form) == []


def test_a_type_that_columns_cannot_name_is_not_proposed(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    parquet.write_table(pa.table({"id": [{"a": 1}]}), tmp_path / "out" / "a.parquet")
    ((reason, fix),) = problems(tmp_path / "out", "id")
    assert "has it as struct" in reason
    assert fix == "Write into another directory, or move the files away first."


def test_of_many_files_the_newest_are_looked_at_and_each_column_is_told_once(tmp_path: Path) -> None:
    out = tmp_path / "out"
    for number in range(30):
        write(out / f"{number}.parquet", "id:int64" if number else "id:date")
        os.utime(out / f"{number}.parquet", (number, number))
    ((reason, _),) = problems(out, "id")
    assert f"{out}/29.parquet has it as int64" in reason
    assert problems(out, "id:int64") == []


def test_what_is_no_file_of_the_format_says_nothing(tmp_path: Path) -> None:
    out = tmp_path / "out"
    write(out / "_hidden.parquet", "id:int64")
    write(out / "a.orc", "id:int64", "orc")
    (out / "damaged.parquet").write_bytes(b"PAR1")
    (out / "folder.parquet").mkdir()
    os.mkfifo(out / "pipe.parquet")
    (out / "gone.parquet").symlink_to("nowhere")
    parquet.write_table(pa.table({"id": pa.array(["x"]).dictionary_encode()}), out / "others.parquet")
    assert problems(out, "id:date") == []
