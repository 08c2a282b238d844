"""The bytes of a file from an offset on: plain, or out of gzip; and what its name says of that."""

import errno
import os
import zlib
from abc import ABC, abstractmethod
from glob import has_magic
from pathlib import Path
from typing import BinaryIO

from connectors.file_source.birth import born_ns
from rocketconnect_sdk.errors import PermanentError, SystemAway
from rocketconnect_sdk.permissions.roots import reading

_PIECE = 1 << 18
_HEADER = 1 << 16


class Content(ABC):
    """An open file. It stays the same file when it is renamed."""

    def __init__(self, path: Path) -> None:
        self._file: BinaryIO = os.fdopen(reading().open(path, os.O_RDONLY), "rb", buffering=0)
        state = os.fstat(self._file.fileno())
        self.device, self.inode = state.st_dev, state.st_ino
        self.born_ns = born_ns(self._file.fileno())

    @property
    def stored_size(self) -> int:
        """How many bytes it has on disk now."""
        return os.fstat(self._file.fileno()).st_size

    @property
    def stored_state(self) -> tuple[int, int]:
        """Its size on disk and the time at which it was written last: another pair where it was written since."""
        state = os.fstat(self._file.fileno())
        return state.st_size, state.st_mtime_ns

    @property
    @abstractmethod
    def stored_read(self) -> int:
        """How many of them have been read."""

    @abstractmethod
    def seek(self, offset: int) -> bool:
        """Goes to an offset of the content. False: it does not have so many bytes now."""

    @abstractmethod
    def read(self, size: int) -> bytes:
        """The next bytes, at most so many; none at the present end."""

    @abstractmethod
    def head(self, size: int) -> bytes:
        """The first bytes, at most so many. Does not move."""

    def close(self) -> None:
        """Closes the file."""
        self._file.close()


class Plain(Content):
    """The bytes as they are."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._at = 0

    @property
    def stored_read(self) -> int:
        """See Content."""
        return self._at

    def seek(self, offset: int) -> bool:
        """See Content."""
        self._at = offset
        return offset <= self.stored_size

    def read(self, size: int) -> bytes:
        """See Content."""
        data = os.pread(self._file.fileno(), size, self._at)
        self._at += len(data)
        return data

    def head(self, size: int) -> bytes:
        """See Content."""
        return os.pread(self._file.fileno(), size, 0)

    def between(self, begin: int, end: int) -> bytes:
        """The bytes from one place to another, fewer where it ends before. Does not move."""
        return os.pread(self._file.fileno(), end - begin, begin)


class Gzip(Content):
    """What a gzip file holds, one or more members. Offsets are those of the content. A member that is not whole yet is waited for.

    Raises:
        PermanentError: from seek, read and head: it is not gzip, or is damaged.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._path = path
        self._begin()

    def _begin(self) -> None:
        self._stored = 0
        self._at = 0
        self._inflate = zlib.decompressobj(wbits=31)
        self._between = False
        self._raw = b""

    @property
    def stored_read(self) -> int:
        """See Content."""
        return self._stored

    def seek(self, offset: int) -> bool:
        """See Content. Reads up to there: a place in gzip cannot be found otherwise."""
        if offset < self._at:
            self._begin()
        while self._at < offset:
            if not self.read(min(_PIECE, offset - self._at)):
                return False
        return True

    def read(self, size: int) -> bytes:
        """See Content."""
        while True:
            if self._between:
                # Zeros may pad a file to whole blocks.
                self._raw = self._raw.lstrip(b"\0")
                if self._raw:
                    self._inflate, self._between = zlib.decompressobj(wbits=31), False
                elif not self._more():
                    return b""
                continue
            fed = self._raw != b"" or self._more()
            try:
                # Without input, too: output may be left from the input before.
                data = self._inflate.decompress(self._raw, size)
            except zlib.error as error:
                msg = f"{self._path} is not gzip, or damaged behind byte {self._at} of its content: {error}"
                raise PermanentError(msg) from None
            self._between = self._inflate.eof
            self._raw = self._inflate.unused_data or self._inflate.unconsumed_tail
            if data:
                self._at += len(data)
                return data
            if not fed:
                return b""

    def _more(self) -> bool:
        self._raw = os.pread(self._file.fileno(), _PIECE, self._stored)
        self._stored += len(self._raw)
        return self._raw != b""

    def head(self, size: int) -> bytes:
        """See Content."""
        inflate = zlib.decompressobj(wbits=31)
        try:
            return inflate.decompress(os.pread(self._file.fileno(), max(_HEADER, size), 0), size)
        except zlib.error as error:
            msg = f"{self._path} is not gzip: {error}"
            raise PermanentError(msg) from None


def open_content(path: Path, *, gzip: bool) -> Content:
    """Opens a file. Raises OSError."""
    return Gzip(path) if gzip else Plain(path)


def is_glob(filename: str) -> bool:
    """Whether a filename stands for many files. One that exists stands for itself, whatever characters are in it."""
    return has_magic(filename) and not Path(filename).exists()


def is_gzip(path: Path, compression: str) -> bool:
    """Whether a file is read as gzip."""
    return compression == "gzip" or (compression == "auto" and path.suffix == ".gz")


def trouble(path: Path, what: str, error: OSError) -> PermanentError | SystemAway:
    """What somebody must change ends the task; a file system that is away comes back."""
    msg = f"{path} cannot be {what}: {error.strerror}"
    if error.errno in (errno.EACCES, errno.EPERM):
        return PermanentError(f"{msg}; give the worker's user the right to read it")
    if error.errno in (errno.ELOOP, errno.ENAMETOOLONG, errno.ENOTDIR):
        return PermanentError(msg)
    return SystemAway(msg)
