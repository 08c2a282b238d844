"""A message that was received."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from zlib import crc32

from rocketmq_remoting.message import IPV6_BORN_FLAG, IPV6_STORE_FLAG
from rocketmq_remoting.protocol.compression import COMPRESSED_FLAG
from rocketmq_remoting.protocol.stored import INNER_BATCH_FLAG, NEED_UNWRAP_FLAG

if TYPE_CHECKING:
    from rocketmq_native.library import Library


class Unreadable(Exception):
    """A message that the library can't give as it was sent; the text says why.

    Attributes:
        goes_back: brokers take it back for the group. They take no unit of a batch topic.
    """

    def __init__(self, message: str, *, goes_back: bool) -> None:
        super().__init__(message)
        self.goes_back = goes_back


class _Message:
    """A message of the library, which is there while it is handled."""

    def __init__(self, native: Library, handle: int) -> None:
        self.native = native
        self.handle: int | None = handle

    def text(self, function: str, *arguments: bytes) -> str:
        if self.handle is None:
            msg = "the handler has returned, and the library has the message no more: ask for its properties within the handler"
            raise RuntimeError(msg)
        return self.native.text(getattr(self.native, function)(self.handle, *arguments)).decode(errors="replace")


@dataclass(frozen=True, slots=True)
class Received:
    """A message as a consumer gets it.

    Attributes:
        topic: that it was sent to; of one that comes again, too.
        queue_id: the number of its queue; the library does not tell the broker.
        queue_offset: its offset there.
        body: the payload, unpacked.
        tags: its tag, or an empty string.
        keys: its keys, or an empty string.
        message_id: its id.
        reconsume_times: how often the group has sent it back.
        born_timestamp_ms: when the producer made it, milliseconds since 1970.
        store_timestamp_ms: when the broker stored it.
    """

    topic: str
    queue_id: int
    queue_offset: int
    body: bytes
    tags: str
    keys: str
    message_id: str
    reconsume_times: int
    born_timestamp_ms: int
    store_timestamp_ms: int
    _message: _Message

    def property(self, name: str) -> str:
        """Return a property, or an empty string; within the handler alone. The library does not tell which ones there are."""
        return self._message.text("GetMessageProperty", name.encode())

    def forget(self) -> None:
        """The library takes the message back."""
        self._message.handle = None


def received(native: Library, handle: int) -> Received:
    """Return a message of the library.

    Raises:
        Unreadable: its body is not the one that was sent.
    """
    message = _Message(native, handle)
    return Received(
        topic=message.text("GetMessageTopic"),
        queue_id=native.GetMessageQueueId(handle),
        queue_offset=native.GetMessageQueueOffset(handle),
        body=_body(native, handle),
        tags=message.text("GetMessageTags"),
        keys=message.text("GetMessageKeys"),
        message_id=message.text("GetMessageId"),
        reconsume_times=native.GetMessageReconsumeTimes(handle),
        born_timestamp_ms=native.GetMessageBornTimestamp(handle),
        store_timestamp_ms=native.GetMessageStoreTimestamp(handle),
        _message=message,
    )


def place(native: Library, handle: int) -> str:
    """What a message is called in logs."""
    topic = native.text(native.GetMessageTopic(handle)).decode(errors="replace")
    return f"{topic}, queue {native.GetMessageQueueId(handle)}, offset {native.GetMessageQueueOffset(handle)}"


def _body(native: Library, handle: int) -> bytes:
    flags, body = native.flags(handle), native.text(native.GetMessageBody(handle))
    if flags & (NEED_UNWRAP_FLAG | INNER_BATCH_FLAG):
        msg = "it is a unit of a batch topic, which librocketmq does not know: read the topic with rocketmq_remoting"
        raise Unreadable(msg, goes_back=False)
    if flags & (IPV6_BORN_FLAG | IPV6_STORE_FLAG):
        msg = "it comes from or is on a machine with an address of IPv6, at which librocketmq tears it"
        raise Unreadable(msg, goes_back=True)
    # What was compressed was checked by zlib.
    if not flags & COMPRESSED_FLAG and crc32(body) & 0x7FFFFFFF != native.checksum(handle):
        msg = "its body is not the one that the broker has a checksum of"
        raise Unreadable(msg, goes_back=True)
    return body
