"""Positions of objects that are no more."""

import json
from pathlib import Path

import pytest

from rocketconnect_sdk.permissions.roots import READ_ROOTS
from rocketconnect_sdk.polled import batches_of
from rocketconnect_sdk.record import Position
from rocketconnect_sdk.source import SourceTask
from tests.connectors.object_store_source.gone_clock import HOUR, GoneClock
from tests.connectors.object_store_source.objects import opened, read


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> GoneClock:
    return GoneClock(monkeypatch)


@pytest.fixture(autouse=True)
def _roots(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(READ_ROOTS, str(tmp_path))


def put(folder: Path, name: str, rows: int = 2) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text("".join(json.dumps({"id": number}) + "\n" for number in range(rows)))


def started(folder: Path, positions: dict[str, Position], share: str = "0/1", **more: str) -> SourceTask:
    given = {name.replace("_", "."): value for name, value in more.items()}
    task = opened({"url": f"file://{folder}", "format": "jsonlines", "discover.interval": "100ms"} | given, share=share)
    task.start(positions)
    return task


def forgotten(task: SourceTask, positions: dict[str, Position]) -> list[str]:
    """The names of the objects whose positions a look has the runtime forget; they are."""
    task._look()  # type: ignore[attr-defined]
    found = []
    while not task.idle_seconds:
        for batch in batches_of(task.poll()):
            assert batch.gone
            assert not len(batch)
            assert positions.pop(batch.partition).offset == batch.end
            found.append(batch.partition.rpartition("@")[0])
    return sorted(found)


def test_the_position_of_an_object_that_is_gone_is_forgotten_after_its_time(tmp_path: Path, clock: GoneClock) -> None:
    folder, positions = tmp_path / "in", dict[str, Position]()
    for name in ("a", "b", "c"):
        put(folder, name)
    task = started(folder, positions)
    assert len(read(task, positions)) == 6
    (folder / "a").unlink()
    put(folder, "b", rows=3)
    task._look()  # type: ignore[attr-defined]
    assert len(read(task, positions)) == 3
    assert forgotten(task, positions) == []
    clock.now += 24 * HOUR
    assert forgotten(task, positions) == ["a", "b"]
    assert sorted(each.rpartition("@")[0] for each in positions) == ["b", "c"]
    clock.now += 24 * HOUR
    assert forgotten(task, positions) == []


def test_an_object_that_comes_back_in_time_keeps_its_position_and_one_that_comes_later_is_read_again(
    tmp_path: Path, clock: GoneClock
) -> None:
    folder, positions = tmp_path / "in", dict[str, Position]()
    put(folder, "a")
    put(folder, "b")
    task = started(folder, positions)
    read(task, positions)
    for hours, wanted in ((23, []), (24, ["a"])):
        (folder / "a").rename(tmp_path / "a")
        assert forgotten(task, positions) == []
        clock.now += hours * HOUR
        if wanted:
            assert forgotten(task, positions) == wanted
        (tmp_path / "a").rename(folder / "a")
        task._look()  # type: ignore[attr-defined]
        assert len(read(task, positions)) == (2 if wanted else 0)
        clock.now += 2 * HOUR
        assert forgotten(task, positions) == []


def test_nothing_is_forgotten_where_nothing_at_all_is_found_or_that_is_not_wanted_or_after_a_start(
    tmp_path: Path, clock: GoneClock
) -> None:
    folder, positions = tmp_path / "in", dict[str, Position]()
    put(folder, "a")
    put(folder, "b")
    tasks = [started(folder, positions), started(folder, positions, positions_forget_after="0s")]
    read(tasks[0], positions)
    read(tasks[1], {})
    for name in ("a", "b"):
        (folder / name).rename(tmp_path / name)
    for _ in range(3):
        clock.now += 24 * HOUR
        assert forgotten(tasks[0], positions) == []
    (tmp_path / "b").rename(folder / "b")
    for task in (tasks[1], started(folder, positions)):
        assert forgotten(task, positions) == []
    clock.now += 24 * HOUR
    assert forgotten(tasks[1], positions) == []
    assert forgotten(started(folder, positions), positions) == [], "whoever is killed counts anew"


def test_each_task_forgets_of_its_own_share_alone(tmp_path: Path, clock: GoneClock) -> None:
    folder, positions = tmp_path / "in", dict[str, Position]()
    names = [f"o{number}" for number in range(20)]
    for name in (*names, "stays"):
        put(folder, name)
    read(started(folder, positions), positions)
    tasks = [started(folder, positions, f"{number}/2") for number in range(2)]
    for name in names:
        (folder / name).unlink()
    assert [forgotten(task, positions) for task in tasks] == [[], []]
    clock.now += 24 * HOUR
    first, second = (forgotten(task, positions) for task in tasks)
    assert sorted(first + second) == sorted(names)
    assert first
    assert second


def test_what_was_not_read_to_its_end_stays(tmp_path: Path, clock: GoneClock) -> None:
    folder = tmp_path / "in"
    put(folder, "a")
    positions = {"half@1": Position((5, 0)), "whole@1": Position((5, 1))}
    task = started(folder, positions)
    read(task, positions)
    assert forgotten(task, positions) == []
    clock.now += 24 * HOUR
    assert forgotten(task, positions) == ["whole"]
