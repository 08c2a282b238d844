"""Finds messages by RocketMQ's index of keys."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from rocketmq_remoting.errors import ProtocolError
from rocketmq_remoting.model import MessageQueue
from rocketmq_remoting.protocol.codes import RequestCode, ResponseCode
from rocketmq_remoting.protocol.requests import Request, check

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rocketmq_remoting.protocol.frame import Frame
    from rocketmq_remoting.routes import Routes

# The size of a stored message, the number of its queue and its offset there: see protocol.stored.
_PLACE = struct.Struct(">i8xi4xq")
_PRECISION_MS = 1_000
_END_OF_TIME_MS = (1 << 63) - 1


class Lookup:
    """Where messages with some key are. Safe for concurrent use."""

    def __init__(self, routes: Routes, timeout: float) -> None:
        self._routes = routes
        self._timeout = timeout

    def find(self, topic: str, key: str, *, since_ms: int = 0, most: int = 64) -> list[tuple[MessageQueue, int]]:
        """Return where messages are that have this word among their keys, by the brokers' index, each once, in no order.

        Other messages may be among them, as the index has hashes: look at the keys of what is there. Messages of batch topics,
        and what is not indexed yet or no longer, are not found.

        Args:
            topic: its name.
            key: one word; `Message.keys` separates words by spaces.
            since_ms: only what was stored at or after this time, in milliseconds since 1970; what is up to a second older may
                be among it.
            most: how many of each broker at most, the newest; a broker has its own limit (64 by default).

        Raises:
            TopicNotFound: no broker has announced it.
        """
        fields = {
            "topic": topic,
            "key": key,
            "maxNum": str(most),
            # The index has whole seconds since its file began.
            "beginTimestamp": str(max(0, since_ms - _PRECISION_MS)),
            "endTimestamp": str(_END_OF_TIME_MS),
        }
        what = f"messages of topic {topic} by key"
        brokers = sorted({queue.broker for queue in self._routes.topic(topic).queues})

        def read(broker: str, frame: Frame) -> list[tuple[MessageQueue, int]]:
            return [] if frame.code == ResponseCode.QUERY_NOT_FOUND else list(_places(topic, broker, check(frame, what).body))

        asked = [
            self._routes.submit(
                broker,
                Request(RequestCode.QUERY_MESSAGE, fields),
                lambda frame, broker=broker: read(broker, frame),  # type: ignore[misc]  # mypy takes the default for a parameter
                timeout=self._timeout,
                what=what,
            )
            for broker in brokers
        ]
        # A key that stands twice among those of a message is twice in the index.
        return list(dict.fromkeys(place for pending in asked for place in pending.result()))


def _places(topic: str, broker: str, body: bytes) -> Iterator[tuple[MessageQueue, int]]:
    at = 0
    while at < len(body):
        try:
            size, queue_id, offset = _PLACE.unpack_from(body, at)
        except struct.error as error:
            msg = f"broker {broker} answers with stored messages that are cut short: {error}"
            raise ProtocolError(msg) from error
        if size < _PLACE.size:
            msg = f"broker {broker} answers with a stored message of {size} bytes"
            raise ProtocolError(msg)
        yield MessageQueue(topic, broker, queue_id), offset
        at += size
