"""The columns of a table in files."""

import logging
from pathlib import Path

import pytest

from connectors.file_sink import FileSink
from connectors.file_sink.columns import DIRECTORY, ONE_FILE, Columns
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.evolution import Policy
from rocketconnect_sdk.options import parse
from rocketconnect_sdk.schema import STRING, Schema, Type, struct

BOTH = struct([("Name", STRING), ("name", STRING)])


@pytest.mark.parametrize(
    ("records", "told"),
    [
        (BOTH, "the columns Name and name differ by the case of their letters alone"),
        (struct([("id", STRING), ("who", BOTH)]), "the columns Name and name in who differ"),
        (struct([("all", Schema(Type.ARRAY, items=BOTH))]), "the columns Name and name in all differ"),
    ],
)
def test_names_that_spark_takes_for_one_are_told_with_the_way_out(records: Schema, told: str) -> None:
    columns = Columns(Path("/out"), Policy.EVOLVE, DIRECTORY, logging.getLogger())
    with pytest.raises(RecordError, match=rf"^/out: {told}.*transforms\.other\.renames=OLD:NEW"):
        columns.settle(None, records)


def test_a_csv_file_has_both_names() -> None:
    columns = Columns(Path("/out.csv"), Policy.FAIL, ONE_FILE, logging.getLogger())
    assert [each.name for each in columns.settle(None, BOTH).table.fields] == ["Name", "name"]


@pytest.mark.parametrize(("form", "is_told"), [("parquet", True), ("orc", True), ("csv", False)])
def test_the_option_columns_is_told_of_such_names(tmp_path: Path, form: str, *, is_told: bool) -> None:
    given = {"filename": str(tmp_path / "out"), "format": form, "columns": "id:int64,Name:string,name:string"}
    found = [each.reason for each in FileSink().check(parse(FileSink.options, given)) if each.key == "columns"]
    assert bool(found) == is_told
    assert all(reason.startswith("makes no table: the columns Name and name differ") for reason in found)
