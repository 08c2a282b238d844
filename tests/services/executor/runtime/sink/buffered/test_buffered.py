"""Buffered sinks against a real broker and a real position service."""

import time
from pathlib import Path
from typing import Any

import pytest

from services.executor.contract.task import Kind, State
from tests.services.executor.runtime.conftest import PositionProcess, RecordingReporter, Running, Tasks, notes, produce, values

pytestmark = pytest.mark.rocketmq


def start(tasks: Tasks, *, epoch: int = 1, **more: str) -> tuple[Running, Path]:
    file = tasks.path / "heap.txt"
    config = {key.replace("_", "."): value for key, value in more.items()}
    return tasks.start(Kind.SINK, {"connector.class": "heap", "file": str(file), **config}, epoch=epoch), file


def written(file: Path) -> list[str]:
    return file.read_text().splitlines() if file.exists() else []


def stored(tasks: Tasks, positions: PositionProcess) -> dict[str, list[Any]]:
    """By number of the queue."""
    found = positions.offsets(f"sink-{tasks.unique}")
    return {name.rsplit("/", 1)[1]: offset for name, offset in found.items() if not name.startswith("~")}


def put(file: Path) -> int:
    return sum(map(int, notes(file, "puts")))


def test_what_was_put_moves_no_position_until_it_is_durable_and_a_stop_makes_it_so(
    tasks: Tasks, positions: PositionProcess
) -> None:
    produce(tasks, values(10))
    running, file = start(tasks)
    running.reporter.wait_for(lambda: put(file) == 10)
    puts = len(notes(file, "puts"))
    running.reporter.wait_for(lambda: len(notes(file, "puts")) > puts + 2)
    assert stored(tasks, positions)["0"] == [0]
    assert running.reporter.states[-1][0] is State.RUNNING
    waiting = running.reporter.metrics.open_batch
    assert waiting is not None
    assert (waiting.records, waiting.due) == (10, None)
    assert 0 < time.time() - waiting.since < 600
    assert [lag.position for lag in running.reporter.metrics.lags] == [0, 0]
    assert running.stop().clean
    assert written(file) == values(10)
    assert stored(tasks, positions)["0"] == [10]
    assert not running.reporter.metrics.open_batch


def test_a_sink_that_is_killed_between_a_put_and_durability_gets_it_again(tasks: Tasks, positions: PositionProcess) -> None:
    produce(tasks, values(20))
    file = tasks.path / "heap.txt"
    process = tasks.spawn(Kind.SINK, {"connector.class": "heap", "file": str(file), "at": "20"}, epoch=1)
    clock = RecordingReporter()
    clock.wait_for(lambda: stored(tasks, positions).get("0") == [20])
    produce(tasks, values(5, 20))
    clock.wait_for(lambda: put(file) == 25)
    puts = len(notes(file, "puts"))
    clock.wait_for(lambda: len(notes(file, "puts")) > puts + 2)
    assert stored(tasks, positions)["0"] == [20]
    process.kill()
    process.wait()
    assert written(file) == values(20)
    running, _ = start(tasks, epoch=2)
    running.reporter.wait_for(lambda: put(file) == 30)
    assert running.stop().clean
    assert written(file) == values(25)
    assert stored(tasks, positions)["0"] == [25]


def test_a_sink_may_say_that_less_is_durable_than_was_put_also_when_all_is_wanted(tasks: Tasks, positions: PositionProcess) -> None:
    tasks.create_topic(2)
    running, file = start(tasks)
    file.with_suffix(".hold").touch()
    for number in range(3):
        produce(tasks, values(1, number))
        running.reporter.wait_for(lambda number=number: put(file) == number + 1)  # type: ignore[misc]
    assert not running.stop().clean
    assert written(file) == values(2)
    assert stored(tasks, positions)["0"] == [2]
    file.with_suffix(".hold").unlink()
    again, _ = start(tasks, epoch=2)
    again.reporter.wait_for(lambda: put(file) == 4)
    assert again.stop().clean
    assert written(file) == values(3)


def test_a_pause_and_each_limit_make_durable_what_was_put(tasks: Tasks, positions: PositionProcess) -> None:
    produce(tasks, values(3))
    running, file = start(tasks)
    running.reporter.wait_for(lambda: put(file) == 3)
    running.control.pause()
    running.reporter.wait_for(lambda: stored(tasks, positions).get("0") == [3])
    assert running.reporter.wait_for_state(State.PAUSED) == ""
    assert running.stop().clean
    for epoch, limit in ((2, {"rows": "3"}), (3, {"interval": "0.2"}), (4, {"buffer_bytes": "65536"})):
        produce(tasks, ["x" * 22_000] * 3)
        limited, _ = start(tasks, epoch=epoch, **limit)
        limited.reporter.wait_for(lambda epoch=epoch: stored(tasks, positions).get("0") == [3 * epoch])  # type: ignore[misc]
        assert limited.stop().clean


def test_a_sink_that_makes_nothing_durable_is_given_no_more_than_its_limit(tasks: Tasks) -> None:
    tasks.create_topic(2)
    running, file = start(tasks, rows="5")
    file.with_suffix(".stuck").touch()
    for count in (3, 6):
        produce(tasks, values(3, count - 3))
        running.reporter.wait_for(lambda count=count: put(file) == count)  # type: ignore[misc]
    produce(tasks, values(3, 6))
    assert "has not made durable" in running.reporter.wait_for_state(State.WAITING)
    # It goes on putting nothing, and nothing else.
    puts = len(notes(file, "puts"))
    running.reporter.wait_for(lambda: len(notes(file, "puts")) > puts + 2)
    assert put(file) == 6
    file.with_suffix(".stuck").unlink()
    running.reporter.wait_for(lambda: put(file) == 9)
    assert running.stop().clean
    assert written(file) == values(9)


def test_a_stop_with_more_than_fits_writes_all_that_was_read(tasks: Tasks) -> None:
    tasks.create_topic(2)
    running, file = start(tasks, rows="2")
    file.with_suffix(".stuck").touch()
    produce(tasks, values(3))
    running.reporter.wait_for(lambda: put(file) == 3)
    produce(tasks, values(3, 3))
    running.reporter.wait_for(lambda: running.reporter.metrics.buffered_bytes > 0)
    file.with_suffix(".stuck").unlink()
    assert running.stop().clean
    assert written(file) == values(6)


def test_a_refused_record_is_left_out_by_the_error_policy_and_nothing_waits_for_it(
    tasks: Tasks, positions: PositionProcess
) -> None:
    produce(tasks, ["a", "b", "?c"])
    dead = f"dead-{tasks.unique}"
    running, file = start(tasks, interval="0.1", errors_tolerance="all", errors_deadletterqueue_topic_name=dead)
    running.reporter.wait_for(lambda: stored(tasks, positions).get("0") == [3])
    assert running.stop().clean
    assert written(file) == ["a", "b"]
    assert tasks.bodies(dead) == ["?c"]


def test_without_tolerance_a_refused_record_ends_the_task_behind_what_is_before_it(
    tasks: Tasks, positions: PositionProcess
) -> None:
    produce(tasks, ["a", "b", "?c", "d"])
    running, file = start(tasks)
    outcome = running.end()
    assert outcome.failed
    assert "it asks" in outcome.error
    assert stored(tasks, positions)["0"] == [2]
    assert written(file) == ["a", "b", "d"]


def test_a_sink_whose_system_is_away_is_waited_for_and_gets_nothing_twice(tasks: Tasks, positions: PositionProcess) -> None:
    produce(tasks, values(5), 0)
    produce(tasks, values(5), 1)
    file = tasks.path / "heap.txt"
    file.with_suffix(".away").touch()
    running, _ = start(tasks)
    assert "is away" in running.reporter.wait_for_state(State.WAITING)
    file.with_suffix(".away").unlink()
    running.reporter.wait_for_out(10)
    assert running.stop().clean
    assert sorted(written(file)) == sorted(values(5) * 2)


def test_doubles_of_a_source_are_dropped_also_when_their_originals_were_not_durable_before(tasks: Tasks) -> None:
    """The marks that are stored are those of what is durable: what is put again is no double of itself."""
    said = [{"RCPOS": f"uid|1|p|0|{place}"} for place in (1, 2, 3)]
    tasks.create_topic(2)
    running, file = start(tasks)
    file.with_suffix(".hold").touch()
    for place, count in ((0, 1), (1, 2), (0, 2), (2, 3)):
        produce(tasks, [f"record {place}"], 0, said[place])
        running.reporter.wait_for(lambda count=count: put(file) == count)  # type: ignore[misc]
    assert not running.stop().clean
    assert written(file) == ["record 0", "record 1"]
    file.with_suffix(".hold").unlink()
    produce(tasks, ["record 1"], 0, said[1])
    again, _ = start(tasks, epoch=2)
    again.reporter.wait_for(lambda: again.reporter.metrics.duplicates_skipped >= 1)
    assert again.stop().clean
    assert written(file) == ["record 0", "record 1", "record 2"]


def test_it_runs_natively_alone_and_in_no_direct_connector(plugins: None) -> None:
    from rocketconnect_sdk.configuration.connector_options import check_connector

    sink = {"connector.class": "heap", "file": "/tmp/x", "topics": "t"}
    assert list(check_connector(sink).problems) == []
    (problem,) = check_connector({**sink, "engine": "spark"}).problems
    assert (problem.key, problem.fix.split(",")[0]) == ("engine", "Use engine=native")
    direct = {"connector.class": "direct", "source.connector.class": "lines", "source.files": "/tmp/a"}
    problems = check_connector({**direct, "sink.connector.class": "heap", "sink.file": "/tmp/x"}).problems
    assert [(each.key, "durable later" in each.reason) for each in problems] == [("sink.connector.class", True)]
