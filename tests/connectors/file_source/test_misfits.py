"""The first rows of a file, which are held against the columns that are named, and against the topic."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from connectors.file_source import FileSource
from rocketconnect_sdk.configuration.connector_options import check_connector, parse_source
from rocketconnect_sdk.errors import Problem
from rocketconnect_sdk.record import SourceBatch
from rocketconnect_sdk.schema import Type


def told(path: Path, columns: str, **options: str) -> Sequence[Problem]:
    config = {"connector.class": "file_source", "topic": "t", "filename": str(path), "format": "csv", "columns": columns}
    config |= {"value.converter": "arrow", **{key.replace("_", "."): value for key, value in options.items()}}
    return check_connector(config).problems


def test_values_that_do_not_fit_are_told_with_the_row_and_the_type_that_takes_them(tmp_path: Path) -> None:
    path = tmp_path / "books.csv"
    path.write_text("year,price\n1999,1.5\n2005,x\n12.5,2\n13.5,y\n")
    (problem,) = told(path, "year:int64,price:double")
    assert (problem.key, problem.value, problem.is_warning) == ("columns", "year:int64,price:double", True)
    assert problem.reason == (
        f'does not fit 3 of the first 4 rows of {path}: row 2: the column `price` is a number, and `"x"` is not; make it '
        "`string`; row 3: the column `year` is a whole number, and `12.5` is not; make it `double`"
    )
    fix = "Set columns=year:double,price, or correct the file; else errors.tolerance decides of such rows."
    assert problem.fix == fix
    assert told(path, "year:double,price:string") == []
    # A column that is not named is a string.
    assert told(path, "year:double") == []


def test_all_wrong_columns_are_told_at_once_each_with_the_type_that_takes_all_that_was_found(tmp_path: Path) -> None:
    path = tmp_path / "orders.csv"
    path.write_text(
        "id,born,at,price,code,day,ok\n"
        "1,2024-01-02,2024-01-02T10:00:00Z,1.25,-,31.12.2024,1\n"
        "2,2024-02-29,2024-01-02T10:00:00.5Z,123456.5,-,01.02.2024,2\n"
    )
    columns = "id:boolean,born:int64,at:date,price:decimal(4,2),code:int32,day:date,ok:int8"
    (problem,) = told(path, columns, csv_null="-")
    assert problem.reason.count("row 1: ") == 3
    assert "the column `born` is a whole number" in problem.reason
    assert "make it `date`" in problem.reason
    assert (
        'row 1: the column `day` is a date such as 2024-02-29, and `"31.12.2024"` is not; make it `string`, and a date of it with'
        in (problem.reason)
    )
    assert "(dd.MM.yyyy; columns=infer says how)" in problem.reason
    corrected = "id:int64,born:date,at:timestamp,price:decimal(8,2),code:int32,day,ok:int8"
    assert problem.fix.startswith(f"Set columns={corrected}, or correct the file")
    assert told(path, corrected, csv_null="-") == []


def test_numbers_that_lose_digits_in_32_bits_are_told_with_what_is_left_of_them(tmp_path: Path) -> None:
    path = tmp_path / "places.csv"
    path.write_text("lat,lon,height\n12.5,0.1,7\n12.3456789,-0.25,16777217\n98.7654321,,-\n")
    (problem,) = told(path, "lat:float,lon:float,height:float", csv_null="-")
    assert (problem.key, problem.is_warning) == ("columns", True)
    assert problem.reason == (
        f"has float, which keeps 7 digits, for more of them in the first 3 rows of {path}: 12.3456789 becomes 12.345679 in lat; "
        "16777217 becomes 16777216 in height"
    )
    assert problem.fix == "Set columns=lat:double,lon:float,height:double to keep them."
    assert told(path, "lat:double,lon:float,height:double", csv_null="-") == []


def test_the_only_row_is_called_so(tmp_path: Path) -> None:
    path = tmp_path / "books.csv"
    path.write_text("year\nlate\n")
    (problem,) = told(path, "year:int64")
    assert problem.reason.startswith(f"does not fit the only row of {path}: row 1: the column `year`")


@pytest.mark.parametrize(("columns", "said"), [("a,b,c", "3 columns are named"), ("a", "1 column is named")])
def test_without_a_header_another_number_of_columns_is_told(tmp_path: Path, columns: str, said: str) -> None:
    path = tmp_path / "bare.csv"
    path.write_text("1,2\n3,4\n")
    (problem,) = told(path, columns, csv_header="false")
    assert f"row 1: the row has 2 fields, and {said}" in problem.reason
    assert told(path, "a:int64,b", csv_header="false") == []


def test_rows_of_a_large_file_and_of_the_first_file_with_some_are_looked_at(tmp_path: Path) -> None:
    rows = [f"{number},{'x' * 200}" for number in range(900)]
    (tmp_path / "0.csv").write_text("n,text\n")
    (tmp_path / "1.csv").write_text("n,text\n" + "\n".join(rows) + "\n")
    assert told(tmp_path / "*.csv", "n:int64") == []
    (tmp_path / "1.csv").write_text("n,text\n" + "\n".join([*rows, "late,y"]) + "\n")
    (problem,) = told(tmp_path / "*.csv", "n:int64")
    assert "row 901: the column `n`" in problem.reason


def test_a_column_that_the_header_lacks_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "books.csv"
    path.write_text("year\n1999\n")
    (problem,) = told(path, "yeer:int64")
    assert (problem.key, problem.value, problem.is_warning) == ("columns", "yeer", False)


def test_a_sample_is_the_first_records_as_they_would_be_sent(tmp_path: Path) -> None:
    source = FileSource()

    def sample(**options: str) -> SourceBatch | None:
        raw = {"connector.class": "file_source", "topic": "t", "filename": str(tmp_path / "*"), "format": "csv"}
        return source.sample(parse_source(source, raw | {key.replace("_", "."): value for key, value in options.items()}))

    assert sample() is None
    (tmp_path / "1.csv").write_text("n\n1\nx\n3\nno newline")
    (tmp_path / "0.csv").write_text("n\n")
    found = sample(columns="n:int64")
    assert found is not None
    assert (found.partition, list(found.values)) == (str(tmp_path / "1.csv"), [{"n": 1}, {"n": 3}])
    assert [(field.name, field.schema.type) for field in found.schema.fields] == [("n", Type.INT64)] if found.schema else False
    lines = sample(format="text")
    assert lines is not None
    assert list(lines.values) == ["n"]
