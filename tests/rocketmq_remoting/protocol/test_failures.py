"""Each failed answer becomes the error that tells what to do."""

import pytest

from rocketmq_remoting import (
    BrokerBusy,
    BrokerFailed,
    GroupNotFound,
    InvalidFilter,
    InvalidMessage,
    MessageQueue,
    MessageTooLarge,
    NoPermission,
    NotConfirmed,
    ProtocolError,
    RocketMQError,
    TopicNotFound,
    Unauthenticated,
    Unsupported,
)
from rocketmq_remoting.protocol.codes import ResponseCode
from rocketmq_remoting.protocol.failures import failure
from rocketmq_remoting.protocol.frame import Frame
from rocketmq_remoting.protocol.requests import read_receipt

QUEUE = MessageQueue("t", "b", 1)


def _answer(code: int, remark: str = "", **fields: str) -> Frame:
    return Frame(code, 1, 1, remark, fields, b"")


@pytest.mark.parametrize(
    ("code", "remark", "kind"),
    [
        (ResponseCode.SYSTEM_BUSY, "[TIMEOUT_CLEAN_QUEUE]broker busy, start flow control for a while", BrokerBusy),
        (ResponseCode.SERVICE_NOT_AVAILABLE, "the broker's disk is full", BrokerBusy),
        (ResponseCode.SYSTEM_ERROR, "in-sync replicas not enough", BrokerBusy),
        (ResponseCode.SYSTEM_ERROR, "UNKNOWN_ERROR", BrokerFailed),
        (12345, "", BrokerFailed),
        (ResponseCode.TOPIC_NOT_EXIST, "topic[t] not exist", TopicNotFound),
        (ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST, "", GroupNotFound),
        (ResponseCode.NO_PERMISSION, "the topic[t] sending message is forbidden", NoPermission),
        (ResponseCode.NO_PERMISSION, "check signature failed.", Unauthenticated),
        (ResponseCode.MESSAGE_ILLEGAL, "msg body length limit 4194304B", MessageTooLarge),
        (ResponseCode.MESSAGE_ILLEGAL, "message topic length too long", InvalidMessage),
        (ResponseCode.SYSTEM_ERROR, "The broker does not support consumer to filter message by SQL92", InvalidFilter),
        (ResponseCode.REQUEST_CODE_NOT_SUPPORTED, "", Unsupported),
    ],
)
def test_a_failed_answer_becomes_the_error_of_its_kind(code: int, remark: str, kind: type[RocketMQError]) -> None:
    error = failure(_answer(code, remark), "send to t/b/1")
    assert type(error) is kind
    assert error.code == code
    assert str(error).startswith("send to t/b/1: ")
    assert (remark or "no words") in str(error)


@pytest.mark.parametrize("status", ["FLUSH_DISK_TIMEOUT", "FLUSH_SLAVE_TIMEOUT", "SLAVE_NOT_AVAILABLE"])
def test_a_stored_but_unconfirmed_send_is_no_success(status: str) -> None:
    answer = _answer(ResponseCode[status], msgId="a,b", queueId="1", queueOffset="7")
    with pytest.raises(NotConfirmed, match=f"stored at offset 7 but not confirmed .{status}") as caught:
        read_receipt(answer, QUEUE, 2)
    assert caught.value.status == status
    assert caught.value.receipt.queue_offset == 7
    assert caught.value.receipt.message_ids == ["a", "b"]


def test_a_receipt_without_its_offset_raises_protocol_error() -> None:
    with pytest.raises(ProtocolError, match="field queueOffset is None"):
        read_receipt(_answer(0, queueId="1"), QUEUE, 1)
