"""Files that are copies: of one that was emptied, so that they alone have what was not read of it, or of one that is whole."""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from itertools import islice
from pathlib import Path

from connectors.file_source.content import Content, Plain, is_gzip, open_content
from connectors.file_source.folders import files
from connectors.file_source.identity import HEAD_BYTES, head_of
from connectors.file_source.present import is_readable_file
from connectors.file_source.rotation.fingerprint import SEEN_BYTES, bytes_between
from connectors.file_source.rotation.formers import Former, Formers, file_of
from rocketconnect_sdk.errors import PermanentError

_EMPTIED_SECONDS = 10.0
"""A copy of a file that is whole is held for so long after it grew last: who rotates by copies empties the file then,
and who packs it removes it."""
_COMPARED = 1000
"""A new file is compared with so many that begin alike, the newest ones."""

_ROTATED = re.compile(r"(\.\d+|-\d{8}(-\d+)?)$")
"""Ends the name of a log that was rotated."""


class Copies:
    """Tells copies.

    Args:
        formers: What is known of what files held.
        paths: Where files are now, by their inodes.
        compression: The option.
        lines: How many lines tell a file from others.
        follow: Files are looked at for longer; otherwise nothing is waited for.
        clock: Seconds that only grow.
    """

    def __init__(
        self,
        formers: Formers,
        paths: Mapping[int, Path],
        compression: str,
        lines: int,
        *,
        follow: bool,
        clock: Callable[[], float],
    ) -> None:
        self._formers = formers
        self._paths = paths
        self._compression = compression
        self._lines = lines
        self._follow = follow
        self._clock = clock
        self._seen: dict[int, tuple[int, float]] = {}

    def original_of(self, content: Content, path: Path) -> Former | None:
        """The file that a new one is the copy of, when that holds its content no more: reading goes on in the copy. Moves in it."""
        file = file_of(content)
        for former in self._beginning_as(content):
            if former.file == file or not former.is_held_by(content, self._lines):
                continue
            there = self._paths.get(former.inode)
            if self._is_packed(path, former) if there is None else not self._holds(there, former):
                return former
        return None

    def is_packed_away(self, content: Content, path: Path, former: Former) -> bool:
        """Whether a file is a packed one, and what it is made of is under no name any more, and at most held open."""
        return not isinstance(content, Plain) and former.inode not in self._paths and not path.with_suffix("").exists()

    def may_be_emptied(self, content: Content, path: Path) -> bool:
        """Whether a new file is a copy, or the beginning of one, of a file that is whole and may be emptied at any moment."""
        size = content.stored_size
        if not self._follow or not isinstance(content, Plain) or not size:
            return False
        return any(self._begins(there, content, size) for there in self._named_before(path, content)) and self._is_new(content)

    def may_be_unfinished(self, content: Content, path: Path) -> bool:
        """Whether a new file is one that is packed just now: what it is made of is there still, and goes when all is packed."""
        is_packed = self._follow and not isinstance(content, Plain) and path.suffix == ".gz"
        return is_packed and path.with_suffix("") in self._paths.values() and self._is_new(content)

    def _is_new(self, content: Content) -> bool:
        """Whether a copy grew a short time ago."""
        now, size = self._clock(), content.stored_size
        known, since = self._seen.get(content.inode, (-1, now))
        if known != size:
            self._seen[content.inode] = size, now
            return True
        return now - since < _EMPTIED_SECONDS

    def seek(self, former: Former, beside: Path) -> Path | None:
        """The file in a directory that holds what one held which was emptied or replaced; also that one under another name."""
        there = self._paths.get(former.inode)
        if there is not None and there != beside:
            return there
        for path in _like_named(beside):
            # What is renamed meanwhile is found the next time.
            with suppress(OSError):
                if path != beside if path.stat().st_ino == former.inode else self._holds(path, former):
                    return path
        return None

    def _beginning_as(self, content: Content) -> Iterator[Former]:
        head = head_of(content.head(HEAD_BYTES), self._lines, whole=True)
        return iter(()) if head is None else islice(self._formers.beginning(head), _COMPARED)

    def _named_before(self, path: Path, copy: Content) -> Iterator[Path]:
        """Files that were read and begin alike, whose copy has such a name."""
        for former in self._beginning_as(copy):
            there = self._paths.get(former.inode)
            if there is None or former.inode == copy.inode or there.parent != path.parent:
                continue
            if path.name.startswith(there.stem) and len(path.name) > len(there.name):
                yield there

    def _begins(self, path: Path, copy: Plain, size: int) -> bool:
        with suppress(OSError, PermanentError):
            content = open_content(path, gzip=is_gzip(path, self._compression))
            try:
                at = max(0, size - SEEN_BYTES)
                return content.head(SEEN_BYTES)[:size] == copy.head(SEEN_BYTES) and (
                    bytes_between(content, at, size) == copy.between(at, size)
                )
            finally:
                content.close()
        return False

    def _holds(self, path: Path, former: Former) -> bool:
        with suppress(OSError, PermanentError):
            content = open_content(path, gzip=is_gzip(path, self._compression))
            try:
                return former.is_held_by(content, self._lines)
            finally:
                content.close()
        return False

    def _is_packed(self, path: Path, former: Former) -> bool:
        # Meanwhile it may have been moved on: app.log.1 becomes app.log.2, and that app.log.2.gz.
        name = _ROTATED.sub("", Path(former.path).name)
        # Of a position that people set nobody knows where its file was.
        return is_gzip(path, self._compression) and (path.name.startswith(name) if name else former.fingerprint is None)


def _like_named(path: Path) -> list[Path]:
    """The regular files beside a path whose names begin as its own does, it too."""
    begin = Path(path.stem).stem if path.suffix == ".gz" else path.stem
    return [found for _, found in files([path.parent]) if found.name.startswith(begin) and is_readable_file(found)]
