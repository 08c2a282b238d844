"""What a new owner learns by reading the tail of a queue, with a real broker."""

from unittest.mock import patch

import pytest

from rocketmq_remoting.client import Client
from rocketmq_remoting.model import MessageQueue
from rocketmq_remoting.stream import PullStream
from services.executor.runtime.queues import read_tail
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
