"""How the fields of messages are written and read, with Protobuf's own library."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from rocketconnect_sdk.converters.checked import checked_struct, dict_of
from rocketconnect_sdk.converters.protobuf.values import Scalar, Whole
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.schema import Schema

Put = Callable[[Any, Any], None]
Take = Callable[[Any], Any]
Element = Scalar | Whole


@dataclass(frozen=True, slots=True)
class Slot:
    """A field of a message.

    Attributes:
        name: Of the field of the struct.
        schema: Of its values.
        put: Writes a value that is not None into the field of a message.
        take: The value of the field of a message.
        union: The name of the `oneof` that it is in; empty: none.
    """

    name: str
    schema: Schema
    put: Put
    take: Take
    union: str = ""


def single(name: str, element: Element, schema: Schema, *, present: bool) -> tuple[Put, Take]:
    """Of a field with one value.

    Args:
        name: Of the field of the message.
        element: Of its value.
        schema: Of the same.
        present: Messages say whether they have it.
    """

    def missing() -> Any:
        if schema.default is None and not schema.optional:
            msg = f"{name} is missing, and there is no default"
            raise RecordError(msg)
        return None if schema.optional else schema.default

    if isinstance(element, Whole):
        fill, read = element.fill, element.read

        def put_whole(out: Any, value: Any) -> None:
            part = getattr(out, name)
            part.SetInParent()
            fill(part, value)

        return put_whole, lambda found: read(getattr(found, name)) if found.HasField(name) else missing()
    write, read_one = element.write, element.read

    def put(out: Any, value: Any) -> None:
        setattr(out, name, write(value))

    if not present:
        return put, lambda found: read_one(getattr(found, name))
    return put, lambda found: read_one(getattr(found, name)) if found.HasField(name) else missing()


def repeated(name: str, element: Element) -> tuple[Put, Take]:
    """Of a field that is an array."""
    read = element.read

    def put(out: Any, value: Any) -> None:
        if not isinstance(value, (list, tuple)):
            msg = f"a {type(value).__name__} is no array, which is a list"
            raise RecordError(msg)
        items = getattr(out, name)
        if isinstance(element, Scalar):
            items.extend([element.write(item) for item in value])
            return
        for item in value:
            element.fill(items.add(), item)

    return put, lambda found: [read(item) for item in getattr(found, name)]


def mapping(name: str, keys: Scalar, items: Element) -> tuple[Put, Take]:
    """Of a map of Protobuf's own. A key that comes twice in a message has the last of its values, as everywhere in Protobuf."""
    read_key, read = keys.read, items.read

    def put(out: Any, value: Any) -> None:
        entries = getattr(out, name)
        for key, item in _pairs(value):
            if isinstance(items, Scalar):
                entries[keys.write(key)] = items.write(item)
            else:
                entry = entries[keys.write(key)]
                items.fill(entry, item)

    return put, lambda found: {read_key(key): read(item) for key, item in getattr(found, name).items()}


def entries(name: str, key: Slot, item: Slot) -> tuple[Put, Take]:
    """Of a map that is a list of messages with a key and a value."""

    def put(out: Any, value: Any) -> None:
        listed = getattr(out, name)
        for its_key, its_item in _pairs(value):
            entry = listed.add()
            _put(entry, key, its_key)
            _put(entry, item, its_item)

    def take(found: Any) -> Any:
        return dict_of([(key.take(entry), item.take(entry)) for entry in getattr(found, name)])

    return put, take


def whole(slots: Sequence[Slot]) -> Whole:
    """Of a struct, which is a message."""
    known = {slot.name for slot in slots}
    unions = {slot.union for slot in slots if slot.union}

    def fill(out: Any, value: Any) -> None:
        value = checked_struct(value, known)
        for slot in slots:
            _put(out, slot, value.get(slot.name, slot.schema.default))
        for union in unions:
            given = [slot.name for slot in slots if slot.union == union and value.get(slot.name) is not None]
            if len(given) > 1:
                msg = f"{', '.join(given)[:200]} are given, and of the oneof {union} at most one can be"
                raise RecordError(msg)

    return Whole(fill, lambda found: {slot.name: slot.take(found) for slot in slots})


def wrapped(slot: Slot) -> Whole:
    """Of a message that stands for its only field."""

    def fill(out: Any, value: Any) -> None:
        _put(out, slot, value)

    return Whole(fill, slot.take)


def _put(out: Any, slot: Slot, value: Any) -> None:
    if value is None:
        if slot.schema.optional:
            return
        msg = f"{slot.name}: it is null or missing, and must not be"
        raise RecordError(msg)
    try:
        slot.put(out, value)
    except RecordError as error:
        msg = f"{slot.name}: {error}"
        raise RecordError(msg) from None


def _pairs(value: Any) -> Any:
    if not isinstance(value, dict):
        msg = f"a {type(value).__name__} is no map, which is a dict"
        raise RecordError(msg)
    return value.items()
