"""How the values of a schema stand in Protobuf's messages: for whoever writes and reads many at once."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum

from rocketconnect_sdk.converters.protobuf import files, names
from rocketconnect_sdk.converters.protobuf.files import Descriptor, FieldDescriptor
from rocketconnect_sdk.schema import Schema, Type, struct


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


class Several(Enum):
    """How the values of a field are written of which a message may have several."""

    PACKED = "behind each other, without the tag of each"
    EACH = "each for itself"
    SORTED = "each for itself, sorted: the entries of a map of Protobuf's own"


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
        schema: Of its value; of several the array or the map.
        present: Messages say whether they have it. If not, one without it has 0, or nothing.
        always: It is always written: an item of an array, the key or the value of a map. A message that is null is an empty one.
        shared: It is one of several of which a message has one.
        symbols: Of an enum: the number and the symbol of each.
        message: Of a message.
        several: Of one of which a message may have several.
        item: One of these: with the tag of each, unless they are packed.
    """

    place: int
    tag: bytes
    wire: Wire
    schema: Schema
    present: bool
    always: bool
    shared: bool
    symbols: tuple[tuple[int, str], ...]
    message: Message | None
    several: Several | None = None
    item: "Field | None" = None


def wire_of(field: FieldDescriptor) -> Wire:
    """How a single value of a field is written."""
    return _WIRES.get(field.type, Wire.VARINT)


def has_several(layout: Message) -> bool:
    """Whether there are arrays or maps in a message."""
    return any(field.several is not None or (field.message is not None and has_several(field.message)) for field in layout.fields)


def is_entry(message: Descriptor) -> bool:
    """Whether a message is the entry of a map, of Protobuf's own or of one that is a list of messages."""
    named = message.name.endswith(names.ENTRY) and [field.name for field in message.fields] == [names.KEY, names.VALUE]
    return bool(message.GetOptions().map_entry) or (named and not any(field.is_repeated for field in message.fields))


def layout_of(descriptor: Descriptor, schema: Schema) -> Message:
    """How values of a schema stand in messages."""
    if schema.type is not Type.STRUCT and descriptor.full_name in VALUES:
        shape, schemas = Shape.VALUE, [_PLAIN[field.type] for field in descriptor.fields]
    elif schema.type is not Type.STRUCT or files.said(descriptor)[1].get(names.WRAPPER) == "true":
        shape, schemas = Shape.FIELD, [schema]
    else:
        shape, schemas = Shape.STRUCT, [field.schema for field in schema.fields]
    fields = [_field(place, field, of) for place, (field, of) in enumerate(zip(descriptor.fields, schemas, strict=True))]
    return Message(shape, schema, tuple(sorted(fields, key=lambda field: descriptor.fields[field.place].number)))


def _field(place: int, field: FieldDescriptor, schema: Schema) -> Field:
    return _several(place, field, schema) if field.is_repeated else _single(place, field, schema)


def _several(place: int, field: FieldDescriptor, schema: Schema) -> Field:
    message, items = field.message_type, schema.items or schema
    several = Several.PACKED if field.is_packed else Several.EACH
    if message is not None and is_entry(message):
        several = Several.SORTED if message.GetOptions().map_entry else Several.EACH
        items = struct([("key", schema.keys or schema), ("value", items)])
    item = _single(0, field, items, always=True)
    if message is not None and several is Several.SORTED:
        pairs = zip(message.fields, items.fields, strict=True)
        parts = [_single(place, part, its.schema, always=True) for place, (part, its) in enumerate(pairs)]
        item = replace(item, message=Message(Shape.STRUCT, items, tuple(parts)))
    tag = varint(field.number << 3 | Wire.SIZED.number) if several is Several.PACKED else item.tag
    return replace(item, place=place, tag=tag, schema=schema, always=False, symbols=(), message=None, several=several, item=item)


def _single(place: int, field: FieldDescriptor, schema: Schema, *, always: bool = False) -> Field:
    message = None if field.message_type is None else layout_of(field.message_type, schema)
    wire = wire_of(field)
    union = field.containing_oneof
    return Field(
        place,
        varint(field.number << 3 | wire.number),
        wire,
        schema,
        field.has_presence,
        always,
        union is not None and len(union.fields) > 1,
        () if field.enum_type is None else tuple((one.number, one.name) for one in field.enum_type.values),
        message,
    )
