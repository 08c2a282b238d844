"""Sends to one queue: written now, or tried again until the broker has confirmed."""

from __future__ import annotations

import random
import time
from typing import TYPE_CHECKING

from rocketmq_remoting.batch import encode_batch
from rocketmq_remoting.connections.clock import boot_seconds
from rocketmq_remoting.errors import InvalidMessage, InvalidRequest, MessageTooLarge, OutcomeUnknown, RequestRejected
from rocketmq_remoting.protocol.codes import ResponseCode
from rocketmq_remoting.protocol.properties import UniqueKeys, message_properties
from rocketmq_remoting.protocol.requests import read_receipt, send_batch_request, send_request
from rocketmq_remoting.topics import check_topic_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rocketmq_remoting.batch import EncodedBatch
    from rocketmq_remoting.connections.network import Network
    from rocketmq_remoting.connections.pending import Pending
    from rocketmq_remoting.model import Message, MessageQueue, SendReceipt
    from rocketmq_remoting.protocol.frame import Frame
    from rocketmq_remoting.protocol.requests import Request
    from rocketmq_remoting.routes import Routes

_FIRST_PAUSE = 0.02
_LONGEST_PAUSE = 1.0
_MAX_REQUEST_BYTES = (16 << 20) - (64 << 10)
"""Brokers end a connection at a frame beyond 16 MiB (com.rocketmq.remoting.frameMaxLength), without an answer; a head fits, too."""


class Sender:
    """The sending half of the client. Safe for concurrent use."""

    def __init__(self, network: Network, routes: Routes, group: str) -> None:
        self._network = network
        self._routes = routes
        self._group = group
        self._unique_keys = UniqueKeys()

    def message(self, queue: MessageQueue, message: Message) -> Request:
        """Return the request that sends one message.

        Raises:
            InvalidMessage, MessageTooLarge, InvalidRequest: no broker would take it.
        """
        check_topic_name(queue.topic)
        if not message.body:
            return self._empty(queue, message)
        request = send_request(queue, message, self._group, self._unique_keys.next())
        _check_size(len(request.body))
        return request

    def _empty(self, queue: MessageQueue, message: Message) -> Request:
        """Brokers fail at a single message without a body (a NullPointerException, as of 5.5), and take a batch with it."""
        if message.delay_level or message.deliver_at_ms:
            msg = "a delayed message without a body: brokers take an empty body within a batch alone, where nothing is delayed"
            raise InvalidMessage(msg)
        key = self._unique_keys.next()
        return send_batch_request(queue, encode_batch([b""], message_properties(message, key)), self._group, key)

    def batch(self, queue: MessageQueue, batch: EncodedBatch) -> Request:
        """Return the request that sends a batch.

        Raises:
            MessageTooLarge, InvalidRequest: no broker would take it.
        """
        check_topic_name(queue.topic)
        _check_size(len(batch.payload))
        return send_batch_request(queue, batch, self._group, self._unique_keys.next())

    def submit(
        self, queue: MessageQueue, request: Request, count: int, timeout: float, not_after: float | None
    ) -> Pending[SendReceipt]:
        """Write a request once and return its future receipt.

        Raises:
            RequestRejected: it was not written.
        """

        def read(frame: Frame) -> SendReceipt:
            if frame.code == ResponseCode.TOPIC_NOT_EXIST:
                self._routes.forget_topic(queue.topic)
            return read_receipt(frame, queue, count)

        what = f"send to {queue.topic}/{queue.broker}/{queue.queue_id}"
        return self._routes.submit(queue.broker, request, read, timeout=timeout, what=what, not_after=not_after)

    def confirmed(
        self,
        queue: MessageQueue,
        request: Request,
        count: int,
        timeout: float,
        not_after: float | None,
        *,
        retry: bool,
    ) -> SendReceipt:
        """Write a request until it is confirmed; after an unknown outcome again only with `retry`.

        Raises:
            RocketMQError: what the last attempt met.
        """
        # Invariant 4: always the same queue. Invariant 8: pauses grow to a second, and the timeout ends them.
        deadline = boot_seconds() + timeout
        last_start = deadline if not_after is None else min(deadline, not_after)
        pause = _FIRST_PAUSE
        while True:
            try:
                return self.submit(queue, request, count, deadline - boot_seconds(), not_after).result()
            except (RequestRejected, OutcomeUnknown) as error:
                may_retry = retry or isinstance(error, RequestRejected)
                wait = pause * random.uniform(0.5, 1.0)  # noqa: S311 (spreads the retries of many clients)
                if not may_retry or boot_seconds() + wait >= last_start:
                    raise
            time.sleep(wait)
            pause = min(pause * 2, _LONGEST_PAUSE)


def _check_size(size: int) -> None:
    if size > _MAX_REQUEST_BYTES:
        msg = (
            f"{size} bytes in one request: RocketMQ ends the connection at requests of 16 MiB, whatever maxMessageSize says; send "
            "less at once, or keep large values elsewhere and send where they are"
        )
        raise MessageTooLarge(msg)


def encode_messages(messages: Sequence[Message]) -> EncodedBatch:
    """Encode message objects for one send request.

    Raises:
        InvalidMessage: as `encode_batch`.
        InvalidRequest: they are to be compressed differently or delayed, which RocketMQ can't do within a batch.
    """
    compressions = {message.compression for message in messages}
    if len(compressions) > 1:
        msg = "the messages of one batch are compressed alike or not at all: send them apart"
        raise InvalidRequest(msg)
    if any(message.delay_level or message.deliver_at_ms for message in messages):
        msg = "delayed messages can't be sent in a batch: send them one by one"
        raise InvalidRequest(msg)
    return encode_batch(
        [message.body for message in messages],
        [message_properties(message) for message in messages],
        compression=compressions.pop() if compressions else None,
    )
