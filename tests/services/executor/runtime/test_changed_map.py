"""A source whose predecessor ended unclean under another map of records to queues, and tasks that see different queues."""

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from rocketmq_remoting.model import Message, MessageQueue
from services.executor.contract.task import Kind, State
from services.executor.runtime.rocketmq.queue_map import queue_of_key
from services.executor.runtime.rocketmq.source_marks import partition_id
from services.executor.runtime.rocketmq.topics import TopicMaker
from tests.services.executor.runtime.conftest import PositionProcess, Tasks, rows

pytestmark = pytest.mark.rocketmq

LINES = [f"k{number % 7} {number}" for number in range(40)]
MORE = ["k0 40", "k1 41"]
STUCK = 1
"""The queue of which the old owner got nothing confirmed after its first record."""


@dataclass
class _Change:
    """What is other in the second revision: the number of queues, and options of the source."""

    queues: int
    keyed: str


def _grow(tasks: Tasks, queues: int) -> None:
    tasks.client.create_topic(tasks.topic, queues=queues)
    seen: list[MessageQueue] = []
    while len(seen) < queues:
        seen = tasks.client.queues(tasks.topic, fresh=True)


def _sent_by_the_old_owner(tasks: Tasks, partition: str) -> None:
    """What it had sent, by the map of four queues, when it died: all, but of one queue only the first record."""
    queues = tasks.client.queues(tasks.topic)
    for number in range(4):
        mine = [index for index, line in enumerate(LINES) if queue_of_key(line.split()[0].encode(), 4) == number]
        sent = mine[:1] if number == STUCK else mine
        place = f"source-{tasks.unique}|1|{partition_id(partition)}|0"
        if sent:
            messages = [Message(LINES[index].encode(), properties={"RCPOS": f"{place}|{index + 1}"}) for index in sent]
            tasks.client.send_batch(queues[number], messages, 10)


def _all_once(tasks: Tasks) -> None:
    """In the topic, and in what a sink makes of it."""
    assert sorted(tasks.bodies()) == sorted([*LINES, *MORE])
    table = tasks.path / "t.db"
    sink = tasks.start(Kind.SINK, {"connector.class": "table", "file": str(table)})
    sink.reporter.wait_for_state(State.IDLE)
    assert sink.stop().clean
    assert sorted(rows(table)) == sorted([*LINES, *MORE])


def _die_in_the_middle(tasks: Tasks, config: Mapping[str, str], file: Path) -> None:
    """An owner that sends to four queues by the first word of each line."""
    tasks.create_topic(4)
    old = tasks.start(Kind.SOURCE, config)
    old.reporter.wait_for_state(State.IDLE)
    old.control.fence()
    assert old.end().fenced
    _sent_by_the_old_owner(tasks, str(file))
    tasks.file("a", LINES)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(_Change(6, "true"), id="grown", marks=pytest.mark.slow),
        pytest.param(_Change(4, "false"), id="keys"),
        pytest.param(_Change(2, "true"), id="shrunk", marks=pytest.mark.slow),
    ],
)
def test_after_an_unclean_end_records_that_now_go_elsewhere_are_there_once_in_topic_and_sink(tasks: Tasks, change: _Change) -> None:
    file = tasks.file("a", [])
    config = {"connector.class": "lines", "files": str(file), "keyed": "true"}
    _die_in_the_middle(tasks, config, file)
    if change.queues > 4:
        _grow(tasks, change.queues)
    elif change.queues < 4:
        # Fewer can be written to; what is in the others is still read.
        tasks.client.create_topic(tasks.topic, queues=change.queues, read_queues=4)
        while len(tasks.client.queues(tasks.topic, writable=True, fresh=True)) != change.queues:
            pass
    new = tasks.start(Kind.SOURCE, {**config, "keyed": change.keyed}, epoch=2, generation=2, revision=2)
    new.reporter.wait_for_state(State.IDLE)
    tasks.file("a", [*LINES, *MORE])
    new.reporter.wait_for(lambda: new.reporter.metrics.records_in == 42)
    assert new.stop().clean
    _all_once(tasks)


def test_an_owner_that_dies_while_it_finishes_the_old_map_leaves_the_rest_of_it_to_the_next_one(tasks: Tasks) -> None:
    """The second one moves its position over a first record that was there already; without a lease it sends nothing."""
    file = tasks.file("a", [])
    config = {"connector.class": "lines", "files": str(file), "keyed": "true"}
    _die_in_the_middle(tasks, config, file)
    _grow(tasks, 6)
    second = tasks.start(Kind.SOURCE, {**config, "batch.records": "1"}, epoch=2, generation=2, revision=2, lease_seconds=0.0)
    second.reporter.wait_for(lambda: second.reporter.metrics.commits)
    second.control.fence()
    assert second.end().fenced
    tasks.file("a", [*LINES, *MORE])
    third = tasks.start(Kind.SOURCE, config, epoch=3, generation=2, revision=2)
    third.reporter.wait_for(lambda: third.reporter.metrics.records_in == 41)
    assert third.stop().clean
    _all_once(tasks)


def test_of_packed_messages_that_went_by_another_map_each_row_is_known(tasks: Tasks, positions: PositionProcess) -> None:
    """The first one can't commit what it sends."""
    tasks.create_topic(4)
    file = tasks.file("a", [])
    config = {"connector.class": "lines", "files": str(file), "keyed": "true", "value.converter": "arrow"}
    old = tasks.start(Kind.SOURCE, config)
    old.reporter.wait_for_state(State.IDLE)
    positions.stop()
    tasks.file("a", LINES)
    old.reporter.wait_for_out(len(LINES))
    old.control.fence()
    assert old.end().fenced
    positions.start()
    _grow(tasks, 6)
    tasks.file("a", [*LINES, *MORE])
    new = tasks.start(Kind.SOURCE, config, epoch=2, generation=2, revision=2)
    new.reporter.wait_for_out(len(MORE))
    assert new.stop().clean
    assert new.reporter.metrics.duplicates_skipped == len(LINES)
    table = tasks.path / "t.db"
    sink = tasks.start(Kind.SINK, {"connector.class": "table", "file": str(table), "value.converter": "arrow"})
    sink.reporter.wait_for_state(State.IDLE)
    assert sink.stop().clean
    assert sorted(rows(table)) == sorted([*LINES, *MORE])


def test_two_tasks_that_saw_different_queues_at_their_first_start_send_by_one_map(
    tasks: Tasks, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both look for the topic before either has stored what it saw; between them it grows."""
    find, turn, seen = TopicMaker.find, threading.Lock(), threading.Barrier(2)

    def look(maker: TopicMaker, topic: str, **options: Any) -> list[MessageQueue]:
        with turn:
            found = find(maker, topic, **options)
            if len(found) == 2:
                _grow(tasks, 5)
        seen.wait(60)
        return found

    tasks.create_topic(2)
    monkeypatch.setattr(TopicMaker, "find", look)
    files = [tasks.file(name, [f"k{number % 9} {name} {number}" for number in range(90)]) for name in "ab"]
    config = {"connector.class": "lines", "keyed": "true", "files": ",".join(map(str, files))}
    running = [
        tasks.start(Kind.SOURCE, config, task=task, tasks=2, epoch=task + 1, task_config={"files": str(file)})
        for task, file in enumerate(files)
    ]
    for each in running:
        each.reporter.wait_for_out(90)
    assert all(each.stop().clean for each in running)
    queues: dict[str, set[int]] = {}
    for queue, body, _ in tasks.messages():
        queues.setdefault(body.split()[0], set()).add(queue)
    assert len(tasks.bodies()) == 180
    assert all(len(each) == 1 for each in queues.values())


def test_a_topic_that_two_tasks_meet_at_once_is_in_the_map_once_for_both(tasks: Tasks, positions: PositionProcess) -> None:
    tasks.create_topic(1)
    other = f"u-{tasks.unique}"
    route = {"transforms": "r", "transforms.r.type": "regex_router", "transforms.r.regex": ".*", "transforms.r.replacement": other}
    files = [tasks.file(name, [f"{name} {number}" for number in range(50)]) for name in "ab"]
    config = {"connector.class": "lines", "files": ",".join(map(str, files)), "topic.queues": "3", **route}
    running = [
        tasks.start(Kind.SOURCE, config, task=task, tasks=2, epoch=task + 1, task_config={"files": str(file)})
        for task, file in enumerate(files)
    ]
    for each in running:
        each.reporter.wait_for_out(50)
    assert all(each.stop().clean for each in running)
    assert sorted(tasks.bodies(other)) == sorted(f"{name} {number}" for name in "ab" for number in range(50))
    # The revision, and how many topics it has.
    assert positions.offsets(f"source-{tasks.unique}")["~map"] == [1, 2]
