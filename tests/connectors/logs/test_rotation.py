"""Logs that logrotate rotates, while who reads them is killed again and again."""

import json
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from rocketconnect_kit.tethered import tethered
from tests.connectors.logs.copying import topic
from tests.connectors.logs.following import Following
from tests.connectors.logs.rotating import Rotating

_SECONDS = 180.0


@contextmanager
def copying(folder: Path, config: Mapping[str, str]) -> Iterator[None]:
    words = tethered([sys.executable, "-m", "tests.connectors.logs.copying", str(folder), json.dumps(config)])
    with (folder / "out").open("ab") as out:
        process = subprocess.Popen(words, stdout=out, stderr=out)
    try:
        yield
        assert process.poll() is None, (folder / "out").read_text()
    finally:
        process.kill()
        process.wait()


def _values(folder: Path) -> set[object]:
    return {value for _, _, value in topic(folder)}


def _until(is_so: Callable[[], bool]) -> None:
    end = time.monotonic() + _SECONDS
    while not is_so() and time.monotonic() < end:
        time.sleep(0.2)


WAYS = {
    "rename": (("create",), {}),
    "copytruncate": (("copytruncate",), {}),
    "compress": (("create", "compress"), {"exclude": ""}),
    "delaycompress": (("create", "compress", "delaycompress"), {}),
}


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("gathered", [False, True])
def test_every_line_is_there_once_though_logs_are_rotated_and_who_reads_them_is_killed(
    tmp_path: Path, way: str, gathered: bool
) -> None:
    words, options = WAYS[way]
    log = Rotating(tmp_path / "log", *words)
    config = {"filename": f"{log.path}*", **options}
    if gathered:
        config |= {"multiline.start": r"^\d", "multiline.timeout": "1s"}
    chance = random.Random(way)
    written: list[str] = []

    def write(count: int) -> None:
        for _ in range(count):
            record = f"{len(written)} {'x' * chance.randrange(60)}"
            record += "\n  more" * chance.randrange(3) if gathered else ""
            written.append(record)
            log.write(f"{record}\n")

    for turn in range(12):
        with copying(tmp_path, config):
            write(chance.randrange(1, 200))
            time.sleep(chance.random() * 1.5)
            if turn % 2:
                if way == "delaycompress":
                    # What was packed before anybody has read of it is none of those that are read.
                    _until(lambda: set(written[:-1]) <= _values(tmp_path))
                log.rotate()
                if way not in ("copytruncate", "compress"):
                    write(3)
                log.reopen()
            write(chance.randrange(1, 100))
            if turn % 3 == 0:
                time.sleep(chance.random())
        if way != "delaycompress" and chance.random() < 0.4:
            # Nobody looks.
            write(5)
            log.rotate()
            log.reopen()
            write(5)
    write(1)
    with copying(tmp_path, config):
        _until(lambda: set(written[:-1]) <= _values(tmp_path))
    log.close()
    found = Counter(value for _, _, value in topic(tmp_path))
    assert [record for record in written[:-1] if record not in found] == []
    if not gathered:
        assert found == Counter(written)


def test_a_log_that_logrotate_rotates_is_read_on(tmp_path: Path) -> None:
    log = Rotating(tmp_path / "log", "create")
    file = Following(f"{log.path}*")
    log.write("one\n")
    assert file.read() == ["one"]
    log.rotate()
    log.write("two\n")
    log.reopen()
    log.write("three\n")
    assert file.read() == ["two", "three"]
    assert file.again().read() == []
    log.close()
    assert sorted(path.name for path in log.path.parent.iterdir()) == ["app.log", "app.log.1"]
