"""Manifests: what is durable in a target, in files with rising numbers.

Each manifest is the whole truth at its time: who owns the target, and the position of every queue whose messages are in it. A new
one is made with the next number and O_EXCL, so that of two writers one fails; and under a lock, so that nobody writes between
looking and making. The one with the highest number that is whole counts: one that was cut off by a crash never happened.
"""

import fcntl
import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from rocketconnect_sdk.errors import PermanentError, SystemAway
from rocketconnect_sdk.files.trouble import understood
from rocketconnect_sdk.permissions.roots import OutsideRoots, Roots, writing
from rocketconnect_sdk.targets.manifests import Manifest, Manifests, Owner, manifest_from_json

_KEPT = 16
_LOCK_SECONDS = 2.0


class ManifestLog(Manifests):
    """The manifests of a target, as one task sees and writes them. Used by one thread.

    Args:
        directory: Where they are; made when the first one is written.
        owner: Who writes.
        exclusive: One task at a time has the target as a whole, of whatever connector. Otherwise the tasks of a connector share it,
            each with queues of its own.
    """

    def __init__(self, directory: Path, owner: Owner, *, exclusive: bool) -> None:
        super().__init__(directory, owner, exclusive=exclusive)
        self._directory = directory
        self._roots = writing()

    @contextmanager
    def locked(self) -> Iterator[Manifest | None]:
        """Nobody else changes the target within the block. Gives the newest manifest; None: there is none.

        The lock is the operating system's, so it is gone with the process that held it.

        Raises:
            SystemAway: another process holds it and does not go on: it was paused while it wrote.
        """
        with understood(self._directory):
            self._roots.make_folder(self._directory)
            lock = self._roots.open(self._directory / "lock", os.O_RDWR | os.O_CREAT)
        try:
            self._lock(lock)
            with understood(self._directory):
                newest = self._newest()
            yield newest
        finally:
            os.close(lock)

    def change(self, work: Callable[[Manifest | None], Manifest]) -> Manifest:
        """See Manifests. Raises as `locked`."""
        with self.locked() as newest:
            return work(newest)

    def _lock(self, lock: int) -> None:
        end = time.monotonic() + _LOCK_SECONDS
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() > end:
                    msg = f"{self._directory}: another process is in the middle of a write and does not go on; continue or end it"
                    raise SystemAway(msg, wait=0.5) from None
                time.sleep(0.01)
            else:
                return

    def is_newest(self, manifest: Manifest) -> bool:
        """Whether nobody has written another one since. Raises OSError."""
        return self._numbers()[:1] == [manifest.number]

    def _write(self, manifest: Manifest) -> None:
        path = self._path(manifest.number)
        data = json.dumps(manifest.to_json(), separators=(",", ":")).encode() + b"\n"
        try:
            file = self._roots.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        except FileExistsError:
            msg = f"{path}: another owner was quicker, so this one stops"
            raise PermanentError(msg) from None
        try:
            try:
                write_all(file, data, 0)
                os.fsync(file)
            finally:
                os.close(file)
            sync(self._directory)
        except BaseException:
            self._roots.remove(path)
            raise
        self._remove_old(manifest.number - _KEPT)

    def _remove_old(self, newest: int) -> None:
        # The new one is durable, and the batch with it: an error here must not look as if it were not. The next one tries again.
        with suppress(OSError):
            for number in self._numbers():
                if number <= newest:
                    self._roots.remove(self._path(number))

    def _numbers(self) -> list[int]:
        return _numbers(self._roots, self._directory)

    def _path(self, number: int) -> Path:
        return _path(self._directory, number)

    def _newest(self) -> Manifest | None:
        return _newest(self._roots, self._directory)


def seen_manifest(directory: Path) -> Manifest | None:
    """The newest manifest for somebody who only looks, while others may write; None: there is none, or nobody may look."""
    try:
        return _newest(writing(), directory)
    except (OSError, OutsideRoots):
        return None


def _numbers(roots: Roots, directory: Path) -> list[int]:
    names = roots.names(directory)
    return sorted((int(name[:-5]) for name in names if name.endswith(".json")), reverse=True)


def _path(directory: Path, number: int) -> Path:
    return directory / f"{number:020d}.json"


def _newest(roots: Roots, directory: Path) -> Manifest | None:
    numbers = _numbers(roots, directory)
    for number in numbers:
        with os.fdopen(roots.open(_path(directory, number), os.O_RDONLY), "rb") as file:
            text = file.read()
        if text.endswith(b"}\n"):
            with suppress(KeyError, TypeError, ValueError, AttributeError):  # cut off by a crash: it never happened
                found = manifest_from_json(json.loads(text))
                # A number that was never whole is used up, too.
                return replace(found, number=numbers[0])
    return None


def write_all(file: int, data: bytes | memoryview, at: int) -> int:
    """Writes everything at an offset; returns the offset behind it. Raises OSError."""
    view = memoryview(data)
    while view:
        done = os.pwrite(file, view, at)
        view = view[done:]
        at += done
    return at


def sync(path: Path) -> None:
    """Makes what a file holds durable, or the names in a directory. Raises OSError."""
    opened = os.open(path, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
