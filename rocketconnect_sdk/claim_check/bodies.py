"""Where bodies are stored."""

import os
import stat
import time
import uuid
from abc import ABC, abstractmethod
from contextlib import suppress
from importlib import import_module
from pathlib import Path

from rocketconnect_sdk.files.trouble import understood
from rocketconnect_sdk.options import Config
from rocketconnect_sdk.permissions.roots import reading, writing

_STAGED = ".staged-"


class Bodies(ABC):
    """Bodies beneath a place. Names are those of Claim, which lead nowhere else.

    Raises, of all methods:
        SystemAway, RetriableError, PermanentError: what the trouble with the store means to the task.
    """

    @abstractmethod
    def put(self, name: str, body: bytes) -> None:
        """Stores a body, durably and as a whole, in the place of one of that name."""

    @abstractmethod
    def get(self, name: str, size: int) -> bytes | None:
        """A body, of which no more is read than such a size and a byte; None: it is not there."""

    @abstractmethod
    def expire(self, uid: str, before: float) -> int:
        """Removes what a connector has stored before a time, in seconds since 1970; returns how much that was."""


class FolderBodies(Bodies):
    """Files of a folder of this machine, or one that is mounted here.

    Args:
        root: Its absolute path; made when something is written.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._made: set[Path] = set()

    def put(self, name: str, body: bytes) -> None:
        """See Bodies."""
        path = self._root / name
        staged = path.with_name(f"{_STAGED}{uuid.uuid4().hex}")
        roots = writing()
        with understood(path):
            self._make(path.parent)
            try:
                _write(roots.open(staged, os.O_WRONLY | os.O_CREAT | os.O_EXCL), body)
                roots.rename(staged, path)
            except BaseException:
                roots.remove(staged)
                raise
            _sync(roots.open(path.parent, os.O_RDONLY | os.O_DIRECTORY))

    def get(self, name: str, size: int) -> bytes | None:
        """See Bodies."""
        path = self._root / name
        with understood(path):
            try:
                file = reading().open(path, os.O_RDONLY | os.O_NONBLOCK)
            except (FileNotFoundError, NotADirectoryError):
                # A forged name may lead through a file. A place that is gone as a whole says nothing of one body.
                os.close(reading().open(self._root, os.O_RDONLY | os.O_DIRECTORY))
                return None
            if not stat.S_ISREG(os.fstat(file).st_mode):
                os.close(file)
                return b""
            with os.fdopen(file, "rb") as body:
                return body.read(size + 1)

    def expire(self, uid: str, before: float) -> int:
        """See Bodies."""
        roots, removed, folder = writing(), 0, self._root / uid
        with understood(folder), suppress(FileNotFoundError):
            for partition in roots.names(folder):
                for name in roots.names(folder / partition):
                    path = folder / partition / name
                    with suppress(FileNotFoundError):
                        file = roots.open(path, os.O_RDONLY | os.O_NONBLOCK)
                        changed = os.fstat(file).st_mtime
                        os.close(file)
                        if changed < before:
                            roots.remove(path)
                            removed += 1
        return removed

    def _make(self, folder: Path) -> None:
        """Makes a folder, and those that it is in up to the place itself, durably."""
        if folder in self._made:
            return
        if folder != self._root:
            self._make(folder.parent)
        roots = writing()
        roots.make_folder(folder)
        _sync(roots.open(folder.parent, os.O_RDONLY | os.O_DIRECTORY))
        self._made.add(folder)


class Expiry:
    """When bodies are to be removed.

    Args:
        bodies: The bodies.
        uid: Of the connector whose they are.
        seconds: After so long.
        every: Seconds between two looks.
    """

    def __init__(self, bodies: Bodies, uid: str, seconds: float, every: float = 3_600.0) -> None:
        self._bodies = bodies
        self._uid = uid
        self._seconds = seconds
        self._every = every
        self._due = 0.0

    def look(self, now: float) -> int | None:
        """Removes what is too old, where that is due at a monotonic time; returns how much that was, None where it is not due."""
        if now < self._due:
            return None
        self._due = now + self._every
        return self._bodies.expire(self._uid, time.time() - self._seconds)


def bodies_of(config: Config) -> Bodies:
    """Where a configuration has its bodies: that of `claim.check.` without this prefix.

    Raises:
        HostRefused, PermanentError: the executor lets no connector speak to the store, or the login is none.
    """
    # What speaks to stores of objects is a connector's, and not known here.
    made: Bodies = import_module("connectors.objects.bodies").bodies_of(config)
    return made


def _write(file: int, body: bytes) -> None:
    try:
        left = memoryview(body)
        while left:
            left = left[os.write(file, left) :]
        os.fsync(file)
    finally:
        os.close(file)


def _sync(folder: int) -> None:
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
