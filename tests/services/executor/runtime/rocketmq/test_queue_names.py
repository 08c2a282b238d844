"""What a new owner learns by reading the tail of a queue, with a real broker."""

from unittest.mock import patch

import pytest

from rocketmq_remoting.batch import encode_batch
from rocketmq_remoting.client import Client
from rocketmq_remoting.model import MessageQueue
from rocketmq_remoting.pulls.stream import PullStream
from services.executor.runtime.rocketmq.source_marks import Stamper
from services.executor.runtime.rocketmq.tail import Sent, read_tail
from tests.services.executor.runtime.conftest import Tasks, produce, values

pytestmark = pytest.mark.rocketmq

_MOST_LOOKS = 30


def test_a_tail_that_vanishes_while_it_is_read_is_told_and_not_pulled_again_and_again(tasks: Tasks) -> None:
    queue = produce(tasks, values(5))
    tasks.client.barrier(queue.broker)
    ends = [8]
    pulls: list[int] = []
    looks: list[int] = []
    ask, pull = Client.max_offset, PullStream._pull

    def end(client: Client, queue: MessageQueue) -> int:
        return ends.pop() if ends else ask(client, queue)

    def counted(*given: object, **named: object) -> None:
        pulls.append(1)
        pull(*given, **named)  # type: ignore[arg-type]

    def stopping() -> bool:
        looks.append(1)
        return len(looks) > _MOST_LOOKS

    with patch.object(Client, "max_offset", end), patch.object(PullStream, "_pull", counted):
        tail = read_tail(tasks.client, queue, 0, "c", stopping)
    assert tail.end == 5
    assert "ends at 5, before 8" in tail.gap
    assert len(pulls) < 10


def test_what_came_late_behind_messages_of_a_newer_owner_is_not_there_since_sinks_leave_it_out(tasks: Tasks) -> None:
    queue = produce(tasks, values(1))
    late, newer = Stamper("c", 1, "p", 0), Stamper("c", 2, "p", 0)
    for properties in (late.stamp([(1,)]), newer.stamp([(2,), (3,)]), late.stamp([(9,)]), newer.stamp([(4,)])):
        tasks.client.send_batch(queue, encode_batch([b"body"] * len(properties), properties))
    tasks.client.barrier(queue.broker)
    sent = Sent(lambda _key: (0, ()))
    assert read_tail(tasks.client, queue, 0, "c", lambda: False, sent).there == {"c/p": (0, (4,))}
    assert sent.offsets == {"c/p": (0, {(1,), (2,), (3,), (4,)})}
    # Whoever looks from behind the newer owner's messages is told of them by the row that they were stored with.
    behind = read_tail(tasks.client, queue, 4, "c", lambda: False)
    assert behind.there == {"c/p": (0, (9,))}
    sent = Sent(lambda _key: (0, ()))
    assert read_tail(tasks.client, queue, 4, "c", lambda: False, sent, lowest=2).there == {"c/p": (0, (4,))}
    assert sent.offsets == {"c/p": (0, {(4,)})}
