"""A reset that a broker tells to a pull that reads messages again reaches the task."""

from types import SimpleNamespace
from typing import Any

import pytest

from rocketconnect_sdk.sink import QueuePosition
from rocketmq_remoting.model import MessageQueue
from services.executor.runtime.sink import read_again
from services.executor.runtime.sink.reader import SinkReader

QUEUE = MessageQueue("t", "b", 0)


class Stream:
    """Is told of a reset, and then there is nothing more."""

    position = 0
    queue = QUEUE
    reset_to = 3

    def __init__(self, *_: Any, **__: Any) -> None:
        pass

    def __enter__(self) -> "Stream":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def next(self, seconds: float) -> None:
        """See PullStream."""


@pytest.mark.parametrize(("group", "resets"), [("connect-c", {QUEUE: 3}), ("of-somebody-else", {})])
def test_a_reset_that_is_told_while_messages_are_read_again_is_not_lost(
    monkeypatch: pytest.MonkeyPatch, group: str, resets: dict[MessageQueue, int]
) -> None:
    monkeypatch.setattr(read_again, "PullStream", Stream)
    client: Any = SimpleNamespace(max_offset=lambda _: 10, group="connect-c")
    for read in (
        lambda told: read_again.messages(client, QUEUE, [5], told),
        lambda told: read_again.marks_before(client, QUEUE, QueuePosition(0), 5, told),
    ):
        reader: Any = SinkReader.__new__(SinkReader)
        reader._client, reader._group = client, group
        reader._reading = {QUEUE: SimpleNamespace(stream=SimpleNamespace(reset_to=None))}
        with pytest.raises(Exception, match="gives no answer"):
            read(reader.was_reset)
        assert reader.resets == resets
