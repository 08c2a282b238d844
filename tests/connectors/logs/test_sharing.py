"""Logs that are shared by several tasks: each line comes once, however the logs are rotated."""

import gzip
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from random import Random
from zlib import crc32

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectors.file_source import FileSource
from connectors.logs.log_source import LogSource
from rocketconnect_sdk.record import Position
from rocketconnect_sdk.source import Source
from tests.connectors.logs.sharing import Sharing

TASKS = 3
LOGS = 6
"""So many, that each task has some of them."""
SOURCES = pytest.mark.parametrize("source", [FileSource, LogSource])
Rotate = Callable[[Path], None]


def append(path: Path, data: str) -> None:
    with path.open("a") as file:
        file.write(data)


def _shift(path: Path) -> None:
    """Makes room for the newest of those that were rotated."""
    names = path.parent.glob(f"{path.name}.*")
    numbered = sorted(((int(name.name.split(".")[2]), name) for name in names), reverse=True)
    for number, name in numbered:
        name.rename(path.with_name(name.name.replace(f"{path.name}.{number}", f"{path.name}.{number + 1}")))


def rename(path: Path) -> None:
    _shift(path)
    path.rename(f"{path}.1")
    path.touch()


def pack(path: Path) -> None:
    _shift(path)
    Path(f"{path}.1.gz").write_bytes(gzip.compress(path.read_bytes()))
    path.unlink()
    path.touch()


def copytruncate(path: Path) -> None:
    _shift(path)
    shutil.copyfile(path, f"{path}.1")
    os.truncate(path, 0)


ROTATIONS = pytest.mark.parametrize("rotate", [rename, pack, copytruncate])


@contextmanager
def sharing(
    source: type[Source], filename: str, positions: Mapping[str, Position] | None = None, tasks: int = TASKS, **options: str
) -> Iterator[Sharing]:
    given = options or ({"exclude": ""} if source is LogSource and "*" in filename.rpartition(".")[2] else {})
    both = Sharing(source(), filename, tasks, positions or {}, **given)
    try:
        yield both
    finally:
        both.close()


@contextmanager
def begun(source: type[Source], folder: Path, pattern: str) -> Iterator[tuple[Sharing, list[Path]]]:
    """Tasks, and logs of which they have read a first line."""
    logs = [folder / f"app-{each}.log" for each in range(LOGS)]
    with sharing(source, f"{folder}/{pattern}") as tasks:
        for log in logs:
            append(log, f"{log.name} one\n")
        assert len(tasks.read()) == LOGS
        yield tasks, logs


@SOURCES
@ROTATIONS
@pytest.mark.parametrize("pattern", ["*.log*", "*.log"], ids=["rotated names are meant", "rotated names are not meant"])
def test_every_line_of_rotated_logs_comes_once_from_several_tasks(
    tmp_path: Path, source: type[Source], rotate: Rotate, pattern: str
) -> None:
    logs = [tmp_path / f"app-{number}.log" for number in range(LOGS)]
    written, seen = 0, list[str]()
    with sharing(source, f"{tmp_path}/{pattern}") as tasks:
        for turn in range(4):
            for log in logs:
                append(log, f"{log.name} line {turn}.0\n{log.name} line {turn}.1\n")
            seen += tasks.read()
            if rotate is not pack or "*" in pattern[-1]:
                # What nobody has read when its log is rotated.
                for log in logs:
                    append(log, f"{log.name} line {turn}.2\n")
                    written += 1
            written += 2 * len(logs)
            for log in logs:
                rotate(log)
            # With the first lines that come then, a log may fall to another task.
            for _ in range(3):
                seen += tasks.read()
        seen += tasks.read(20)
        for number in range(TASKS):
            tasks.again(number)
        assert tasks.read() + tasks.read(20) == []
    assert len(set(seen)) == written
    assert sorted(seen) == sorted(set(seen))


@SOURCES
@ROTATIONS
@pytest.mark.parametrize("number", range(TASKS))
def test_a_task_that_is_away_while_logs_are_rotated_goes_on_in_what_became_of_its_own_ones(
    tmp_path: Path, source: type[Source], rotate: Rotate, number: int
) -> None:
    with begun(source, tmp_path, "*.log*") as (tasks, logs):
        tasks.tasks[number].close()
        others = [each for each in range(TASKS) if each != number]
        for log in logs:
            append(log, f"{log.name} two\n")
            rotate(log)
            append(log, f"{log.name} three\n")
        seen = [line for _ in range(3) for other in others for line in tasks.read(only=other)]
        tasks.again(number)
        seen += [line for _ in range(3) for line in tasks.read()]
        assert sorted(seen) == sorted(f"{log.name} {word}" for log in logs for word in ("two", "three"))


@SOURCES
def test_what_was_not_read_of_an_emptied_log_comes_from_its_copy_though_another_task_has_the_log_now(
    tmp_path: Path, source: type[Source], caplog: pytest.LogCaptureFixture
) -> None:
    with begun(source, tmp_path, "*.log") as (tasks, logs):
        for task in tasks.tasks:
            task.close()
        for log in logs:
            append(log, f"{log.name} two\n")
            copytruncate(log)
            append(log, f"{log.name} three\n")
        seen = []
        for number in range(TASKS):
            # All others have read what they have before the next one starts.
            tasks.again(number)
            seen += tasks.read(only=number) + tasks.read(only=number)
        assert sorted(seen) == sorted(f"{log.name} {word}" for log in logs for word in ("two", "three"))
        for number in range(TASKS):
            tasks.again(number)
        assert tasks.read() + tasks.read() == []
    assert not [record for record in caplog.records if record.levelname == "WARNING"]


@SOURCES
def test_that_lines_of_an_emptied_log_may_be_missing_is_told_once_by_one_task(
    tmp_path: Path, source: type[Source], caplog: pytest.LogCaptureFixture
) -> None:
    with begun(source, tmp_path, "*.log") as (tasks, logs):
        for log in logs:
            os.truncate(log, 0)
        assert tasks.read() == []
        for word in ("two", "three"):
            for log in logs:
                append(log, f"{log.name} {word}\n")
            assert len(tasks.read() + tasks.read()) == LOGS
        for number in range(TASKS):
            tasks.again(number)
        assert tasks.read() == []
    told = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert sorted(text.split()[0] for text in told) == sorted(map(str, logs))


@SOURCES
def test_each_task_reads_some_of_many_logs(tmp_path: Path, source: type[Source]) -> None:
    for number in range(60):
        append(tmp_path / f"{number}.log", f"line of {number}\n")
    with sharing(source, f"{tmp_path}/*.log") as tasks:
        shares = [tasks.read(only=number) for number in range(TASKS)]
    assert sorted(line for share in shares for line in share) == sorted(f"line of {number}" for number in range(60))
    assert min(map(len, shares)) > 60 / TASKS / 3


@SOURCES
def test_tasks_that_dealt_logs_out_by_their_inodes_until_now_go_on_where_they_were(tmp_path: Path, source: type[Source]) -> None:
    logs = [tmp_path / f"app-{each}.log" for each in range(LOGS)]
    for log in logs:
        append(log, f"{log.name} one\n")
    before = Sharing(source(), f"{tmp_path}/*.log*", TASKS)
    for number in range(TASKS):
        before._plan[number]["by"] = "inode"  # type: ignore[index]  # as a plan of a version before has it
        before.again(number)
    assert len(before.read()) == LOGS
    before.close()
    for log in logs:
        append(log, f"{log.name} two\n")
    with sharing(source, f"{tmp_path}/*.log*", before.positions) as tasks:
        assert sorted(tasks.read()) == sorted(f"{log.name} two" for log in logs)


def test_a_log_that_is_packed_beside_itself_for_a_while_is_not_read_again(tmp_path: Path) -> None:
    path = tmp_path / "app.log"
    lines = [f"{number} {crc32(str(number).encode())}" for number in range(2000)]
    append(path, "".join(f"{line}\n" for line in lines))
    packed = gzip.compress(path.read_bytes())
    with sharing(LogSource, f"{path}*", tasks=1) as tasks:
        assert tasks.read() == lines
        path.rename(tmp_path / "app.log.1")
        for half in (packed[: len(packed) // 2], packed[len(packed) // 2 :]):
            with (tmp_path / "app.log.1.gz").open("ab") as file:
                file.write(half)
            assert tasks.read() + tasks.read() == []
        (tmp_path / "app.log.1").unlink()
        assert tasks.read() + tasks.read(20) == []


STEPS = st.lists(st.sampled_from(["append", "append", "rotate", "read", "one", "again"]), max_size=14)


@pytest.mark.slow
@ROTATIONS
@given(steps=STEPS, chance=st.randoms(use_true_random=False))
def test_rotated_in_any_way_and_order_every_line_of_several_logs_comes_once_from_several_tasks(
    tmp_path_factory: pytest.TempPathFactory, rotate: Rotate, steps: list[str], chance: Random
) -> None:
    folder = tmp_path_factory.mktemp("rotated")
    logs = [folder / f"app-{each}.log" for each in range(2)]
    count, written, seen = 0, list[str](), list[str]()

    def write(log: Path) -> None:
        nonlocal count
        written.append(f"{log.name} {count} {crc32(str(count).encode())}")
        append(log, f"{written[-1]}\n")
        count += 1

    with sharing(LogSource, f"{folder}/*.log*", tasks=2) as tasks:
        for log in logs:
            write(log)
        for step in [*steps, "append", "read"]:
            log = logs[chance.randrange(2)]
            match step:
                case "append":
                    write(log)
                case "rotate":
                    rotate(log)
                    # Who writes comes back before the next rotation.
                    write(log)
                case "read":
                    seen += tasks.read()
                case "one":
                    seen += tasks.read(only=chance.randrange(2))
                case _:
                    tasks.again(chance.randrange(2))
        seen += tasks.read() + tasks.read() + tasks.read(20) + tasks.read()
        for number in range(2):
            tasks.again(number)
        seen += tasks.read() + tasks.read(20)
    assert sorted(seen) == sorted(written)
