"""What is told of files that may not be read as somebody meant it."""

import gzip
from collections.abc import Sequence
from pathlib import Path

import pytest

from connectors.file_source import FileSource
from connectors.file_source.task import FileSourceTask
from rocketconnect_sdk.configuration.connector_options import check_connector, parse_source
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import Problem
from tests.connectors.polling import polled


def raw(filename: object, **options: str) -> dict[str, str]:
    given = {"connector.class": "file_source", "topic": "t", "filename": str(filename)}
    return given | {key.replace("_", "."): value for key, value in options.items()}


def told(filename: object, **options: str) -> Sequence[Problem]:
    """All but that the file is not there, which is told in any case."""
    found = check_connector(raw(filename, **options)).problems
    return [problem for problem in found if not problem.reason.startswith(("is not there now", "matches no file now"))]


def test_a_last_line_without_a_newline_is_told_with_what_makes_a_record_of_it(tmp_path: Path) -> None:
    path = tmp_path / "a b"
    path.write_text("one\ntwo")
    (problem,) = told(path)
    assert (problem.key, problem.is_warning) == ("filename", True)
    assert problem.reason == f"the last line of {path} has no newline: it is read when one follows"
    assert f"echo >> '{path}'" in problem.fix
    assert "last.line.timeout=10s" in problem.fix


def test_lines_that_do_not_wait_are_not_told(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("one\ntwo")
    assert told(path, last_line_timeout="1s") == []
    assert told(path, follow="false") == []
    for whole in ("", "one\n"):
        path.write_text(whole)
        assert told(path) == []
    (tmp_path / "b.gz").write_bytes(gzip.compress(b"one\ntwo\n"))
    assert told(tmp_path / "b.gz") == []


def test_of_many_files_with_waiting_lines_one_is_named(tmp_path: Path) -> None:
    for name in "abc":
        (tmp_path / name).write_text("one\ntwo" if name != "b" else "one\n")
    (problem,) = told(tmp_path / "*")
    assert problem.reason.startswith(f"the last line of {tmp_path}/a (and of 1 more of the files) has no newline")


class Following:
    """A task that is polled while a clock is moved by hand."""

    def __init__(self, filename: object, **options: str) -> None:
        source = FileSource()
        self.now = 0.0
        config = parse_source(source, raw(filename, **options))
        self.task: FileSourceTask = source.open(config, {"share": "0/1", "by": "inode"}, TaskContext())
        self.task._clock = lambda: self.now
        self.task.start({})

    def read(self, seconds: float) -> list[object]:
        self.now += seconds
        found: list[object] = []
        for batch in polled(self.task):
            found += batch.values
        return found


@pytest.mark.parametrize(
    ("form", "content"), [("text", "one\nthe rest"), ("text", "the rest"), ("csv", "a\n1\nthe rest"), ("csv", "a\nthe rest")]
)
def test_a_line_that_waits_for_its_newline_is_in_the_lag_at_first_and_then_told_with_the_state_until_it_comes(
    tmp_path: Path, form: str, content: str, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "a"
    path.write_text(content)
    following = Following(path, format=form)
    caplog.set_level("INFO")
    following.read(0)
    following.read(29)
    assert not any("no newline" in message for message in caplog.messages)
    assert (following.task.remaining() or 0) >= len("the rest")
    assert following.task.held_back == ""
    following.read(2)
    following.read(1000)
    (message,) = (message for message in caplog.messages if "no newline" in message)
    assert message.startswith(f"the last line of {path} has no newline: ")
    assert f"echo >> {path}" in message
    assert (following.task.remaining(), following.task.held_back) == (0, message)
    with path.open("a") as file:
        file.write("\nmore")
    assert len(following.read(1)) == 1
    assert (following.task.remaining(), following.task.held_back) == (4, "")
    following.read(31)
    assert "4 bytes are not sent" in following.task.held_back
    path.write_text("")
    following.read(1)
    assert "no newline" not in following.task.held_back
    following.task.close()


def test_of_several_lines_that_wait_for_their_newlines_one_is_told_and_how_many_more_there_are(tmp_path: Path) -> None:
    for name in "abc":
        (tmp_path / name).write_text(name)
    following = Following(tmp_path / "*")
    following.read(0)
    following.read(31)
    assert following.task.held_back.startswith(
        f"the last line of {tmp_path}/a (and of 2 other files) has no newline: 1 byte is not"
    )
    following.task.close()


def test_a_file_with_whole_lines_alone_is_not_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    for form, content in (("text", ""), ("text", "one\n"), ("csv", "a\n"), ("csv", "a\n1\n")):
        path = tmp_path / f"{len(content)}{form}"
        path.write_text(content)
        following = Following(path, format=form)
        following.read(1)
        following.read(1000)
        assert following.task.remaining() == 0
        following.task.close()
    assert caplog.messages == []


@pytest.mark.parametrize(
    ("name", "given", "fix"),
    [
        ("a.csv", "", "Set format=csv if its lines are rows."),
        ("a.csv.gz", "jsonlines", "Set format=csv if its lines are rows."),
        ("*.tsv", "", "Set format=csv and csv.delimiter=\\t if its lines are rows."),
        ("a.json", "", "Set format=jsonlines if each of its lines is JSON."),
        ("a.jsonl", "csv", "Set format=jsonlines if each of its lines is JSON."),
        ("a.parquet", "csv", "Write what it holds as CSV or as lines of JSON, and read that: file_source reads lines."),
    ],
)
def test_a_name_that_promises_another_format_is_told_with_that(tmp_path: Path, name: str, given: str, fix: str) -> None:
    (problem,) = told(tmp_path / name, value_converter="string", **({"format": given} if given else {}))
    ending = Path(name.removesuffix(".gz")).suffix
    assert problem.is_warning
    assert (problem.key, problem.value) == ("format", given)
    assert problem.reason == f"the name ends in {ending}, and format is {given or 'text'}"
    assert problem.fix == fix


def test_a_name_that_keeps_its_promise_is_not_told(tmp_path: Path) -> None:
    for name, form in (("a.csv", "csv"), ("a.log", "text"), ("a.jsonl.gz", "jsonlines"), ("a.jsonl", "text")):
        assert told(tmp_path / name, format=form, value_converter="string") == []


def test_a_compressed_name_that_is_not_to_be_decompressed_is_told(tmp_path: Path) -> None:
    (problem,) = told(tmp_path / "a.gz", compression="none")
    assert (problem.key, problem.value, problem.is_warning) == ("compression", "none", True)
    assert "Leave compression out" in problem.fix


@pytest.mark.parametrize(
    ("line", "given", "proposed"),
    [("id;name;at", "", ";"), ("id\tname", "", "\\t"), ("id|a;b|name", "", "|"), ("id,name", "\\t", ","), ("id,name", ";", ",")],
)
def test_another_delimiter_in_the_first_line_is_proposed(tmp_path: Path, line: str, given: str, proposed: str) -> None:
    path = tmp_path / "a.csv"
    path.write_text(f"{line}\n")
    options = {"format": "csv", "value_converter": "arrow", **({"csv_delimiter": given} if given else {})}
    for columns in ({}, {"columns": "infer"}):
        (problem,) = told(path, **options, **columns)
        assert (problem.key, problem.value, problem.is_warning) == ("csv.delimiter", given, True)
        assert f"the first line of {path} has one column" in problem.reason
        assert problem.fix == f"Set csv.delimiter to `{proposed}` if that stands between its columns."
    problems = told(path, **options, columns="id:int64,name")
    assert [each.key for each in problems] == ["columns", "csv.delimiter"]


@pytest.mark.parametrize("line", ["id", '"a;b|c"', "id,a;b;c;d", "first name"])
def test_a_first_line_that_may_well_be_what_it_is_is_not_told(tmp_path: Path, line: str) -> None:
    (tmp_path / "a.csv").write_text(f"{line}\n")
    assert told(tmp_path / "a.csv", format="csv", value_converter="arrow") == []


@pytest.mark.parametrize(
    ("columns", "named"), [("", "columns=NAME:TYPE,..."), ("infer", "columns=id:int64,name"), ("id:int32", "columns=id:int32")]
)
def test_rows_without_a_converter_that_has_their_types_are_told_with_what_there_is_to_set(
    tmp_path: Path, columns: str, named: str
) -> None:
    path = tmp_path / "a.csv"
    path.write_text("id,name\n1,x\n")
    *_, problem = told(path, format="csv", **({"columns": columns} if columns else {}))
    assert (problem.key, problem.is_warning) == ("value.converter", True)
    assert "value.converter=arrow" in problem.fix
    assert f"{named}. value.converter=string says that texts are meant." in problem.fix
    assert ("columns=infer here" in problem.fix) is (columns == "")
    said = told(path, format="csv", value_converter="string", **({"columns": columns} if columns else {}))
    assert [each.key for each in said if each.key != "columns"] == []


def test_records_without_types_are_not_to_be_packed_as_rows(tmp_path: Path) -> None:
    for form, named in (("jsonlines", "columns=id:int64,name"), ("text", "columns=infer")):
        (problem,) = told(tmp_path / "a", format=form, value_converter="arrow")
        assert (problem.key, problem.value, problem.is_warning) == ("value.converter", "arrow", True)
        assert named in problem.fix
    assert told(tmp_path / "a", format="jsonlines") == []


def test_columns_of_json_lines_are_told_to_be_those_of_the_sink(tmp_path: Path) -> None:
    for columns in ("infer", "id:int64"):
        (problem,) = told(tmp_path / "a", format="jsonlines", columns=columns)
        assert not problem.is_warning
        assert "in a sink of tables, columns=id:int64,name makes rows of JSON objects" in problem.fix


def test_columns_that_no_option_can_name_are_not_proposed(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('" "\n1\n')
    problems = told(tmp_path / "a.csv", format="csv", columns="infer")
    assert [each.key for each in problems] == ["columns", "value.converter"]
    assert not any(f"columns={end}" in each.fix for each in problems for end in (".", " ", ","))
