"""Whether a Protobuf schema can follow another one: what Protobuf's rules say of numbers and types, and not what Confluent adds."""

from collections.abc import Iterable, Mapping

from rocketconnect_sdk.converters.protobuf.files import Descriptor, FieldDescriptor, FileDescriptor

_KIND = FieldDescriptor
_ALIKE: Mapping[int, str] = {
    **dict.fromkeys((_KIND.TYPE_INT32, _KIND.TYPE_UINT32, _KIND.TYPE_INT64, _KIND.TYPE_UINT64, _KIND.TYPE_BOOL), "number"),
    **dict.fromkeys((_KIND.TYPE_SINT32, _KIND.TYPE_SINT64), "zigzag"),
    **dict.fromkeys((_KIND.TYPE_FIXED32, _KIND.TYPE_SFIXED32), "fixed32"),
    **dict.fromkeys((_KIND.TYPE_FIXED64, _KIND.TYPE_SFIXED64), "fixed64"),
    **dict.fromkeys((_KIND.TYPE_STRING, _KIND.TYPE_BYTES), "text"),
}
"""Types whose bytes are read as each other. The same in both directions, so that BACKWARD and FORWARD are not told apart."""


def conflicts(new: FileDescriptor, old: FileDescriptor) -> list[str]:
    """Why a file can't follow another: a message that is gone, a number with another type, or one that is repeated no more."""
    found, before = _messages(new.message_types_by_name.values()), _messages(old.message_types_by_name.values())
    reasons = [f"the message {name} is gone" for name in before if name not in found]
    for name in before.keys() & found.keys():
        fields = {field.number: field for field in found[name].fields}
        for field in before[name].fields:
            other = fields.get(field.number)
            if other is not None and _shape(other) != _shape(field):
                reasons.append(f"the field {field.number} of {name} changes from {_shape(field)} to {_shape(other)}")
    return reasons


def _messages(messages: Iterable[Descriptor]) -> dict[str, Descriptor]:
    found: dict[str, Descriptor] = {}
    for message in messages:
        found[message.full_name] = message
        found |= _messages(message.nested_types)
    return found


def _shape(field: FieldDescriptor) -> tuple[str, bool]:
    kind = field.message_type.full_name if field.message_type is not None else _ALIKE.get(field.type, str(field.type))
    return kind, field.is_repeated
