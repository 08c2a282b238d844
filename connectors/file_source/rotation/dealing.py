"""Which files a task reads of those that several tasks find."""

import stat
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

from connectors.file_source.content import is_glob, is_gzip, open_content, trouble
from connectors.file_source.identity import HEAD_BYTES, Identity, head_of, share_of
from connectors.file_source.rotation.formers import Former, Formers
from rocketconnect_sdk.errors import PermanentError
from rocketconnect_sdk.options import Config

BY_HEAD, BY_INODE, BY_DEVICE = "head", "inode", "device"
"""How files are dealt out: by how they begin, by their inodes, by their devices and inodes."""

Key = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Foreign:
    """A file of another task.

    Attributes:
        identity: Which file it is.
        lost: What this task has read in it, or in its place, and what it does not hold any more.
    """

    identity: Identity
    lost: Former | None


_UNREADABLE = Foreign(Identity(0, 0, 0, 0), None)


@dataclass(slots=True)
class Dealing:
    """Deals files out to the tasks of a plan.

    By how they begin, a file and all that becomes of it (renamed, copied, packed) are of one task, which alone knows how far they
    were read. What is written into a file that was emptied may be of another one. Nobody knows how a file begins as long as
    its first line is not whole: until then all tasks hold it open, for it may be renamed at any moment.

    Attributes:
        share: (number, how many) of this task among those of the plan.
        by: How files are dealt out. Other ways than BY_HEAD are those of plans that earlier versions made.
        lines: How many lines tell a file from others.
        config: The parsed configuration.
    """

    share: tuple[int, int]
    by: str
    lines: int
    config: Config
    _foreign: dict[Key, tuple[tuple[int, int], Foreign]] = field(default_factory=dict)

    def has(self, head: int) -> bool:
        """Whether files that begin so are of this task."""
        number, tasks = self.share
        return self.by != BY_HEAD or tasks == 1 or share_of(0, head, tasks) == number

    def is_of(self, former: Former) -> bool:
        """Whether what is left of a file that was read before is of this task."""
        return self.has(int(former.head, 16))

    def forgets(self, former: Former) -> bool:
        """Whether this task alone knows whether a file that was read before is still read."""
        return (self.by == BY_HEAD or self.share[1] == 1) and self.is_of(former)

    def _has_inode(self, device: int, inode: int) -> bool:
        number, tasks = self.share
        return share_of(device if self.by == BY_DEVICE else 0, inode, tasks) == number

    def found(self, paths: Iterable[Path]) -> dict[Key, Path]:
        """The files that may be of this task, as far as their numbers tell."""
        found: dict[Key, Path] = {}
        for path in paths:
            try:
                state = path.stat()
            except FileNotFoundError:
                continue
            except OSError as error:
                raise trouble(path, "looked at", error) from error
            key = (state.st_dev, state.st_ino)
            if not stat.S_ISREG(state.st_mode):
                if not is_glob(self.config["filename"]):
                    msg = f"{path} is not a file"
                    raise PermanentError(msg)
            elif self.by == BY_HEAD or self._has_inode(*key):
                found.setdefault(key, path)
        return found

    def foreign(self, key: Key, path: Path, formers: Formers) -> Foreign | None:
        """What is known of a file of another task; None: it may be one of this task. What is lost is told once for each beginning.

        Args:
            key: Its device and its inode.
            path: Where it is.
            formers: What files held.
        """
        if self.by != BY_HEAD or self.share[1] == 1:
            return None
        known_state, known = self._foreign.get(key, (None, None))
        try:
            stored = path.stat()
            state = stored.st_size, stored.st_mtime_ns
            if known is not None and known_state == state:
                return known
            # Where another file was renamed to that name since, the next look finds both.
            is_renamed = (stored.st_dev, stored.st_ino) != key and self.config["follow"]
            seen = _UNREADABLE if is_renamed else self._look(path, formers)
        except FileNotFoundError:
            return None
        except (OSError, PermanentError):
            # Nobody can tell how it begins, and one task has to say so.
            return None if self._has_inode(*key) else _UNREADABLE
        if seen is None:
            self._foreign.pop(key, None)
            return None
        told = replace(seen, lost=None)
        self._foreign[key] = state, told
        return told if known is not None and known.identity == seen.identity else seen

    def keep(self, keys: Iterable[Key]) -> None:
        """Forgets all other files."""
        self._foreign = {key: self._foreign[key] for key in keys if key in self._foreign}

    def _look(self, path: Path, formers: Formers) -> Foreign | None:
        content = open_content(path, gzip=is_gzip(path, self.config["compression"]))
        try:
            head = head_of(content.head(HEAD_BYTES), self.lines, whole=not self.config["follow"])
            if head is None or self.has(head):
                return None
            identity = Identity(content.device, content.inode, content.born_ns, head)
            return Foreign(identity, formers.not_held_any_more(content, path, self.is_of))
        finally:
            content.close()
