"""Values of headers that pika reads as others.

What is behind the point of a number would be lost, and a time beyond the calendar would end the connection, each time that the
message comes, and so would tables in tables in tables. Here they are read as they are. https://www.rabbitmq.com/amqp-0-9-1-errata#section_3
"""

import struct
import threading
from datetime import UTC, datetime
from typing import Any

from pika import data

_DEEPEST = 100
_as_pika = data.decode_value
_within = threading.local()


def decode_value(encoded: bytes, offset: int) -> tuple[Any, int]:
    """A value of a table, and where the next one begins."""
    match encoded[offset : offset + 1]:
        case b"d":
            return struct.unpack_from(">d", encoded, offset + 1)[0], offset + 9
        case b"f":
            return struct.unpack_from(">f", encoded, offset + 1)[0], offset + 5
        case b"T":
            return _time(struct.unpack_from(">Q", encoded, offset + 1)[0]), offset + 9
    depth = getattr(_within, "depth", 0)
    if depth >= _DEEPEST and encoded[offset : offset + 1] in (b"F", b"A"):
        # Deeper than Python gets: it would end the connection, each time that the message comes. So it is the bytes that it was.
        begin = offset + 5
        end = begin + int(struct.unpack_from(">I", encoded, offset + 1)[0])
        return encoded[begin:end], end
    _within.depth = depth + 1
    try:
        value, end = _as_pika(encoded, offset)
    finally:
        _within.depth = depth
    # pika has a class of its own for large whole numbers.
    return (int(value) if type(value) is not bool and isinstance(value, int) else value), end


def _time(seconds: int) -> datetime | int:
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        return seconds


def install() -> None:
    """Has pika read values so, also those within others."""
    data.decode_value = decode_value
