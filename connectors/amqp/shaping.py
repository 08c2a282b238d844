"""What a record becomes as a message of AMQP 1.0. Pure, but for the client's codec."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from proton import Message, ProtonException, byte, symbol

from connectors.amqp.dialects import KIND_ANNOTATION, KINDS
from connectors.amqp.options import QUEUE, TOPIC
from rocketconnect_sdk.converters.json.reading import NotJson, value_of
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.writes import Operation

PROPERTY = "property."
"""Before the names of application properties among the texts of an operation."""
DUPLICATE_ID = "_AMQ_DUPL_ID"
"""The property by which Artemis knows a message again."""
TEXTS: Mapping[str, str] = {
    "message.id": "id",
    "correlation.id": "correlation_id",
    "subject": "subject",
    "reply.to": "reply_to",
    "group.id": "group_id",
    "content.type": "content_type",
}
"""The options that are texts of properties, and proton's names of these."""
PRIORITY = "priority"
_MOST_PRIORITY = 255
_MOST_INT = 1 << 63
_OURS = ("amqp.", "JMS", "jms.", "redelivered")
"""Headers that sources have made of what is no property."""
_JMS_KINDS = {name: number for number, name in KINDS.items()}
_JMS_DESTINATIONS = {QUEUE: 0, TOPIC: 1}


@dataclass(frozen=True, slots=True)
class Making:
    """How records become messages.

    Attributes:
        body: data, text, map or stream.
        is_jms: Messages have what JMS wants to know.
        kind: What addresses are: QUEUE, TOPIC, or empty.
        durable: Brokers keep messages on disk.
        ttl: For how many seconds they keep them; 0: for ever.
        headers: Headers of records are application properties.
        duplicates: Messages have DUPLICATE_ID.
    """

    body: str
    is_jms: bool
    kind: str
    durable: bool
    ttl: float
    headers: bool
    duplicates: bool

    def encoded(self, operation: Operation, to: str) -> bytes:
        """The message.

        Args:
            operation: Has the texts of TEXTS, PRIORITY and PROPERTY.
            to: The address, as the broker names it.

        Raises:
            RecordError: the record can't become one.
        """
        texts = operation.more
        body = self._body(operation.value)
        properties = {name: text for name, text in operation.headers.items() if not name.startswith(_OURS)} if self.headers else {}
        properties |= {name.removeprefix(PROPERTY): text for name, text in texts.items() if name.startswith(PROPERTY)}
        if self.duplicates:
            properties[DUPLICATE_ID] = texts["message.id"]
        try:
            message: Any = Message(body, durable=self.durable, address=to)
            message.inferred = self.body in ("data", "bytes")
            for option, name in TEXTS.items():
                if texts.get(option):
                    setattr(message, name, texts[option])
            if texts.get(PRIORITY):
                message.priority = _priority(texts[PRIORITY])
            if self.ttl:
                message.ttl = _seconds(round(self.ttl * 1000))
            if operation.time_ms is not None and operation.time_ms >= 0:
                message.creation_time = _seconds(operation.time_ms)
            if self.is_jms:
                message.annotations = self._annotations()
            message.properties = properties or None
            encoded: bytes = message.encode()
        except UnicodeEncodeError:
            msg = "a text of it is no text in UTF-8"
            raise RecordError(msg) from None
        except (ProtonException, KeyError, OverflowError) as error:
            msg = f"AMQP has no form for it: {error}"
            raise RecordError(msg) from None
        return encoded

    def _annotations(self) -> dict[Any, Any]:
        made = {symbol(KIND_ANNOTATION): byte(_JMS_KINDS[self.body])}
        return made | {symbol("x-opt-jms-dest"): byte(_JMS_DESTINATIONS[self.kind])}

    def _body(self, value: bytes | None) -> Any:
        if value is None:
            return None
        match self.body:
            case "text":
                try:
                    return value.decode()
                except UnicodeDecodeError as error:
                    msg = f"its value is no text in UTF-8, at byte {error.start}"
                    raise RecordError(msg) from None
            case "map" | "stream" | "value":
                return self._structured(value)
        return value

    def _structured(self, value: bytes) -> Any:
        try:
            found = value_of(value.decode())
        except (NotJson, UnicodeDecodeError) as error:
            msg = f"its value is neither a row nor JSON: {error}"
            raise RecordError(msg) from None
        if self.body == "map" and not isinstance(found, Mapping):
            msg = "its value has no fields, which a map has"
            raise RecordError(msg)
        if self.body == "stream" and not isinstance(found, list):
            msg = "its value is no list, which a stream is"
            raise RecordError(msg)
        if self.is_jms:
            within: Any = found.items() if isinstance(found, Mapping) else enumerate(found) if isinstance(found, list) else ()
            if (deep := next((str(name) for name, each in within if isinstance(each, Mapping | list)), None)) is not None:
                msg = f"its field {deep[:200]!r} has fields of its own, which JMS does not take: send it as text"
                raise RecordError(msg)
        return _typed(found)


def _typed(value: Any) -> Any:
    """A value of JSON as one that AMQP has a type for."""
    if isinstance(value, Mapping):
        return {name: _typed(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_typed(each) for each in value]
    if isinstance(value, int) and not isinstance(value, bool) and not -_MOST_INT <= value < _MOST_INT:
        msg = f"its number {value} is larger than those of AMQP"
        raise RecordError(msg)
    if isinstance(value, Decimal):
        # Only what is another one as a floating point number is read as this.
        msg = f"its number {value} has more digits than those of AMQP"
        raise RecordError(msg)
    return value


def _seconds(milliseconds: int) -> float:
    """What proton makes these of again: it cuts off."""
    return (milliseconds + 0.5) / 1000


def _priority(text: str) -> int:
    if text.isascii() and text.isdecimal() and len(text) <= 3 and int(text) <= _MOST_PRIORITY:
        return int(text)
    msg = f"its priority {text[:100]!r} is no whole number from 0 to {_MOST_PRIORITY}"
    raise RecordError(msg)
