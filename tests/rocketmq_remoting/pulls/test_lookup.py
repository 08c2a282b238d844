"""Messages by their keys, of a real broker and of one that answers rubbish."""

import time
from collections.abc import Callable

import pytest

from rocketmq_remoting import Client, Message, MessageQueue
from rocketmq_remoting.errors import ProtocolError, TopicNotFound
from rocketmq_remoting.pulls.lookup import _places

TopicMaker = Callable[..., list[MessageQueue]]


@pytest.mark.rocketmq
def test_places_of_messages_with_a_word_among_their_keys_are_found(client: Client, new_topic: TopicMaker) -> None:
    first, second = new_topic(queues=2)
    for queue, keys in ((first, "order-1"), (second, "order-2"), (second, "order-2 order-1"), (first, "")):
        client.send(queue, Message(b"x", keys=keys))
    client.barrier(first.broker)
    deadline = time.monotonic() + 60
    while sorted(client.lookup.find(first.topic, "order-1")) != [(first, 0), (second, 1)]:
        assert time.monotonic() < deadline
    assert client.lookup.find(first.topic, "order-3") == []
    assert len(client.lookup.find(first.topic, "order-1", most=1)) == 1
    in_a_minute_ms = time.time_ns() // 1_000_000 + 60_000
    assert client.lookup.find(first.topic, "order-1", since_ms=in_a_minute_ms) == []
    with pytest.raises(TopicNotFound):
        client.lookup.find("nobody-has-it", "order-1")


def test_an_answer_that_is_cut_short_or_goes_nowhere_is_told() -> None:
    with pytest.raises(ProtocolError, match="cut short"):
        list(_places("t", "b", bytes(10)))
    with pytest.raises(ProtocolError, match="of 0 bytes"):
        list(_places("t", "b", bytes(100)))
