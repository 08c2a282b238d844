"""One file that grows by batches: each is appended, synced, and then counts by its manifest. What no manifest counts is cut off."""

import errno
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from logging import Logger
from pathlib import Path
from typing import Any

from rocketconnect_sdk.files.manifest import ManifestLog, seen_manifest, sync, write_all
from rocketconnect_sdk.files.trouble import understood
from rocketconnect_sdk.permissions.roots import Roots, writing
from rocketconnect_sdk.sink import QueuePosition, SinkCommit
from rocketconnect_sdk.targets.manifests import Manifest, Owner
from rocketconnect_sdk.wording.counts import counted

_COPIED = 1 << 30
_READ = 1 << 20


@dataclass(frozen=True, slots=True)
class StagedFile:
    """A file whose bytes are to be appended; it is removed afterwards."""

    path: str
    length: int


class AppendedFile:
    """A file of one task, exactly once. Beside NAME, the hidden directory .NAME.rocketconnect holds manifests and staged files.

    People may read the file while it grows; what they see behind the last manifest can still go away. Nobody else may write to it.
    It may be moved away (rotated): then a new one is begun. Used by one thread.

    Args:
        path: The file.
        owner: Who writes.
        log: Is told what was cut off.
    """

    def __init__(self, path: Path, owner: Owner, log: Logger) -> None:
        self.path = path
        self._log = log
        self._roots = writing()
        self._directory = _directory_of(path)
        self._manifests = ManifestLog(self._directory, owner, exclusive=True)
        self._state: Mapping[str, Any] = {}

    @property
    def staged(self) -> Path:
        """Where pieces are staged: in the same file system, and removed at start."""
        return self._directory / "staged"

    def start(self) -> Mapping[str, QueuePosition]:
        """Claims the file, cuts off what an earlier owner left behind, and gives the positions of what is in it.

        Raises:
            SystemAway, RetriableError, PermanentError
        """
        with self._manifests.locked() as newest, understood(self.path):
            file = self._open()
            try:
                length, inode = self._counted(file, newest), os.fstat(file).st_ino
                sync(self.path.parent)
                state = dict(newest.state) if newest is not None and length else {}
                # Before the cut: where the lock does nothing, an owner that wins this race has counted what would be cut off.
                claimed = self._manifests.claim(newest, {**state, "length": length, "inode": inode})
                self._cut(file, claimed, "of a batch that was not finished, or that somebody else has appended")
                os.fsync(file)
            finally:
                os.close(file)
            self._roots.remove_folder(self.staged)
            self._roots.make_folder(self.staged)
        self._state = claimed.state
        return claimed.queues

    def _open(self) -> int:
        return self._roots.open(self.path, os.O_RDWR | os.O_CREAT)

    def _counted(self, file: int, newest: Manifest | None) -> int:
        """The length of what counts."""
        found = os.fstat(file)
        if newest is None or newest.state.get("inode") != found.st_ino:
            # Somebody else's content, or a new file after a rotation: it stays, and is appended to.
            return found.st_size
        length: int = newest.state["length"]
        if found.st_size < length:
            self._log.warning("%s was shortened by somebody else, from %d to %d bytes", self.path, length, found.st_size)
        return min(length, found.st_size)

    def _cut(self, file: int, newest: Manifest, why: str) -> int:
        """The length of what counts; the rest is cut off, and told."""
        length, size = self._counted(file, newest), os.fstat(file).st_size
        if size > length:
            self._log.warning(
                "%s: %s cut off, %s from byte %d on: %s; nobody else may write to this file",
                self.path,
                counted(size - length, "byte", "is", "are"),
                counted(_lines(file, length, size), "line"),
                length,
                why,
            )
            os.ftruncate(file, length)
        return length

    def _end_line(self, file: int, length: int) -> int:
        if length and os.pread(file, 1, length - 1) != b"\n":
            return write_all(file, b"\n", length)
        return length

    @property
    def remembered(self) -> Mapping[str, Any]:
        """What was stored with the batch that was written last."""
        return self._state

    def append(
        self,
        pieces: Iterable[bytes | StagedFile],
        commit: SinkCommit,
        *,
        remember: Mapping[str, Any] | None = None,
        first: bytes = b"",
    ) -> None:
        """Appends a batch in the order of its pieces, and stores its positions. Durable when it returns (invariant 2).

        Args:
            pieces: Whole lines. None: only the positions are stored.
            commit: Of the batch. The one that was written last is not written again.
            remember: What is stored with it, for `remembered`.
            first: Stands before the pieces where the file is empty: a header.

        Raises:
            SystemAway, RetriableError: nothing is left of it.
            PermanentError: somebody else has the file.
        """
        pieces = list(pieces)
        with self._manifests.locked() as newest, understood(self.path):
            mine = self._manifests.mine(newest)
            if not self._manifests.written(mine, commit):
                self._append(mine, pieces, commit, remember or {}, first)
            self._remove(pieces)

    def _append(
        self, mine: Manifest, pieces: Iterable[bytes | StagedFile], commit: SinkCommit, remember: Mapping[str, Any], first: bytes
    ) -> None:
        file = self._open()
        try:
            # A batch that failed was cut off then.
            begin = self._end_line(file, self._cut(file, mine, "that somebody else has appended"))
            try:
                end = begin or write_all(file, first, 0)
                for piece in pieces:
                    end = write_all(file, piece, end) if isinstance(piece, bytes) else _copy(piece, file, end, self._roots)
                os.fsync(file)
                inode = os.fstat(file).st_ino
                if inode != mine.state.get("inode"):
                    sync(self.path.parent)
                made = self._manifests.commit(mine, commit, {**mine.state, **remember, "length": end, "inode": inode})
            except BaseException:
                # Where the lock does nothing, another owner may have counted what it wrote there: it cuts off the rest itself.
                if self._manifests.is_newest(mine):
                    os.ftruncate(file, begin)
                raise
            self._state = made.state
        finally:
            os.close(file)

    def discard(self, pieces: Iterable[bytes | StagedFile]) -> None:
        """Removes pieces that will not be appended."""
        with understood(self.path):
            self._remove(pieces)

    def _remove(self, pieces: Iterable[bytes | StagedFile]) -> None:
        for piece in pieces:
            if isinstance(piece, StagedFile):
                self._roots.remove(Path(piece.path))


def remembered_of(path: Path) -> Mapping[str, Any]:
    """What was stored with the batch that was written to a file last, for somebody who only looks; nothing where it is not known.

    That of a file which was moved away says nothing of the one in its place.
    """
    newest = seen_manifest(_directory_of(path))
    if newest is None or not newest.state.get("length"):
        return {}
    try:
        return newest.state if path.stat().st_ino == newest.state.get("inode") else {}
    except OSError:
        return {}


def _directory_of(path: Path) -> Path:
    return path.parent / f".{path.name}.rocketconnect"


def _lines(file: int, begin: int, end: int) -> int:
    """How many lines there are between two places; the last one may have no end."""
    count, last = 0, b"\n"
    while begin < end and (data := os.pread(file, min(_READ, end - begin), begin)):
        count += data.count(b"\n")
        last = data[-1:]
        begin += len(data)
    return count + (last != b"\n")


def _copy(piece: StagedFile, file: int, at: int, roots: Roots) -> int:
    source = roots.open(piece.path, os.O_RDONLY)
    try:
        done = 0
        while done < piece.length:
            copied = _copy_range(source, file, min(_COPIED, piece.length - done), done, at + done)
            if not copied:
                msg = f"{piece.path} has {done} bytes instead of {piece.length}"
                raise OSError(msg)
            done += copied
    finally:
        os.close(source)
    return at + done


def _copy_range(source: int, file: int, count: int, begin: int, at: int) -> int:
    try:
        return os.copy_file_range(source, file, count, begin, at)
    except OSError as error:
        if error.errno not in (errno.EXDEV, errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP):
            raise
    data = os.pread(source, min(count, 1 << 20), begin)
    return write_all(file, data, at) - at
