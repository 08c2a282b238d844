"""Files that are copied and emptied, replaced, or packed, while they are read and while nobody looks."""

import gzip
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.connectors.file_source.test_growing import OPEN, Following, append


@pytest.fixture(autouse=True)
def _all_closed() -> Iterator[None]:
    yield
    while OPEN:
        OPEN.pop().close()


def copytruncate(path: Path, copy: str = "app.log.1") -> Path:
    """As logrotate does it."""
    other = path.with_name(copy)
    shutil.copyfile(path, other)
    os.truncate(path, 0)
    return other


PATTERNS = pytest.mark.parametrize("pattern", ["app.log", "app.log*"])
OLD = pytest.mark.parametrize("old", [False, True], ids=["stored", "stored-by-a-version-before"])


@PATTERNS
@OLD
@pytest.mark.parametrize("later", ["", "five\n", "five\nsix\nseven\neight\nnine\nten\n"])
def test_what_was_appended_before_a_copytruncate_while_nobody_looked_is_read_from_the_copy_once(
    tmp_path: Path, pattern: str, old: bool, later: str, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "app.log"
    append(path, "one\ntwo\n")
    file = Following(tmp_path / pattern)
    assert file.read() == ["one", "two"]
    if old:
        file.notes.clear()
    append(path, "three\nfour\n")
    copytruncate(path)
    append(path, later)
    file = file.again(tmp_path / pattern)
    assert sorted(file.read() + file.read()) == sorted(["three", "four", *later.split()])
    assert file.task.held_back == ""
    assert not [record for record in caplog.records if record.levelname == "WARNING"]
    append(path, "more\n")
    assert file.read() == ["more"]
    file = file.again(tmp_path / pattern)
    assert file.read() == []
    (tmp_path / "app.log.1").rename(tmp_path / "app.log.2")
    assert file.again(tmp_path / pattern).read() == []


@PATTERNS
def test_what_was_appended_just_before_a_copytruncate_is_read_from_the_copy_once(tmp_path: Path, pattern: str) -> None:
    path = tmp_path / "app.log"
    append(path, "one\ntwo\n")
    file = Following(tmp_path / pattern)
    assert file.read() == ["one", "two"]
    append(path, "three\n")
    copytruncate(path)
    append(path, "four\n")
    assert sorted(file.read() + file.read()) == ["four", "three"]
    assert file.task.held_back == ""
    assert file.again(tmp_path / pattern).read() == []


def test_a_copy_is_not_read_while_the_file_may_be_emptied_behind_it(tmp_path: Path) -> None:
    path = tmp_path / "app.log"
    append(path, "one\ntwo\nthree\n")
    file = Following(f"{path}*")
    assert file.read() == ["one", "two", "three"]
    copy = tmp_path / "app.log.1"
    for half in ("one\ntwo\n", "three\n"):
        append(copy, half)
        assert file.read() == []
    os.truncate(path, 0)
    assert file.read() == []
    append(path, "four\n")
    assert file.read() == ["four"]


def test_a_copy_of_a_file_that_stays_is_a_file_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "app.log"
    append(path, "one\ntwo\n")
    file = Following(f"{path}*")
    assert file.read() == ["one", "two"]
    shutil.copyfile(path, tmp_path / "app.log.copy")
    assert file.read() == []
    assert file.read(11) == ["one", "two"]
    assert file.again(f"{path}*").read() == []


@OLD
@pytest.mark.parametrize("running", [True, False])
def test_without_a_copy_it_is_told_which_lines_may_be_missing(
    tmp_path: Path, old: bool, running: bool, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "app.log"
    append(path, "one\ntwo\n")
    file = Following(path)
    assert file.read() == ["one", "two"]
    if old:
        file.notes.clear()
    append(path, "three\n")
    os.truncate(path, 0)
    if not running:
        file = file.again(path)
    assert file.read() == []
    (told,) = (record.getMessage() for record in caplog.records if record.levelname == "WARNING")
    assert told == file.task.held_back
    assert told.startswith(f"{path} does not hold any more what was read of it up to byte 8: ")
    assert f"`ls -lat {tmp_path}`" in told
    append(path, "four\n")
    assert file.read() == ["four"]
    assert len(caplog.records) == 1
    assert file.again(path).task.held_back == ""
    assert file.read(90_000) == []
    assert file.task.held_back == ""


@pytest.mark.parametrize("running", [True, False])
@pytest.mark.parametrize("pattern", ["app.log", "*.log"])
def test_a_file_that_begins_as_it_did_and_is_as_long_is_another_one_where_what_was_read_last_differs(
    tmp_path: Path, running: bool, pattern: str
) -> None:
    path = tmp_path / "app.log"
    append(path, "start\nrow 1\nrow 2\n")
    file = Following(tmp_path / pattern)
    assert file.read() == ["start", "row 1", "row 2"]
    with path.open("r+") as same:
        same.truncate()
        same.write("start\nrow 3\nrow 4\nrow 5\n")
    if not running:
        file = file.again(tmp_path / pattern)
    assert file.read() == ["start", "row 3", "row 4", "row 5"]
    assert "up to byte 18" in file.task.held_back


def test_a_file_that_was_replaced_while_nobody_looked_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "app.log"
    append(path, "one\ntwo\n")
    file = Following(f"{tmp_path}/*.log")
    assert file.read() == ["one", "two"]
    append(tmp_path / "new", "other\n")
    (tmp_path / "new").rename(path)
    file = file.again(f"{tmp_path}/*.log")
    assert file.read() == ["other"]
    assert f"{path} does not hold any more" in file.task.held_back
    assert file.again(f"{tmp_path}/*.log").read() == []


def test_files_that_begin_alike_or_are_the_same_are_all_read(tmp_path: Path) -> None:
    for name in ("a.log", "b.log", "c.log"):
        append(tmp_path / name, "start\n")
    append(tmp_path / "empty.log", "")
    file = Following(f"{tmp_path}/*.log")
    assert file.read() == ["start"] * 3
    append(tmp_path / "b.log", "more\n")
    append(tmp_path / "empty.log", "start\n")
    append(tmp_path / "d.log", "start\n")
    file = file.again(f"{tmp_path}/*.log")
    assert sorted(file.read()) == ["more", "start", "start"]
    assert file.task.held_back == ""


def test_a_rotated_file_that_is_packed_is_not_read_again(tmp_path: Path) -> None:
    path = tmp_path / "app.log"
    append(path, "one\ntwo\n")
    file = Following(f"{path}*")
    assert file.read() == ["one", "two"]
    path.rename(tmp_path / "app.log.1")
    append(path, "three\n")
    assert file.read() == ["three"]
    (tmp_path / "app.log.1.gz").write_bytes(gzip.compress((tmp_path / "app.log.1").read_bytes()))
    (tmp_path / "app.log.1").unlink()
    assert file.read() == []
    assert file.again(f"{path}*").read() == []


def test_csv_with_its_header_goes_on_in_the_copy(tmp_path: Path) -> None:
    path = tmp_path / "app.log"
    append(path, "id,name\n1,a\n2,b\n")
    file = Following(path, format="csv")
    assert [row["id"] for row in file.read()] == ["1", "2"]
    append(path, "3,c\n")
    copytruncate(path)
    append(path, "id,name\n4,d\n")
    file = file.again(path)
    assert sorted(row["id"] for row in file.read()) == ["3", "4"]


STEPS = st.lists(st.sampled_from(["append", "append", "rename", "copytruncate", "read", "again"]), max_size=14)


@pytest.mark.slow
@pytest.mark.parametrize("pattern", ["app.log", "app.log*"])
@given(steps=STEPS)
def test_rotated_in_any_way_and_order_every_line_is_read_once(
    tmp_path_factory: pytest.TempPathFactory, pattern: str, steps: list[str]
) -> None:
    folder = tmp_path_factory.mktemp("rotated")
    path, written, seen = folder / "app.log", 0, []
    append(path, "line 0\n")
    file = Following(folder / pattern)
    seen += file.read()
    is_rotated = False
    for number, step in enumerate([*steps, "append", "read", "again", "read", "read"]):
        if pattern == "app.log" and is_rotated and step in ("rename", "copytruncate"):
            # What came and went while nobody looked is found by a pattern alone.
            seen += file.read()
        is_rotated = step in ("rename", "copytruncate") or (is_rotated and step != "read")
        match step:
            case "append":
                written += 1
                append(path, f"line {written}\n")
            case "rename":
                path.rename(folder / f"app.log.{number}")
                written += 1
                append(path, f"line {written}\n")
            case "copytruncate":
                copytruncate(path, f"app.log.{number}")
                # Who writes comes back before the next rotation.
                written += 1
                append(path, f"line {written}\n")
            case "read":
                seen += file.read()
            case _:
                file = file.again(folder / pattern)
    assert sorted(seen) == sorted(f"line {number}" for number in range(written + 1))
