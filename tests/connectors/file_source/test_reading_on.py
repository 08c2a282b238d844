"""What is told before another configuration takes the place of that of a source which has read."""

import gzip
from pathlib import Path

import pytest

from connectors.file_source import FileSource
from connectors.file_source.birth import born_ns
from connectors.file_source.identity import Identity, head_of
from rocketconnect_sdk.configuration.connector_options import parse_source
from rocketconnect_sdk.errors import Problem
from rocketconnect_sdk.record import Position

ROWS = b"id,name\n1,a\n2,b\n3,c\n"
LINES = b'{"id":1}\n{"id":2}\n'


def partition_of(path: Path, content: bytes, lines: int) -> str:
    state = path.stat()
    head = head_of(content, lines, whole=True)
    assert head is not None
    with path.open("rb") as file:
        return f"{path}#{Identity(state.st_dev, state.st_ino, born_ns(file.fileno()), head)}-0"


def told(path: Path, before: dict[str, str], now: dict[str, str], position: dict[str, Position]) -> list[Problem]:
    source = FileSource()
    common = {"connector.class": "file_source", "filename": str(path), "topic": "t"}
    return list(source.reads_on(parse_source(source, common | before), parse_source(source, common | now), position))


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    path = tmp_path / "in.csv"
    path.write_bytes(ROWS)
    return path


def test_another_format_that_reads_a_file_anew_says_how_much_and_how_to_go_on(rows: Path) -> None:
    position = {partition_of(rows, ROWS, 1): Position((16,))}
    (warning,) = told(rows, {}, {"format": "csv"}, position)
    assert (warning.key, warning.value, warning.is_warning) == ("format", "csv", True)
    assert "read anew" in warning.reason
    assert f"16 of the {len(ROWS)} bytes of {rows} (3 lines)" in warning.reason
    assert f"rocketconnect position set NAME '{partition_of(rows, ROWS, 2)}=[16]'" in warning.fix
    assert "Name another topic" in warning.fix


def test_a_position_that_is_taken_over_by_hand_as_it_is_told_is_known_by_the_next_configuration(rows: Path) -> None:
    now = {"format": "csv", "csv.header": "false", "columns": "id,name"}
    (warning,) = told(rows, {"format": "csv"}, now, {partition_of(rows, ROWS, 2): Position((16,))})
    assert warning.key == "csv.header"
    assert f"{partition_of(rows, ROWS, 1)}=[16]" in warning.fix


def test_another_format_that_goes_on_where_it_is_says_so(tmp_path: Path) -> None:
    path = tmp_path / "in.json"
    path.write_bytes(LINES)
    (warning,) = told(path, {}, {"format": "jsonlines"}, {partition_of(path, LINES, 1): Position((9,))})
    assert "reading goes on where it is: 9 of the 18 bytes" in warning.reason
    assert "rocketconnect position reset NAME --restart" in warning.fix


def test_another_delimiter_says_what_the_topic_has_under_the_one_before(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    content = b"id;name;day\n1;a;x\n2;b;y\n"
    path.write_bytes(content)
    position = {partition_of(path, content, 2): Position((18,))}
    (warning,) = told(path, {"format": "csv"}, {"format": "csv", "csv.delimiter": ";"}, position)
    assert (warning.key, warning.value, warning.is_warning) == ("csv.delimiter", ";", True)
    assert warning.reason == (
        "is that of rows from now on, and reading goes on where it is: 18 of the 24 bytes of "
        f"{path} (2 lines) stay in the topic as they are, sent as rows of 1 column"
    )
    assert "rocketconnect position reset NAME --restart" in warning.fix
    assert told(path, {"format": "csv"}, {"format": "csv", "csv.delimiter": ";"}, {}) == []


def test_other_options_change_nothing_of_what_was_read(rows: Path) -> None:
    assert told(rows, {"format": "csv"}, {"format": "csv", "csv.null": "-"}, {partition_of(rows, ROWS, 2): Position((16,))}) == []


def test_nothing_is_told_of_a_file_of_which_nothing_was_read(rows: Path) -> None:
    assert told(rows, {}, {"format": "csv"}, {}) == []
    assert told(rows, {}, {"format": "csv"}, {partition_of(rows, ROWS, 1): Position((0,))}) == []
    rows.unlink()
    assert told(rows, {}, {"format": "csv"}, {"gone#0-1-2-3-0": Position((16,))}) == []


def test_of_compressed_files_what_they_hold_is_counted(tmp_path: Path) -> None:
    path = tmp_path / "in.csv.gz"
    path.write_bytes(gzip.compress(ROWS))
    (warning,) = told(path, {}, {"format": "csv"}, {partition_of(path, ROWS, 1): Position((16,))})
    assert f"16 bytes of {path} (3 lines)" in warning.reason
