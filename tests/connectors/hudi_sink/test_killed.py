"""What a killed Java leaves of a table: each state in which its directory is seen on the way through a commit."""

import os
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from rocketconnect_sdk.conformance.sink_case import spark_session
from rocketconnect_sdk.sink import QueuePosition
from tests.connectors.hudi_sink.tables import Hudi
from tests.connectors.lakes.changes import QUEUE
from tests.connectors.lakes.table import UPSERT

pytestmark = [
    pytest.mark.spark,
    # PySpark leaves the sockets of collect() to the garbage collector.
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
]


def java() -> int:
    process: int = spark_session(Hudi.settings()).sparkContext._jvm.java.lang.ProcessHandle.current().pid()  # the way to Java
    return process


def names(path: Path) -> frozenset[tuple[str, int]]:
    """What is there: names and sizes."""
    found: set[tuple[str, int]] = set()
    for folder, _, files in os.walk(path):
        for name in files:
            try:
                found.add((f"{folder}/{name}", Path(folder, name).stat().st_size))
            except FileNotFoundError:
                continue
    return frozenset(found)


def is_stopped(process: int) -> bool:
    threads = Path(f"/proc/{process}/task").iterdir()
    return all((each / "stat").read_text().rpartition(")")[2].split()[0] in "Tt" for each in threads)


def seen_on_the_way(path: Path, copies: Path, does: Callable[[], object]) -> Iterator[Path]:
    """Copies of the directory, in each state that was seen in it while something was done: what SIGKILL would have left."""
    process, seen = java(), {names(path)}
    with ThreadPoolExecutor(1) as pool:
        doing = pool.submit(does)
        while not doing.done():
            if names(path) in seen:
                continue
            os.kill(process, signal.SIGSTOP)
            try:
                while not is_stopped(process):
                    time.sleep(0.001)
                if (now := names(path)) not in seen:
                    seen.add(now)
                    shutil.copytree(path, copies / str(len(seen)), symlinks=True)
            finally:
                os.kill(process, signal.SIGCONT)
        doing.result()
    yield from sorted(copies.iterdir(), key=lambda copy: int(copy.name))


@pytest.mark.slow
def test_wherever_an_append_is_killed_each_row_is_there_once(tmp_path: Path) -> None:
    path, copies = tmp_path / "table", tmp_path / "copies"
    copies.mkdir()
    owner = Hudi(path).owner(partition_by="day")
    owner.start()
    owner.append(0, 10)
    found = set()
    for copy in seen_on_the_way(path, copies, lambda: owner.append(10, 20)):
        assert Hudi(copy).ids() in (list(range(10)), list(range(20)))
        new = Hudi(copy).owner(owner=(1, 2))
        at = new.start()[QUEUE].until
        found.add(at)
        new.append(at, 30)
        assert Hudi(copy).ids() == list(range(30)), f"state {copy.name}, from {at}"
        assert not list(copy.glob(".hoodie/.rocketconnect/part-*"))
    assert 10 in found, "no state was seen before the commit"


@pytest.mark.slow
def test_wherever_an_upsert_is_killed_each_change_is_made_once(tmp_path: Path) -> None:
    path, copies = tmp_path / "table", tmp_path / "copies"
    copies.mkdir()
    owner = Hudi(path).owner(UPSERT)
    owner.start()
    owner.rows(k0="zero", k1="one")
    before, after = {0: "zero", 1: "one"}, {0: "zero", 1: "newer", 2: "two"}
    for copy in seen_on_the_way(path, copies, lambda: owner.rows(k1="newer", k2="two")):
        new = Hudi(copy).owner(UPSERT, owner=(1, 2))
        at = new.start()[QUEUE]
        assert (Hudi(copy).texts(), at) in ((before, QueuePosition(2)), (after, QueuePosition(4)))
        if at == QueuePosition(2):
            new.rows(k1="newer", k2="two")
        assert Hudi(copy).texts() == after


@pytest.mark.slow
def test_wherever_the_first_batch_is_killed_the_table_is_made(tmp_path: Path) -> None:
    path, copies = tmp_path / "table", tmp_path / "copies"
    copies.mkdir()
    path.mkdir()
    owner = Hudi(path).owner()
    owner.start()
    for copy in seen_on_the_way(path, copies, lambda: owner.append(0, 10)):
        new = Hudi(copy).owner(owner=(1, 2))
        at = new.start().get(QUEUE, QueuePosition(0)).until
        new.append(at, 20)
        assert Hudi(copy).ids() == list(range(20)), f"state {copy.name}, from {at}"
