"""What Protobuf's library leaves out of a message without a word, found in the bytes.

It keeps apart what the schema has no place for (unknown fields, those of another wire type, unknown symbols of a closed enum), and
cuts numbers to the width of their type. Nothing is lost of what others write otherwise than it does: longer numbers than need be,
fields in another order, repeated ones packed or not, a field that comes again (the last one stands and messages are merged, as
Protobuf says).
"""

from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass
from typing import Any

from rocketconnect_sdk.converters.protobuf.files import Descriptor, FieldDescriptor
from rocketconnect_sdk.converters.protobuf.layout import Wire, wire_of
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.schema import WHOLE, Type

_NAMES = {0: "a varint", 1: "eight bytes", 2: "bytes behind their length", 3: "a group", 4: "the end of a group", 5: "four bytes"}
"""By the number of a wire type."""
_VARINT, _EIGHT, _SIZED = Wire.VARINT.number, Wire.EIGHT.number, Wire.SIZED.number
_KIND = FieldDescriptor
_TYPES = {number: name.removeprefix("TYPE_").lower() for name, number in vars(_KIND).items() if name.startswith("TYPE_")}
"""What a .proto file calls them."""
_INT32, _UINT32 = (range(least, most + 1) for least, most in (WHOLE[Type.INT32], WHOLE[Type.UINT32]))


def _signed(bits: int) -> int:
    return bits - (1 << 64) if bits >> 63 else bits


def _unzigzag(bits: int) -> int:
    return bits >> 1 ^ -(bits & 1)


_NUMBERS: Mapping[int, tuple[Callable[[int], int], Container[int]]] = {
    _KIND.TYPE_INT32: (_signed, _INT32),
    _KIND.TYPE_ENUM: (_signed, _INT32),
    _KIND.TYPE_SINT32: (_unzigzag, _INT32),
    _KIND.TYPE_UINT32: (int, _UINT32),
}
"""What 64 bits stand for, and what it may be, where that is not everything."""


@dataclass(frozen=True, slots=True)
class WireMessage:
    """How a message is written.

    Attributes:
        name: Its full name.
        extended: It, or a message in it, may have extensions, which the library reads though no type here has them.
        fields: By what stands before their values; those that may be packed are there twice.
    """

    name: str
    extended: bool
    fields: "Mapping[int, _WireField]"


@dataclass(frozen=True, slots=True)
class _WireField:
    """How a field is written.

    Attributes:
        name: Its full name.
        kind: The name of its type.
        wire: The number of its wire type.
        number: What number the bits of a varint stand for.
        numbers: Those that it may be; None: all that 64 bits can be, or it is no varint.
        message: Of a message.
    """

    name: str
    kind: str
    wire: int
    number: Callable[[int], int]
    numbers: Container[int] | None
    message: WireMessage | None


def wire_message(descriptor: Descriptor) -> WireMessage:
    """The fields of a message that is not made of itself."""
    return _message(descriptor, {})


def check_all_read(found: Any, data: bytes, message: WireMessage) -> None:
    """Checks that all of the bytes of a message is in what was read of them.

    Args:
        found: What Protobuf's library has read; what it keeps beside the fields is removed.
        data: The bytes.
        message: Their fields.

    Raises:
        RecordError: they have something that is not there.
    """
    found.DiscardUnknownFields()
    # Of what was read the same bytes are written: nothing else can have been in them. Few write other ones.
    if message.extended or found.SerializePartialToString(deterministic=True) != data:
        _walk(data, message)


def _walk(data: bytes, whole: WireMessage) -> None:
    """Looks at each field, also of messages in messages; the library has read the bytes, so that they are well-formed."""
    within = [(whole, 0, len(data))]
    while within:
        message, at, end = within.pop()
        fields = message.fields
        while at < end:
            tag, at = _varint(data, at)
            field, wire = fields.get(tag), tag & 7
            if field is None:
                raise RecordError(_surplus(message, tag >> 3, wire))
            if wire == _VARINT:
                bits, at = _varint(data, at)
                if field.numbers is not None:
                    _check(bits, field)
            elif wire == _SIZED:
                size, at = _varint(data, at)
                if field.message is not None:
                    within.append((field.message, at, at + size))
                elif field.numbers is not None:
                    _check_packed(data, at, at + size, field)
                at += size
            else:
                at += 8 if wire == _EIGHT else 4


def _surplus(message: WireMessage, number: int, wire: int) -> str:
    """What is wrong with a field that the message does not have so."""
    for tag, field in message.fields.items():
        if tag >> 3 == number:
            return f"{field.name} comes as {_NAMES[wire]}, and its type {field.kind} is written as {_NAMES[field.wire]}"
    extensions = " Extensions have no type here." if message.extended else ""
    return (
        f"{message.name} contains the unknown field {number}, which its schema has not: "
        f"write it with the id of a schema that has it, or leave it out.{extensions}"
    )


def _check_packed(data: bytes, at: int, end: int, field: _WireField) -> None:
    while at < end:
        bits, at = _varint(data, at)
        _check(bits, field)


def _check(bits: int, field: _WireField) -> None:
    number = field.number(bits)
    if field.numbers is not None and number not in field.numbers:
        msg = f"{field.name}: {number} is no number of its type {field.kind}"
        raise RecordError(msg)


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """A whole number, and where it ends."""
    byte = data[at]
    if byte < 128:
        return byte, at + 1
    number, shift = byte & 127, 7
    while True:
        at += 1
        byte = data[at]
        number |= (byte & 127) << shift
        if byte < 128:
            return number, at + 1
        shift += 7


def _message(descriptor: Descriptor, known: dict[str, WireMessage]) -> WireMessage:
    full = descriptor.full_name
    if full not in known:
        fields: dict[int, _WireField] = {}
        for described in descriptor.fields:
            field = _field(described, known)
            fields[described.number << 3 | field.wire] = field
            if described.is_repeated and field.wire != _SIZED:
                fields[described.number << 3 | _SIZED] = field
        extended = descriptor.is_extendable or any(field.message.extended for field in fields.values() if field.message is not None)
        known[full] = WireMessage(full, extended, fields)
    return known[full]


def _field(field: FieldDescriptor, known: dict[str, WireMessage]) -> _WireField:
    enum, message = field.enum_type, field.message_type
    number, numbers = _NUMBERS.get(field.type, (int, None))
    if enum is not None and enum.is_closed:
        numbers = frozenset(one.number for one in enum.values)
    return _WireField(
        field.full_name,
        _TYPES[field.type] if enum is None else enum.full_name,
        wire_of(field).number,
        number,
        numbers,
        None if message is None else _message(message, known),
    )
