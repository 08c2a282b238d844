"""Logs that are cut while somebody writes to them."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from rocketconnect_cli.instance import rotation
from rocketconnect_cli.instance.process import Process
from rocketconnect_cli.instance.rotation import Rotation
from rocketconnect_cli.instance.supervisor import Supervisor
from rocketconnect_kit.tethered import tethered

SIZE = 64 << 10
LINES = 60_000
WRITER = f"""
import os, time
for number in range({LINES}):
    os.write(1, b"line %d\\n" % number)
    if number % 100 == 0:
        time.sleep(0.0005)
"""


def parts(log: Path) -> list[Path]:
    """The oldest first."""
    older = sorted(log.parent.glob("*.log.*"), key=lambda each: -int(each.suffix[1:]))
    return [*older, log]


def joined(log: Path) -> list[bytes]:
    return b"".join(each.read_bytes() for each in parts(log)).splitlines()


@pytest.fixture
def writing(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[bytes], Path]]:
    log = tmp_path / "one.log"
    with log.open("ab") as file, subprocess.Popen(tethered([sys.executable, "-c", WRITER]), stdout=file) as process:
        yield process, log
        process.kill()


def test_no_line_is_lost_or_doubled_where_a_log_is_cut_while_it_is_written(
    writing: tuple[subprocess.Popen[bytes], Path],
) -> None:
    process, log = writing
    turned = 0
    while process.poll() is None:
        turned += Rotation(SIZE, 1_000).turn(log)
    assert turned > 3
    if not can_collapse(log.parent):
        pytest.skip("this file system takes no blocks out of files")
    assert joined(log) == [b"line %d" % number for number in range(LINES)]


def can_collapse(folder: Path) -> bool:
    probe = folder / "probe"
    probe.write_bytes(bytes(2 << 20))
    with probe.open("r+b") as file:
        return rotation._collapse(file, 1 << 20)


def test_a_log_is_emptied_where_no_blocks_can_be_taken_out_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rotation, "_collapse", lambda *_: False)
    log = tmp_path / "one.log"
    lines = [b"line %d" % number for number in range(10_000)]
    log.write_bytes(b"".join(line + b"\n" for line in lines))
    assert Rotation(SIZE, 2).turn(log)
    assert log.stat().st_size == 0
    assert joined(log) == lines


def test_so_many_older_files_are_kept_and_those_beyond_are_removed(tmp_path: Path) -> None:
    log = tmp_path / "one.log"
    for count, names in ((3, ["one.log", "one.log.1", "one.log.2", "one.log.3"]), (1, ["one.log", "one.log.1"])):
        for round_ in range(5):
            log.write_bytes(bytes([round_]) * (SIZE + 1))
            assert Rotation(SIZE, count).turn(log)
        assert sorted(each.name for each in tmp_path.iterdir()) == names
        assert (tmp_path / "one.log.1").read_bytes()[:1] == b"\x04"


def test_a_log_that_is_small_or_not_there_yet_stays_as_it_is(tmp_path: Path) -> None:
    log = tmp_path / "one.log"
    assert not Rotation(SIZE, 1).turn(log)
    log.write_bytes(bytes(SIZE))
    assert not Rotation(SIZE, 1).turn(log)
    assert [each.name for each in tmp_path.iterdir()] == ["one.log"]


def test_who_is_ended_between_two_steps_has_lost_no_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = tmp_path / "one.log"
    lines = [b"line %d" % number for number in range(10_000)]
    log.write_bytes(b"".join(line + b"\n" for line in lines))

    def ended(*_: object) -> bool:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(rotation, "_collapse", ended)
        Rotation(SIZE, 3).turn(log)
    Rotation(SIZE, 3).turn(log)
    assert set(lines) <= set(joined(log))


def test_the_supervisor_cuts_the_logs_of_its_processes_and_says_once_what_it_can_not_cut(tmp_path: Path) -> None:
    said: list[str] = []
    log = tmp_path / "one.log"
    log.write_bytes(bytes(SIZE + 1))
    sleeper = [sys.executable, "-c", "import time; time.sleep(600)"]
    process = Process("one", lambda: tethered(sleeper), os.environ, log, 0, 5.0)
    supervisor = Supervisor([process], said.append, Rotation(SIZE, 1))
    supervisor.start()
    try:
        (tmp_path / "one.log.1").mkdir()
        (tmp_path / "one.log.1" / "taken").touch()
        supervisor.look_after(0)
        supervisor.look_after(0)
        assert len(said) == 1
        assert str(log) in said[0]
        (tmp_path / "one.log.1" / "taken").unlink()
        (tmp_path / "one.log.1").rmdir()
        supervisor.look_after(0)
        assert log.stat().st_size < SIZE
        assert len(said) == 1
    finally:
        supervisor.stop()
