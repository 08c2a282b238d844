"""The errors of the client, grouped by what the caller should do.

* `RetriableError`: trying again can work.
    * `RequestRejected`: the request had no effect; sending it again can't double anything.
    * `OutcomeUnknown`: the request may or may not have taken effect. A send that ends so may be in the queue: the
      caller must look (read the queue) or accept a duplicate before it sends again.
* `PermanentError`: trying again without a change fails again; the message says what to change.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rocketmq_remoting.model import MessageQueue, SendReceipt


class RocketMQError(Exception):
    """Root of everything that the client raises on purpose.

    Attributes:
        code: the response code of the broker or name server, if one answered.
    """

    def __init__(self, message: str, *, code: int | None = None) -> None:
        super().__init__(message)
        self.code = code


class RetriableError(RocketMQError):
    """Trying again, after a pause, can work."""


class RequestRejected(RetriableError):
    """The request had no effect."""


class NotSent(RequestRejected):
    """The request never left completely: no connection, or its connection broke before the last byte."""


class DeadlinePassed(RequestRejected):
    """The time `not_after` had passed when the request was about to be written, so it was not written."""


class NameServersUnavailable(RequestRejected):
    """No name server answered."""


class BrokerBusy(RequestRejected):
    """The broker refused the request for now: flow control, full disk, shutting down, no longer the master."""


class OutcomeUnknown(RetriableError):
    """The request may or may not have taken effect."""


class ConnectionLost(OutcomeUnknown):
    """The connection broke after the request was written and before its answer came."""


class RequestTimeout(OutcomeUnknown):
    """No answer within the time limit."""


class BrokerFailed(OutcomeUnknown):
    """The broker answered with an internal error (`SYSTEM_ERROR`)."""


class NotConfirmed(OutcomeUnknown):
    """The broker stored the messages, but flush or replication was not confirmed in its time limit.

    Attributes:
        status: FLUSH_DISK_TIMEOUT, FLUSH_SLAVE_TIMEOUT or SLAVE_NOT_AVAILABLE.
        receipt: where the messages will stand if the broker does not lose them.
    """

    def __init__(self, message: str, *, code: int, status: str, receipt: SendReceipt) -> None:
        super().__init__(message, code=code)
        self.status = status
        self.receipt = receipt


class PermanentError(RocketMQError):
    """Trying again without a change fails again."""


class ClientClosed(PermanentError):
    """The client was closed."""


class TopicNotFound(PermanentError):
    """The topic doesn't exist (or no broker has announced it to the name server yet)."""


class GroupNotFound(PermanentError):
    """The consumer group doesn't exist and the broker doesn't create groups on its own."""


class NoPermission(PermanentError):
    """The topic, group or broker forbids this operation."""


class Unauthenticated(PermanentError):
    """Access key or signature were not accepted."""


class InvalidMessage(PermanentError):
    """The message can't be stored as it is (bad property, wrong topic, broker calls it illegal)."""


class MessageTooLarge(InvalidMessage):
    """A message, its properties or a batch is larger than RocketMQ can store."""


class InvalidFilter(PermanentError):
    """The filter expression is wrong, or the broker doesn't allow filters of its kind."""


class InvalidRequest(PermanentError):
    """The broker calls a value of the request wrong."""


class Unsupported(PermanentError):
    """The broker doesn't know this request, or an optional package is missing here."""


class ProtocolError(PermanentError):
    """The other side sent bytes that are not the RocketMQ remoting protocol."""


class QueueGap(PermanentError):
    """Messages that were asked for are no longer (or not) in the queue.

    Attributes:
        queue: the queue.
        start: first missing offset.
        end: offset after the last missing one.
        resume_at: the offset to go on from when the gap is accepted.
        lost: what is missing and why, for people.
        reason: "expired" (below the minimum: retention), "lost" (above the maximum: the broker lost data or the topic
            was created anew), "hole" (missing in the middle) or "replaced" (offsets that were read hold other messages:
            given by who compares, never by a pull).
    """

    def __init__(self, queue: MessageQueue, start: int, end: int, resume_at: int, reason: str) -> None:
        self.lost = f"queue {queue.topic}/{queue.broker}/{queue.queue_id}: the messages [{start}, {end}) are {_GAPS[reason]}"
        super().__init__(f"{self.lost}; to accept the loss, go on from offset {resume_at}")
        self.queue = queue
        self.start = start
        self.end = end
        self.resume_at = resume_at
        self.reason = reason


_GAPS = {
    "expired": "gone: the broker has deleted them (retention)",
    "lost": "not there: the queue ends before them (the broker lost data, or the topic was created anew)",
    "hole": "missing in the middle of the queue",
    "replaced": "others than those that were read there (the topic was created anew, or the broker lost data)",
}
