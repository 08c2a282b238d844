"""Which queues the tasks of a sink read, with a real broker and a real position service."""

import pytest

from rocketmq_remoting.model import Message, MessageQueue
from services.executor.contract.endpoints import Endpoints
from services.executor.contract.task import Kind, State
from services.executor.runtime.positions.client import PositionClient
from services.executor.runtime.positions.stored import Stored
from services.executor.runtime.sink import queues as sink_queues
from services.executor.runtime.source.queues import ROW, map_row
from tests.services.executor.runtime.conftest import Tasks, rows


def produce(tasks: Tasks, topic: str, each: int, start: int) -> list[str]:
    sent = []
    for queue in tasks.client.queues(topic, fresh=True):
        bodies = [f"{topic}/{queue.queue_id}/{number}" for number in range(start, start + each)]
        tasks.client.send_batch(queue, [Message(body.encode()) for body in bodies], 10)
        # The end of a queue is known a moment after the send.
        tasks.client.barrier(queue.broker)
        sent += bodies
    return sent


def test_queues_that_are_added_to_a_topic_are_read_by_one_task_each_while_the_tasks_go_on(
    tasks: Tasks, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sink_queues, "LOOK_SECONDS", 0.2)
    tasks.client.create_topic(tasks.topic, queues=2)
    sent = produce(tasks, tasks.topic, 50, 0)
    files = [tasks.path / f"{task}.db" for task in (0, 1)]
    running = [
        tasks.start(Kind.SINK, {"connector.class": "table", "file": str(file)}, task=task, tasks=2)
        for task, file in enumerate(files)
    ]
    for each in running:
        each.reporter.wait_for_out(50)
    tasks.client.create_topic(tasks.topic, queues=7)
    sent += produce(tasks, tasks.topic, 50, 50)
    for each in running:
        each.reporter.wait_for(lambda each=each: any("other queues" in message for _, message in each.reporter.logs))  # type: ignore[misc]
    running[0].reporter.wait_for(lambda: sum(len(rows(file)) for file in files) >= len(sent))
    assert all(each.stop().clean for each in running)
    written = [rows(file) for file in files]
    assert sorted(value for part in written for value in part) == sorted(sent)
    for part in written:
        for queue in {value.rpartition("/")[0] for value in part}:
            own = [value for value in part if value.rpartition("/")[0] == queue]
            assert own == sorted(own, key=lambda value: int(value.rpartition("/")[2]))
    assert not any(state is State.FAILED for each in running for state, _ in each.reporter.states)


def test_two_tasks_that_see_other_queues_when_they_start_never_read_the_same_one(tasks: Tasks) -> None:
    """A queue that the second one sees stands before those that the first one saw."""
    first, second = f"a-{tasks.unique}", f"b-{tasks.unique}"
    tasks.client.create_topic(first, queues=1)
    tasks.client.create_topic(second, queues=2)
    file = tasks.path / "t.db"
    config = {"connector.class": "table", "file": str(file), "topics": f"{first},{second}"}
    early = tasks.start(Kind.SINK, config, task=0, tasks=2)
    early.reporter.wait_for_state(State.IDLE)
    tasks.client.create_topic(first, queues=2)
    tasks.client.queues(first, fresh=True)
    late = tasks.start(Kind.SINK, {**config, "file": str(tasks.path / "u.db")}, task=1, tasks=2)
    late.reporter.wait_for_state(State.IDLE)
    sent = produce(tasks, first, 20, 0) + produce(tasks, second, 20, 0)
    early.reporter.wait_for_out(40)
    late.reporter.wait_for_out(40)
    assert early.stop().clean
    assert late.stop().clean
    assert sorted(rows(file) + rows(tasks.path / "u.db")) == sorted(sent)


LAST = {"connector.class": "table", "consume.from.where": "CONSUME_FROM_LAST_OFFSET"}


def test_a_sink_that_begins_at_the_end_begins_queues_that_come_later_at_their_beginning(tasks: Tasks) -> None:
    tasks.client.create_topic(tasks.topic, queues=1)
    produce(tasks, tasks.topic, 5, 0)
    config = {**LAST, "file": str(tasks.path / "t.db")}
    first = tasks.start(Kind.SINK, config)
    first.reporter.wait_for_state(State.IDLE)
    assert first.stop().clean
    tasks.client.create_topic(tasks.topic, queues=3)
    sent = produce(tasks, tasks.topic, 5, 5)
    # A topic that the sink sees for the first time.
    other = f"{tasks.topic}-other"
    tasks.client.create_topic(other, queues=1)
    produce(tasks, other, 5, 0)
    second = tasks.start(Kind.SINK, {**config, "topics": f"{tasks.topic},{other}"}, epoch=2, generation=2)
    second.reporter.wait_for_out(len(sent))
    second.reporter.wait_for_state(State.IDLE)
    sent += produce(tasks, other, 5, 5)
    second.reporter.wait_for_out(len(sent))
    assert second.stop().clean
    assert sorted(rows(tasks.path / "t.db")) == sorted(sent)


def test_a_sink_begins_at_one_end_though_its_tasks_start_one_after_the_other(tasks: Tasks) -> None:
    tasks.client.create_topic(tasks.topic, queues=2)
    produce(tasks, tasks.topic, 5, 0)
    early = tasks.start(Kind.SINK, {**LAST, "file": str(tasks.path / "0.db")}, task=0, tasks=2)
    early.reporter.wait_for_state(State.IDLE)
    sent = produce(tasks, tasks.topic, 5, 5)
    late = tasks.start(Kind.SINK, {**LAST, "file": str(tasks.path / "1.db")}, task=1, tasks=2)
    for each in (early, late):
        each.reporter.wait_for_out(5)
    assert early.stop().clean
    assert late.stop().clean
    assert sorted(rows(tasks.path / "0.db") + rows(tasks.path / "1.db")) == sorted(sent)


@pytest.mark.parametrize("absent", ["wait", "skip"])
def test_queues_that_can_no_longer_be_read_are_told_with_what_is_unread_until_they_can(
    tasks: Tasks, monkeypatch: pytest.MonkeyPatch, absent: str
) -> None:
    monkeypatch.setattr(sink_queues, "LOOK_SECONDS", 0.2)
    tasks.client.create_topic(tasks.topic, queues=3)
    sent = produce(tasks, tasks.topic, 5, 0)
    queues = tasks.client.queues(tasks.topic)
    config = {"connector.class": "table", "file": str(tasks.path / "t.db"), "queues.absent": absent}
    first = tasks.start(Kind.SINK, config)
    first.reporter.wait_for_out(len(sent))
    tasks.client.create_topic(tasks.topic, queues=3, read_queues=1)
    first.reporter.wait_for(lambda: any("other queues" in message for _, message in first.reporter.logs))
    first.reporter.wait_for_state(State.IDLE)
    tasks.client.send_batch(queues[2], [Message(b"unread")], 10)
    unread = f"fewer read queues than it had: {queues[2].topic}/{queues[2].broker}/2 from 5 to its end at 6"
    if absent == "wait":
        first.reporter.wait_for(lambda: first.reporter.states[-1][0] is State.WAITING and unread in first.reporter.states[-1][1])
    assert first.stop().clean
    second = tasks.start(Kind.SINK, config, epoch=2)
    if absent == "wait":
        assert unread in second.reporter.wait_for_state(State.WAITING)
    else:
        second.reporter.wait_for_state(State.IDLE)
        assert any(unread in message for _, message in second.reporter.logs)
    tasks.client.create_topic(tasks.topic, queues=3)
    second.reporter.wait_for_out(1)
    second.reporter.wait_for_state(State.IDLE)
    assert second.stop().clean
    assert sorted(rows(tasks.path / "t.db")) == sorted([*sent, "unread"])


def test_queues_of_a_broker_that_is_away_are_told_while_the_others_are_read(tasks: Tasks) -> None:
    tasks.client.create_topic(tasks.topic, queues=1)
    listed = [f"{tasks.topic}/gone/{number}" for number in range(7)]
    config = {"connector.class": "table", "file": str(tasks.path / "t.db")}
    before = PositionClient(Endpoints(tasks.name_servers, tasks.position), tasks.spec(Kind.SINK, config, 1, 0, 1, "", 1))
    before.open()
    before.store({sink_queues.ROW: Stored((1, 7), 0, {"generation": 1, "queues": listed})})
    before.close()
    sent = produce(tasks, tasks.topic, 5, 0)
    running = tasks.start(Kind.SINK, config, epoch=2)
    running.reporter.wait_for_out(len(sent))
    said = running.reporter.wait_for_state(State.WAITING)
    assert f"queues whose broker is away: {listed[0]} (broker gone has no master" in said
    assert f"{listed[4]} and 2 more" in said
    assert "queues.absent=skip" in said
    assert running.stop().clean


def test_a_source_that_starts_while_one_of_its_brokers_is_away_waits_and_names_it(tasks: Tasks) -> None:
    tasks.client.create_topic(tasks.topic, queues=1)
    here = tasks.client.queues(tasks.topic)[0]
    config = {"connector.class": "lines", "files": str(tasks.file("a", ["one"]))}
    before = PositionClient(Endpoints(tasks.name_servers, tasks.position), tasks.spec(Kind.SOURCE, config, 1, 0, 1, "", 1))
    before.open()
    queues = {tasks.topic: (here, MessageQueue(tasks.topic, "gone", 0))}
    before.store({ROW: map_row(queues, revision=1)})
    before.close()
    running = tasks.start(Kind.SOURCE, config, epoch=2)
    assert "broker gone has no master" in running.reporter.wait_for_state(State.WAITING)
    assert tasks.bodies() == []
    assert not running.stop().failed


def test_with_a_new_generation_what_no_topic_of_the_configuration_has_any_more_is_left_out() -> None:
    before = Stored((1, 3), 0, {"generation": 1, "queues": ["a/b/0", "c/b/0", "a/b/1"]})
    assert sink_queues.extended(before, 2, ["a"], ["a/b/0", "a/b/1", "a/b/2"]) == (["a/b/0", "a/b/1", "a/b/2"], False)
    assert sink_queues.extended(before, 1, ["a"], ["a/b/0"]) == (["a/b/0", "c/b/0", "a/b/1"], True)
    assert sink_queues.extended(None, 1, ["a"], ["a/b/0"]) == (["a/b/0"], False)
