"""The file that `position export` writes and `position import` reads."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from rocketconnect_cli.api import ApiError, Exit
from rocketconnect_cli.documents.exported import Exported, read_exported

ROWS: list[dict[str, Any]] = [
    {"partition": "t/b/0", "offset": "[7]", "resume": '{"marks":{}}', "incarnation": 3},
    {"partition": "t/b/1", "offset": "[0]"},
]
MADE = Exported.of({"name": "c", "uid": "u", "revision": "4"}, ROWS, datetime(2026, 1, 31, tzinfo=UTC))


def wrong(tmp_path: Path, text: str) -> ApiError:
    file = tmp_path / "exported.json"
    file.write_text(text)
    with pytest.raises(ApiError) as raised:
        read_exported(file, "c")
    assert raised.value.exit_code is Exit.WRONG
    return raised.value


def told(tmp_path: Path, **changes: Any) -> list[tuple[str, str]]:
    document = {**MADE.document(), **changes}
    return [(each["key"], each["reason"]) for each in wrong(tmp_path, json.dumps(document)).problem["problems"]]


def test_what_was_written_is_read_again(tmp_path: Path) -> None:
    file = tmp_path / "exported.json"
    file.write_text(json.dumps(MADE.document()))
    assert read_exported(file, "c") == MADE
    assert MADE.positions[1] == {"partition": "t/b/1", "offset": "[0]", "resume": ""}


def test_everything_that_is_wrong_with_a_file_is_told_at_once(tmp_path: Path) -> None:
    positions = [{"partition": "", "offset": "7"}, {"partition": "p", "offset": "[1, x]", "resume": 1}, "q"]
    assert told(tmp_path, format="other/1", connector="d", uid="", positions=positions) == [
        ("format", "is not rocketconnect.positions/1"),
        ("connector", "is not c"),
        ("uid", "is not the uid of a connector"),
        ("positions[0].partition", "is not the name of a partition"),
        ("positions[0].offset", "is not an offset"),
        ("positions[1].offset", "is not an offset"),
        ("positions[1].resume", "is not a text"),
        ("positions[2]", "is not an object"),
    ]


def test_a_partition_that_is_named_twice_is_told(tmp_path: Path) -> None:
    assert told(tmp_path, positions=[ROWS[0], ROWS[0]]) == [("positions", "are named twice")]


@pytest.mark.parametrize("text", ["", "[", "[]", "7", "[" * 100_000])
def test_what_is_no_export_is_told_without_a_traceback(tmp_path: Path, text: str) -> None:
    assert "can't be imported" in str(wrong(tmp_path, text))


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(ApiError, match="can't be imported"):
        read_exported(tmp_path / "none", "c")
