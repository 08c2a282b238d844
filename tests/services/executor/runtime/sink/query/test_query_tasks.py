"""Sink tasks with a query on a real broker: killed where it hurts."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from services.executor.contract.task import Kind, State
from tests.services.executor.runtime.conftest import Tasks, produce, rows

pytestmark = pytest.mark.rocketmq

MINUTE = 60_000
COUNTS = "SELECT window_start, station, count(*) AS n FROM records GROUP BY ALL ORDER BY station"


def reading(ms: int, station: str = "a", number: int = 0) -> str:
    return json.dumps({"ms": ms, "station": station, "number": number})


def config(tasks: Tasks, **more: str) -> dict[str, str]:
    options = {key.replace("_", "."): value for key, value in more.items()}
    return {
        "connector.class": "table",
        "file": str(tasks.path / "t.db"),
        "value.converter": "json",
        "value.converter.schemas.enable": "false",
        **options,
    }


def windows(tasks: Tasks) -> dict[str, str]:
    state = str(tasks.path / "state")
    return config(tasks, query=COUNTS, query_time="ms", query_window="1m", query_state=state, query_idle="1s")


def written(path: Path) -> list[Any]:
    return [json.loads(value) for value in rows(path)]


def until(condition: Callable[[], object], seconds: float = 180.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_query_joins_a_file_that_changes_while_the_task_runs(tasks: Tasks) -> None:
    names = tasks.file("names.csv", ["station,name", "a,Aarau"])
    query = "SELECT number, name FROM records LEFT JOIN names USING (station)"
    running = tasks.start(Kind.SINK, config(tasks, query=query, query_tables_names=str(names)))
    produce(tasks, [reading(1, "a", 1), reading(2, "b", 2)])
    until(lambda: len(rows(tasks.path / "t.db")) == 2)
    names.write_text("station,name\na,Aarau\nb,Bern\n")
    produce(tasks, [reading(3, "b", 3)])
    until(lambda: len(rows(tasks.path / "t.db")) == 3)
    assert running.stop().clean
    expected = [{"number": 1, "name": "Aarau"}, {"number": 2, "name": None}, {"number": 3, "name": "Bern"}]
    assert written(tasks.path / "t.db") == expected


def test_a_task_that_is_killed_between_its_state_and_its_commit_writes_each_window_once(tasks: Tasks) -> None:
    tasks.create_topic(1)
    table, state = tasks.path / "t.db", tasks.path / "state"
    produce(tasks, [reading(0), reading(1), reading(MINUTE)])
    first = tasks.spawn(Kind.SINK, windows(tasks), epoch=1)
    until(lambda: rows(table))
    assert [row["n"] for row in written(table)] == [2]
    table.with_suffix(".away").touch()
    known = {path.name for path in state.iterdir()}
    produce(tasks, [reading(MINUTE + 1), reading(2 * MINUTE)])
    until(lambda: {path.name for path in state.glob("*.state")} - known, 180)
    first.kill()
    first.wait()
    produce(tasks, [reading(2 * MINUTE + 1), reading(3 * MINUTE)])
    table.with_suffix(".away").unlink()
    second = tasks.start(Kind.SINK, windows(tasks), epoch=2)
    until(lambda: len(rows(table)) == 3)
    second.reporter.wait_for_state(State.IDLE)
    assert second.stop().clean
    assert [row["n"] for row in written(table)] == [2, 2, 2]
    until(lambda: len(list(state.iterdir())) == 1)


def test_several_tasks_filter_and_join_each_the_records_of_its_queues(tasks: Tasks) -> None:
    tasks.create_topic(4)
    names = tasks.file("names.csv", ["station,name", "a,Aarau"])
    query = "SELECT number, name FROM records JOIN names USING (station) WHERE number % 2 = 0"
    options = config(tasks, query=query, query_tables_names=str(names), max_tasks="2")
    running = [tasks.start(Kind.SINK, options, task=task, tasks=2) for task in range(2)]
    for queue in range(4):
        produce(tasks, [reading(0, "ab"[number % 3 // 2], number) for number in range(queue, 400, 4)], queue)
    expected = [number for number in range(400) if number % 2 == 0 and number % 3 != 2]
    until(lambda: len(rows(tasks.path / "t.db")) >= len(expected))
    assert all(each.stop().clean for each in running)
    assert all(each.reporter.metrics.records_out for each in running)
    found = sorted(written(tasks.path / "t.db"), key=lambda row: int(row["number"]))
    assert found == [{"number": number, "name": "Aarau"} for number in expected]
