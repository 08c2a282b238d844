"""Opening what is beneath an open folder, and never through a symbolic link: openat2(2), or name by name where there is none."""

import ctypes
import errno
import os
import sys

_OPENAT2 = 437
"""Its number, the same on all machines but Alpha."""
_RESOLVE = 0x02 | 0x04 | 0x08
"""RESOLVE_NO_MAGICLINKS, RESOLVE_NO_SYMLINKS, RESOLVE_BENEATH."""
_ABSENT = (errno.ENOSYS, errno.EPERM)
"""The kernel has no openat2, or a filter of system calls knows none; what else is not permitted, the walk tells as well."""
FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_CLOEXEC
"""To open a folder for nothing but what is beneath it."""


class _How(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


def open_beneath(top: int, inner: str, flags: int, mode: int) -> int:
    """A descriptor of what is at a path beneath an open folder.

    Args:
        top: The folder.
        inner: The path from there, without "..".
        flags: As of os.open.
        mode: Of a new file.

    Raises:
        OSError: with ELOOP or ENOTDIR where a part of the path is a symbolic link.
    """
    if sys.platform == "linux":
        try:
            return _openat2(top, inner, flags, mode)
        except OSError as error:
            if error.errno not in _ABSENT:
                raise
    return walk_beneath(top, inner, flags, mode)


def _openat2(top: int, inner: str, flags: int, mode: int) -> int:
    how = _How(flags | os.O_CLOEXEC, mode & 0o7777 if flags & os.O_CREAT else 0, _RESOLVE)
    call = ctypes.CDLL(None, use_errno=True).syscall
    call.restype = ctypes.c_long
    while True:
        descriptor = call(
            ctypes.c_long(_OPENAT2),
            ctypes.c_int(top),
            ctypes.c_char_p(os.fsencode(inner)),
            ctypes.byref(how),
            ctypes.c_size_t(ctypes.sizeof(how)),
        )
        if descriptor >= 0:
            return int(descriptor)
        number = ctypes.get_errno()
        if number not in (errno.EINTR, errno.EAGAIN):
            raise OSError(number, os.strerror(number), inner)


def walk_beneath(top: int, inner: str, flags: int, mode: int) -> int:
    """The same without openat2: each folder on the way is opened in the one before, and is none if it is a link."""
    *folders, name = inner.split("/")
    at = os.dup(top)
    try:
        for folder in folders:
            deeper = os.open(folder, FOLDER | os.O_NOFOLLOW, dir_fd=at)
            os.close(at)
            at = deeper
        return os.open(name, flags | os.O_NOFOLLOW | os.O_CLOEXEC, mode, dir_fd=at)
    finally:
        os.close(at)
