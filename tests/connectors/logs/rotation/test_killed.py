"""Who reads a log is killed when lines were sent and not stored, and the log is rotated before the next one reads."""

import gzip
import os
import shutil
from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path
from random import Random
from zlib import crc32

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectors.file_source import FileSource
from connectors.file_source.identity import FileCoordinate, Identity, Places
from connectors.file_source.task import FileSourceTask
from connectors.logs.log_source import LogSource
from rocketconnect_sdk.record import Position, SourceBatch
from rocketconnect_sdk.source import Source
from tests.connectors.logs.rotation.killing import Killing, killing
from tests.connectors.logs.test_sharing import append

Rotate = Callable[[Path], None]


def _shift(path: Path) -> None:
    """As logrotate makes room for the newest one."""
    rotated = sorted(path.parent.glob(f"{path.name}.*"), key=lambda each: -int(each.name.split(".")[2]))
    for each in rotated:
        parts = each.name.split(".")
        parts[2] = str(int(parts[2]) + 1)
        each.rename(each.with_name(".".join(parts)))


def _pack(path: Path) -> None:
    Path(f"{path}.gz").write_bytes(gzip.compress(path.read_bytes()))
    path.unlink()


def rename(path: Path) -> None:
    _shift(path)
    path.rename(f"{path}.1")
    path.touch()


def compress(path: Path) -> None:
    rename(path)
    _pack(Path(f"{path}.1"))


def delaycompress(path: Path) -> None:
    rename(path)
    if (before := Path(f"{path}.2")).exists():
        _pack(before)


def copytruncate(path: Path) -> None:
    _shift(path)
    shutil.copyfile(path, f"{path}.1")
    os.truncate(path, 0)


def copytruncate_compress(path: Path) -> None:
    copytruncate(path)
    _pack(Path(f"{path}.1"))


ALL = [rename, compress, delaycompress, copytruncate, copytruncate_compress]
WAYS = pytest.mark.parametrize("rotate", ALL)
SOURCES = pytest.mark.parametrize("source", [FileSource, LogSource])


def options_of(source: type[Source]) -> dict[str, str]:
    return {"exclude": ""} if source is LogSource else {}


class Log:
    """A log whose lines are counted."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.written: list[str] = []

    def write(self, count: int = 1, begin: str = "") -> None:
        for _ in range(count):
            number = len(self.written)
            self.written.append(f"{begin}{self.path.name} {number} {crc32(str(number).encode())}")
            append(self.path, f"{self.written[-1]}\n")


@SOURCES
@WAYS
def test_what_was_sent_and_not_stored_comes_once_though_the_log_is_rotated_before_the_next_owner(
    tmp_path: Path, source: type[Source], rotate: Rotate
) -> None:
    for stored, sent in product(range(-1, 4), range(5)):
        folder = tmp_path / f"{stored} {sent}"
        folder.mkdir()
        log = Log(folder / "app.log")
        log.write(9)
        with killing(source(), f"{log.path}*", options=options_of(source)) as tasks:
            for turn in range(2 + stored + sent):
                tasks.poll()
                tasks.send()
                if turn <= stored:
                    tasks.store()
            tasks.kill()
            log.write(3)
            rotate(log.path)
            log.write(2)
            tasks.again()
            tasks.settle()
            assert sorted(tasks.values) == sorted(log.written)


@WAYS
@pytest.mark.parametrize("between", [0, 2, 3])
@pytest.mark.parametrize("pattern", ["app.log*", "*.log", "app.log"])
def test_a_log_that_is_rotated_again_and_again_while_owners_die_comes_once(
    tmp_path: Path, rotate: Rotate, between: int, pattern: str
) -> None:
    log = Log(tmp_path / "app.log")
    with killing(FileSource(), tmp_path / pattern) as tasks:
        for _ in range(4):
            log.write(5)
            tasks.read()
            log.write(4)
            for _ in range(between):
                tasks.poll()
                tasks.send()
            rotate(log.path)
            log.write(2)
            tasks.again()
            # The next one comes to what the one before has left, sends some of it, and stores nothing of that.
            for _ in range(between):
                tasks.poll(seconds=1)
                tasks.send()
            tasks.again()
            tasks.read()
            tasks.read(seconds=15)
        tasks.settle()
        assert sorted(tasks.values) == sorted(log.written)


@WAYS
def test_a_position_that_was_set_by_hand_is_stored_with_what_tells_its_file_before_more_is_sent(
    tmp_path: Path, rotate: Rotate
) -> None:
    log = Log(tmp_path / "app.log")
    with killing(FileSource(), f"{log.path}*") as tasks:
        log.write(6)
        tasks.read()
        tasks.kill()
        tasks.stored = {name: Position(position.offset) for name, position in tasks.stored.items()}
        log.write(6)
        tasks.again()
        tasks.read(stores=False)
        tasks.kill()
        rotate(log.path)
        log.write()
        tasks.again()
        tasks.settle()
        assert sorted(tasks.values) == sorted(log.written)


@WAYS
def test_logs_that_several_tasks_share_come_once_though_all_of_them_die(tmp_path: Path, rotate: Rotate) -> None:
    logs = [Log(tmp_path / f"app-{number}.log") for number in range(6)]
    with killing(LogSource(), f"{tmp_path}/*.log*", 3, {"exclude": ""}) as tasks:
        for _ in range(3):
            for log in logs:
                log.write(3)
            for number in range(3):
                tasks.read(number, stores=False)
                tasks.kill(number)
            for log in logs:
                log.write(2)
                rotate(log.path)
                log.write()
            for number in range(3):
                tasks.again(number)
                tasks.read(number)
        tasks.settle()
        assert sorted(tasks.values) == sorted(line for log in logs for line in log.written)


@pytest.mark.parametrize("rotate", [copytruncate, copytruncate_compress])
def test_a_log_that_begins_as_it_did_before_it_was_emptied_does_not_go_on_under_the_partition_of_its_copy(
    tmp_path: Path, rotate: Rotate
) -> None:
    log = Log(tmp_path / "app.log")
    with killing(FileSource(), f"{log.path}*") as tasks:
        written: list[str] = []
        for turn in range(4):
            append(log.path, "start\n")
            log.write(4 + turn)
            written += ["start"]
            tasks.read(stores=False)
            tasks.kill()
            log.write(1)
            rotate(log.path)
            append(log.path, "start\n")
            log.write(8)
            written += ["start"]
            tasks.again()
            tasks.read()
            rotate(log.path)
            tasks.read()
        tasks.settle()
        assert sorted(tasks.values) == sorted([*written, *log.written])


def test_a_log_that_is_packed_while_lines_of_it_are_on_their_way_is_read_on_by_the_next_owner(tmp_path: Path) -> None:
    log = Log(tmp_path / "app.log")
    with killing(FileSource(), f"{log.path}*") as tasks:
        log.write(2)
        tasks.read()
        log.write(6)
        while tasks.poll(seconds=1):
            # Given, and not sent.
            pass
        compress(log.path)
        log.write()
        tasks.poll(seconds=1)
        while tasks.poll():
            pass
        # Of other partitions all is there by now: of that one nothing.
        (waiting,) = {batch.partition for batch in tasks.runs[0].polled if len(batch)}
        tasks.send(but=waiting)
        tasks.store()
        tasks.again()
        tasks.settle()
        assert sorted(tasks.values) == sorted(log.written)


def test_what_is_written_into_a_log_that_was_packed_already_comes_once(tmp_path: Path) -> None:
    log = Log(tmp_path / "app.log")
    with killing(FileSource(), f"{log.path}*") as tasks, log.path.open("a") as late:
        log.write(5)
        tasks.read()
        compress(log.path)
        log.write(2)
        for _ in range(3):
            tasks.read()
        late.write("late\n")
        late.flush()
        tasks.read()
        tasks.again()
        tasks.settle()
        assert sorted(tasks.values) == sorted([*log.written, "late"])


def _behind(task: FileSourceTask, name: str, act: Callable[[], None]) -> None:
    """Does something once, right behind the next look at an open file."""
    (reader,) = (each for each in task._readers.values() if each.path.name == name)
    look = reader.read

    def looked(*args: int, **options: float) -> Sequence[SourceBatch]:
        reader.read = look  # type: ignore[method-assign]
        batches = look(*args, **options)  # type: ignore[arg-type]
        act()
        return batches

    reader.read = looked  # type: ignore[method-assign]


def test_a_copy_waits_for_what_is_still_cut_from_the_log_that_was_emptied(tmp_path: Path) -> None:
    path = tmp_path / "app.log"
    gathering = {"exclude": "", "multiline.start": "^[a-z]", "multiline.timeout": "5s"}
    with killing(LogSource(), f"{path}*", options=gathering) as tasks:
        append(path, "one\n  more\ntwo\n  more\n")
        tasks.read()
        assert tasks.values == ["one\n  more"]
        shutil.copyfile(path, tmp_path / "app.log.1")
        tasks.read()
        _behind(tasks.runs[0].task, "app.log", lambda: os.truncate(path, 0))
        tasks.read()
        append(path, "three\n")
        tasks.settle()
        assert sorted(tasks.values) == ["one\n  more", "three", "two\n  more"]


def test_what_is_in_the_topic_of_a_log_is_not_forgotten_before_its_copy_is_known_as_one(tmp_path: Path) -> None:
    path = tmp_path / "app.log"
    with killing(FileSource(), f"{tmp_path}/app*") as tasks:
        append(path, "one\n")
        tasks.read()
        append(path, "two\nthree\n")
        tasks.read(stores=False)
        tasks.kill()
        # It is looked at before its original is.
        shutil.copyfile(path, tmp_path / "app-1.log")
        tasks.again()
        _behind(tasks.runs[0].task, "app-1.log", lambda: os.truncate(path, 0))
        tasks.settle()
        assert tasks.values == ["one", "two", "three"]


def test_what_a_log_holds_after_it_was_emptied_is_another_partition_than_what_is_read_on_in_its_copy() -> None:
    log, copy = Identity(0, 1, 5, 7), Identity(0, 2, 6, 7)
    stored = {"/log#0-1-5-00000007-0": (9,)}
    for places in (Places("/log", stored), Places("/log", stored, {"/log#0-1-5-00000007-0": str(copy)})):
        places.copied(str(log), copy, FileCoordinate("/log#0-1-5-00000007-0", 0, (9,)))
        assert places.of(copy).offset == (9,)
        assert not places.knows(log)
        assert places.of(log) == FileCoordinate("/log#0-1-5-00000007-1", 1, (0,))
    after_a_start = Places("/log", stored, {"/log#0-1-5-00000007-0": str(copy)})
    assert after_a_start.of(copy).partition == "/log#0-1-5-00000007-0"
    assert after_a_start.of(log) == FileCoordinate("/log#0-1-5-00000007-1", 1, (0,))


STEPS = st.lists(st.sampled_from(["write", "write", "rotate", "poll", "send", "sent", "store", "read", "again"]), max_size=30)


@pytest.mark.slow
@WAYS
@pytest.mark.parametrize("tasks", [1, 2])
@given(steps=STEPS, chance=st.randoms(use_true_random=False))
def test_whenever_owners_die_and_logs_are_rotated_every_line_comes_once(
    tmp_path_factory: pytest.TempPathFactory, rotate: Rotate, tasks: int, steps: list[str], chance: Random
) -> None:
    folder = tmp_path_factory.mktemp("killed")
    logs = [Log(folder / f"app-{each}.log") for each in range(2)]
    with killing(LogSource(), f"{folder}/*.log*", tasks, {"exclude": ""}) as run:
        for step in [*steps, "write", "again"]:
            _take(step, run, logs[chance.randrange(2)], rotate, chance.randrange(tasks))
        run.settle()
        assert sorted(run.values) == sorted(line for log in logs for line in log.written)


def _take(step: str, run: Killing, log: Log, rotate: Rotate, number: int) -> None:
    match step:
        case "write":
            log.write(3)
        case "rotate":
            if log.written:
                rotate(log.path)
                # Who writes comes back before the next rotation.
                log.write()
        case "poll":
            run.poll(number, seconds=1)
        case "send":
            run.send(number, 1)
        case "sent":
            run.send(number)
        case "store":
            run.store(number)
        case "read":
            run.read(number)
        case _:
            run.again(number)
