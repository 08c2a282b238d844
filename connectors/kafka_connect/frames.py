"""What Handles.writer has written, as records. Pure."""

from collections.abc import Iterator
from struct import Struct
from typing import NamedTuple

_INT, _SHORT, _LONG = (Struct(form).unpack_from for form in (">i", ">H", ">q"))


class Written(NamedTuple):
    """A record: its time is -1 where it has none, headers say how many it has."""

    key: bytes | None
    value: bytes | None
    topic: str
    time: int
    headers: int


def records_of(frame: bytes) -> Iterator[Written]:
    """The records of a frame."""
    at = 0
    while at < len(frame):
        key, at = _nullable(frame, at)
        value, at = _nullable(frame, at)
        (length,) = _SHORT(frame, at)
        topic = frame[at + 2 : at + 2 + length].decode()
        at += 2 + length
        (time,), (headers,) = _LONG(frame, at), _INT(frame, at + 8)
        at += 12
        yield Written(key, value, topic, time, headers)


def _nullable(frame: bytes, at: int) -> tuple[bytes | None, int]:
    (length,) = _INT(frame, at)
    begin = at + 4
    return (None, begin) if length < 0 else (frame[begin : begin + length], begin + length)
