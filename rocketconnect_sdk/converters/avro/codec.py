"""Values as Avro's binary form has them. What is written is checked, and what is read is as long as it says, whatever it is.

A writer appends to a bytearray; a reader is given bytes and where to begin, and gives a value and where it ends. Behind the end of
the bytes a reader raises IndexError.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rocketconnect_sdk.errors import RecordError

Write = Callable[[bytearray, Any], None]
Read = Callable[[bytes, int], tuple[Any, int]]


@dataclass(frozen=True, slots=True)
class Layout:
    """How values of a type stand in bytes.

    Attributes:
        kind: Avro's word for it.
        null: Of a union of null and this type, which of the two is null; None: it is no union.
        parts: Of a record those of its fields, of an array that of its items. A map is an array of records of a key and a value.
        size: Of a fixed: its bytes.
        symbols: Of an enum.
    """

    kind: str
    null: int | None = None
    parts: "tuple[Layout, ...]" = ()
    size: int = 0
    symbols: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Codec:
    """How values of a type are written and read.

    Attributes:
        layout: For whoever does many at once; None: they are done one by one.
    """

    write: Write
    read: Read
    layout: Layout | None = None


def put_long(out: bytearray, number: int) -> None:
    """Writes a whole number of 64 bits."""
    number = (number << 1) ^ (number >> 63)
    while number > 127:
        out.append((number & 127) | 128)
        number >>= 7
    out.append(number)


def take_long(data: bytes, at: int) -> tuple[int, int]:
    """Reads a whole number of 64 bits."""
    byte = data[at]
    at += 1
    number = byte & 127
    shift = 7
    while byte > 127:
        byte = data[at]
        at += 1
        number |= (byte & 127) << shift
        shift += 7
        if shift > 70:
            break
    if number >> 64 or byte > 127:
        msg = f"a number of more than 64 bits ends at byte {at}"
        raise RecordError(msg)
    return (number >> 1) ^ -(number & 1), at
