"""Calls of a Thrift server, in Thrift's binary protocol over a plain socket.

Structs are read as they come, by the numbers of their fields and with the types of all that is in them. So what is changed and sent
back keeps fields that only a newer server knows. Source: the Thrift binary protocol encoding.
"""

import socket
import struct
from collections.abc import Mapping, Sequence
from typing import Any, BinaryIO, NamedTuple

BOOL, BYTE, DOUBLE, I16, I32, I64, STRING, STRUCT, MAP, SET, LIST = 2, 3, 4, 6, 8, 10, 11, 12, 13, 14, 15
_FIXED: Mapping[int, struct.Struct] = {
    BOOL: struct.Struct(">?"),
    BYTE: struct.Struct(">b"),
    DOUBLE: struct.Struct(">d"),
    I16: struct.Struct(">h"),
    I32: struct.Struct(">i"),
    I64: struct.Struct(">q"),
}
_VERSION = 0x80010000
_CALL, _REPLY, _EXCEPTION = 1, 2, 3
_UNKNOWN_METHOD = 1
_MOST = 1 << 28
"""Bytes of a text, or elements of a list: whoever says more speaks something else."""
_DEEPEST = 64


class Value(NamedTuple):
    """A value with its type.

    Attributes:
        type: One of the types above.
        held: Of a STRUCT a dict of Values by number; of a LIST or SET the type of the elements and a list of what they hold; of a
            MAP the types of keys and values and a dict; of a STRING bytes; else a number or a truth value.
    """

    type: int
    held: Any


Struct = dict[int, Value]


class NoThrift(Exception):
    """What answers does not speak Thrift, or stopped in the midst of it."""


class CallFailed(Exception):
    """The server failed outside of what the method declares.

    Attributes:
        is_unknown: It has no such method.
    """

    def __init__(self, message: str, *, is_unknown: bool) -> None:
        super().__init__(message)
        self.is_unknown = is_unknown


def text(value: str) -> Value:
    """A text."""
    return Value(STRING, value.encode())


def texts(values: Sequence[str]) -> Value:
    """A list of texts."""
    return Value(LIST, (STRING, [each.encode() for each in values]))


def pairs(values: Mapping[str, str]) -> Value:
    """A map of texts."""
    return Value(MAP, (STRING, STRING, {key.encode(): value.encode() for key, value in values.items()}))


def structs(values: Sequence[Struct]) -> Value:
    """A list of structs."""
    return Value(LIST, (STRUCT, list(values)))


def text_in(of: Struct, number: int) -> str:
    """The text in a field; empty: there is none."""
    return of[number].held.decode(errors="replace") if number in of and of[number].type == STRING else ""


def pairs_in(of: Struct, number: int) -> dict[str, str]:
    """The map of texts in a field; empty: there is none."""
    if number not in of or of[number].type != MAP:
        return {}
    kind, held, found = of[number].held
    return (
        {key.decode(errors="replace"): value.decode(errors="replace") for key, value in found.items()}
        if {kind, held} <= {STRING}
        else {}
    )


def list_in(of: Struct, number: int) -> list[Any]:
    """What the elements of the list in a field hold; empty: there is none."""
    return list(of[number].held[1]) if number in of and of[number].type == LIST else []


def struct_in(of: Struct, number: int) -> Struct:
    """The struct in a field; empty: there is none."""
    found: Struct = of[number].held if number in of and of[number].type == STRUCT else {}
    return found


def call(host: str, port: int, name: str, arguments: Struct, seconds: float) -> Struct:
    """Calls a method, over a connection of its own.

    Args:
        host: Of the server.
        port: Of the server.
        name: Of the method.
        arguments: Its arguments, by number.
        seconds: The time that the connection, and each wait for bytes, may take.

    Returns:
        The result: in the field 0 what the method returns, in the others what it raises.

    Raises:
        OSError: there is no connection, or it broke: then it is not known whether the method was called.
        NoThrift, CallFailed: see there.
    """
    asked = name.encode()
    head = struct.pack(">Ii", _VERSION | _CALL, len(asked)) + asked + struct.pack(">i", 0)
    with socket.create_connection((host, port), timeout=seconds) as connection:
        connection.sendall(head + _written(Value(STRUCT, arguments)))
        with connection.makefile("rb") as stream:
            return _reply(_Reader(stream), asked)


def _reply(reader: "_Reader", asked: bytes) -> Struct:
    head = int.from_bytes(reader.bytes(4), "big")
    if head & 0xFFFF0000 != _VERSION:
        msg = "the answer is none of Thrift's binary protocol"
        raise NoThrift(msg)
    name = reader.value(STRING, 0)
    reader.bytes(4)
    result: Struct = reader.value(STRUCT, 0)
    if head & 0xFF == _EXCEPTION:
        raise CallFailed(text_in(result, 1), is_unknown=result.get(2) == Value(I32, _UNKNOWN_METHOD))
    if head & 0xFF != _REPLY or name != asked:
        msg = "the answer is that of another call"
        raise NoThrift(msg)
    return result


def _written(value: Value) -> bytes:
    kind, held = value
    if kind in _FIXED:
        return _FIXED[kind].pack(held)
    if kind == STRING:
        return struct.pack(">i", len(held)) + bytes(held)
    if kind == STRUCT:
        fields = (struct.pack(">bh", each.type, number) + _written(each) for number, each in held.items())
        return b"".join(fields) + b"\0"
    if kind == MAP:
        keys, values, entries = held
        parts = (_written(Value(keys, key)) + _written(Value(values, each)) for key, each in entries.items())
        return struct.pack(">bbi", keys, values, len(entries)) + b"".join(parts)
    items, elements = held
    return struct.pack(">bi", items, len(elements)) + b"".join(_written(Value(items, each)) for each in elements)


class _Reader:
    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream

    def bytes(self, count: int) -> bytes:
        found = self._stream.read(count)
        if len(found) < count:
            msg = "the connection was closed in the midst of an answer"
            raise NoThrift(msg)
        return found

    def value(self, kind: int, depth: int) -> Any:
        """What a value of a type holds."""
        if depth > _DEEPEST:
            msg = "the answer is nested too deep"
            raise NoThrift(msg)
        if kind in _FIXED:
            form = _FIXED[kind]
            return form.unpack(self.bytes(form.size))[0]
        if kind == STRING:
            return self.bytes(self._size())
        if kind == STRUCT:
            return self._struct(depth)
        if kind == MAP:
            keys, values = self.bytes(2)
            return keys, values, {self.value(keys, depth + 1): self.value(values, depth + 1) for _ in range(self._size())}
        if kind in (LIST, SET):
            items = self.bytes(1)[0]
            return items, [self.value(items, depth + 1) for _ in range(self._size())]
        msg = f"the answer has a value of the type {kind}, which there is not"
        raise NoThrift(msg)

    def _struct(self, depth: int) -> Struct:
        found: Struct = {}
        while kind := self.bytes(1)[0]:
            number = int.from_bytes(self.bytes(2), "big", signed=True)
            found[number] = Value(kind, self.value(kind, depth + 1))
        return found

    def _size(self) -> int:
        size = int.from_bytes(self.bytes(4), "big", signed=True)
        if not 0 <= size <= _MOST:
            msg = f"the answer has a size of {size}"
            raise NoThrift(msg)
        return size
