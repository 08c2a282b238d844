"""A queue that ends before what the broker had confirmed to a source, as the source finds it when it starts. With a real broker."""

import time

import pytest

from rocketmq_remoting.errors import QueueGap
from rocketmq_remoting.model import MessageQueue
from services.executor.contract.task import Kind, State
from services.executor.runtime.source.lost_tails import LostTails
from tests.services.executor.runtime.conftest import RecordingReporter, Running, Tasks, produce, values

QUEUE, OTHER = (MessageQueue("t", "b", number) for number in range(2))


def lines(count: int) -> list[str]:
    return [f"line {number}" for number in range(count)]


def told(running: Running, text: str) -> int:
    return sum(text in message for _, message in running.reporter.logs)


def empty(tasks: Tasks, topic: str, others: int) -> None:
    """The queue has only messages of others, before where it ended."""
    # What the broker has not put into the queue yet would come into the new one.
    tasks.client.barrier(tasks.client.queues(topic)[0].broker)
    tasks.client.delete_topic(topic)
    deadline = time.monotonic() + 60
    while tasks.client.topic_exists(topic):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    tasks.client.create_topic(topic, queues=1)
    fill(tasks, others)


def fill(tasks: Tasks, others: int) -> None:
    queue = produce(tasks, values(others))
    tasks.client.barrier(queue.broker)


@pytest.mark.rocketmq
def test_a_source_whose_topic_was_deleted_waits_and_says_how_it_goes_on(tasks: Tasks) -> None:
    tasks.create_topic(1)
    path = tasks.file("in", lines(3))
    running = tasks.start(Kind.SOURCE, {"connector.class": "lines", "files": str(path)})
    running.reporter.wait_for_out(3)
    running.reporter.wait_for_state(State.IDLE)
    tasks.client.delete_topic(tasks.topic)
    with path.open("a") as file:
        file.write("more\n")
    trace = running.reporter.wait_for_state(State.WAITING)
    assert trace.startswith(f"sending to {tasks.topic}/")
    assert "`rocketconnect topic create`" in trace
    running.control.fence()
    running.end()


@pytest.mark.rocketmq
@pytest.mark.parametrize("clean", [pytest.param(True, id="clean", marks=pytest.mark.slow), pytest.param(False, id="unclean")])
def test_what_is_lost_while_a_source_is_stopped_ends_each_start_until_the_user_accepts_it(tasks: Tasks, clean: bool) -> None:
    tasks.create_topic(1)
    config = {"connector.class": "lines", "files": str(tasks.file("in", lines(10)))}
    first = tasks.start(Kind.SOURCE, config)
    first.reporter.wait_for_out(10)
    first.reporter.wait_for_state(State.IDLE)
    if not clean:
        first.control.fence()
        first.end()
    else:
        assert first.stop().clean
    empty(tasks, tasks.topic, 3)
    tasks.file("in", lines(12))

    outcome = tasks.start(Kind.SOURCE, config, epoch=2).end()
    assert outcome.permanent
    assert "[3, 10)" in outcome.error
    assert "on.gap=skip" in outcome.error
    # The queue alone does not tell it any more.
    fill(tasks, 9)
    outcome = tasks.start(Kind.SOURCE, config, epoch=3).end()
    assert outcome.permanent
    assert "[3, 10)" in outcome.error

    accepted = tasks.start(Kind.SOURCE, {**config, "on.gap": "skip"}, epoch=4)
    accepted.reporter.wait_for_out(2)
    assert accepted.stop().clean
    assert told(accepted, "[3, 10)") == 1
    assert accepted.reporter.metrics.gap_messages == 7
    assert tasks.bodies() == [*values(3), *values(9), "line 10", "line 11"]
    # Once accepted it is no gap any more.
    last = tasks.start(Kind.SOURCE, config, epoch=5)
    last.reporter.wait_for_state(State.IDLE)
    assert last.stop().clean


@pytest.mark.rocketmq
def test_what_is_lost_while_a_source_runs_ends_its_next_starts_too(tasks: Tasks) -> None:
    tasks.create_topic(1)
    config = {"connector.class": "lines", "files": str(tasks.file("in", lines(10)))}
    first = tasks.start(Kind.SOURCE, config)
    first.reporter.wait_for_out(10)
    empty(tasks, tasks.topic, 3)
    tasks.file("in", lines(12))
    outcome = first.end()
    assert outcome.permanent
    assert "[3, 10)" in outcome.error
    outcome = tasks.start(Kind.SOURCE, config, epoch=2).end()
    assert outcome.permanent
    assert "[3, 10)" in outcome.error
    accepted = tasks.start(Kind.SOURCE, {**config, "on.gap": "skip"}, epoch=3)
    accepted.reporter.wait_for_state(State.IDLE)
    assert accepted.stop().clean
    assert told(accepted, "[3, 10)") == 1


def test_a_loss_that_is_not_accepted_refuses_and_grows_and_one_that_is_accepted_is_counted() -> None:
    reporter = RecordingReporter()
    strict = LostTails(reporter, "feed", skip=False, ends={QUEUE: 10, OTHER: 20}, lost={})
    strict.meet(QUEUE, 12)
    assert strict.refusal is None
    strict.meet(OTHER, 15)
    strict.found(QueueGap(OTHER, 14, 16, 14, "lost"))
    assert strict.lost == {OTHER: (14, 20)}
    assert "t/b/1: the messages [14, 20)" in str(strict.refusal)
    assert "`rocketconnect position reset feed --restart`" in str(strict.refusal)
    assert str(strict.refusal).endswith("`rocketconnect connector update feed -s on.gap=skip`")
    assert reporter.metrics.gap_messages == 0
    lenient = LostTails(reporter, "feed", skip=True, ends={}, lost=strict.lost)
    assert lenient.refusal is None
    assert reporter.metrics.gap_messages == 6
    assert [level for level, _ in reporter.logs] == ["WARNING"]


def test_the_ends_of_queues_that_a_task_has_not_met_are_kept() -> None:
    tails = LostTails(RecordingReporter(), "feed", skip=False, ends={QUEUE: 10, OTHER: 20}, lost={})
    assert tails.known_end(OTHER) == 20
    tails.meet(QUEUE, 10)
    assert tails.unmet == {OTHER: 20}
