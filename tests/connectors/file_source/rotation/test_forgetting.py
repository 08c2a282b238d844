"""Positions of files that were read and are no more."""

import gzip
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.connectors.file_source.test_growing import OPEN, Following, append
from tests.connectors.object_store_source.gone_clock import HOUR, GoneClock

_WEEK = 7 * 24 * HOUR


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[GoneClock]:
    yield GoneClock(monkeypatch)
    while OPEN:
        OPEN.pop().close()


def passed(clock: GoneClock, file: Following, seconds: float) -> list[str]:
    """The partitions that are forgotten when so much time has passed; nothing is read meanwhile."""
    known = set(file.positions)
    assert file.read(400) == []  # what is gone is held open until here
    assert file.read(400) == []  # and counted from here
    clock.now += seconds
    assert file.read(400) == []
    return sorted(known - set(file.positions))


def test_the_position_of_a_file_that_is_gone_for_a_week_is_forgotten_and_those_of_others_stay(
    tmp_path: Path, clock: GoneClock
) -> None:
    for name in ("a.log", "b.log"):
        append(tmp_path / name, f"{name}\n")
    file = Following(tmp_path / "*.log")
    assert sorted(file.read()) == ["a.log", "b.log"]
    (tmp_path / "a.log").unlink()
    (gone,) = [partition for partition in file.positions if f"-{(tmp_path / 'b.log').stat().st_ino:x}-" not in partition]
    assert passed(clock, file, _WEEK - HOUR) == []
    assert passed(clock, file, 2 * HOUR) == [gone]
    append(tmp_path / "b.log", "more\n")
    assert file.read() == ["more"]


def test_a_log_that_is_rotated_leaves_one_position_for_each_file_that_is_still_there(tmp_path: Path, clock: GoneClock) -> None:
    path = tmp_path / "app.log"
    file = Following(path)
    for day in range(20):
        append(path, f"{day}\n")
        assert file.read() == [str(day)]
        for old in range(3, 0, -1):
            if path.with_name(f"app.log.{old}").exists():
                path.with_name(f"app.log.{old}").rename(path.with_name(f"app.log.{old + 1}"))
        path.rename(path.with_name("app.log.1"))
        append(path, "")
        passed(clock, file, 2 * _WEEK)
    assert len(file.positions) == 4


def test_a_file_that_is_under_another_name_in_its_folder_is_not_gone(tmp_path: Path, clock: GoneClock) -> None:
    path = tmp_path / "app.log"
    append(path, "one\n")
    file = Following(path)
    assert file.read() == ["one"]
    path.rename(tmp_path / "kept")
    append(path, "")
    assert passed(clock, file, 2 * _WEEK) == []
    (tmp_path / "kept").rename(path)
    append(path, "two\n")
    assert file.read() == ["two"]


def test_a_file_that_is_read_in_a_packed_copy_is_not_gone_as_long_as_the_copy_is_there(tmp_path: Path, clock: GoneClock) -> None:
    path = tmp_path / "app.log"
    append(path, "one\n")
    file = Following(tmp_path / "app.log*")
    assert file.read() == ["one"]
    packed = tmp_path / "app.log.1.gz"
    packed.write_bytes(gzip.compress(path.read_bytes() + b"two\n"))
    path.unlink()
    append(path, "three\n")
    file = file.again(tmp_path / "app.log*")
    assert sorted(file.read() + file.read()) == ["three", "two"]
    assert passed(clock, file, 2 * _WEEK) == []
    packed.unlink()
    assert len(passed(clock, file, 2 * _WEEK)) == 1


def test_what_an_emptied_file_held_is_not_forgotten_so_that_what_begins_alike_is_not_taken_for_it(
    tmp_path: Path, clock: GoneClock
) -> None:
    path = tmp_path / "app.log"
    file = Following(tmp_path / "*.log")
    for text in ("a\n1\n", "b\n2\n", "a\n3\n"):
        if path.exists():
            os.truncate(path, 0)
        assert file.read() == []
        append(path, text)
        assert file.read() == text.split()
        assert passed(clock, file, 2 * _WEEK) == []
    assert len(file.positions) == 3


def test_a_folder_in_which_nothing_is_found_tells_nothing(tmp_path: Path, clock: GoneClock) -> None:
    folder = tmp_path / "mounted"
    folder.mkdir()
    append(folder / "a.log", "one\n")
    file = Following(folder / "*.log")
    assert file.read() == ["one"]
    folder.rename(tmp_path / "away")
    assert passed(clock, file, 2 * _WEEK) == []
    (tmp_path / "away").rename(folder)
    append(folder / "a.log", "two\n")
    assert file.read() == ["two"]


def test_nothing_is_forgotten_where_that_is_switched_off(tmp_path: Path, clock: GoneClock) -> None:
    for name in ("a.log", "b.log"):
        append(tmp_path / name, f"{name}\n")
    file = Following(tmp_path / "*.log", positions_forget_after="0s")
    assert len(file.read()) == 2
    (tmp_path / "a.log").unlink()
    assert passed(clock, file, 2 * _WEEK) == []


def test_another_task_forgets_nothing_of_this_one(tmp_path: Path, clock: GoneClock) -> None:
    for name in ("a.log", "b.log", "c.log", "d.log"):
        append(tmp_path / name, f"{name}\n")
    files = [Following(tmp_path / "*.log", share=f"{number}/2", by="head") for number in range(2)]
    assert sorted(line for file in files for line in file.read()) == ["a.log", "b.log", "c.log", "d.log"]
    together = files[0].positions | files[1].positions
    again = [Following(tmp_path / "*.log", together, share=f"{number}/2", by="head") for number in range(2)]
    for name in ("a.log", "b.log", "c.log"):
        (tmp_path / name).unlink()
    forgotten = [passed(clock, file, _WEEK) for file in again]
    assert len({*forgotten[0], *forgotten[1]}) == len(forgotten[0]) + len(forgotten[1]) == 3
