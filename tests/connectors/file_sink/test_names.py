"""Names of targets that promise what is not written."""

from pathlib import Path

import pytest

from connectors.file_sink import FileSink
from rocketconnect_sdk.errors import Problem
from rocketconnect_sdk.options import parse


def told(path: Path, **options: str) -> list[Problem]:
    raw = {"filename": str(path), **{key.replace("_", "."): value for key, value in options.items()}}
    return list(FileSink().check(parse(FileSink.options, raw)))


@pytest.mark.parametrize(
    ("name", "given", "fix"),
    [
        ("out.csv", "", "Set format=csv if its lines are to be rows."),
        ("out.CSV", "jsonlines", "Set format=csv if its lines are to be rows."),
        ("out.tsv", "", "Set format=csv and csv.delimiter=\\t if its lines are to be rows."),
        ("out.json", "", "Set format=jsonlines if each of its lines is to be JSON."),
        ("out.jsonl", "csv", "Set format=jsonlines if each of its lines is to be JSON."),
        ("out.parquet", "", "Set format=parquet if it is to be a directory of Parquet files."),
        ("out.orc", "parquet", "Set format=orc if it is to be a directory of ORC files."),
    ],
)
def test_a_name_that_promises_another_format_is_told_with_that(tmp_path: Path, name: str, given: str, fix: str) -> None:
    (problem,) = told(tmp_path / name, **({"format": given} if given else {}))
    ending = Path(name).suffix.lower()
    assert problem.is_warning
    assert (problem.key, problem.value) == ("format", given)
    assert problem.reason == f"the name ends in {ending}, and format is {given or 'text'}"
    assert problem.fix == fix


@pytest.mark.parametrize(
    ("name", "form"), [("out.csv", "csv"), ("out.txt", "text"), ("out", "text"), ("out.jsonl", "jsonlines"), ("a.orc", "orc")]
)
def test_a_name_that_keeps_its_promise_is_not_told(tmp_path: Path, name: str, form: str) -> None:
    assert told(tmp_path / name, format=form) == []


def test_nothing_is_compressed_under_a_name_of_gzip(tmp_path: Path) -> None:
    (problem,) = told(tmp_path / "out.csv.gz", format="csv")
    assert (problem.key, problem.is_warning) == ("filename", True)
    assert problem.fix == "Leave .gz out of the name."
    assert [each.key for each in told(tmp_path / "out.csv.gz")] == ["format", "filename"]
