"""Temporary files of hosts: a folder for each, gone with it, also when host or executor are killed."""

import fcntl
import os
import shutil
import tempfile
from pathlib import Path

_PREFIX = "rocketconnect-executor-"
_LOCK = "lock"


class Scratch:
    """The folder of one executor process, locked for as long as it lives.

    Args:
        root: Where it is made, and where the folders of executors that were killed are removed.
    """

    def __init__(self, root: Path | None = None) -> None:
        root = root or Path(tempfile.gettempdir())
        for path in root.glob(f"{_PREFIX}*"):
            _remove_if_left_behind(path)
        self._path = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=root))
        self._lock = os.open(self._path / _LOCK, os.O_CREAT | os.O_RDWR, 0o600)
        fcntl.flock(self._lock, fcntl.LOCK_EX)

    @property
    def path(self) -> Path:
        """The folder, for what is shared by hosts."""
        return self._path

    def folder(self) -> Path:
        """Return a new, empty folder. Who gets it removes it with `remove`."""
        return Path(tempfile.mkdtemp(prefix="host-", dir=self._path))

    def close(self) -> None:
        """Remove all of it."""
        remove(self._path)
        os.close(self._lock)


def remove(path: Path) -> None:
    """Remove a folder with all that is in it; what can't be removed is left to the next start."""
    shutil.rmtree(path, ignore_errors=True)


def _remove_if_left_behind(path: Path) -> None:
    try:
        lock = os.open(path / _LOCK, os.O_RDWR)
    except OSError:
        # It is just being made, just being removed, or somebody else's.
        return
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        remove(path)
    except BlockingIOError:
        # Its executor lives.
        pass
    finally:
        os.close(lock)
