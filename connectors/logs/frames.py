"""Messages of syslog out of a stream of bytes: RFC 6587, and RELP. Pure."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256

from rocketconnect_sdk.queues.values import FIRST_PART, rejected, too_large
from rocketconnect_sdk.record import Rejected

AUTO, COUNTED, LINES = "auto", "octet-counting", "newline"
FRAMINGS = (AUTO, COUNTED, LINES)
_COUNT = re.compile(rb"([1-9]\d{0,8}) ")
_DIGITS = re.compile(rb"[1-9]\d{0,8}\Z")
_RELP = re.compile(rb"(\d{1,9}) ([A-Za-z]{1,32}) (\d{1,9})( |\n)")
_RELP_BEGINS = re.compile(rb"\d{1,9}(?: (?:[A-Za-z]{1,32}(?: \d{0,9})?)?)?\Z")

Frame = bytes | Rejected
"""A message; one that is too long is a Rejected."""


class _Long:
    """A message that no record can hold: hashed as it goes by."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._hash = sha256()
        self._first = b""
        self.length = 0

    def add(self, data: bytes) -> None:
        self._hash.update(data)
        self._first += data[: FIRST_PART - len(self._first)]
        self.length += len(data)

    def frame(self) -> Rejected:
        return rejected(self._first, *too_large(self.length, self._limit), self.length, self._hash.hexdigest())


class _Buffer:
    """What has come, and a message of a known length that is too long to be kept."""

    def __init__(self, most_bytes: int) -> None:
        self.most_bytes = most_bytes
        self.data = bytearray()
        self._long: _Long | None = None
        self._missing = 0

    def counted(self, begin: int, length: int) -> Frame | None:
        """The next message, which begins there and has so many bytes; None: not all of it is there."""
        if self._long is None and length > self.most_bytes:
            self._long, self._missing = _Long(self.most_bytes), length
            del self.data[:begin]
        if self._long is not None:
            return self.rest_of_long()
        if len(self.data) < begin + length:
            return None
        frame = bytes(self.data[begin : begin + length])
        del self.data[: begin + length]
        return frame

    def rest_of_long(self) -> Frame | None:
        """Goes on with a message that is too long; None: not all of it was there, or there is none."""
        if self._long is None:
            return None
        part = bytes(self.data[: self._missing])
        del self.data[: len(part)]
        self._long.add(part)
        self._missing -= len(part)
        if self._missing:
            return None
        frame, self._long = self._long.frame(), None
        return frame

    @property
    def in_long(self) -> bool:
        return self._long is not None


class Frames:
    """Messages over TCP: octet counting, or a newline behind each.

    Args:
        most_bytes: A longer message is a Rejected.
        framing: One of FRAMINGS; auto: each message that begins with its length has one.
    """

    def __init__(self, most_bytes: int, framing: str) -> None:
        self._buffer = _Buffer(most_bytes)
        self._framing = framing
        self._line: _Long | None = None

    def feed(self, data: bytes) -> list[Frame]:
        """The messages that are whole now.

        Raises:
            ValueError: no message begins there.
        """
        self._buffer.data += data
        return [frame for frame in self._whole() if frame]

    def end(self) -> list[Frame]:
        """What stands at the end without a newline. Less than was announced is none."""
        data, self._buffer.data = bytes(self._buffer.data), bytearray()
        if self._line is not None:
            self._line.add(data)
            return [self._line.frame()]
        is_part = self._buffer.in_long or (self._framing != LINES and (_COUNT.match(data) or self._framing == COUNTED))
        return [] if is_part or not (frame := _bare(data)) else [frame]

    def _whole(self) -> Iterator[Frame]:
        buffer = self._buffer
        while buffer.data:
            if buffer.in_long:
                frame = buffer.rest_of_long()
            elif self._line is None and self._framing != LINES and (head := _COUNT.match(buffer.data)):
                frame = buffer.counted(head.end(), int(head[1]))
            elif self._line is None and self._framing != LINES and _DIGITS.match(buffer.data):
                return
            elif self._framing == COUNTED:
                msg = f"a message begins with its length and a space, and not with {bytes(buffer.data[:20])!r}"
                raise ValueError(msg)
            else:
                frame = self._next_line()
            if frame is None:
                return
            yield frame

    def _next_line(self) -> Frame | None:
        data = self._buffer.data
        end = data.find(b"\n")
        if self._line is None and end < 0 and len(data) <= self._buffer.most_bytes:
            return None
        if self._line is None and 0 <= end <= self._buffer.most_bytes:
            line = bytes(data[:end])
            del data[: end + 1]
            return _bare(line)
        self._line = self._line or _Long(self._buffer.most_bytes)
        self._line.add(bytes(data if end < 0 else data[:end]))
        if end < 0:
            data.clear()
            return None
        del data[: end + 1]
        frame, self._line = self._line.frame(), None
        return frame


@dataclass(frozen=True, slots=True)
class Command:
    """A command of RELP.

    Attributes:
        number: By which it is answered.
        name: open, syslog, close.
        data: What goes with it.
    """

    number: int
    name: str
    data: Frame


class Commands:
    """Commands of RELP out of a stream of bytes.

    Args:
        most_bytes: Longer data are a Rejected.
    """

    def __init__(self, most_bytes: int) -> None:
        self._buffer = _Buffer(most_bytes)
        self._head: tuple[int, str, int] | None = None

    def feed(self, data: bytes) -> list[Command]:
        """The commands that are whole now.

        Raises:
            ValueError: this is no RELP.
        """
        self._buffer.data += data
        return list(self._whole())

    def _whole(self) -> Iterator[Command]:
        buffer = self._buffer
        while buffer.data:
            if self._head is None and not self._begin():
                return
            assert self._head is not None  # noqa: S101 - see _begin
            number, name, length = self._head
            frame: Frame | None = b""
            if length:
                # With the newline behind it, so that a whole command is there.
                frame = buffer.rest_of_long() if buffer.in_long else buffer.counted(0, length)
                if frame is None:
                    return
                self._head = number, name, 0
                self._data = frame
            if not buffer.data:
                return
            if buffer.data[:1] != b"\n":
                msg = "no newline behind a command of RELP"
                raise ValueError(msg)
            del buffer.data[:1]
            frame, self._data = self._data, b""
            self._head = None
            yield Command(number, name, frame)

    _data: Frame = b""

    def _begin(self) -> bool:
        data = self._buffer.data
        if head := _RELP.match(data):
            self._head = int(head[1]), head[2].decode(), int(head[3])
            # A newline belongs to the end of the command.
            del data[: head.end() if head[4] == b" " else head.end() - 1]
            return True
        if len(data) > 64 or not _RELP_BEGINS.match(data):
            msg = f"a command of RELP begins with its number, and not with {bytes(data[:20])!r}"
            raise ValueError(msg)
        return False


def _bare(line: bytes) -> bytes:
    return line.rstrip(b"\r\0")
