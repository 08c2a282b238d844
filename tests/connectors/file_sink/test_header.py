"""Columns of a CSV file that is there already, as the check sees them."""

import logging
import os
from pathlib import Path

import pytest

from connectors.file_sink import FileSink
from rocketconnect_sdk.files import AppendedFile, Owner
from rocketconnect_sdk.options import parse
from rocketconnect_sdk.sink import QueuePosition, SinkCommit


def problems(path: Path, columns: str, **options: str) -> list[tuple[str, str]]:
    raw = {"filename": str(path), "format": "csv", "columns": columns}
    raw |= {key.replace("_", "."): value for key, value in options.items()}
    return [(problem.key, problem.reason) for problem in FileSink().check(parse(FileSink.options, raw))]


def test_columns_that_are_added_later_are_refused_before_a_record_comes(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    assert problems(path, "id:int64, name") == []
    file = AppendedFile(path, Owner("uid", 1, 0, 1), logging.getLogger())
    file.start()
    assert problems(path, "id:int64, name") == []
    commit = SinkCommit("uid", 0, 1, {"q": QueuePosition(0)}, {"q": QueuePosition(1)}, 1, "token")
    file.append([b"1,x\n"], commit, first=b"id,name\n")
    assert problems(path, "id:int32, name") == []
    assert problems(path, "id, name, more, than") == [
        ("columns", "the file has a first line of 2 columns already, without 'more', 'than'")
    ]
    wrong = "the file has a first line of 2 columns already, and these {} are not all of them in their order"
    assert problems(path, "id") == [("columns", wrong.format(1))]
    assert problems(path, "name, id") == [("columns", wrong.format(2))]
    path.rename(tmp_path / "old.csv")
    assert problems(path, "id, name, more") == []


def test_another_delimiter_than_that_of_the_first_line_is_refused_with_the_one_that_it_has(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    path.write_text("id,name\n1,x\n")
    for columns in ("id, name", ""):
        ((key, reason),) = problems(path, columns, csv_delimiter=";")
        assert (key, reason) == ("csv.delimiter", 'the first line of the file is one field with it, and has 2 with ","')
        assert problems(path, columns) == []
    assert problems(path, "", csv_delimiter=";", csv_header="false") == []
    assert [key for key, _ in problems(path, "other", csv_delimiter=";")] == ["columns"]
    path.write_text("id\n1\n")
    assert problems(path, "", csv_delimiter=";") == []
    path.unlink()
    assert problems(path, "", csv_delimiter=";") == []


@pytest.mark.parametrize("header", ["true", "false"])
def test_another_delimiter_than_that_of_the_last_batch_is_refused_until_the_file_is_moved_away(tmp_path: Path, header: str) -> None:
    path = tmp_path / "out.csv"
    file = AppendedFile(path, Owner("uid", 1, 0, 1), logging.getLogger())
    file.start()
    commit = SinkCommit("uid", 0, 1, {"q": QueuePosition(0)}, {"q": QueuePosition(1)}, 1, "token")
    file.append([b"1\n"], commit, first=b"id\n", remember={"columns": ["id"], "delimiter": "\t"})
    ((key, reason),) = problems(path, "id", csv_header=header)
    assert (key, reason) == ("csv.delimiter", "the file has rows already, with a tab between their fields")
    assert problems(path, "id", csv_header=header, csv_delimiter="\\t") == []
    path.rename(tmp_path / "old.csv")
    path.write_text("id\n")
    assert problems(path, "id", csv_header=header) == []


def test_a_first_line_is_read_as_it_is_written(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    path.write_text('id\t"full\n""name"""\n1\tx\n')
    assert problems(path, 'id, full\n"name"', csv_delimiter="\\t") == []
    assert [key for key, _ in problems(path, "id, name", csv_delimiter="\\t")] == ["columns"]
    assert problems(path, "other", csv_header="false", csv_delimiter="\\t") == []


def test_of_what_is_in_the_file_nothing_is_repeated(tmp_path: Path) -> None:
    (tmp_path / "out.csv").write_text("canary,canaries\n")
    (found,) = problems(tmp_path / "out.csv", "id")
    assert "canar" not in str(found)


@pytest.mark.parametrize("name", ["pipe", "folder", "none/x", "closed"])
def test_what_cannot_be_looked_at_is_told_as_itself_alone(tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    assert "columns" not in [key for key, _ in problems(tmp_path / name, "id")]
