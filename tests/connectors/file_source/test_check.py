"""What is refused of a configuration before it is stored."""

import gzip
import os
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from connectors.file_source import FileSource
from rocketconnect_sdk.configuration.connector_options import check_connector, parse_source
from rocketconnect_sdk.errors import Problem


def problems(filename: object, **options: str) -> list[tuple[str, str]]:
    raw = {"connector.class": "file_source", "topic": "t", "filename": str(filename)}
    raw |= {key.replace("_", "."): value for key, value in options.items()}
    return [(problem.key, problem.reason) for problem in found(raw)]


def found(raw: Mapping[str, str]) -> list[Problem]:
    source = FileSource()
    return [problem for problem in source.check(parse_source(source, raw)) if not problem.is_warning]


def test_a_missing_file_is_waited_for_or_refused(tmp_path: Path) -> None:
    assert problems(tmp_path / "no") == []
    assert problems(tmp_path / "no", follow="false") == [("filename", "No such file or directory")]
    assert problems(tmp_path / "*.log") == []
    assert problems(tmp_path / "*.log", follow="false") == [("filename", "matches no file")]


@pytest.mark.parametrize("filename", ["a.log", "./a.log", "logs/*.log", "~/a.log", "../a"])
def test_a_relative_path_is_refused_with_the_form_that_is_right(filename: str) -> None:
    raw = {"connector.class": "FileSourceConnector", "connect.topicname": "t", "filename": filename}
    (problem,) = check_connector(raw).problems
    assert (problem.key, problem.value) == ("filename", filename)
    assert problem.reason == "is a relative path, and a worker has a directory of its own"
    assert "absolute path" in problem.fix
    assert "/var/log/app.log" in problem.fix


def test_what_is_no_text_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "binary").write_bytes(b"\x7fELF\0\0")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "damaged.gz").write_bytes(b"no gzip")
    assert problems(tmp_path) == [("filename", "is a directory")]
    assert problems(tmp_path / "binary") == [("filename", "is a binary file: it has NUL bytes")]
    assert problems(tmp_path / "pipe") == [("filename", "is not a regular file")]
    assert "is not gzip" in problems(tmp_path / "damaged.gz")[0][1]
    assert len(problems(tmp_path / "*")) == 3


def test_files_without_the_right_to_read_them_are_refused(
    tmp_path: Path, as_plain_user: Callable[[Callable[[str], object], str], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    # That user reaches the directory only as /proc/self/cwd, and what has roots opens files by their real paths.
    monkeypatch.delenv("ROCKETCONNECT_READ_ROOTS")
    (tmp_path / "closed").mkdir(mode=0o700)
    for name in ("secret", "closed/file", "open"):
        (tmp_path / name).write_text("x\n")
    (tmp_path / "secret").chmod(0)
    (tmp_path / "closed").chmod(0)
    found = {name: as_plain_user(problems, name) for name in ("secret", "closed/file", "open")}
    (tmp_path / "closed").chmod(0o700)
    assert found == {"secret": [["filename", "cannot be read"]], "closed/file": [["filename", "Permission denied"]], "open": []}


def test_compressed_files_are_looked_into(tmp_path: Path) -> None:
    (tmp_path / "a.gz").write_bytes(gzip.compress(b"x,y\n1,2\n"))
    assert problems(tmp_path / "a.gz", format="csv", key_field="y") == []
    assert "no column 'z'" in problems(tmp_path / "a.gz", format="csv", key_field="z")[0][1]


def test_a_header_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    for header, reason in [
        ("x,x", "the header names a column twice: columns 1 and 2 have the same name"),
        ("", "the file begins with an empty line, not with a header"),
    ]:
        path.write_text(f"{header}\n")
        assert problems(path, format="csv") == [("filename", reason)]


def test_of_a_header_that_names_a_column_twice_it_is_said_which_options_help(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("x,x\n1,2\n")
    raw = {"connector.class": "file_source", "topic": "t", "filename": str(path), "format": "csv"}
    (problem,) = found(raw)
    assert "csv.header=false" in problem.fix
    assert found({**raw, "csv.header": "false", "columns": "a,b"}) == []


def test_a_column_that_the_header_lacks_is_told_under_the_option_that_names_it(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("x,y\n")
    reason = f"{path}: the header has no column 'z'; it has 2 others"
    assert problems(path, format="csv", columns="x, z:int8") == [("columns", reason)]
    assert problems(path, format="csv", key_field="z") == [("key.field", reason)]


@pytest.mark.parametrize(
    "content",
    [
        b'[{"a":1},{"a":2}]',
        b'[{"a":1},{"a":2}]\n',
        b'\xef\xbb\xbf [ {"a":1},\n{"a":2}]\n',
        b"[\n  1,\n  2\n]\n",
        b"[1,2,\n3]",
        b'\n[{"a":"' + b"x" * 9000 + b'"}]\n',
    ],
)
def test_a_file_that_is_one_json_array_is_no_file_of_json_lines_and_how_it_becomes_one_is_told(
    tmp_path: Path, content: bytes
) -> None:
    (tmp_path / "a.json").write_bytes(content)
    raw = {"connector.class": "file_source", "topic": "t", "filename": str(tmp_path / "a.json"), "format": "jsonlines"}
    (problem,) = check_connector(raw).problems
    assert problem.key == "filename"
    assert "one JSON array" in problem.reason
    assert "jq -c '.[]' in.json > out.jsonl" in problem.fix
    assert problems(tmp_path / "a.json", format="text") == []


def test_an_object_over_several_lines_is_no_line(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{\n  "a": 1\n}\n')
    ((key, reason),) = problems(tmp_path / "a.json", format="jsonlines")
    assert (key, "one JSON object over several lines" in reason) == ("filename", True)


@pytest.mark.parametrize(
    "content", ["", "[", "[1,2]", "[1,2]\n[3]\n", '[{"a":1}]\n[{"a":2}]\n', '{"a":1}\n', "{broken\n{}\n", '{"a":\n']
)
def test_lines_that_are_arrays_and_lines_that_are_wrong_for_themselves_are_lines(tmp_path: Path, content: str) -> None:
    (tmp_path / "a.json").write_text(content)
    assert problems(tmp_path / "a.json", format="jsonlines") == []


@pytest.mark.parametrize(
    ("name", "reason"), [("utf-16", "lines that do not end with one byte"), ("UTF_32LE", "lines"), ("x", "none of")]
)
def test_an_encoding_in_which_positions_would_not_be_exact_is_refused_with_the_way_out(
    tmp_path: Path, name: str, reason: str
) -> None:
    raw = {"connector.class": "file_source", "topic": "t", "filename": str(tmp_path / "a"), "encoding": name}
    (problem,) = (each for each in check_connector(raw).problems if not each.is_warning)
    assert (problem.key, reason in problem.reason) == ("encoding", True)
    assert "iconv -f utf-16 -t utf-8" in problem.fix


def test_a_file_in_utf16_is_told_as_that(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x,y\n1,2\n", "utf-16")
    raw = {"connector.class": "file_source", "topic": "t", "filename": str(tmp_path / "a.csv"), "format": "csv"}
    for encoding in ("utf-8", "latin-1"):
        found = check_connector({**raw, "encoding": encoding}).problems
        assert [problem.key for problem in found if "UTF-16" in problem.reason and "iconv" in problem.fix] == ["filename"]


def test_options_that_do_not_go_together_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a"
    assert problems(path, key_field="x") == [("key.field", "lines of text have no fields")]
    assert [key for key, _ in problems(path, columns="a", csv_null="b")] == ["columns", "csv.null"]
    assert [key for key, _ in problems(path, format="csv", csv_header="false")] == ["columns"]
    assert [key for key, _ in problems(path, format="csv", csv_header="false", columns="a", key_field="b")] == ["key.field"]
    assert [key for key, _ in problems(path, encoding_errors="dead-letter")] == ["encoding.errors"]
    dead = {"errors_tolerance": "all", "errors_deadletterqueue_topic_name": "dead"}
    assert problems(path, encoding_errors="dead-letter", **dead) == []


def test_plans_give_a_glob_to_many_and_a_file_to_one(tmp_path: Path) -> None:
    source = FileSource()
    for name, tasks in (("*.log", 5), ("plain", 1), ("[x]", 5)):
        raw = {"connector.class": "file_source", "topic": "t", "filename": str(tmp_path / name)}
        assert len(source.plan(parse_source(source, raw), 5, {}).tasks) == tasks
    (tmp_path / "[x]").write_text("a file with that very name\n")
    assert len(source.plan(parse_source(source, raw), 5, {}).tasks) == 1
