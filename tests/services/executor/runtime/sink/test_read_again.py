"""Messages read once more, on a real broker."""

from collections.abc import Callable, Iterable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from rocketconnect_sdk.sink import QueuePosition, SourceMark
from rocketmq_remoting.client import Client
from rocketmq_remoting.model import Message, MessageQueue
from services.executor.runtime.rocketmq.source_marks import Stamper
from services.executor.runtime.sink import read_again
from services.executor.runtime.sink.read_again import marks_before, messages
from services.executor.runtime.sink.reader import SinkReader
from services.executor.runtime.task.group_resets import GroupResets
from tests.shared_rocketmq import RocketMQ

pytestmark = pytest.mark.rocketmq
COUNT = 5_000


@pytest.fixture(scope="module")
def client(rocketmq: RocketMQ) -> Iterator[Client]:
    with Client(rocketmq.name_server, timeout=10) as client:
        yield client


@pytest.fixture(scope="module")
def queue(client: Client) -> MessageQueue:
    """Each body is its offset; every second message is of a connector, all of it from the same partition."""
    client.create_topic("read-again", queues=1)
    (queue,) = client.queues("read-again")
    stamps = Stamper("c", 2, "p", 1).stamp([(number,) for number in range(COUNT)])
    places = [stamp.decode().removeprefix("RCPOS\x01").removesuffix("\x02") for stamp in stamps]
    messages = [
        Message(str(number).encode(), properties={"RCPOS": places[number]} if number % 2 else {}) for number in range(COUNT)
    ]
    client.send_batch(queue, messages, 20)
    client.barrier(queue.broker)
    return queue


def bodies(client: Client, queue: MessageQueue, offsets: Iterable[int]) -> dict[int, bytes]:
    return {offset: body for offset, (body, _) in messages(client, queue, offsets).items()}


def test_messages_that_are_far_apart_and_close_together_are_found(client: Client, queue: MessageQueue) -> None:
    offsets = [COUNT - 1, 0, 1, 2_500, 2_501, 2_900, 4_000]
    assert bodies(client, queue, offsets) == {offset: str(offset).encode() for offset in offsets}
    assert bodies(client, queue, range(100)) == {offset: str(offset).encode() for offset in range(100)}


def test_messages_that_the_queue_does_not_have_are_left_out(client: Client, queue: MessageQueue) -> None:
    assert bodies(client, queue, [3, COUNT + 10]) == {3: b"3"}
    assert bodies(client, queue, [COUNT + 10]) == {}


def test_marks_are_those_of_the_messages_before_an_offset(client: Client, queue: MessageQueue) -> None:
    assert marks_before(client, queue, QueuePosition(0), 100) == {"c/p": SourceMark(2, 1, (99,))}
    assert marks_before(client, queue, QueuePosition(100), 101) == {}
    assert marks_before(client, queue, QueuePosition(100), 100) == {}
    high = QueuePosition(0, 0, {"c/p": SourceMark(2, 1, (4_000,))})
    assert marks_before(client, queue, high, 4_000) == {}
    assert marks_before(client, queue, high, 4_100) == {"c/p": SourceMark(2, 1, (4_099,))}


def test_without_the_messages_there_are_no_marks(client: Client, queue: MessageQueue) -> None:
    assert marks_before(client, queue, QueuePosition(0), COUNT + 1) is None


TOLD = MessageQueue("t", "b", 0)


class Stream:
    """Is told of a reset, and then there is nothing more."""

    position = 0
    queue = TOLD

    def __init__(self, *_: Any, on_reset: Callable[[int], None], **__: Any) -> None:
        on_reset(3)

    def __enter__(self) -> "Stream":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def next(self, seconds: float) -> None:
        """See PullStream."""


@pytest.mark.parametrize(("group", "resets"), [("connect-c", {TOLD: 3}), ("of-somebody-else", {})])
def test_a_reset_that_is_told_while_messages_are_read_again_is_not_lost(
    monkeypatch: pytest.MonkeyPatch, group: str, resets: dict[MessageQueue, int]
) -> None:
    monkeypatch.setattr(read_again, "PullStream", Stream)
    client: Any = SimpleNamespace(max_offset=lambda _: 10, group="connect-c")
    for read in (
        lambda told: messages(client, TOLD, [5], told),
        lambda told: marks_before(client, TOLD, QueuePosition(0), 5, told),
    ):
        reader: Any = SinkReader.__new__(SinkReader)
        reader._client, reader._group = client, group
        reader._reading, reader._resets = {TOLD: None}, GroupResets()
        with pytest.raises(Exception, match="gives no answer"):
            read(reader.was_reset)
        assert reader._resets.take() == resets
