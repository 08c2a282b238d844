"""Sinks that read some of the messages of their topics: brokers leave the others out, and positions pass them."""

import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from rocketmq_remoting.errors import InvalidFilter
from rocketmq_remoting.model import Message, MessageQueue, SqlFilter
from services.executor.contract.task import Kind, Outcome, State
from services.executor.runtime.rocketmq.source_marks import Stamper
from tests.rocketconnect_sdk.filters.test_expressions import READ, READ_IN_PART, REFUSED
from tests.services.executor.runtime.conftest import PositionProcess, Running, Tasks, produce, rows, values

pytestmark = pytest.mark.rocketmq

_TAGS = ("new", "paid", "sent")


def send(tasks: Tasks, bodies: Sequence[str], start: int = 0, tags: Sequence[str] = _TAGS) -> MessageQueue:
    """Messages with these tags in turn, and the property n with their numbers."""
    if not tasks.client.topic_exists(tasks.topic):
        tasks.create_topic(1)
    (queue,) = tasks.client.queues(tasks.topic)
    messages = [
        Message(body.encode(), tags=tags[number % len(tags)], properties={"n": str(number)})
        for number, body in enumerate(bodies, start)
    ]
    tasks.client.send_batch(queue, messages, 10)
    return queue


def table(tasks: Tasks, **filters: str) -> dict[str, str]:
    file = tasks.path / "rows.db"
    return {"connector.class": "table", "file": str(file), **{name.replace("_", "."): text for name, text in filters.items()}}


def wait_for_end(running: Running, offset: int) -> None:
    """Until all before it is durable, and nothing is behind."""
    running.reporter.wait_for(lambda: [(lag.messages, lag.position) for lag in running.reporter.metrics.lags] == [(0, offset)])
    running.reporter.wait_for_state(State.IDLE)


@pytest.mark.parametrize(
    ("filters", "wanted"),
    [
        ({"consume_tags": "new || paid,lost"}, [n for n in range(300) if n % 3 < 2]),
        (
            {"consume_sql": "TAGS <> 'sent' AND (n BETWEEN 100 AND 119 OR n < 3)"},
            [0, 1, *(n for n in range(100, 120) if n % 3 < 2)],
        ),
    ],
    ids=["tags", "sql"],
)
def test_what_a_filter_leaves_out_is_passed_and_no_lag_and_no_gap(
    tasks: Tasks, positions: PositionProcess, filters: dict[str, str], wanted: list[int]
) -> None:
    queue = send(tasks, values(300))
    config = table(tasks, **filters)
    first = tasks.start(Kind.SINK, config)
    wait_for_end(first, 300)
    # Nothing of these is wanted, so nothing but the end of the queue moves.
    send(tasks, values(50, 1_000), tags=["sent"], start=1_000)
    wait_for_end(first, 350)
    assert first.stop().clean
    assert first.reporter.metrics.records_out == len(wanted)
    assert tasks.client.committed_offset("connect-sink", queue) == 350
    second = tasks.start(Kind.SINK, config, epoch=2)
    wait_for_end(second, 350)
    send(tasks, values(3))
    second.reporter.wait_for_out(2)
    wait_for_end(second, 353)
    assert second.stop().clean
    assert second.reporter.metrics.gap_messages == 0
    assert rows(Path(config["file"])) == [*(f"value {n}" for n in wanted), *values(2)]


def test_doubles_are_dropped_beside_what_a_filter_leaves_out_also_after_a_restart(tasks: Tasks) -> None:
    tasks.create_topic(1)
    (queue,) = tasks.client.queues(tasks.topic)
    stamper = Stamper("c", 1, "p", 0)

    def stamped(numbers: Sequence[int]) -> None:
        stamps = [stamp.decode().strip("\x02").split("\x01")[1] for stamp in stamper.stamp([(number,) for number in numbers])]
        pairs = zip(numbers, stamps, strict=True)
        messages = [Message(b"%d" % n, tags=_TAGS[n % 2], properties={"RCPOS": stamp}) for n, stamp in pairs]
        tasks.client.send_batch(queue, messages, 10)

    stamped(range(1, 21))
    stamped(range(11, 31))
    config = table(tasks, consume_tags="paid") | {"positions": "false"}
    first = tasks.start(Kind.SINK, config)
    wait_for_end(first, 40)
    assert (first.reporter.metrics.records_out, first.reporter.metrics.duplicates_skipped) == (15, 5)
    assert first.stop().clean
    stamped(range(1, 41))
    second = tasks.start(Kind.SINK, config, epoch=2)
    wait_for_end(second, 80)
    assert second.stop().clean
    assert rows(Path(config["file"])) == [str(n) for n in range(1, 41, 2)]


@pytest.mark.slow
@pytest.mark.parametrize("runs", [True, False], ids=["while it runs", "while nobody looks"])
def test_a_topic_made_anew_is_a_gap_where_a_filter_leaves_out_all_of_it(tasks: Tasks, runs: bool) -> None:
    """Invariant 5: what was passed is compared as what was read."""
    send(tasks, values(10))
    config = {"connector.class": "log", "file": str(tasks.path / "log"), "consume.tags": "lost"}
    first = tasks.start(Kind.SINK, config)
    wait_for_end(first, 10)
    if not runs:
        assert first.stop().clean
    tasks.client.delete_topic(tasks.topic)
    time.sleep(1)
    send(tasks, values(25, 100))
    outcome = first.end() if runs else tasks.start(Kind.SINK, config, epoch=2).end()
    assert outcome.permanent
    assert "[0, 10)" in outcome.error
    assert "others than those that were read" in outcome.error


def ended(tasks: Tasks, **filters: str) -> Outcome:
    return tasks.start(Kind.SINK, table(tasks, **filters)).end()


@pytest.mark.parametrize("tasks", ["batch"], indirect=True)
def test_a_batch_topic_is_not_filtered_and_the_task_says_why(tasks: Tasks) -> None:
    produce(tasks, values(10))
    for filters in ({"consume_tags": "new"}, {"consume_sql": "n = 1"}):
        outcome = ended(tasks, **filters)
        assert outcome.permanent
        assert f"{tasks.topic} is a batch topic, of whose units of several messages brokers filter none" in outcome.error


def test_an_expression_that_the_broker_refuses_ends_the_task_with_the_brokers_words(tasks: Tasks) -> None:
    send(tasks, values(3))
    outcome = ended(tasks, consume_sql="n BETWEEN 5 AND 3")
    assert outcome.permanent
    assert "Illegal values of between" in outcome.error
    assert rows(tasks.path / "rows.db") == []


def test_brokers_read_expressions_as_they_are_checked(tasks: Tasks) -> None:
    queue = send(tasks, values(1))

    def refused(expression: str) -> bool:
        try:
            tasks.client.pull(queue, 0, message_filter=SqlFilter(expression))
        except InvalidFilter:
            return True
        return False

    assert [each for each in (*READ, *READ_IN_PART) if refused(each)] == []
    assert [each for each in REFUSED if not refused(each)] == []
