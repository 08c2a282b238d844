"""A store of the position service that was put back from a backup: no record is lost, and none comes twice."""

import contextlib
import sqlite3
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from rocketconnect_kit.store import database
from services.executor.contract.task import Kind, State
from services.position.store import PositionStore
from tests.services.executor.runtime.conftest import PositionProcess, Running, Tasks, rows, values

pytestmark = pytest.mark.rocketmq


def _backup(positions: PositionProcess, to: Path) -> None:
    with contextlib.closing(sqlite3.connect(positions.store)) as store, contextlib.closing(sqlite3.connect(to)) as copy:
        store.backup(copy)


def _put_back(positions: PositionProcess, backup: Path) -> None:
    positions.stop()
    with contextlib.closing(sqlite3.connect(backup)) as copy, contextlib.closing(sqlite3.connect(positions.store)) as store:
        copy.backup(store)
    positions.start()


def _move(positions: PositionProcess, uid: str, wanted: Mapping[str, str] | None) -> None:
    """`position set`, or `position reset` (None), while the service is away."""
    positions.stop()
    engine = database.engine(f"sqlite:///{positions.store}")
    store = PositionStore(engine, lambda: time.time_ns() // 1_000, lambda: time.monotonic_ns() // 1_000)
    moving = store.reset(uid) if wanted is None else store.alter(uid, {name: (offset, "") for name, offset in wanted.items()})
    moving.result(60)
    store.close()
    engine.dispose()
    positions.start()


def _end(running: Running, *, clean: bool) -> None:
    if clean:
        assert running.stop().clean
    else:
        running.control.fence()
        running.end()


@pytest.mark.parametrize(
    ("clean", "moved"),
    [
        (True, "source"),
        (False, "source"),
        pytest.param(True, "reset", marks=pytest.mark.slow),
        pytest.param(False, "reset", marks=pytest.mark.slow),
    ],
)
def test_after_a_move_is_forgotten_all_new_records_are_kept_and_nothing_comes_twice(
    tasks: Tasks, positions: PositionProcess, clean: bool, moved: str
) -> None:
    tasks.create_topic(2)
    file, table = tasks.file("in", values(100)), tasks.path / "t.db"
    source = {"connector.class": "lines", "files": str(file)}
    sink = {"connector.class": "table", "file": str(table)}

    def copy(epoch: int, count: int) -> tuple[Running, Running]:
        running = tasks.start(Kind.SOURCE, source, epoch=epoch), tasks.start(Kind.SINK, sink, epoch=epoch)
        running[0].reporter.wait_for(lambda: len(rows(table)) >= count)
        for each in running:
            each.reporter.wait_for_state(State.IDLE)
        return running

    first = copy(1, 100)
    _end(first[0], clean=clean)
    assert first[1].stop().clean
    backup = tasks.path / "backup.db"
    _backup(positions, backup)
    _move(positions, f"source-{tasks.unique}", {str(file): "[40]"} if moved == "source" else None)
    again = 60 if moved == "source" else 100
    tasks.file("in", values(130))
    second = copy(2, 130 + again)
    for running in second:
        _end(running, clean=clean)
    _put_back(positions, backup)
    tasks.file("in", values(230))
    third = copy(3, 230 + again)
    written = [*values(130), *values(100)[100 - again :], *values(100, 130)]
    assert sorted(rows(table)) == sorted(written)
    if not clean:
        # What was sent behind the floors of the backup is looked for, so it is not sent again either.
        assert sorted(tasks.bodies()) == sorted(written)
        assert any("has gone back" in message for _, message in third[0].reporter.logs)
    # The next move is one again, though the store has forgotten the one before.
    for running in third:
        assert running.stop().clean
    _move(positions, f"source-{tasks.unique}", {str(file): "[220]"})
    fourth = copy(4, 240 + again)
    for running in fourth:
        assert running.stop().clean
    assert sorted(rows(table)) == sorted([*written, *values(10, 220)])


def test_a_sink_goes_on_where_its_target_is_and_the_next_move_of_it_counts(tasks: Tasks, positions: PositionProcess) -> None:
    tasks.create_topic(1)
    (queue,) = tasks.client.queues(tasks.topic)
    name = f"{queue.topic}/{queue.broker}/{queue.queue_id}"
    file, table = tasks.file("in", values(10)), tasks.path / "t.db"
    source = tasks.start(Kind.SOURCE, {"connector.class": "lines", "files": str(file)})

    def write(epoch: int, count: int) -> None:
        running = tasks.start(Kind.SINK, {"connector.class": "table", "file": str(table)}, epoch=epoch)
        running.reporter.wait_for(lambda: len(rows(table)) >= count)
        running.reporter.wait_for_state(State.IDLE)
        assert running.stop().clean
        assert len(rows(table)) == count

    def feed(count: int) -> None:
        tasks.file("in", values(count))
        source.reporter.wait_for_out(count)

    write(1, 10)
    backup = tasks.path / "backup.db"
    _backup(positions, backup)
    _move(positions, f"sink-{tasks.unique}", {name: "[4]"})
    write(2, 16)
    _put_back(positions, backup)
    feed(30)
    write(3, 36)
    _move(positions, f"sink-{tasks.unique}", {name: "[25]"})
    write(4, 41)
    assert source.stop().clean
