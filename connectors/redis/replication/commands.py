"""Reads the commands of a stream of replication, each with its place. Pure.

https://redis.io/docs/latest/develop/reference/protocol-spec/
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass, field

_LONGEST_HEAD = 64


class NoCommand(Exception):
    """Bytes are none of the protocol."""


@dataclass(slots=True)
class Command:
    """A command.

    Attributes:
        offset: The place just behind it.
        name: In capital letters.
        arguments: What stands behind the name. Of one that is too large some at the beginning.
        size: So many bytes all arguments have.
        database: The database that it is carried out in.
        transaction: Of one of a transaction the place of its beginning; 0: it is in none.
        number: In the transaction, from 1 on.
    """

    offset: int
    name: str
    arguments: list[bytes]
    size: int
    database: int = 0
    transaction: int = 0
    number: int = 0


@dataclass(slots=True)
class State:
    """What the place behind a command is not enough for.

    Attributes:
        offset: The place behind the last command.
        database: That of the next commands.
        transaction: The place of the beginning of the transaction that is not at its end; 0: there is none.
        number: So many commands of it were read.
    """

    offset: int
    database: int
    transaction: int = 0
    number: int = 0


@dataclass(slots=True)
class _Part:
    """A command that has not come as a whole."""

    wanted: int
    arguments: list[bytes] = field(default_factory=list)
    size: int = 0
    length: int = -1
    """Of the argument that is next; -1: it is not known."""
    skipped: int = 0
    """So many bytes of it were passed already."""


class Commands:
    """Reads commands.

    Args:
        state: Behind what was read before.
        most: A command with more bytes is read without all of its arguments.

    Attributes:
        state: Behind the last command that was given.
        until: No command behind this place is read.
    """

    def __init__(self, state: State, most: int) -> None:
        self.state = state
        self.until = sys.maxsize
        self._most = most
        self._data = bytearray()
        self._at = 0
        self._offset = state.offset
        self._part: _Part | None = None
        self._size = 0

    def feed(self, data: bytes) -> None:
        """Takes what has come."""
        del self._data[: self._at]
        self._at = 0
        self._data += data

    def read(self) -> Iterator[Command]:
        """All commands that have come as a whole. Those of a transaction know where it has begun.

        SELECT and MULTI are in the state alone, and what keeps the link is no command here. EXEC is: there a transaction ends.

        Raises:
            NoCommand: what has come is none.
        """
        while self.state.offset < self.until and (found := self._next()) is not None:
            name = bytes(found[0]).decode(errors="backslashreplace").upper()
            arguments = found[1:]
            state, self.state.offset = self.state, self._offset
            if name == "SELECT":
                state.database = int(arguments[0])
            elif name == "MULTI":
                state.transaction, state.number = self._offset, 0
            elif name == "EXEC":
                state.transaction = state.number = 0
                yield Command(self._offset, name, arguments, 0, state.database)
            elif name not in ("PING", "REPLCONF"):
                state.number += 1 if state.transaction else 0
                yield Command(self._offset, name, arguments, self._size, state.database, state.transaction, state.number)

    def _next(self) -> list[bytes] | None:
        """The words of the next command; None: it has not come as a whole."""
        if self._part is None:
            if (head := self._head()) is None:
                return None
            self._part = _Part(self._number(head, b"*"))
        part = self._part
        while part.wanted:
            if part.length < 0:
                if (head := self._head()) is None:
                    return None
                part.length = self._number(head, b"$")
                part.size += part.length
            if part.size > self._most:
                if not self._skip(part):
                    return None
            elif len(self._data) - self._at < part.length + 2:
                return None
            else:
                part.arguments.append(bytes(self._data[self._at : self._at + part.length]))
                self._pass(part.length + 2)
            part.wanted, part.length, part.skipped = part.wanted - 1, -1, 0
        self._part = None
        self._size = part.size
        if not part.arguments:
            msg = f"a command at {self._offset} has no name"
            raise NoCommand(msg)
        return part.arguments

    def _head(self) -> bytes | None:
        """A line; None: it has not come. Empty ones keep the link."""
        while (end := self._data.find(b"\n", self._at, self._at + _LONGEST_HEAD)) >= 0:
            line = bytes(self._data[self._at : end]).rstrip(b"\r")
            self._pass(end + 1 - self._at)
            if line:
                return line
        if len(self._data) - self._at >= _LONGEST_HEAD:
            msg = f"at {self._offset} stands {bytes(self._data[self._at : self._at + _LONGEST_HEAD])!r}"
            raise NoCommand(msg)
        return None

    def _number(self, line: bytes, sign: bytes) -> int:
        if line[:1] != sign or not line[1:].isdigit():
            msg = f"before {self._offset} stands {line!r}"
            raise NoCommand(msg)
        return int(line[1:])

    def _skip(self, part: _Part) -> bool:
        """Passes an argument of a command that is too large. Returns: whether all of it has come."""
        some = min(part.length + 2 - part.skipped, len(self._data) - self._at)
        part.skipped += some
        self._pass(some)
        return part.skipped == part.length + 2

    def _pass(self, size: int) -> None:
        self._at += size
        self._offset += size
