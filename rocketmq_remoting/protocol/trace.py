"""RocketMQ's message trace: what clients write into the trace topic about messages that they sent and consumed. Pure.

The body of a trace message holds contexts: U+0001 separates the fields of a context, and a context ends with U+0002. Its keys are
the ids and the keys of the messages that the contexts tell of.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

TRACE_TOPIC = "RMQ_SYS_TRACE_TOPIC"
"""The name that brokers with traceTopicEnable give their trace topic, unless msgTraceTopicName says another."""

_FIELD, _CONTEXT = "\x01", "\x02"
_NONE = "null"
"""What RocketMQ's clients write where a message has no keys or no tag."""
MESSAGE_TYPES = ("normal", "transaction", "committed transaction", "delayed", "ordered")
"""By their numbers."""
RESULTS = ("success", "time-out", "exception", "returned null", "failed")
"""What became of a consumption, by its number."""
_FAILED = RESULTS.index("failed")
TRANSACTION_STATES = {"COMMIT_MESSAGE": "committed", "ROLLBACK_MESSAGE": "rolled back", "UNKNOW": "unknown"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """A producer sent a message, or tried to ("Pub"). Times are milliseconds, `time_ms` since 1970; host is an address or empty."""

    time_ms: int
    region: str
    group: str
    topic: str
    message_id: str
    tags: str
    keys: str
    store_host: str
    body_bytes: int
    cost_ms: int
    message_type: str
    success: bool
    offset_message_id: str = ""
    client_host: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumptionBegan:
    """A consumer began with a message ("SubBefore"). The request id is that of its end, too."""

    time_ms: int
    region: str
    group: str
    request_id: str
    message_id: str
    retries: int
    keys: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumptionEnded:
    """A consumer is done with a message ("SubAfter"). Old clients tell no time (0) and no group (empty)."""

    request_id: str
    message_id: str
    cost_ms: int
    success: bool
    keys: str
    result: str
    time_ms: int = 0
    group: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionEnded:
    """A producer ended the transaction of a message, on its own or because the broker asked ("EndTransaction")."""

    time_ms: int
    group: str
    topic: str
    message_id: str
    tags: str
    keys: str
    store_host: str
    transaction_id: str
    state: str
    asked: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Recalled:
    """A producer took a delayed message back, or tried to ("Recall")."""

    time_ms: int
    group: str
    topic: str
    message_id: str
    success: bool


TraceContext = Sent | ConsumptionBegan | ConsumptionEnded | TransactionEnded | Recalled


def decode_trace(body: bytes) -> tuple[list[TraceContext], int]:
    """Return the contexts of a trace message, and how many there are besides that are garbled or of an unknown kind."""
    found: list[TraceContext] = []
    garbled = 0
    for text in body.decode(errors="replace").split(_CONTEXT):
        if not text:
            continue
        kind, *fields = text.split(_FIELD)
        try:
            found.append(_READERS[kind](fields))
        except (KeyError, ValueError, IndexError):
            garbled += 1
    return found, garbled


@dataclass(frozen=True, slots=True)
class Consumption:
    """How a consumer group got some messages at once; what it says of them goes into the trace topic.

    No text may hold U+0001 or U+0002.

    Attributes:
        region: Of the broker: the messages' property MSG_REGION.
        group: The consumer group.
        request_id: Another one each time.
        began_ms: When, in milliseconds since 1970.
        ended_ms: When it was done with them.
    """

    region: str
    group: str
    request_id: str
    began_ms: int
    ended_ms: int

    def encode(self, message_id: str, keys: str, *, success: bool) -> str:
        """Return the contexts of one of its messages, its begin and its end: a part of the body of a trace message."""
        # An empty field at the end would be lost to RocketMQ's own decoder, which then fails at the whole message.
        keys = keys or _NONE
        end = "true" if success else "false"
        code = 0 if success else _FAILED
        return (
            f"SubBefore\x01{self.began_ms}\x01{self.region}\x01{self.group}\x01{self.request_id}\x01{message_id}\x010\x01{keys}\x02"
            f"SubAfter\x01{self.request_id}\x01{message_id}\x01{self.ended_ms - self.began_ms}\x01{end}\x01{keys}\x01{code}\x01"
            f"{self.ended_ms}\x01{self.group}\x02"
        )


@dataclass(frozen=True, slots=True)
class Sending:
    """How a producer sent some messages at once, with success; what it says of them goes into the trace topic.

    No text may hold U+0001 or U+0002.

    Attributes:
        group: The producer group.
        topic: Where to.
        store_host: The address of the broker.
        began_ms: When, in milliseconds since 1970.
        cost_ms: How long it took.
    """

    group: str
    topic: str
    store_host: str
    began_ms: int
    cost_ms: int

    def encode(self, message_id: str, tags: str, keys: str, body_bytes: int, offset_message_id: str) -> str:
        """Return the context of one of its messages: a part of the body of a trace message."""
        return (
            f"Pub\x01{self.began_ms}\x01\x01{self.group}\x01{self.topic}\x01{message_id}\x01{tags or _NONE}\x01{keys or _NONE}\x01"
            f"{self.store_host}\x01{body_bytes}\x01{self.cost_ms}\x010\x01{offset_message_id}\x01true\x02"
        )


def _text(value: str) -> str:
    return "" if value == _NONE else value


def _bool(value: str) -> bool:
    if value not in ("true", "false"):
        raise ValueError(value)
    return value == "true"


def _of(values: Sequence[str], number: str) -> str:
    index = int(number)
    if index < 0:
        raise ValueError(number)
    return values[index]


def _sent(fields: Sequence[str]) -> Sent:
    # Clients before 4.6 have no id of the broker's, some newer ones add their address.
    has_offset = len(fields) > 12
    return Sent(
        time_ms=int(fields[0]),
        region=_text(fields[1]),
        group=fields[2],
        topic=fields[3],
        message_id=fields[4],
        tags=_text(fields[5]),
        keys=_text(fields[6]),
        store_host=_text(fields[7]),
        body_bytes=int(fields[8]),
        cost_ms=int(fields[9]),
        message_type=_of(MESSAGE_TYPES, fields[10]),
        success=_bool(fields[12 if has_offset else 11]),
        offset_message_id=_text(fields[11]) if has_offset else "",
        client_host=_text(fields[13]) if len(fields) > 13 else "",
    )


def _consumption_began(fields: Sequence[str]) -> ConsumptionBegan:
    return ConsumptionBegan(
        time_ms=int(fields[0]),
        region=_text(fields[1]),
        group=fields[2],
        request_id=fields[3],
        message_id=fields[4],
        retries=int(fields[5]),
        keys=_text(fields[6]),
    )


def _consumption_ended(fields: Sequence[str]) -> ConsumptionEnded:
    success = _bool(fields[3])
    told = _of(RESULTS, fields[5]) if len(fields) > 5 else "success"
    return ConsumptionEnded(
        request_id=fields[0],
        message_id=fields[1],
        cost_ms=int(fields[2]),
        success=success,
        keys=_text(fields[4]),
        # Not all that fail say how: the number is 0 then.
        result="failed" if told == "success" and not success else told,
        time_ms=int(fields[6]) if len(fields) > 7 else 0,
        group=fields[7] if len(fields) > 7 else "",
    )


def _transaction_ended(fields: Sequence[str]) -> TransactionEnded:
    if fields[10] not in TRANSACTION_STATES:
        raise ValueError(fields[10])
    return TransactionEnded(
        time_ms=int(fields[0]),
        group=fields[2],
        topic=fields[3],
        message_id=fields[4],
        tags=_text(fields[5]),
        keys=_text(fields[6]),
        store_host=_text(fields[7]),
        transaction_id=_text(fields[9]),
        state=TRANSACTION_STATES[fields[10]],
        asked=_bool(fields[11]),
    )


def _recalled(fields: Sequence[str]) -> Recalled:
    return Recalled(time_ms=int(fields[0]), group=fields[2], topic=fields[3], message_id=fields[4], success=_bool(fields[5]))


_READERS: dict[str, Callable[[Sequence[str]], TraceContext]] = {
    "Pub": _sent,
    "SubBefore": _consumption_began,
    "SubAfter": _consumption_ended,
    "EndTransaction": _transaction_ended,
    "Recall": _recalled,
}
