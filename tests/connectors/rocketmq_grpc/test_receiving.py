"""What comes from servers that do not keep to what they were asked for."""

import threading
from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest

from connectors.rocketmq_grpc.client import _target
from connectors.rocketmq_grpc.receiving import Inbox, Place, Wanted
from connectors.rocketmq_grpc.rocketmq import messaging_v2_pb2 as pb
from rocketconnect_sdk.errors import SystemAway

PLACE = Place("orders", "broker", (("127.0.0.1", 8081),))


class _Answers:
    """A stream without an end, until it is cancelled."""

    def __init__(self, cancelled: threading.Event, given: list[int]) -> None:
        self._cancelled = cancelled
        self._given = given

    def __iter__(self) -> Iterator[pb.ReceiveMessageResponse]:
        for number in count():
            if self._cancelled.is_set() or number > 10_000:
                return
            self._given.append(number)
            yield pb.ReceiveMessageResponse(message=pb.Message(body=b"x"))

    def cancel(self) -> None:
        self._cancelled.set()


class _Endless:
    """A client whose server gives messages without an end."""

    place = "there"

    def __init__(self) -> None:
        self.cancelled = threading.Event()
        self.given: list[int] = []

    def resource(self, name: str) -> pb.Resource:
        return pb.Resource(name=name)

    def receive(self, endpoint: object, request: pb.ReceiveMessageRequest, seconds: float) -> _Answers:
        del endpoint, request, seconds
        return _Answers(self.cancelled, self.given)


def test_few_more_messages_are_held_than_were_asked_for_whatever_a_server_gives() -> None:
    client: Any = _Endless()
    inbox = Inbox(client, Wanted(pb.Resource(name="g"), pb.FilterExpression(), 60.0, 10), [PLACE])
    inbox.start()
    try:
        assert client.cancelled.wait(10)
        assert len(client.given) <= 4_097
        assert len(inbox.take(10_000, 1 << 20, 1.0)) == 4_096
    finally:
        inbox.end()


class _Defective(_Endless):
    def receive(self, endpoint: object, request: pb.ReceiveMessageRequest, seconds: float) -> _Answers:
        del endpoint, request, seconds
        msg = "a defect"
        raise ValueError(msg)


def test_a_defect_in_a_thread_that_receives_ends_the_task_and_does_not_leave_it_waiting_for_good() -> None:
    client: Any = _Defective()
    inbox = Inbox(client, Wanted(pb.Resource(name="g"), pb.FilterExpression(), 60.0, 10), [PLACE])
    inbox.start()
    try:
        with pytest.raises(ValueError, match="a defect"):
            inbox.take(1, 1 << 20, 10.0)
    finally:
        inbox.end()


@pytest.mark.parametrize("host", ["a\0b", "x" * 300, "é" * 64 + ".example"])
def test_a_name_that_a_server_announces_and_that_can_be_none_is_told(host: str) -> None:
    with pytest.raises(SystemAway, match="has no address"):
        _target(((host, 8081),), "there")
