"""When a file was made: what tells it from one that was given the same inode later (statx(2), Linux)."""

import ctypes
import os
import struct
import sys
from functools import cache
from pathlib import Path
from typing import Any

_AT_FDCWD = -100
_AT_EMPTY_PATH = 0x1000
_STATX_BTIME = 0x800
_BUFFER_BYTES = 256
_BTIME_AT = 80


def born_ns(descriptor: int) -> int:
    """Return the time at which an open file was made, in nanoseconds since 1970; 0: its file system does not know it."""
    try:
        return _asked(descriptor, b"", _AT_EMPTY_PATH)
    except OSError:
        return 0


def born_ns_of(path: Path) -> int:
    """The same of a file that is not open, and is not opened. Raises OSError: it is not there."""
    return _asked(_AT_FDCWD, os.fsencode(path), 0)


def _asked(folder: int, path: bytes, flags: int) -> int:
    statx = _statx()
    if statx is None:
        return 0
    buffer = ctypes.create_string_buffer(_BUFFER_BYTES)
    if statx(folder, path, flags, _STATX_BTIME, buffer) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), path)
    (mask,) = struct.unpack_from("=I", buffer, 0)
    seconds, nanoseconds = struct.unpack_from("=qI", buffer, _BTIME_AT)
    return int(seconds * 1_000_000_000 + nanoseconds) if mask & _STATX_BTIME else 0


@cache
def _statx() -> Any:
    return getattr(ctypes.CDLL(None, use_errno=True), "statx", None) if sys.platform == "linux" else None
