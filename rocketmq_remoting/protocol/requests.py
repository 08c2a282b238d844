"""Builds requests and reads their answers: one pair of pure functions for each call."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rocketmq_remoting.batch import DecodedBatch
from rocketmq_remoting.errors import NotConfirmed, ProtocolError
from rocketmq_remoting.model import PullStatus, SendReceipt, SqlFilter, TagFilter
from rocketmq_remoting.protocol.codes import RequestCode, ResponseCode
from rocketmq_remoting.protocol.compression import COMPRESSED_FLAG, compress
from rocketmq_remoting.protocol.failures import failure
from rocketmq_remoting.protocol.properties import TAGS, UNIQUE_KEY, decode_properties, message_properties
from rocketmq_remoting.protocol.stored import decode_stored
from rocketmq_remoting.pulls.pulled import PullResult

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rocketmq_remoting.batch import EncodedBatch
    from rocketmq_remoting.model import Message, MessageQueue, TopicConfig
    from rocketmq_remoting.protocol.frame import Frame

_SUSPEND = 1 << 1
_SUBSCRIPTION = 1 << 2
# A name that no broker has: a topic is made on purpose with `create_topic`, never by a send to a deleted one.
_DEFAULT_TOPIC = "none"


@dataclass(frozen=True, slots=True)
class Request:
    """A request without its number."""

    code: RequestCode
    fields: Mapping[str, str]
    body: bytes = b""


def check(frame: Frame, what: str) -> Frame:
    """Return the answer if it is a success.

    Raises:
        RocketMQError: the one that fits the answer's code.
    """
    if frame.code != ResponseCode.SUCCESS:
        raise failure(frame, what)
    return frame


def number(frame: Frame, name: str) -> int:
    """Return a field of an answer as a number.

    Raises:
        ProtocolError: it is missing or no number.
    """
    try:
        return int(frame.fields[name])
    except (KeyError, ValueError):
        msg = f"the answer's field {name} is {frame.fields.get(name)!r}, not a number"
        raise ProtocolError(msg) from None


def send_request(queue: MessageQueue, message: Message, group: str, unique_key: str) -> Request:
    """Build the request that sends one message.

    Raises:
        InvalidMessage: as `encode_properties`.
    """
    body, sys_flag = message.body, 0
    if message.compression is not None:
        packed = compress(body, message.compression)
        if len(packed) < len(body):
            body, sys_flag = packed, COMPRESSED_FLAG | message.compression.value
    properties = message_properties(message, unique_key).decode()
    return Request(RequestCode.SEND_MESSAGE_V2, _send_fields(queue, group, sys_flag, properties, is_batch=False), body)


def send_batch_request(queue: MessageQueue, batch: EncodedBatch, group: str, unique_key: str) -> Request:
    """Build the request that sends a batch; with its unique key, a batch topic stores it as one unit."""
    properties = f"{UNIQUE_KEY}\x01{unique_key}\x02"
    fields = _send_fields(queue, group, batch.sys_flag, properties, is_batch=True)
    return Request(RequestCode.SEND_BATCH_MESSAGE, fields, batch.payload)


def _send_fields(queue: MessageQueue, group: str, sys_flag: int, properties: str, *, is_batch: bool) -> dict[str, str]:
    return {
        "a": group,
        "b": queue.topic,
        "c": _DEFAULT_TOPIC,
        "d": "8",
        "e": str(queue.queue_id),
        "f": str(sys_flag),
        "g": str(time.time_ns() // 1_000_000),
        "h": "0",
        "i": properties,
        "j": "0",
        "k": "false",
        "m": "true" if is_batch else "false",
        "n": queue.broker,
    }


_UNCONFIRMED = {ResponseCode.FLUSH_DISK_TIMEOUT, ResponseCode.FLUSH_SLAVE_TIMEOUT, ResponseCode.SLAVE_NOT_AVAILABLE}


def read_receipt(frame: Frame, queue: MessageQueue, count: int) -> SendReceipt:
    """Read the answer to a send.

    Raises:
        NotConfirmed: stored, but flush or replication did not come in time.
        RocketMQError: the one that fits the answer's code.
    """
    if frame.code != ResponseCode.SUCCESS and frame.code not in _UNCONFIRMED:
        raise failure(frame, f"send to {_name(queue)}")
    receipt = SendReceipt(
        queue=queue._replace(queue_id=number(frame, "queueId")),
        queue_offset=number(frame, "queueOffset"),
        count=count,
        raw_message_ids=frame.fields.get("msgId", ""),
    )
    if frame.code != ResponseCode.SUCCESS:
        status = ResponseCode(frame.code).name
        msg = (
            f"send to {_name(queue)}: stored at offset {receipt.queue_offset} but not confirmed ({status}): check the "
            "broker's disk (flush) or its replicas; the messages are there unless the broker loses them"
        )
        raise NotConfirmed(
            msg,
            code=frame.code,
            status=status,
            receipt=receipt,
        )
    return receipt


def pull_request(
    queue: MessageQueue,
    offset: int,
    *,
    group: str,
    max_messages: int,
    max_bytes: int,
    suspend: float,
    message_filter: TagFilter | SqlFilter | None,
) -> Request:
    """Build a pull; `suspend` is how long the broker may hold it while there is nothing new, in seconds."""
    flags = _SUBSCRIPTION
    if suspend > 0:
        flags |= _SUSPEND
    expression, kind = filter_expression(message_filter)
    return Request(
        RequestCode.PULL_MESSAGE,
        {
            "consumerGroup": group,
            "topic": queue.topic,
            "queueId": str(queue.queue_id),
            "queueOffset": str(offset),
            "maxMsgNums": str(max_messages),
            "sysFlag": str(flags),
            "commitOffset": "0",
            "suspendTimeoutMillis": str(int(suspend * 1000)),
            "subscription": expression,
            "subVersion": "0",
            "expressionType": kind,
            "maxMsgBytes": str(max_bytes),
            "bname": queue.broker,
        },
    )


def filter_expression(message_filter: TagFilter | SqlFilter | None) -> tuple[str, str]:
    """Return a filter's expression and its kind."""
    if isinstance(message_filter, SqlFilter):
        return message_filter.expression, "SQL92"
    if isinstance(message_filter, TagFilter):
        return " || ".join(sorted(message_filter.tags)), "TAG"
    return "*", "TAG"


_PULL_STATUS = {
    ResponseCode.SUCCESS: PullStatus.FOUND,
    ResponseCode.PULL_NOT_FOUND: PullStatus.NO_NEW,
    ResponseCode.PULL_RETRY_IMMEDIATELY: PullStatus.NO_MATCHED,
    ResponseCode.PULL_OFFSET_MOVED: PullStatus.OFFSET_ILLEGAL,
}


def read_pull(
    frame: Frame, queue: MessageQueue, offset: int, message_filter: TagFilter | SqlFilter | None, max_bytes: int
) -> PullResult:
    """Read the answer to a pull: decode its messages and cut off what lies below the offset asked for.

    Compressed bodies become at most `max_bytes` together, or one message: then the result ends before the others.

    Raises:
        RocketMQError: the one that fits the answer's code.
    """
    status = pull_status(frame)
    if status is None:
        raise failure(frame, f"pull from {_name(queue)} at offset {offset}")
    batch = DecodedBatch.empty(queue)
    next_offset = number(frame, "nextBeginOffset")
    if status is PullStatus.FOUND:
        # A pull into the middle of a batch topic's unit brings the whole unit.
        batch = decode_stored(queue, frame.body, end=next_offset, most_unpacked=max_bytes).between(offset)
        if batch.is_cut:
            next_offset = batch.offsets[-1] + 1
        if isinstance(message_filter, TagFilter):
            batch = _matching_tags(batch, message_filter)
    return PullResult(
        status,
        next_offset=next_offset,
        min_offset=number(frame, "minOffset"),
        max_offset=number(frame, "maxOffset"),
        batch=batch,
    )


def pull_status(frame: Frame) -> PullStatus | None:
    """Return how a pull ended, None if it failed."""
    try:
        return _PULL_STATUS.get(ResponseCode(frame.code))
    except ValueError:
        return None


def _matching_tags(batch: DecodedBatch, message_filter: TagFilter) -> DecodedBatch:
    """Drop messages whose tag only has the hash of a wanted one."""
    keep = [decode_properties(raw).get(TAGS) in message_filter.tags for raw in batch.raw_properties]
    return batch if all(keep) else batch.select(keep)


def queue_fields(queue: MessageQueue, **more: str) -> dict[str, str]:
    """Return the fields that name a queue, and more."""
    return {"topic": queue.topic, "queueId": str(queue.queue_id), "bname": queue.broker, **more}


def check_filter_request(client_id: str, group: str, topic: str, message_filter: SqlFilter) -> Request:
    """Build the question whether an expression is right; a pull with a wrong one would bring every message."""
    expression, kind = filter_expression(message_filter)
    subscription = {"topic": topic, "subString": expression, "expressionType": kind, "subVersion": 0}
    body = {"clientId": client_id, "group": group, "subscriptionData": subscription}
    return Request(RequestCode.CHECK_CLIENT_CONFIG, {}, json.dumps(body).encode())


def topic_request(config: TopicConfig, attributes: Mapping[str, str | None]) -> Request:
    """Build the request that creates a topic on a broker or changes it; of the attributes these are set (None: taken away)."""
    fields = {
        "topic": config.topic,
        "defaultTopic": _DEFAULT_TOPIC,
        "readQueueNums": str(config.read_queues),
        "writeQueueNums": str(config.write_queues),
        "perm": str(int(config.permission)),
        "topicFilterType": "SINGLE_TAG",
        "topicSysFlag": str(config.system_flag),
        "order": "true" if config.order else "false",
    }
    if attributes:
        # A broker does not see an empty field, and would not find what was signed.
        fields["attributes"] = ",".join(f"{name}={value}" if value else name for name, value in sorted(_signed(attributes).items()))
    return Request(RequestCode.UPDATE_AND_CREATE_TOPIC, fields)


def group_request(config: Mapping[str, object], attributes: Mapping[str, str | None]) -> Request:
    """Build the request that creates a consumer group on a broker or sets it anew; attributes as `topic_request`."""
    body = {**config, "attributes": _signed(attributes)}
    return Request(RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, {}, json.dumps(body).encode())


def _signed(attributes: Mapping[str, str | None]) -> dict[str, str]:
    return {f"-{name}" if value is None else f"+{name}": value or "" for name, value in attributes.items()}


def create_group_request(group: str) -> Request:
    """Build the request that creates a consumer group on a broker."""
    config = {"groupName": group, "consumeEnable": True, "consumeBroadcastEnable": True, "retryQueueNums": 1}
    return group_request(config, {})


def heartbeat_request(
    client_id: str, producer_groups: list[str], subscriptions: Mapping[str, Mapping[str, tuple[str, str]]]
) -> Request:
    """Build a heartbeat.

    Args:
        client_id: this client.
        producer_groups: groups it sends as.
        subscriptions: for each consumer group its topics, each with filter expression and kind.
    """
    consumers = [
        {
            "groupName": group,
            "consumeType": "CONSUME_ACTIVELY",
            "messageModel": "CLUSTERING",
            "consumeFromWhere": "CONSUME_FROM_FIRST_OFFSET",
            "unitMode": False,
            "subscriptionDataSet": [
                {
                    "topic": topic,
                    "subString": expression,
                    "expressionType": kind,
                    "tagsSet": [],
                    "codeSet": [],
                    "classFilterMode": False,
                    "subVersion": 0,
                }
                for topic, (expression, kind) in sorted(topics.items())
            ],
        }
        for group, topics in sorted(subscriptions.items())
    ]
    body = {
        "clientID": client_id,
        "producerDataSet": [{"groupName": group} for group in producer_groups],
        "consumerDataSet": consumers,
    }
    return Request(RequestCode.HEART_BEAT, {}, json.dumps(body).encode())


def _name(queue: MessageQueue) -> str:
    return f"{queue.topic}/{queue.broker}/{queue.queue_id}"
