"""What a message of AMQP 1.0 becomes as a record, by the names of AMQP or of JMS. Pure, but for the client's codec."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from connectors.amqp.dialects import KIND, KIND_ANNOTATION, KINDS, OF_PROPERTIES, Dialect
from connectors.amqp.sections import Sections, plain, read_sections
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.files.lines import to_json
from rocketconnect_sdk.queues import Received
from rocketconnect_sdk.queues.texts import as_text, for_json
from rocketconnect_sdk.queues.values import rejected, too_large

_JAVA_OBJECT = "application/x-java-serialized-object"
_DEFAULT_PRIORITY = 4
_OURS = ("amqp.", "JMSXUserID")
"""What the names of headers begin with that brokers vouch for."""


@dataclass(frozen=True, slots=True)
class Shape:
    """How messages become records.

    Attributes:
        dialect: The names of headers.
        value: Makes the value of a text or bytes; ValueError says what is wrong with that.
        form: What `value` is chosen by: text, bytes or json.
        key: The choice of a key; empty: records have none.
        most_bytes: The size of the largest message.
    """

    dialect: Dialect
    value: Callable[[bytes], object]
    form: str
    key: str
    most_bytes: int


def received(tag: Any, address: str, encoded: bytes, length: int, digest: str, shape: Shape) -> Received:
    """A message as the topic gets it.

    Args:
        tag: See Received.
        address: That it came from.
        encoded: The message, or its first part, where it is too large.
        length: Of the whole.
        digest: Of the whole; empty: it is all here.
        shape: What is made of it.
    """
    try:
        return _received(tag, address, encoded, length, digest, shape)
    except RecursionError:
        # It would be given again and again, and nothing behind it be read.
        value = rejected(encoded, "InvalidPayload", f"the message of {address} is nested too deep")
        return Received(tag, value, headers={shape.dialect.address: address}, size=length)


def _received(tag: Any, address: str, encoded: bytes, length: int, digest: str, shape: Shape) -> Received:
    if digest:
        value: object = rejected(encoded, *too_large(length, shape.most_bytes), length, digest)
        return Received(tag, value, headers={shape.dialect.address: address}, size=length)
    try:
        sections = read_sections(encoded)
    except ValueError as error:
        value = rejected(encoded, "InvalidPayload", f"the message of {address} {error}")
        return Received(tag, value, headers={shape.dialect.address: address}, size=length)
    headers = dict(_headers(address, sections, shape.dialect))
    return Received(
        tag,
        _value(address, encoded, sections, shape),
        _key(sections, headers, shape),
        _time_ms(sections.fields.get("creation-time")),
        headers,
        redelivered=bool(sections.fields.get("delivery-count")),
        size=length,
    )


def _property_text(value: Any) -> str:
    try:
        return as_text(plain(value))
    except (ValueError, RecordError):
        # Such as a number that is none, which JSON does not know.
        return str(value)


def _headers(address: str, sections: Sections, dialect: Dialect) -> Iterator[tuple[str, str]]:
    for name, value in sections.application.items():
        if value is not None:
            # What the broker says of it, such as who has sent it, is not for who sends it to say.
            yield f"{OF_PROPERTIES}{name}" if name.startswith(_OURS) else name, _property_text(value)
    for name, header in dialect.names.items():
        if name in sections.fields:
            yield header, as_text(sections.fields[name])
    yield dialect.address, address
    if dialect.is_jms:
        yield from _jms_headers(sections)
        return
    for name, value in sections.annotations.items():
        yield f"amqp.annotation.{name}", _property_text(value)


def _jms_headers(sections: Sections) -> Iterator[tuple[str, str]]:
    fields = sections.fields
    yield "JMSDeliveryMode", "PERSISTENT" if fields.get("durable") else "NON_PERSISTENT"
    yield "JMSPriority", str(fields.get("priority", _DEFAULT_PRIORITY))
    yield "JMSXDeliveryCount", str(fields.get("delivery-count", 0) + 1)
    made = _time_ms(fields.get("creation-time"))
    if made is not None:
        yield "JMSTimestamp", str(made)
    expires = _time_ms(fields.get("absolute-expiry-time"))
    if expires is None and made is not None and fields.get("ttl"):
        expires = made + fields["ttl"]
    if expires:
        yield "JMSExpiration", str(expires)
    yield KIND, _kind(sections)


def _kind(sections: Sections) -> str:
    """Where no annotation tells the kind, it is told by the body, as the mapping of JMS to AMQP has it."""
    told = sections.annotations.get(KIND_ANNOTATION)
    if isinstance(told, int) and told in KINDS:
        return KINDS[told]
    if sections.fields.get("content-type") == _JAVA_OBJECT:
        return "object"
    kinds = ((str, "text"), (bytes, "bytes"), (Mapping, "map"), (list, "stream"))
    return next((kind for types, kind in kinds if isinstance(sections.body, types)), "message")


def _key(sections: Sections, headers: Mapping[str, str], shape: Shape) -> str | None:
    if shape.key.startswith(OF_PROPERTIES):
        value = sections.application.get(shape.key.removeprefix(OF_PROPERTIES))
        return None if value is None else _property_text(value) or None
    return headers.get(shape.dialect.keys[shape.key]) or None if shape.key else None


def _time_ms(value: Any) -> int | None:
    """A time in milliseconds; None: there is none, or one beyond the calendar."""
    return round(value.timestamp() * 1000) if isinstance(value, datetime) else None


def _value(address: str, encoded: bytes, sections: Sections, shape: Shape) -> object:
    body = sections.body
    try:
        return None if body is None else _formed(body, sections, shape)
    except (ValueError, RecordError) as error:
        return rejected(body if isinstance(body, bytes) else encoded, "InvalidPayload", f"the message of {address} {error}")


def _formed(body: Any, sections: Sections, shape: Shape) -> object:
    if sections.fields.get("content-type") == _JAVA_OBJECT and shape.form != "bytes":
        msg = "is an object of Java, which is not read here: send it as text, or set value.format=bytes"
        raise ValueError(msg)
    if isinstance(body, bytes | str):
        return shape.value(body if isinstance(body, bytes) else body.encode())
    return body if shape.form == "json" else shape.value(to_json(for_json(body)))
