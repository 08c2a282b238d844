"""What libraries and plugins say by the module logging in a host: a line among what it prints, which the executor takes apart."""

from __future__ import annotations

import msgspec

_MARK = "\x1e"
_LONGEST = 4000
"""Bytes of a line: what is written at once, so that other programs' output does not get between (PIPE_BUF)."""


class Said(msgspec.Struct, frozen=True):
    """A record.

    Attributes:
        level: Its number in the module logging.
        logger: The name of the logger.
        message: What is said.
        thread: The name of the thread, which is that of its task.
        exception: A traceback.
    """

    level: int
    logger: str
    message: str
    thread: str = ""
    exception: str = ""


def encode(said: Said) -> str:
    """Return the line of a record; of a long one the beginning of its message, and the end of its traceback."""
    room = _LONGEST
    while True:
        line = _MARK + msgspec.json.encode(said).decode()
        if len(line.encode()) <= _LONGEST:
            return line
        room //= 2
        said = Said(said.level, said.logger[:200], said.message[:room], said.thread[:200], said.exception[-room:])


def decode(line: str) -> Said | None:
    """Return the record of a line; None: it is something else that was printed."""
    if not line.startswith(_MARK):
        return None
    try:
        return msgspec.json.decode(line[len(_MARK) :], type=Said)
    except msgspec.MsgspecError:
        return None
