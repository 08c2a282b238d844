"""Sends, one message each."""

from __future__ import annotations

import os
import threading
import uuid
from contextlib import contextmanager
from ctypes import byref
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Self

from rocketmq_native.library import LOGS, OK, SELECTOR, WARNINGS, SendResult, addresses, library, text_of_c
from rocketmq_remoting.errors import ClientClosed, InvalidMessage, InvalidRequest, MessageTooLarge, OutcomeUnknown
from rocketmq_remoting.protocol.properties import decode_properties, message_properties

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import TracebackType

    from rocketmq_native.library import Library
    from rocketmq_remoting.model import Message

GROUP = "rocketmq_native"
MAX_MESSAGE_BYTES = 4 << 20
_CHANNEL = b"rocketconnect"


@dataclass(frozen=True, slots=True)
class Sent:
    """The broker's confirmation.

    Attributes:
        message_id: the id that the library has given the message (its property UNIQ_KEY).
        queue_offset: its offset in its queue; which queue that is the library does not tell.
    """

    message_id: str
    queue_offset: int


class Producer:
    """Sends messages by librocketmq. Started when it is made.

    Safe for concurrent use: sends of several threads take turns, and several producers send side by side.

    It never sends a message twice by itself: the library is told to try once. Trying again it would take another queue.

    Args:
        name_servers: `host:port` addresses; a string separates them by semicolons.
        group: the producer group.
        access_key: for brokers with ACL; needs `secret_key`.
        secret_key: its secret.
        timeout: how long an answer may take, seconds.
        max_message_bytes: a body may have so many; what brokers take (maxMessageSize).

    Raises:
        Unsupported: the library is not there, or can't be used.
        InvalidRequest: an argument can't be used.
        OutcomeUnknown: it does not start.
    """

    def __init__(
        self,
        name_servers: Sequence[str] | str,
        *,
        group: str = GROUP,
        access_key: str | None = None,
        secret_key: str | None = None,
        timeout: float = 3.0,
        max_message_bytes: int = MAX_MESSAGE_BYTES,
    ) -> None:
        self._library = library()
        self._most = max_message_bytes
        self._turns = count(int.from_bytes(os.urandom(2)))
        # The library fails a send that meets another one of its connection. It is of this producer alone.
        self._sending = threading.Lock()
        self._closed = False
        servers, name = addresses(name_servers), text_of_c("the group", group)
        keys = credentials(access_key, secret_key)
        self._handle = self._library.CreateProducer(name)
        # It is never destroyed: that ends the process (a segmentation fault). What is left of one that was shut down is its memory.
        self._library.SetProducerNameServerAddress(self._handle, servers)
        # Those of one name share their connections, whatever name servers each has.
        self._library.SetProducerInstanceName(self._handle, instance_name())
        self._library.SetProducerSendMsgTimeout(self._handle, max(1, round(timeout * 1000)))
        self._library.SetProducerMaxMessageSize(self._handle, max_message_bytes)
        self._library.SetProducerLogLevel(self._handle, WARNINGS)
        if keys is not None:
            self._library.SetProducerSessionCredentials(self._handle, *keys)
        start(self._library, "StartProducer", self._handle)

    def close(self) -> None:
        """End it, when the send under way is over; later ones raise `ClientClosed`."""
        with self._sending:
            if not self._closed:
                self._closed = True
                self._library.ShutdownProducer(self._handle)

    def __enter__(self) -> Self:
        """Return the producer; it is closed at the end of the block."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        """Close it."""
        self.close()

    def send(self, topic: str, message: Message, *, sharding_key: str | None = None) -> Sent:
        """Send one message and wait until the broker confirms it.

        Args:
            topic: where to.
            message: what. Its `compression` has to be None: the library compresses bodies of 4 KiB and more (zlib) by itself.
            sharding_key: messages with the same one go to the same queue, in the order of the sends of one thread, while the topic
                keeps its queues. Where it is on one broker, it is the queue that Java's SelectMessageQueueByHash takes. Without
                one, queues take turns.

        Raises:
            OutcomeUnknown: it is not confirmed: it is there once, or not at all. Why the library does not say, also of a topic
                that is not there, or of one where that is forbidden; its log does.
            InvalidMessage, MessageTooLarge, InvalidRequest: it can't be sent as it is; nothing was sent.
            ClientClosed: the producer was closed.
        """
        self._check(message)
        number = next(self._turns) if sharding_key is None else abs(java_hash(sharding_key))
        result = SendResult()
        with self._made(topic, message) as made, self._sending:
            if self._closed:
                msg = "the producer was closed"
                raise ClientClosed(msg)
            # One more, as it takes no empty argument.
            status = self._library.SendMessageOrderly(self._handle, made, _CHOOSE, number + 1, 0, byref(result))
            fault = "" if status == OK else self._library.fault()
        if status != OK:
            msg = f"the message to {topic} is not confirmed; librocketmq says {fault!r}, and why in its log, {LOGS}"
            raise OutcomeUnknown(msg)
        return Sent(result.message_id.decode(errors="replace"), result.offset)

    def _check(self, message: Message) -> None:
        if not message.body:
            msg = "librocketmq sends no message without a body: send it with rocketmq_remoting"
            raise InvalidMessage(msg)
        if len(message.body) > self._most:
            msg = f"the body has {len(message.body)} bytes, and max_message_bytes is {self._most}"
            raise MessageTooLarge(msg)
        if message.compression is not None:
            msg = "librocketmq compresses by itself, and with zlib alone: leave compression out, or send it with rocketmq_remoting"
            raise InvalidRequest(msg)

    @contextmanager
    def _made(self, topic: str, message: Message) -> Iterator[int]:
        """The message as the library has it, for as long as the block lasts."""
        # Encoded first, as that refuses what RocketMQ would tear.
        encoded = message_properties(message)
        properties = [_property(name, value) for name, value in decode_properties(encoded).items()]
        made = self._library.CreateMessage(text_of_c("the topic", topic))
        try:
            self._library.SetByteMessageBody(made, message.body, len(message.body))
            for name, value in properties:
                self._library.SetMessageProperty(made, name, value)
            yield made
        finally:
            self._library.DestroyMessage(made)


def _choose(queues: int, _message: int, number: int) -> int:
    return (number - 1) % queues


_CHOOSE = SELECTOR(_choose)


def java_hash(text: str) -> int:
    """What String.hashCode of Java makes of a text."""
    found = 0
    units = text.encode("utf-16-be")
    for at in range(0, len(units), 2):
        found = (31 * found + int.from_bytes(units[at : at + 2])) & 0xFFFFFFFF
    return found - (1 << 32) if found >= 1 << 31 else found


def credentials(access_key: str | None, secret_key: str | None) -> tuple[bytes, bytes, bytes] | None:
    """A user as the library takes it; None: there is none."""
    if (access_key is None) != (secret_key is None):
        msg = "access_key and secret_key belong together: give both or none"
        raise InvalidRequest(msg)
    if access_key is None or secret_key is None:
        return None
    if "\0" in secret_key:
        msg = "secret_key has a zero byte, at which librocketmq would cut it"
        raise InvalidRequest(msg)
    return text_of_c("access_key", access_key), secret_key.encode(), _CHANNEL


def instance_name() -> bytes:
    """A name that no other one of this machine has."""
    return f"{os.getpid()}-{uuid.uuid4().hex[:8]}".encode()


def start(native: Library, function: str, handle: int) -> None:
    """Starts a producer or a consumer.

    Raises:
        OutcomeUnknown: it does not start.
    """
    if getattr(native, function)(handle) != OK:
        msg = f"librocketmq does not start: {native.fault()}; its log is {LOGS}"
        raise OutcomeUnknown(msg)


def _property(name: str, value: str) -> tuple[bytes, bytes]:
    return text_of_c("the property", name), text_of_c(f"the property {name}:", value)
