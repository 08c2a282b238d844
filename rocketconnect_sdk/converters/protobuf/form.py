"""Protobuf schemas of a registry: the schemas that their messages stand for, and how values are written and read."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rocketconnect_sdk.columns.compact import Column
from rocketconnect_sdk.converters.json.values import Values
from rocketconnect_sdk.converters.protobuf import fields, files, names, values
from rocketconnect_sdk.converters.protobuf.fields import Element, Slot
from rocketconnect_sdk.converters.protobuf.files import Descriptor, FieldDescriptor, FileDescriptor
from rocketconnect_sdk.converters.protobuf.layout import VALUES, has_several, is_entry, layout_of, varint
from rocketconnect_sdk.converters.protobuf.wire import check_all_read, wire_message
from rocketconnect_sdk.converters.registered import MANY, Form
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.schema import STRING, Default, Field, Schema, Type, Unit

_LARGEST = 20_000
"""Fields of a message, those of messages that come again counted again."""
_LONGEST = 4_000
"""Digits of a decimal."""

_KIND = FieldDescriptor
_SCALARS: Mapping[int, Type] = {
    _KIND.TYPE_BOOL: Type.BOOLEAN,
    **dict.fromkeys((_KIND.TYPE_INT32, _KIND.TYPE_SINT32, _KIND.TYPE_SFIXED32), Type.INT32),
    **dict.fromkeys((_KIND.TYPE_INT64, _KIND.TYPE_SINT64, _KIND.TYPE_SFIXED64), Type.INT64),
    **dict.fromkeys((_KIND.TYPE_UINT32, _KIND.TYPE_FIXED32), Type.UINT32),
    **dict.fromkeys((_KIND.TYPE_UINT64, _KIND.TYPE_FIXED64), Type.UINT64),
    _KIND.TYPE_FLOAT: Type.FLOAT32,
    _KIND.TYPE_DOUBLE: Type.FLOAT64,
    _KIND.TYPE_STRING: Type.STRING,
    _KIND.TYPE_BYTES: Type.BYTES,
}
_OVER: Mapping[tuple[Type, str], Type] = {
    (Type.UINT32, "uint8"): Type.UINT8,
    (Type.UINT32, "uint16"): Type.UINT16,
    (Type.STRING, "uuid"): Type.UUID,
    (Type.STRING, "json"): Type.JSON,
    (Type.INT64, "timestamp"): Type.TIMESTAMP,
}
"""What the parameter rocketconnect.type makes of a type."""
_WRAPPERS = {
    f"google.protobuf.{kind}Value" for kind in ("Double", "Float", "Int64", "UInt64", "Int32", "UInt32", "Bool", "String", "Bytes")
}
_MALFORMED = (TypeError, ValueError, KeyError, AttributeError, OverflowError, RecursionError)


class ProtobufForm(Form):
    """How values of one message of a file are written and read.

    Attributes:
        schema: What the message stands for.
        name: The full name of the message.

    Args:
        descriptor: The message.
        indexes: Its place in the file, and of each message that it is in: outermost first.
        unit: Of times that do not say theirs.

    Raises:
        RecordError: it has no type here.
    """

    def __init__(self, descriptor: Descriptor, indexes: Sequence[int], unit: Unit) -> None:
        try:
            found = _Reader(unit).message(descriptor)
        except _MALFORMED as error:
            msg = f"it is no schema of messages that can be read: {type(error).__name__}: {str(error)[:300]}"
            raise RecordError(msg) from None
        self.schema = found.schema
        self.name = found.schema.name if found.schema.type is Type.STRUCT else ""
        self._codec = found.codec
        self._class: Callable[[], Any] = files.message_class(descriptor)
        self._head = head(indexes)
        self._layout = layout_of(descriptor, self.schema)
        self._has_several = has_several(self._layout)
        self._wire = wire_message(descriptor)

    def encode(self, value: object) -> bytes:
        """The bytes of a value, behind those that say which message it is. Raises RecordError: it does not fit the schema."""
        out = self._class()
        try:
            self._codec.fill(out, value)
            # Without an order of its own the bytes of a map would differ from run to run, and with them those of keys.
            data: bytes = out.SerializeToString(deterministic=True)
        except (*files.FAILED, ValueError, TypeError, OverflowError, RecursionError) as error:
            msg = f"a value does not fit its schema: {error}"
            raise RecordError(msg) from None
        return self._head + data

    def encode_many(self, values: Sequence[object]) -> list[bytes]:
        """See Form."""
        if not isinstance(values, Column):
            return super().encode_many(values)
        from rocketconnect_sdk.converters.protobuf.columns import messages_of

        found = messages_of(values.array, self._layout)
        return super().encode_many(values) if found is None else [self._head + data for data in found]

    def decode(self, data: bytes, start: int) -> object:
        """The value of bytes from there on, behind those that say which message it is.

        Raises:
            RecordError: they are none, or hold something that would not be in the value.
        """
        try:
            found, body = self._class(), data[start:]
            found.ParseFromString(body)
            check_all_read(found, body, self._wire)
            value = self._codec.read(found)
        except (*files.FAILED, ValueError, TypeError, OverflowError, RecursionError) as error:
            msg = f"the message holds a value that does not fit its schema: {str(error)[:300]}"
            raise RecordError(msg) from None
        if value is None:
            msg = "the value is null, for which a message without a body stands here"
            raise RecordError(msg)
        return value

    def decode_many(self, data: Sequence[bytes], start: int) -> Sequence[object]:
        """See Form."""
        if self._has_several or len(data) < MANY:
            return super().decode_many(data, start)
        from rocketconnect_sdk.converters.protobuf.rows import rows_of

        rows = rows_of(data, start, self._layout)
        return super().decode_many(data, start) if rows is None else Column(rows)


@dataclass(frozen=True, slots=True)
class _Message:
    schema: Schema
    codec: values.Whole


class _Reader:
    """Reads one message with all that it is made of."""

    def __init__(self, unit: Unit) -> None:
        self._unit = unit
        self._within: list[str] = []
        self._way: list[str] = []
        self._count = 0

    def message(self, descriptor: Descriptor) -> _Message:
        """What a message stands for."""
        full = descriptor.full_name
        if full in self._within:
            way = " > ".join([*self._way[self._within.index(full) :], full])
            fix = "make this field one of string or bytes, with what can be of any depth in it as JSON or as a message of its own"
            msg = f"{full} is made of itself: recursive schemas have no type here ({way[-300:]}); {fix}"
            raise RecordError(msg)
        self._within.append(full)
        slots = []
        for field in descriptor.fields:
            self._way.append(f"{full}.{field.name}")
            slots.append(self._slot(field))
            self._way.pop()
        self._within.pop()
        doc, params = files.said(descriptor)
        if params.get(names.WRAPPER) == "true" and len(slots) == 1:
            return _Message(slots[0].schema, fields.wrapped(slots[0]))
        if len({slot.name for slot in slots}) < len(slots):
            msg = f"the message {full} has two fields of the same name"
            raise RecordError(msg)
        schema = Schema(
            Type.STRUCT,
            optional=params.pop(names.OPTIONAL, "") == "true",
            name="" if full == names.UNNAMED else full,
            fields=tuple(Field(slot.name, slot.schema) for slot in slots),
        )
        return _Message(_described(schema, doc, params), fields.whole(slots))

    def _slot(self, field: FieldDescriptor) -> Slot:
        self._count += 1
        if self._count > _LARGEST:
            msg = f"it has more than {_LARGEST} fields altogether"
            raise RecordError(msg)
        if field.type == _KIND.TYPE_GROUP:
            msg = f"{field.full_name} is a group, which has no type here: make it a message"
            raise RecordError(msg)
        doc, params = files.said(field)
        name = params.pop(names.FIELD, field.name)
        required = params.pop(names.REQUIRED, "") == "true"
        if not field.is_repeated:
            return self._single(field, name, doc, params, required=required)
        message = field.message_type
        if message is not None and is_entry(message):
            schema, (put, take) = self._map(field.name, message)
        else:
            items, element = self._element(field, params)
            schema, (put, take) = Schema(Type.ARRAY, items=items), fields.repeated(field.name, element)
        return Slot(name, _described(schema, doc, params), put, take)

    def _single(self, field: FieldDescriptor, name: str, doc: str, params: dict[str, str], *, required: bool) -> Slot:
        schema, element = self._element(field, params)
        if schema.type is Type.STRUCT or _wraps(field):
            schema = replace(schema, doc=schema.doc or doc)
        else:
            schema = _described(schema, doc, params)
        default = field.default_value if field.has_default_value else None
        if default is not None and schema.default is None:
            # What a message lacks has its default, so that it is never null.
            schema = replace(schema, default=element.read(default) if isinstance(element, values.Scalar) else None)
        elif field.has_presence and not required and not field.is_required:
            schema = replace(schema, optional=True)
        put, take = fields.single(field.name, element, schema, present=field.has_presence)
        union = field.containing_oneof
        return Slot(name, schema, put, take, union.name if union is not None and len(union.fields) > 1 else "")

    def _map(self, name: str, entry: Descriptor) -> tuple[Schema, tuple[fields.Put, fields.Take]]:
        key, value = entry.fields_by_name[names.KEY], entry.fields_by_name[names.VALUE]
        if not entry.GetOptions().map_entry:
            slots = self._slot(key), self._slot(value)
            return Schema(Type.MAP, keys=slots[0].schema, items=slots[1].schema), fields.entries(name, *slots)
        keys = _scalar(key, {})
        items, element = self._element(value, {})
        return Schema(Type.MAP, keys=keys, items=items), fields.mapping(name, values.scalar(keys), element)

    def _element(self, field: FieldDescriptor, params: dict[str, str]) -> tuple[Schema, Element]:
        """A single value of a field that is not null; takes what says its type out of the parameters."""
        if field.enum_type is not None:
            kind = field.enum_type
            numbers = {one.name: one.number for one in kind.values}
            # Of several symbols for a number the first is read.
            symbols = {one.number: one.name for one in reversed(kind.values)}
            parameters = ((names.ENUM, kind.full_name), *((f"{names.ENUM}.{name}", str(one)) for name, one in numbers.items()))
            return replace(STRING, parameters=parameters), values.enumeration(numbers, symbols)
        if field.message_type is None:
            schema = _scalar(field, params)
            return schema, values.scalar(schema)
        known = _known(field.message_type.full_name, params, self._unit)
        if known is not None:
            if {part.name: part.type for part in field.message_type.fields} != VALUES[field.message_type.full_name]:
                msg = f"{field.message_type.full_name} has other fields than the message of that name that everybody knows"
                raise RecordError(msg)
            return known, values.message(known)
        if field.message_type.full_name in _WRAPPERS:
            slot = self._slot(field.message_type.fields_by_name[names.VALUE])
            return slot.schema, fields.wrapped(slot)
        found = self.message(field.message_type)
        return found.schema, found.codec


def head(indexes: Sequence[int]) -> bytes:
    """What says which message of a file follows, as Confluent's serializers write it."""
    if tuple(indexes) == (0,):
        return b"\x00"
    return b"".join(varint(number << 1) for number in (len(indexes), *indexes))


def found_at(file: FileDescriptor, indexes: Sequence[int]) -> Descriptor:
    """The message at a place in a file. Raises RecordError: there is none."""
    # By their order in the file: the names have it.
    listed: Sequence[Descriptor] = list(file.message_types_by_name.values())
    found = None
    for index in indexes:
        if index >= len(listed):
            msg = f"its schema has no message at {', '.join(map(str, indexes))[:100]}"
            raise RecordError(msg)
        found = listed[index]
        # Protobuf's own maps are no messages in the text, by which Confluent's own library counts.
        listed = [one for one in found.nested_types if not one.GetOptions().map_entry]
    if found is None:
        msg = "its schema has no message"
        raise RecordError(msg)
    return found


def _wraps(field: FieldDescriptor) -> bool:
    """Whether a field's message stands for its only field, where all is said of that."""
    message = field.message_type
    return message is not None and files.said(message)[1].get(names.WRAPPER) == "true"


def _scalar(field: FieldDescriptor, params: dict[str, str]) -> Schema:
    kind = _SCALARS[field.type]
    if kind is Type.INT32 and params.get(names.CONNECT_TYPE) in ("int8", "int16"):
        return Schema(Type(params.pop(names.CONNECT_TYPE)))
    over = _OVER.get((kind, params.get(names.TYPE, "")))
    if over is None:
        return Schema(kind)
    del params[names.TYPE]
    return Schema(over, unit=_unit(params, Unit.MICROSECONDS)) if over is Type.TIMESTAMP else Schema(over)


def _known(full: str, params: dict[str, str], unit: Unit) -> Schema | None:
    """What a message that is a value stands for."""
    if full == names.DATE:
        return Schema(Type.DATE)
    if full == names.TIME:
        return Schema(Type.TIME, unit=_unit(params, unit))
    if full == names.TIMESTAMP:
        return Schema(Type.TIMESTAMP, unit=_unit(params, unit), zone=True)
    if full != names.DECIMAL:
        return None
    scale, precision = int(params.pop(names.SCALE, "0")), int(params.pop(names.PRECISION, "38"))
    if abs(scale) > _LONGEST or not 0 < precision <= _LONGEST:
        msg = f"a decimal has {precision} digits, {scale} of them behind the point, and at most {_LONGEST} can be read"
        raise RecordError(msg)
    return Schema(Type.DECIMAL, precision=precision, scale=scale)


def _unit(params: dict[str, str], otherwise: Unit) -> Unit:
    return Unit(params.pop(names.UNIT, otherwise.value))


def _described(schema: Schema, doc: str, params: dict[str, str]) -> Schema:
    """A schema with what is said of it; what is no one's is its parameters."""
    rest = dict(params)
    name, version = rest.pop(names.NAME, schema.name), rest.pop(names.VERSION, None)
    listed, default = rest.pop(names.PARAMETERS, None), rest.pop(names.DEFAULT, None)
    parameters = [(str(key), str(value)) for key, value in json.loads(listed)] if listed is not None else []
    found = replace(
        schema,
        name=name,
        version=None if version is None else int(version),
        doc=doc or schema.doc,
        parameters=(*schema.parameters, *parameters, *rest.items()),
    )
    return found if default is None else replace(found, default=_default(schema, default))


def _default(schema: Schema, text: str) -> Default:
    plain = Schema(schema.type, precision=schema.precision, scale=schema.scale, unit=schema.unit, zone=schema.zone)
    found: Any = Values(plain).decode(text.encode())
    return found  # type: ignore[no-any-return]
