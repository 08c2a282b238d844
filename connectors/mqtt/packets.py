"""Packets of MQTT 3.1.1 and 5. Pure.

https://docs.oasis-open.org/mqtt/mqtt/v3.1.1/mqtt-v3.1.1.html, https://docs.oasis-open.org/mqtt/mqtt/v5.0/mqtt-v5.0.html
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any


class Kind(IntEnum):
    """What a packet is."""

    CONNECT = 1
    CONNACK = 2
    PUBLISH = 3
    PUBACK = 4
    PUBREC = 5
    PUBREL = 6
    PUBCOMP = 7
    SUBSCRIBE = 8
    SUBACK = 9
    UNSUBSCRIBE = 10
    UNSUBACK = 11
    PINGREQ = 12
    PINGRESP = 13
    DISCONNECT = 14
    AUTH = 15


class Malformed(Exception):
    """What came is no packet of MQTT."""


FAILED = 0x80
"""Reason codes from here on say that something failed."""
EXPIRY, CONTENT_TYPE, RESPONSE_TOPIC, CORRELATION, SESSION_EXPIRY = 0x02, 0x03, 0x08, 0x09, 0x11
PAYLOAD_FORMAT, REASON, RECEIVE_MAXIMUM, USER, PACKET_MAXIMUM = 0x01, 0x1F, 0x21, 0x26, 0x27
_NUMBERS = {
    **dict.fromkeys((0x01, 0x17, 0x19, 0x24, 0x25, 0x28, 0x29, 0x2A), 1),
    **dict.fromkeys((0x13, 0x21, 0x22, 0x23), 2),
    **dict.fromkeys((0x02, 0x11, 0x18, 0x27), 4),
}
"""Properties that are numbers of so many bytes."""
_BYTES = (0x09, 0x16)
_TEXTS = (0x03, 0x08, 0x12, 0x15, 0x1A, 0x1C, 0x1F)
_SUBSCRIPTION = 0x0B
_MOST_SIZE_BYTES = 4
MOST = (1 << 28) - 1
"""So many bytes a packet has at most, about."""


@dataclass(frozen=True, slots=True)
class Packet:
    """A packet.

    Attributes:
        kind: What it is.
        flags: The four bits beside that.
        body: All behind its size.
        large: Of a PUBLISH of which only the beginning was kept: how long its payload is, and the SHA-256 of that.
    """

    kind: Kind
    flags: int
    body: bytes
    large: tuple[int, str] | None = None


@dataclass(frozen=True, slots=True)
class Publish:
    """A message."""

    topic: str
    payload: bytes
    qos: int = 0
    retain: bool = False
    duplicate: bool = False
    number: int = 0
    properties: Mapping[int, Any] = field(default_factory=dict)


def size_bytes(size: int) -> bytes:
    """A number as a variable byte integer."""
    made = bytearray()
    while True:
        size, digit = divmod(size, 128)
        made.append(digit | (128 if size else 0))
        if not size:
            return bytes(made)


def read_size(data: bytes | bytearray, at: int) -> tuple[int, int] | None:
    """A variable byte integer, and where it ends; None: it is not whole. Raises Malformed."""
    size = 0
    for place in range(_MOST_SIZE_BYTES):
        if at + place >= len(data):
            return None
        size |= (data[at + place] & 127) << (7 * place)
        if data[at + place] < 128:
            return size, at + place + 1
    msg = "the size of a packet has more than four bytes"
    raise Malformed(msg)


def packet(kind: Kind, body: bytes, flags: int = 0) -> bytes:
    """A packet as it is sent."""
    return bytes([kind << 4 | flags]) + size_bytes(len(body)) + body


def data(value: bytes) -> bytes:
    """Bytes behind their length."""
    return len(value).to_bytes(2) + value


def text(value: str) -> bytes:
    """A text behind its length."""
    return data(value.encode())


def properties(given: Mapping[int, Any]) -> bytes:
    """Properties, as version 5 has them."""
    made = bytearray()
    for key, value in given.items():
        if key == USER:
            made += b"".join(bytes([USER]) + text(name) + text(each) for name, each in value)
        elif key in _NUMBERS:
            made += bytes([key]) + int(value).to_bytes(_NUMBERS[key])
        else:
            made += bytes([key]) + (data(value) if key in _BYTES else text(value))
    return size_bytes(len(made)) + bytes(made)


def publish(message: Publish, *, five: bool) -> bytes:
    """A PUBLISH packet."""
    flags = message.duplicate << 3 | message.qos << 1 | message.retain
    number = message.number.to_bytes(2) if message.qos else b""
    more = properties(message.properties) if five else b""
    return packet(Kind.PUBLISH, text(message.topic) + number + more + message.payload, flags)


def answer(kind: Kind, number: int) -> bytes:
    """PUBACK, PUBREC, PUBREL or PUBCOMP of a message that is all right."""
    return packet(kind, number.to_bytes(2), 2 if kind is Kind.PUBREL else 0)


def subscribe(number: int, filters: Sequence[str], options: int, *, five: bool) -> bytes:
    """A SUBSCRIBE packet; options as version 5 has them, of which 3.1.1 knows the QoS alone."""
    more = properties({}) if five else b""
    wanted = bytes([options if five else options & 3])
    return packet(Kind.SUBSCRIBE, number.to_bytes(2) + more + b"".join(text(each) + wanted for each in filters), 2)


def unsubscribe(number: int, filters: Sequence[str], *, five: bool) -> bytes:
    """An UNSUBSCRIBE packet."""
    more = properties({}) if five else b""
    return packet(Kind.UNSUBSCRIBE, number.to_bytes(2) + more + b"".join(map(text, filters)), 2)


class _Reading:
    def __init__(self, body: bytes) -> None:
        self._body = body
        self._at = 0

    def take(self, size: int) -> bytes:
        found = self._body[self._at : self._at + size]
        if len(found) < size:
            msg = "a packet ends before what it has to say"
            raise Malformed(msg)
        self._at += size
        return found

    def number(self, size: int) -> int:
        return int.from_bytes(self.take(size))

    def text(self) -> str:
        try:
            return self.take(self.number(2)).decode()
        except UnicodeDecodeError:
            msg = "a text in a packet is no UTF-8"
            raise Malformed(msg) from None

    def size(self) -> int:
        found = read_size(self._body, self._at)
        if found is None:
            msg = "a packet ends within a number"
            raise Malformed(msg)
        size, self._at = found
        return size

    def rest(self) -> bytes:
        return self.take(len(self._body) - self._at)

    @property
    def left(self) -> int:
        return len(self._body) - self._at

    def properties(self) -> dict[int, Any]:
        end = self.size()
        end += self._at
        found: dict[int, Any] = {}
        while self._at < end:
            key = self.number(1)
            if key == USER:
                found.setdefault(USER, []).append((self.text(), self.text()))
            elif key in _NUMBERS:
                found[key] = self.number(_NUMBERS[key])
            elif key in _BYTES:
                found[key] = self.take(self.number(2))
            elif key in _TEXTS:
                found[key] = self.text()
            elif key == _SUBSCRIPTION:
                found[key] = self.size()
            else:
                msg = f"a packet has the property {key}, which MQTT does not know"
                raise Malformed(msg)
        return found


def read_publish(found: Packet, *, five: bool) -> Publish:
    """A message. Raises Malformed."""
    reading = _Reading(found.body)
    qos = found.flags >> 1 & 3
    topic = reading.text()
    number = reading.number(2) if qos else 0
    more = reading.properties() if five else {}
    return Publish(topic, reading.rest(), qos, bool(found.flags & 1), bool(found.flags & 8), number, more)


def read_answer(found: Packet, *, five: bool) -> tuple[int, int, str]:
    """Of PUBACK, PUBREC, PUBREL and PUBCOMP: the number of the message, the reason code, and its words. Raises Malformed."""
    reading = _Reading(found.body)
    number = reading.number(2)
    code = reading.number(1) if five and reading.left else 0
    more = reading.properties() if five and reading.left else {}
    return number, code, more.get(REASON, "")


def read_codes(found: Packet, *, five: bool) -> tuple[int, bytes, str]:
    """Of SUBACK and UNSUBACK: the number, the code of each filter, and the words. Raises Malformed."""
    reading = _Reading(found.body)
    number = reading.number(2)
    more = reading.properties() if five else {}
    return number, reading.rest(), more.get(REASON, "")


def read_connack(found: Packet, *, five: bool) -> tuple[bool, int, dict[int, Any]]:
    """Whether the session was there, the code, and the properties. Raises Malformed."""
    reading = _Reading(found.body)
    present, code = reading.number(1), reading.number(1)
    return bool(present & 1), code, reading.properties() if five and reading.left else {}


def read_disconnect(found: Packet, *, five: bool) -> tuple[int, str]:
    """The code and the words, which version 5 has. Raises Malformed."""
    del five
    reading = _Reading(found.body)
    code = reading.number(1) if reading.left else 0
    return code, (reading.properties() if reading.left else {}).get(REASON, "")
