"""Which files each of several tasks reads."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from connectors.file_source import FileSource
from connectors.file_source.identity import share_of
from connectors.file_source.rotation.dealing import BY_HEAD, Dealing
from connectors.file_source.rotation.formers import Formers
from connectors.file_source.task import FileSourceTask
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import PermanentError
from rocketconnect_sdk.options import parse
from tests.connectors.polling import polled

FILES = 50


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    paths = [tmp_path / f"{number}" for number in range(FILES)]
    for path in paths:
        path.write_text(f"line of {path.name}\n")
    return paths


@contextmanager
def reading(folder: Path, share: Mapping[str, str], **options: str) -> Iterator[FileSourceTask]:
    config = parse(FileSource.options, {"filename": f"{folder}/*", **options})
    task = FileSource().open(config, share, TaskContext())
    task.start({})
    try:
        yield task
    finally:
        task.close()


def shares(folder: Path, tasks: int) -> list[Mapping[str, str]]:
    return list(FileSource().plan(parse(FileSource.options, {"filename": f"{folder}/*"}), tasks, {}).tasks)


def test_a_file_that_got_the_name_of_one_that_was_found_is_not_taken_for_it(files: list[Path]) -> None:
    config = parse(FileSource.options, {"filename": f"{files[0].parent}/*"})
    dealing = Dealing((0, 2), BY_HEAD, 1, config)
    mine = next(path for path in files if dealing.foreign(_key(path), path, Formers()) is None)
    other = next(path for path in files if dealing.foreign(_key(path), path, Formers()) is not None)
    found = _key(other)
    mine.rename(other)
    told = dealing.foreign(found, other, Formers())
    assert told is not None
    assert told.lost is None
    assert dealing.foreign(_key(other), other, Formers()) is None


def _key(path: Path) -> tuple[int, int]:
    state = path.stat()
    return state.st_dev, state.st_ino


def all_of(task: FileSourceTask) -> list[str]:
    values: list[str] = []
    for batch in polled(task):
        values += map(str, batch.values)
    return values


@pytest.mark.parametrize("follow", ["true", "false"])
def test_tasks_on_machines_with_other_device_numbers_share_every_file_once(
    tmp_path: Path, files: list[Path], monkeypatch: pytest.MonkeyPatch, follow: str
) -> None:
    look, read = Path.stat, list[str]()
    for number, share in enumerate(shares(tmp_path, 4)):

        def stat(path: Path, device: int = number, **options: bool) -> os.stat_result:
            known = list(look(path, **options))
            known[2] = 1000 + device
            return os.stat_result(known)

        with monkeypatch.context() as mounted:
            mounted.setattr(Path, "stat", stat)
            with reading(tmp_path, share, follow=follow) as task:
                read += all_of(task)
    assert sorted(read) == sorted(path.read_text().strip() for path in files)


@pytest.mark.parametrize("by", [{}, {"by": "inode"}])
def test_the_tasks_of_a_plan_of_an_earlier_version_deal_files_out_as_they_did(
    tmp_path: Path, files: list[Path], by: Mapping[str, str]
) -> None:
    device = 0 if by else tmp_path.stat().st_dev
    mine = [path.read_text().strip() for path in files if share_of(device, path.stat().st_ino, 2) == 1]
    with reading(tmp_path, {"share": "1/2", **by}) as task:
        assert sorted(all_of(task)) == sorted(mine)


def test_of_a_line_that_waits_for_its_end_one_of_the_tasks_tells(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("no end")
    remaining: list[int] = []
    for share in shares(tmp_path, 3):
        with reading(tmp_path, share) as task:
            assert all_of(task) == []
            remaining.append(task.remaining() or 0)
    assert sorted(remaining) == [0, 0, len("no end")]


def test_a_file_that_is_not_what_its_name_says_fails_one_of_the_tasks(tmp_path: Path) -> None:
    (tmp_path / "a.gz").write_text("no gzip\n")
    failed = 0
    for share in shares(tmp_path, 3):
        with reading(tmp_path, share) as task:
            try:
                all_of(task)
            except PermanentError:
                failed += 1
    assert failed == 1
