"""When a file was made: what tells it from one that was given the same inode later (statx(2), Linux)."""

import ctypes
import os
import struct
import sys
from pathlib import Path

_AT_EMPTY_PATH = 0x1000
_STATX_BTIME = 0x800
_BUFFER_BYTES = 256
_BTIME_AT = 80


def born_ns(descriptor: int) -> int:
    """Return the time at which an open file was made, in nanoseconds since 1970; 0: its file system does not know it."""
    statx = getattr(ctypes.CDLL(None, use_errno=True), "statx", None) if sys.platform == "linux" else None
    if statx is None:
        return 0
    buffer = ctypes.create_string_buffer(_BUFFER_BYTES)
    if statx(descriptor, b"", _AT_EMPTY_PATH, _STATX_BTIME, buffer) != 0:
        return 0
    (mask,) = struct.unpack_from("=I", buffer, 0)
    seconds, nanoseconds = struct.unpack_from("=qI", buffer, _BTIME_AT)
    return int(seconds * 1_000_000_000 + nanoseconds) if mask & _STATX_BTIME else 0


def born_ns_of(path: Path) -> int:
    """The same of a file that is not open. Raises OSError: it is not there."""
    descriptor = os.open(path, getattr(os, "O_PATH", os.O_RDONLY))
    try:
        return born_ns(descriptor)
    finally:
        os.close(descriptor)
