"""Sink tasks with a query, killed again and again: what is written is what one pass over all messages of the topic makes."""

import json
import os
import random
import signal
import time
from collections import Counter
from pathlib import Path

import pytest

from services.executor.contract.task import Kind
from tests.services.executor.runtime.conftest import Tasks, rows
from tests.services.executor.runtime.sink.query.feed import DUPLICATES, FILTER, NAMES, QUEUES, WINDOWS, Expected, Feed, Query

pytestmark = pytest.mark.rocketmq

FAILPOINTS = Path(__file__).parents[5] / "chaos" / "injected"
COMMITTED = ("sink.before-position",)
KEPT = ("query.before-state", "query.in-state", "query.after-state", "query.after-commit", "query.after-position")


class Killed:
    """One sink task after the other, each killed, on a topic that grows."""

    def __init__(self, tasks: Tasks, monkeypatch: pytest.MonkeyPatch, query: Query, seed: int) -> None:
        self._failpoints = tasks.path / "failpoints"
        self._failpoints.mkdir()
        monkeypatch.setenv("CHAOS_FAILPOINTS", str(self._failpoints))
        monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(FAILPOINTS), os.environ.get("PYTHONPATH", "")]))
        self._tasks = tasks
        self._query = query
        self._chance = random.Random(seed)
        self._feed = Feed(tasks, self._chance)
        self._epoch = 0
        self._dead = f"dead-{tasks.unique}"
        self._table = tasks.path / "t.db"
        names = tasks.file("names.csv", ["station,name", *map(",".join, NAMES.items())])
        self._config = {
            "connector.class": "table",
            "file": str(self._table),
            "value.converter": "json",
            "value.converter.schemas.enable": "false",
            "batch.records": "150",
            "errors.tolerance": "all",
            "errors.deadletterqueue.topic.name": self._dead,
            **query.options,
            **({"query.tables.names": str(names)} if "names" in query.options.get("query", "") else {}),
            **({"query.state": str(tasks.path / "state")} if "query.time" in query.options else {}),
        }
        tasks.create_topic(QUEUES)

    def at(self, point: str) -> None:
        """Killed at a failpoint."""
        self._feed.send(60)
        (self._failpoints / point).write_text(str(int(signal.SIGKILL)))
        self._epoch += 1
        process = self._tasks.spawn(Kind.SINK, self._config, epoch=self._epoch)
        assert process.wait(60) == -signal.SIGKILL, self._log()

    def at_random(self) -> None:
        """Killed at some moment of its work, while messages come."""
        self._epoch += 1
        began = self._log().count("starts with revision")
        process = self._tasks.spawn(Kind.SINK, self._config, epoch=self._epoch)
        deadline = time.monotonic() + 60
        while self._log().count("starts with revision") == began:
            assert time.monotonic() < deadline, self._log()
            time.sleep(0.02)
        for _ in range(self._chance.randrange(1, 12)):
            self._feed.send(10)
            time.sleep(self._chance.uniform(0.0, 0.3))
        assert process.poll() is None, self._log()
        process.kill()
        process.wait()

    def ends_as_expected(self) -> None:
        """The last one drains what there is; all of it is right."""
        self._feed.end()
        expected = self._expected()
        self._epoch += 1
        process = self._tasks.spawn(Kind.SINK, self._config, epoch=self._epoch)
        deadline = time.monotonic() + 60
        while len(rows(self._table)) < expected.rows.total() or not self._letters() >= expected.bad:
            assert process.poll() is None, self._log()
            assert time.monotonic() < deadline, self._log()
            time.sleep(0.2)
        process.stdin.close()  # type: ignore[union-attr]
        assert process.wait(60) == 0, self._log()
        assert self._written() == expected.rows
        # At least once: one that is killed behind its letters writes them again.
        assert self._letters() == expected.bad
        if "query.state" in self._config:
            assert [path.suffix for path in (self._tasks.path / "state").iterdir()] == [".state"]

    def _expected(self) -> Expected:
        offsets: Counter[int] = Counter()
        messages = []
        for queue, body, _ in self._tasks.messages():
            messages.append((queue, offsets[queue], body))
            offsets[queue] += 1
        return self._query.oracle(messages)

    def _written(self) -> Counter[tuple[object, ...]]:
        values = [json.loads(value) for value in rows(self._table)]
        return Counter(tuple(value[name] for name in self._query.columns) for value in values)

    def _letters(self) -> set[tuple[int, int]]:
        said = [properties for _, _, properties in self._tasks.messages(self._dead)]
        return {(int(each["__connect.errors.partition"]), int(each["__connect.errors.offset"])) for each in said}

    def _log(self) -> str:
        path = self._tasks.path / "SINK.log"
        return path.read_text() if path.exists() else ""


@pytest.mark.parametrize(
    ("query", "points"),
    [
        pytest.param(WINDOWS, ("query.in-state",), id="windows, in their state"),
        pytest.param(FILTER, COMMITTED, id="filter", marks=pytest.mark.slow),
        pytest.param(DUPLICATES, KEPT, id="duplicates", marks=pytest.mark.slow),
        pytest.param(WINDOWS, (*COMMITTED, *KEPT), id="windows", marks=pytest.mark.slow),
    ],
)
def test_a_query_whose_task_is_killed_writes_what_one_pass_over_all_messages_makes(
    tasks: Tasks, monkeypatch: pytest.MonkeyPatch, query: Query, points: tuple[str, ...]
) -> None:
    killed = Killed(tasks, monkeypatch, query, 7)
    for point in points:
        killed.at(point)
    killed.at_random()
    killed.ends_as_expected()
