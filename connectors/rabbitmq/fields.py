"""Values of headers that pika reads as others.

What is behind the point of a number would be lost, and a time beyond the calendar would end the connection, each time that the
message comes. Here they are read as they are. https://www.rabbitmq.com/amqp-0-9-1-errata#section_3
"""

import struct
from datetime import UTC, datetime
from typing import Any

from pika import data

_as_pika = data.decode_value


def decode_value(encoded: bytes, offset: int) -> tuple[Any, int]:
    """A value of a table, and where the next one begins."""
    match encoded[offset : offset + 1]:
        case b"d":
            return struct.unpack_from(">d", encoded, offset + 1)[0], offset + 9
        case b"f":
            return struct.unpack_from(">f", encoded, offset + 1)[0], offset + 5
        case b"T":
            return _time(struct.unpack_from(">Q", encoded, offset + 1)[0]), offset + 9
    value, end = _as_pika(encoded, offset)
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
