"""Messages as the protocol has them, and as our topics do. Pure."""

import zlib
from collections.abc import Mapping
from dataclasses import dataclass

from google.protobuf.timestamp_pb2 import Timestamp

from connectors.rocketmq import messages
from connectors.rocketmq_grpc.rocketmq import messaging_v2_pb2 as pb
from rocketconnect_sdk.queues.values import rejected, too_large

KEYS, TAGS, UNIQUE, GROUP = "KEYS", "TAGS", "UNIQ_KEY", "__SHARDINGKEY"
"""What brokers call the keys, the tag, the id and the message group."""
_SEPARATOR = " "
_ANY_FORM = 15 + 32
"""For zlib: a body of zlib or of gzip, whichever it is."""
_OF_SERVERS = frozenset(
    {
        "1ST_POP_TIME",
        "ARRIVE_TIME",
        "BORN_TIMESTAMP",
        "BUYER_ID",
        "CORRECTION_FLAG",
        "CORRELATION_ID",
        "DLQ_ORIGIN_MESSAGE_ID",
        "DLQ_ORIGIN_TOPIC",
        "DUP_INFO",
        "EXTEND_UNIQ_INFO",
        "INSTANCE_ID",
        "MQ2_FLAG",
        "MSG_TYPE",
        "ORIGIN_MESSAGE_ID",
        "POP_CK",
        "POP_CK_OFFSET",
        "PUSH_REPLY_TIME",
        "REPLY_TO_CLIENT",
        "RETRY_TOPIC",
        "TIMER_DEL_UNIQKEY",
        "TRANSFER_FLAG",
        "TRAN_PREPARED_QUEUE_OFFSET",
        "TTL",
        "__BORNHOST",
        "__CRC32#",
    }
)
"""Properties that RocketMQ keeps for itself, beside those that are left out of copies anyway: proxies refuse a message with one."""


@dataclass(frozen=True, slots=True)
class Copied:
    """A message of a cluster as ours.

    Attributes:
        value: Its body; a Rejected, where that can't be read.
        properties: Its properties.
        key: What keeps its order: its message group, or else its keys; None: it has neither.
        timestamp_ms: When the cluster stored it.
        size: Of its body, as it is here.
    """

    value: object
    properties: Mapping[str, str]
    key: str | None
    timestamp_ms: int
    size: int


def copied(message: pb.Message, broker: str, cluster: str, most_bytes: int) -> Copied:
    """A message that was received.

    Args:
        message: The message.
        broker: The name of its broker.
        cluster: The name of its cluster.
        most_bytes: So many its body may have.
    """
    system = message.system_properties
    own = dict(message.user_properties)
    told = {TAGS: system.tag, KEYS: _SEPARATOR.join(system.keys), UNIQUE: system.message_id, GROUP: system.message_group}
    own |= {name: text for name, text in told.items() if text}
    stored_ms = milliseconds(system.store_timestamp)
    origin = {
        messages.TOPIC: message.topic.name,
        messages.QUEUE: f"{broker}/{system.queue_id}",
        messages.OFFSET: str(system.queue_offset),
        messages.MESSAGE_ID: system.message_id,
        messages.STORE_TIME: str(stored_ms),
        messages.BORN_TIME: str(milliseconds(system.born_timestamp)),
        messages.BORN_HOST: system.born_host,
        messages.ATTEMPT: str(system.delivery_attempt),
    }
    value, size = _body(message, most_bytes)
    key = told[GROUP] or told[KEYS] or None
    return Copied(value, messages.copied(own, cluster, origin), key, stored_ms, size)


def was_there(message: pb.Message, cluster: str) -> bool:
    """Whether a message was in a cluster before."""
    return cluster in messages.clusters_of(message.user_properties)


@dataclass(frozen=True, slots=True)
class Sending:
    """What is said of a message beside its body and its properties.

    Attributes:
        topic: Where it goes.
        group: Its message group; empty: it has none.
        deliver_ms: When it is to be delivered; None: at once.
        message_id: The same each time that the same message is sent.
        born_ms: When it was made.
    """

    topic: pb.Resource
    group: str
    deliver_ms: int | None
    message_id: str
    born_ms: int

    @property
    def type(self) -> pb.MessageType.ValueType:
        """The type of the message."""
        return pb.DELAY if self.deliver_ms is not None else pb.FIFO if self.group else pb.NORMAL


def sent(body: bytes, properties: Mapping[str, str], sending: Sending) -> pb.Message:
    """A message that is to be sent.

    Raises:
        ValueError: a text of it is none in UTF-8.
    """
    system = pb.SystemProperties(
        keys=filter(None, properties.get(KEYS, "").split(_SEPARATOR)),
        message_id=properties.get(UNIQUE) or sending.message_id,
        body_encoding=pb.IDENTITY,
        message_type=sending.type,
        born_timestamp=_timestamp(sending.born_ms),
    )
    if tag := properties.get(TAGS):
        system.tag = tag
    if sending.deliver_ms is not None:
        system.delivery_timestamp.CopyFrom(_timestamp(sending.deliver_ms))
    elif sending.group:
        system.message_group = sending.group
    left_out = _OF_SERVERS | {KEYS, TAGS, UNIQUE, GROUP}
    own = {name: text for name, text in properties.items() if name not in left_out}
    return pb.Message(topic=sending.topic, user_properties=own, system_properties=system, body=body)


def type_name(number: int) -> str:
    """What people call a type of messages."""
    return pb.MessageType.Name(pb.MessageType.ValueType(number)) if number in pb.MessageType.values() else str(number)


def milliseconds(time: Timestamp) -> int:
    """A time in milliseconds since 1970."""
    return time.seconds * 1000 + time.nanos // 1_000_000


def _timestamp(time_ms: int) -> Timestamp:
    return Timestamp(seconds=time_ms // 1000, nanos=time_ms % 1000 * 1_000_000)


def _body(message: pb.Message, most_bytes: int) -> tuple[object, int]:
    body = message.body
    if message.system_properties.body_encoding == pb.GZIP:
        unpacking = zlib.decompressobj(_ANY_FORM)
        try:
            body = unpacking.decompress(message.body, most_bytes + 1)
        except zlib.error as error:
            why = f"its body is compressed, and not in zlib's form: {error}"
            return rejected(message.body, "CorruptBody", why), len(message.body)
        if len(body) > most_bytes:
            why = f"it is compressed, and has more than the {most_bytes:,} bytes that a message may have"
            return rejected(message.body, "RecordTooLarge", why), len(message.body)
        if not unpacking.eof:
            return rejected(message.body, "CorruptBody", "its body is compressed, and ends too early"), len(message.body)
    if len(body) > most_bytes:
        length = len(body)
        return rejected(body, *too_large(length, most_bytes)), length
    return body, len(body)
