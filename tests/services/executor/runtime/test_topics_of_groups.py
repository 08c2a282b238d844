"""What RocketMQ keeps for consumer groups, read by sinks: the messages that a group has given up, and sent back into its topics."""

import uuid
from collections.abc import Sequence
from pathlib import Path

import pytest

from rocketmq_remoting.message import PulledMessage
from rocketmq_remoting.model import Message, MessageQueue
from rocketmq_remoting.protocol.requests import Request, check
from services.executor.contract.task import Kind, State
from services.executor.runtime.rocketmq.source_marks import Stamper
from tests.services.executor.runtime.conftest import Tasks, rows

pytestmark = pytest.mark.rocketmq

_SEND_BACK = 36
"""CONSUMER_SEND_MSG_BACK, as consumers send it when a handler has failed."""


@pytest.fixture
def group(tasks: Tasks) -> str:
    name = f"group-{uuid.uuid4().hex[:8]}"
    tasks.client.create_group(name)
    return name


def sent(tasks: Tasks, numbers: Sequence[int]) -> list[PulledMessage]:
    """Messages of a source of ours, as they stand in the topic."""
    tasks.create_topic(1)
    (queue,) = tasks.client.queues(tasks.topic)
    stamps = Stamper("c", 1, "p", 0).stamp([(number,) for number in numbers])
    marks = [stamp.decode().strip("\x02").split("\x01")[1] for stamp in stamps]
    messages = [Message(b"%d" % n, tags="t", properties={"RCPOS": mark}) for n, mark in zip(numbers, marks, strict=True)]
    tasks.client.send_batch(queue, messages, 10)
    tasks.client.barrier(queue.broker, 10)
    return list(tasks.client.pull(queue, 0).messages)


def give_up(tasks: Tasks, group: str, message: PulledMessage) -> None:
    """A consumer of the group has failed for the last time."""
    fields = {
        "group": group,
        "offset": str(int(message.message_id[-16:], 16)),
        "delayLevel": "-1",
        "originMsgId": message.message_id,
        "originTopic": message.queue.topic,
        "unitMode": "false",
        "maxReconsumeTimes": "16",
    }
    request = Request(_SEND_BACK, fields)  # type: ignore[arg-type]  # consumers alone send it
    broker = message.queue.broker
    tasks.client._routes.submit(broker, request, lambda frame: check(frame, "send back"), timeout=10, what="send back").result()


def there(tasks: Tasks, queue: MessageQueue, start: int = 0) -> list[PulledMessage]:
    tasks.client.barrier(queue.broker, 10)
    return list(tasks.client.pull(queue, start).messages)


def test_what_a_group_has_given_up_is_read_each_time_and_in_the_order_in_which_it_failed(tasks: Tasks, group: str) -> None:
    messages = sent(tasks, range(5))
    for number in (4, 2, 2):
        give_up(tasks, group, messages[number])
    file = tasks.path / "rows.db"
    config = {"connector.class": "table", "file": str(file), "topics": f"%DLQ%{group}"}
    first = tasks.start(Kind.SINK, config)
    first.reporter.wait_for_out(3)
    first.reporter.wait_for_state(State.IDLE)
    assert first.stop().clean
    give_up(tasks, group, messages[0])
    second = tasks.start(Kind.SINK, config, epoch=2)
    second.reporter.wait_for_out(1)
    assert second.stop().clean
    assert rows(file) == ["4", "2", "2", "0"]
    assert first.reporter.metrics.duplicates_skipped == 0


def back(tasks: Tasks, group: str, target: str) -> dict[str, str]:
    """A connector that sends what a group has given up."""
    return {
        "connector.class": "rocketmq_sink",
        "topics": f"%DLQ%{group}",
        "name.servers": tasks.name_servers,
        "source.cluster": "dead",
        "target.cluster": "alive",
        "target.topic": target,
        "value.converter": "bytes",
        "engine": "native",
    }


@pytest.mark.parametrize("to", ["its topic", "the group alone"])
def test_what_a_group_has_given_up_goes_back_where_it_came_from_or_to_the_group_alone(tasks: Tasks, group: str, to: str) -> None:
    messages = sent(tasks, range(3))
    for number in (2, 1):
        give_up(tasks, group, messages[number])
    target = "${header.RETRY_TOPIC}" if to == "its topic" else f"%RETRY%{group}"
    running = tasks.start(Kind.SINK, back(tasks, group, target))
    running.reporter.wait_for_out(2)
    assert running.stop().clean
    if to == "its topic":
        again = there(tasks, messages[0].queue, start=3)
    else:
        again = [each for queue in tasks.client.queues(target) for each in there(tasks, queue)]
    assert [(each.body, each.tags, each.properties["RETRY_TOPIC"]) for each in again] == [
        (b"2", "t", tasks.topic),
        (b"1", "t", tasks.topic),
    ]
    # They are messages of their own: sinks of ours drop none for a double, and brokers hold none back.
    assert not {"RCPOS", "DELAY"} & {name for each in again for name in each.properties}


def test_a_topic_of_a_group_that_is_not_there_yet_is_made_as_rocketmq_makes_it(tasks: Tasks, group: str) -> None:
    config = {
        "connector.class": "table",
        "file": str(Path(tasks.path) / "rows.db"),
        "topics": f"%DLQ%{group}",
        "topic.type": "batch",
    }
    running = tasks.start(Kind.SINK, config)
    running.reporter.wait_for_state(State.IDLE)
    assert running.stop().clean
    told = tasks.client.topic_config(f"%DLQ%{group}")
    assert (told.read_queues, told.write_queues, told.topic_type) == (1, 1, "normal")
