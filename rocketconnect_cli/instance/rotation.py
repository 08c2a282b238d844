"""Logs that do not grow for ever: what is older goes into files of its own, and the oldest of those is removed."""

import ctypes
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

MIB = 1 << 20
_COLLAPSE_RANGE = 0x08
"""Of fallocate(2): takes bytes out of a file, as one step for all that write to it: whole blocks, on ext4 and XFS."""


@dataclass(frozen=True, slots=True)
class Rotation:
    """NAME.log is written to; NAME.log.1 has what was before, NAME.log.2 what was before that.

    Processes hold their log open, and what they have started does, so the file stays and what was in it is taken out. Whoever is
    ended meanwhile loses nothing: the older file is there under its name before the log is cut, so lines may be in both. Where the
    file system takes blocks out of a file, nothing is lost in any case, and a line may begin in one file and end in the next.
    Elsewhere the log is emptied when a look has found nothing more in it: what is written in the microseconds between is lost.

    Attributes:
        size: In bytes: a log that is larger is cut.
        count: So many older files are kept of each.
    """

    size: int = 16 * MIB
    count: int = 4

    def turn(self, log: Path) -> bool:
        """Cut a log that is too large; return whether it was.

        Raises:
            OSError: the older part can't be kept, so the log stays as it is.
        """
        try:
            if log.stat().st_size <= self.size:
                return False
        except FileNotFoundError:
            return False
        newest = _older(log, 0)
        with log.open("r+b") as written, newest.open("wb") as kept:
            length = os.fstat(written.fileno()).st_size
            whole = length - length % os.fstatvfs(written.fileno()).f_bsize
            kept.write(written.read(whole))
            kept.flush()
            for number in reversed(range(self.count)):
                if (older := _older(log, number)).exists():
                    older.replace(_older(log, number + 1))
            self._remove_others(log)
            if not _collapse(written, whole):
                shutil.copyfileobj(written, kept)
                kept.flush()
                written.truncate(0)
        return True

    def _remove_others(self, log: Path) -> None:
        """More of them were kept before."""
        number = self.count + 1
        while (older := _older(log, number)).exists():
            older.unlink()
            number += 1


def _older(log: Path, number: int) -> Path:
    """Where a part of a log is; 0: it is only being made."""
    return log.with_name(f"{log.name}.{number}" if number else f"{log.name}.new")


def _collapse(file: BinaryIO, length: int) -> bool:
    """Take so many bytes out of the beginning of a file; return whether that can be done here."""
    fallocate = getattr(ctypes.CDLL(None), "fallocate64", None)
    if fallocate is None or not length:
        return False
    # Offsets have 64 bits, and what is not said is an int.
    return bool(fallocate(file.fileno(), _COLLAPSE_RANGE, ctypes.c_int64(0), ctypes.c_int64(length)) == 0)
