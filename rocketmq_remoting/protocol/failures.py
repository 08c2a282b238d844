"""Turns a failed answer into the error that tells what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rocketmq_remoting import errors
from rocketmq_remoting.protocol.codes import ResponseCode

if TYPE_CHECKING:
    from rocketmq_remoting.protocol.frame import Frame

_BY_CODE: dict[int, tuple[type[errors.RocketMQError], str]] = {
    ResponseCode.SYSTEM_ERROR: (errors.BrokerFailed, "the broker failed; its log says more"),
    ResponseCode.SYSTEM_BUSY: (errors.BrokerBusy, "the broker is busy (flow control); try again after a pause"),
    ResponseCode.FLOW_CONTROL: (errors.BrokerBusy, "the broker is busy (flow control); try again after a pause"),
    ResponseCode.POLLING_FULL: (errors.BrokerBusy, "the broker holds too many waiting pulls; try again after a pause"),
    ResponseCode.GO_AWAY: (errors.BrokerBusy, "the broker is shutting down; try again after a pause"),
    ResponseCode.SERVICE_NOT_AVAILABLE: (
        errors.BrokerBusy,
        "the broker takes no writes for now: check its disk (over 90 % full?) and whether it is shutting down",
    ),
    ResponseCode.NOT_LEADER_FOR_QUEUE: (errors.BrokerBusy, "the queue has moved to another broker; try again"),
    ResponseCode.REQUEST_CODE_NOT_SUPPORTED: (errors.Unsupported, "the broker is too old for this request"),
    ResponseCode.VERSION_NOT_SUPPORTED: (errors.Unsupported, "the broker is too old for this request"),
    ResponseCode.MESSAGE_ILLEGAL: (errors.InvalidMessage, "the broker can't store this message"),
    ResponseCode.NO_PERMISSION: (
        errors.NoPermission,
        "not allowed: check the topic's permission and what the access key may do",
    ),
    ResponseCode.ILLEGAL_OPERATION: (errors.NoPermission, "the broker forbids this operation"),
    ResponseCode.TOPIC_NOT_EXIST: (errors.TopicNotFound, "the topic doesn't exist: create it, or check its name"),
    ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST: (
        errors.GroupNotFound,
        "the consumer group doesn't exist: create it, or set autoCreateSubscriptionGroup=true on the broker",
    ),
    ResponseCode.SUBSCRIPTION_PARSE_FAILED: (errors.InvalidFilter, "the filter expression is wrong"),
    ResponseCode.SUBSCRIPTION_NOT_EXIST: (errors.InvalidFilter, "the broker doesn't know this group's subscription"),
    ResponseCode.SUBSCRIPTION_NOT_LATEST: (errors.BrokerBusy, "the broker has an older subscription; try again"),
    ResponseCode.FILTER_DATA_NOT_EXIST: (errors.InvalidFilter, "the filter expression is wrong"),
    ResponseCode.FILTER_DATA_NOT_LATEST: (errors.BrokerBusy, "the broker has an older filter; try again"),
    ResponseCode.INVALID_PARAMETER: (errors.InvalidRequest, "the broker refuses a value of the request"),
}
_TOO_LARGE = ("body size exceed", "msg body length limit", "message body length over")
# Brokers report these as plain errors; the words are all that tells them apart.
_BY_WORDS: tuple[tuple[str, type[errors.RocketMQError], str], ...] = (
    ("does not support consumer to filter", errors.InvalidFilter, "set enablePropertyFilter=true on the broker"),
    ("size exceeded", errors.MessageTooLarge, "send less at once, or raise the broker's maxMessageSize"),
    ("in-sync replicas not enough", errors.BrokerBusy, "too few replicas are alive; bring them back"),
    ("name server not ready", errors.BrokerBusy, "the name server has just started; try again after a pause"),
    ("has no permission", errors.NoPermission, "not allowed: check what the access key may do"),
    ("username cannot be null", errors.Unauthenticated, "the broker demands an access key and its secret key"),
    ("signature", errors.Unauthenticated, "check access key and secret key"),
    ("accesskey", errors.Unauthenticated, "check access key and secret key"),
    ("user:", errors.Unauthenticated, "check access key and secret key"),
)


def failure(frame: Frame, what: str) -> errors.RocketMQError:
    """Return the error for an answer that is no success.

    Args:
        frame: the answer.
        what: what was tried, for the message.
    """
    kind, advice = _BY_CODE.get(frame.code, (errors.BrokerFailed, "the broker failed; its log says more"))
    remark = frame.remark.split("See http", 1)[0].split("For more information", 1)[0].strip()
    lowered = remark.lower()
    for words, other, other_advice in _BY_WORDS:
        if frame.code in {ResponseCode.SYSTEM_ERROR, ResponseCode.NO_PERMISSION} and words in lowered:
            kind, advice = other, other_advice
            break
    if kind is errors.InvalidMessage and any(words in lowered for words in _TOO_LARGE):
        kind, advice = errors.MessageTooLarge, "send less at once, or raise the broker's maxMessageSize"
    return kind(f"{what}: {advice} (code {frame.code}: {remark or 'no words'})", code=frame.code)
