"""A message of AMQP 1.0 as its sections, with values of Python. Pure.

proton's own Message has a default in the place of what a message does not say, and has one body where there may be several.
https://docs.oasis-open.org/amqp/core/v1.0/os/amqp-core-messaging-v1.0-os.html#section-message-format
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from proton import Array, Data, Described, ProtonException, decimal32, decimal64, decimal128, timestamp

_HEADER = ("durable", "priority", "ttl", "first-acquirer", "delivery-count")
_PROPERTIES = (
    "message-id",
    "user-id",
    "to",
    "subject",
    "reply-to",
    "correlation-id",
    "content-type",
    "content-encoding",
    "absolute-expiry-time",
    "creation-time",
    "group-id",
    "group-sequence",
    "reply-to-group-id",
)
_DATA, _SEQUENCE, _VALUE = 0x75, 0x76, 0x77
_ANNOTATIONS, _APPLICATION = 0x72, 0x74
_FIELDS: Mapping[int, tuple[str, ...]] = {0x70: _HEADER, 0x73: _PROPERTIES}
_NUMBERS = ("priority", "ttl", "delivery-count")
_NULL = type(None)
_KINDS: Mapping[int, tuple[type, ...]] = {
    **dict.fromkeys(_FIELDS, (list,)),
    **dict.fromkeys((_ANNOTATIONS, _APPLICATION), (dict, _NULL)),
    _DATA: (bytes, memoryview),
    _SEQUENCE: (list, Array),
}
"""Of which types sections are."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MOST_MS = 253_402_300_799_999


@dataclass(slots=True)
class Sections:
    """What a message has.

    Attributes:
        fields: Of its header and its properties those that it says, by their names in the protocol.
        annotations: Of the message.
        application: Its application properties.
        body: Bytes of data sections, the list of sequences, any value otherwise; None: it has none.
        is_data: The body is data.
    """

    fields: dict[str, Any] = field(default_factory=dict)
    annotations: dict[str, Any] = field(default_factory=dict)
    application: dict[str, Any] = field(default_factory=dict)
    body: Any = None
    is_data: bool = False


def read_sections(encoded: bytes) -> Sections:
    """Reads a message.

    Raises:
        ValueError: what is wrong with it.
    """
    found = Sections()
    data, begin = Data(), 0
    while begin < len(encoded):
        data.clear()
        try:
            begin += data.decode(encoded[begin:])
        except ProtonException as error:
            msg = f"is no message of AMQP at byte {begin}: {error}"
            raise ValueError(msg) from None
        data.rewind()
        data.next()
        section = _object(data, begin)
        if not isinstance(section, Described) or not isinstance(section.descriptor, int):
            msg = f"has something that is no section before byte {begin}"
            raise ValueError(msg)  # noqa: TRY004 - it is the message that is wrong
        _take(found, int(section.descriptor), section.value)
    return found


def _object(data: Data, begin: int) -> Any:
    try:
        return data.get_object()
    except (TypeError, ValueError) as error:
        # Such as a map whose key is a list.
        msg = f"has what is no value of Python before byte {begin}: {error}"
        raise ValueError(msg) from None


def _take(found: Sections, kind: int, value: Any) -> None:
    # Brokers look at none of this. A number in the place of bytes would be so many of them.
    if kind in _KINDS and not isinstance(value, _KINDS[kind]):
        msg = f"has a section 0x{kind:x} that is {type(value).__name__}"
        raise ValueError(msg)
    if kind in _FIELDS:
        fields = {name: plain(each) for name, each in zip(_FIELDS[kind], value, strict=False) if each is not None}
        if wrong := next((name for name in _NUMBERS if name in fields and type(fields[name]) is not int), None):
            msg = f"has a {wrong} that is no number"
            raise ValueError(msg)
        found.fields |= fields
    elif kind == _ANNOTATIONS:
        found.annotations |= {str(name): each for name, each in (value or {}).items()}
    elif kind == _APPLICATION:
        found.application |= {str(name): each for name, each in (value or {}).items()}
    elif kind == _DATA:
        found.body, found.is_data = (found.body if found.is_data else b"") + bytes(value), True
    elif kind == _SEQUENCE:
        found.body = [*(found.body if isinstance(found.body, list) else ()), *plain(value)]
    elif kind == _VALUE:
        found.body = plain(value)


def plain(value: Any) -> Any:  # noqa: PLR0911 - a type each
    """A value of the protocol as one of Python's own types: times with their zone, of maps the keys as texts.

    Raises:
        ValueError: it has no such form.
    """
    match value:
        case None | bool():
            return value
        case timestamp():
            # Beyond the calendar it is the number that it was.
            return _EPOCH + timedelta(milliseconds=int(value)) if 0 <= int(value) <= _MOST_MS else int(value)
        case decimal32() | decimal64() | decimal128():
            msg = "has a decimal number of AMQP, which is not read here"
            raise ValueError(msg)
        case int():
            return int(value)
        case float():
            return float(value)
        case str():
            return str(value)
        case bytes() | memoryview():
            return bytes(value)
        case UUID():
            return str(value)
        case Mapping():
            return {name if isinstance(name, str) else str(plain(name)): plain(each) for name, each in value.items()}
        case Array():
            return [plain(each) for each in value.elements]
        case list() | tuple():
            return [plain(each) for each in value]
        case Described():
            return plain(value.value)
    msg = f"has a value of a type that is not read here: {type(value).__name__}"
    raise ValueError(msg)
