"""The lock and the small files of a data directory."""

import errno
from pathlib import Path
from unittest import mock

import pytest

from rocketconnect_cli.embedded import DataDirectoryInUse, DataDirectoryUnusable
from rocketconnect_cli.embedded.data_directory import DataDirectory


def test_one_owner_at_a_time(tmp_path: Path) -> None:
    first, second = DataDirectory(tmp_path / "data"), DataDirectory(tmp_path / "data")
    first.acquire()
    with pytest.raises(DataDirectoryInUse, match=str(tmp_path / "data")):
        second.acquire()
    first.release()
    second.acquire()
    second.release()


def test_nobody_else_may_look_into_it(tmp_path: Path) -> None:
    old, empty = tmp_path / "old", tmp_path / "empty"
    for made in (old, empty):
        made.mkdir(mode=0o755)
    (old / "lock").touch()
    for path in (tmp_path / "new", old, empty):
        DataDirectory(path).acquire()
        assert path.stat().st_mode & 0o777 == 0o700


def test_what_somebody_has_made_for_other_things_stays_open_to_whom_it_was(tmp_path: Path) -> None:
    (tmp_path / "letter").touch()
    tmp_path.chmod(0o755)
    DataDirectory(tmp_path).acquire()
    assert tmp_path.stat().st_mode & 0o777 == 0o755


@pytest.mark.parametrize(("path", "why"), [("file", "it is not a directory"), ("file/below", "it is not a directory")])
def test_a_file_is_refused_as_a_directory(tmp_path: Path, path: str, why: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(DataDirectoryUnusable, match=f"{tmp_path / path} can't be used as a data directory: {why}"):
        DataDirectory(tmp_path / path).acquire()


def test_a_directory_that_can_not_be_made_is_refused() -> None:
    with pytest.raises(DataDirectoryUnusable, match="/proc/foo can't be used as a data directory: No such file or directory"):
        DataDirectory(Path("/proc/foo")).acquire()


def test_a_directory_of_another_user_is_refused_with_what_to_do(tmp_path: Path) -> None:
    with (
        mock.patch("os.open", side_effect=PermissionError(errno.EACCES, "Permission denied")),
        pytest.raises(DataDirectoryUnusable, match=r"belongs to user \d+, and this is user \d+: run chown -R \d+ on it"),
    ):
        DataDirectory(tmp_path).acquire()


@pytest.mark.parametrize("name", ["lock", "logs", "ports.json.new"])
def test_what_stands_in_the_way_in_it_is_named(tmp_path: Path, name: str) -> None:
    directory = DataDirectory(tmp_path)
    if name == "logs":
        (tmp_path / name).touch()
    else:
        (tmp_path / name).mkdir()
    with pytest.raises(DataDirectoryUnusable, match=rf"\({tmp_path / name}\)"):
        directory.acquire()
        directory.folder("logs")
        directory.keep_ports({"broker": 1})
    directory.release()


def test_ports_are_kept(tmp_path: Path) -> None:
    DataDirectory(tmp_path).keep_ports({"broker": 20000})
    assert DataDirectory(tmp_path).kept_ports() == {"broker": 20000}


@pytest.mark.parametrize("content", ["", "[1, 2]", '{"broker": "many"}', "\x00"])
def test_a_damaged_file_of_ports_counts_as_none(tmp_path: Path, content: str) -> None:
    (tmp_path / "ports.json").write_text(content)
    assert DataDirectory(tmp_path).kept_ports() == {}


def test_the_tail_of_a_log_is_its_last_lines(tmp_path: Path) -> None:
    directory = DataDirectory(tmp_path)
    assert directory.log_tail("broker", 2) == ""
    directory.log_file("broker").parent.mkdir()
    directory.log_file("broker").write_bytes(b"one\ntwo\n\xff three\n")
    assert directory.log_tail("broker", 2) == "two\n\ufffd three"
