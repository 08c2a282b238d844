"""How the values of a schema stand in Protobuf's messages: for whoever writes and reads many at once."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from rocketconnect_sdk.converters.protobuf import files, names
from rocketconnect_sdk.converters.protobuf.files import Descriptor, FieldDescriptor
from rocketconnect_sdk.schema import Schema, Type


def varint(number: int) -> bytes:
    """A whole number from 0 on, as Protobuf writes it."""
    out = bytearray()
    while number > 127:
        out.append((number & 127) | 128)
        number >>= 7
    out.append(number)
    return bytes(out)


class Wire(Enum):
    """How a single value is written, with the number that stands in the tag for it."""

    VARINT = (0, "varint")
    ZIGZAG = (0, "zigzag")
    EIGHT = (1, "eight bytes")
    SIZED = (2, "sized")
    FOUR = (5, "four bytes")

    @property
    def number(self) -> int:
        """What stands in the tag."""
        return self.value[0]


NANOS = 1_000_000_000
_KIND = FieldDescriptor
_WIRES: Mapping[int, Wire] = {
    **dict.fromkeys((_KIND.TYPE_SINT32, _KIND.TYPE_SINT64), Wire.ZIGZAG),
    **dict.fromkeys((_KIND.TYPE_FIXED64, _KIND.TYPE_SFIXED64, _KIND.TYPE_DOUBLE), Wire.EIGHT),
    **dict.fromkeys((_KIND.TYPE_FIXED32, _KIND.TYPE_SFIXED32, _KIND.TYPE_FLOAT), Wire.FOUR),
    **dict.fromkeys((_KIND.TYPE_STRING, _KIND.TYPE_BYTES, _KIND.TYPE_MESSAGE), Wire.SIZED),
}
"""Other types are plain numbers."""
_PLAIN: Mapping[int, Schema] = {
    _KIND.TYPE_INT64: Schema(Type.INT64),
    _KIND.TYPE_INT32: Schema(Type.INT32),
    _KIND.TYPE_UINT32: Schema(Type.UINT32),
    _KIND.TYPE_BYTES: Schema(Type.BYTES),
}
"""Of the fields of messages that are a value."""
_INT = _KIND.TYPE_INT32
VALUES: Mapping[str, Mapping[str, int]] = {
    names.DECIMAL: {"value": _KIND.TYPE_BYTES, "precision": _KIND.TYPE_UINT32, "scale": _INT},
    names.DATE: {"year": _INT, "month": _INT, "day": _INT},
    names.TIME: {"hours": _INT, "minutes": _INT, "seconds": _INT, "nanos": _INT},
    names.TIMESTAMP: {"seconds": _KIND.TYPE_INT64, "nanos": _INT},
}
"""By the name of a message that is a value: its fields."""


class Shape(Enum):
    """What a message stands for."""

    STRUCT = "struct"
    FIELD = "its only field"
    VALUE = "one of VALUES"


@dataclass(frozen=True, slots=True)
class Message:
    """A message.

    Attributes:
        shape: See there.
        schema: What it stands for.
        fields: In the order of their numbers, in which they are written.
    """

    shape: Shape
    schema: Schema
    fields: "tuple[Field, ...]"


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a message.

    Attributes:
        place: Its place in the message.
        tag: What stands before its value.
        wire: How its value is written.
        schema: Of its value.
        present: Messages say whether they have it. If not, one without it has 0, or nothing.
        shared: It is one of several of which a message has one.
        symbols: Of an enum: the number and the symbol of each.
        message: Of a message.
    """

    place: int
    tag: bytes
    wire: Wire
    schema: Schema
    present: bool
    shared: bool
    symbols: tuple[tuple[int, str], ...]
    message: Message | None


def wire_of(field: FieldDescriptor) -> Wire:
    """How a single value of a field is written."""
    return _WIRES.get(field.type, Wire.VARINT)


def layout_of(descriptor: Descriptor, schema: Schema) -> Message | None:
    """How values of a schema stand in messages; None: with arrays or maps, which are done one by one."""
    if schema.type is not Type.STRUCT and descriptor.full_name in VALUES:
        shape, schemas = Shape.VALUE, [_PLAIN[field.type] for field in descriptor.fields]
    elif schema.type is not Type.STRUCT or files.said(descriptor)[1].get(names.WRAPPER) == "true":
        shape, schemas = Shape.FIELD, [schema]
    else:
        shape, schemas = Shape.STRUCT, [field.schema for field in schema.fields]
    fields = [_field(place, field, of) for place, (field, of) in enumerate(zip(descriptor.fields, schemas, strict=True))]
    found = [field for field in fields if field is not None]
    if len(found) < len(fields):
        return None
    return Message(shape, schema, tuple(sorted(found, key=lambda field: descriptor.fields[field.place].number)))


def _field(place: int, field: FieldDescriptor, schema: Schema) -> Field | None:
    if field.is_repeated:
        return None
    message = None if field.message_type is None else layout_of(field.message_type, schema)
    if field.message_type is not None and message is None:
        return None
    wire = wire_of(field)
    union = field.containing_oneof
    return Field(
        place,
        varint(field.number << 3 | wire.number),
        wire,
        schema,
        field.has_presence,
        union is not None and len(union.fields) > 1,
        () if field.enum_type is None else tuple((one.number, one.name) for one in field.enum_type.values),
        message,
    )
