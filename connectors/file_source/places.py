"""Places in files that people name: which file a partition is, and whether a line begins there."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from glob import glob  # Path.glob takes no absolute patterns
from pathlib import Path

from connectors.file_source.content import Content, Plain, is_glob, is_gzip, open_content
from connectors.file_source.folders import files
from connectors.file_source.identity import HEAD_BYTES, Identity, Places, head_of
from connectors.file_source.present import readable_files
from rocketconnect_sdk.errors import PermanentError, Problem
from rocketconnect_sdk.options import Config
from rocketconnect_sdk.record import Offset, Position
from rocketconnect_sdk.resume import JSON

_PIECE = 1 << 16
_NOTHING: Mapping[str, JSON] = {}
_COUNTED = 1 << 26
"""Lines are counted in so many bytes."""


@contextmanager
def opened(config: Config, partition: str, needs_header: bool, resume: Mapping[str, JSON] = _NOTHING) -> Iterator[Content]:
    """The open file that a partition is of, also one that was rotated within its directory, or a copy in which it goes on.

    Args:
        config: The configuration.
        partition: The partition.
        needs_header: Files begin with a header.
        resume: Of its position, where it is known: it tells the copy from other files that begin alike.

    Raises:
        PermanentError: there is none, or it is not what it was, or nobody can tell which of several it is.
    """
    filename: str = config["filename"]
    pattern, _, rest = partition.rpartition("#")
    identity, _, generation = rest.rpartition("-")
    if not Places(filename, {}).names(pattern) or not generation.isdecimal() or identity.count("-") != 3:
        msg = f"is no partition of {filename}"
        raise PermanentError(msg)
    looked_for, inode = _LookedFor(identity, resume.get("copy")), int(identity.split("-")[1], 16)
    lines = 2 if needs_header else 1
    found = [path for path in _beside(filename, inode) if looked_for.is_in(path, config, lines)][:1]
    # Its name does not tell what has become of a file that was copied, or packed, and emptied or removed.
    found = found or [path for path in _beside(filename) if looked_for.may_be_copied_to(path, config, lines)]
    if len(found) != 1:
        msg = f"the file is not there any more, or was written anew: {pattern}"
        if found:
            shown = ", ".join(map(str, sorted(found)[:5]))
            msg = f"its file is not there any more, and several files begin as it did: {shown}"
        raise PermanentError(msg)
    with _opened(found[0], config) as content:
        yield content


@dataclass(frozen=True, slots=True)
class _LookedFor:
    """The file of a partition.

    Attributes:
        identity: Which file it was, and how it began.
        copy: The file in which it goes on, as Former.file has it; None: it is not known.
    """

    identity: str
    copy: JSON = None

    def is_in(self, path: Path, config: Config, lines: int) -> bool:
        """Whether it is there. Raises PermanentError: that can't be read."""
        try:
            return self.identity == _seen(path, config, lines)
        except OSError as error:
            msg = f"{path} cannot be read: {error.strerror}"
            raise PermanentError(msg) from error

    def may_be_copied_to(self, path: Path, config: Config, lines: int) -> bool:
        """Whether the file there begins as it did, and is the copy if that is known."""
        with suppress(OSError, PermanentError):
            file, _, head = _seen(path, config, lines).rpartition("-")
            return head == self.identity.rpartition("-")[2] and self.copy in (None, file)
        return False


def _seen(path: Path, config: Config, lines: int) -> str:
    """Which file is there, and how it begins, as names of partitions have it; empty: it has no beginning yet."""
    with _opened(path, config) as content:
        head = head_of(content.head(HEAD_BYTES), lines, whole=True)
        return "" if head is None else str(Identity(content.device, content.inode, content.born_ns, head))


@dataclass(frozen=True, slots=True)
class ReadBefore:
    """A file of which something was read.

    Attributes:
        path: Where it is.
        offset: Behind what was read.
        size: How many bytes it has; None: it is compressed, and nobody knows.
        anew: The partition under which it is read from its beginning; empty: reading goes on.
    """

    path: Path
    offset: Offset
    size: int | None
    anew: str


def read_before(before: Config, now: Config, headers: tuple[bool, bool], positions: Mapping[str, Position]) -> Iterator[ReadBefore]:
    """The files that are there of which something was read, with what another configuration makes of that.

    Args:
        before: The configuration until now.
        now: The next one.
        headers: Whether each of them has a header to begin with.
        positions: What is stored.
    """
    places = Places(now["filename"], {name: position.offset for name, position in positions.items()})
    for path in sorted(readable_files(now)):
        with suppress(OSError, PermanentError):
            (old, offset), (new, _) = (_known(path, *each, places) for each in zip((before, now), headers, strict=True))
            if old is not None and new is not None and offset[0] > 0:
                with _opened(path, before) as content:
                    size = content.stored_size if isinstance(content, Plain) else None
                yield ReadBefore(path, offset, size, "" if places.knows(new) else places.of(new).partition)


def _known(path: Path, config: Config, header: bool, places: Places) -> tuple[Identity | None, Offset]:
    """Which file it is under a configuration, and behind what it was read."""
    with _opened(path, config) as content:
        head = head_of(content.head(HEAD_BYTES), 2 if header else 1, whole=True)
        if head is None:
            return None, (0,)
        identity = Identity(content.device, content.inode, content.born_ns, head)
    return identity, places.of(identity).offset if places.knows(identity) else (0,)


@contextmanager
def _opened(path: Path, config: Config) -> Iterator[Content]:
    content = open_content(path, gzip=is_gzip(path, config["compression"]))
    try:
        yield content
    finally:
        content.close()


def lines_before(read: ReadBefore, config: Config) -> int | None:
    """How many lines stand before an offset; None: too many to be counted in passing, or the file cannot be read now."""
    end, count, at = read.offset[0], 0, 0
    if end > _COUNTED:
        return None
    with suppress(OSError, PermanentError), _opened(read.path, config) as content:
        content.seek(0)
        while at < end and (piece := content.read(min(_PIECE, end - at))):
            count += piece.count(b"\n")
            at += len(piece)
        return count
    return None


def place_problems(partition: str, offset: Offset, content: Content) -> Iterable[Problem]:
    """What is wrong with going on behind an offset of a file."""
    given = str(list(offset))
    if not 1 <= len(offset) <= 2 or offset[0] < 0 or (len(offset) == 2 and offset[1] != 1):
        fix = "Give the byte at which a line begins, such as [0]."
        yield Problem(partition, given, "is no offset of a file", fix)
        return
    at = offset[0]
    if at == 0:
        return
    before = _line_end_before(content, at)
    if before is None:
        end = last_end(content, over=False)[0]
        yield Problem(partition, given, "is beyond the end of the file", f"Its last whole line ends at [{end}].")
    elif before != at and len(offset) == 1:
        yield Problem(partition, given, "is in the middle of a line", f"That line begins at [{before}].")


def last_end(content: Content, *, over: bool) -> Offset:
    """Behind the last line; `over`: also behind one without a newline, since nothing more will come."""
    size = content.stored_size if isinstance(content, Plain) else _read_to_end(content)
    end = _line_end_before(content, size) or 0
    return (size, 1) if over and end < size else (end,)


def _beside(filename: str, inode: int | None = None) -> Iterable[Path]:
    """Files, of this inode if there is one: under a name that is configured, or rotated away beside it."""
    named = [Path(name) for name in (glob(filename, recursive=True) if is_glob(filename) else [filename])]  # noqa: PTH207
    folders = dict.fromkeys([*(path.parent for path in named), Path(filename).parent])
    return [path for number, path in files(folders) if inode in (None, number)]


def _line_end_before(content: Content, at: int) -> int | None:
    """The last place at or before a byte behind which a line begins; None: the content does not reach so far."""
    upper = at
    while upper > 0:
        lower = max(0, upper - _PIECE)
        data = _read(content, lower, upper - lower)
        if len(data) < upper - lower:
            return None
        newline = data.rfind(b"\n")
        if newline >= 0:
            return lower + newline + 1
        upper = lower
    return 0


def _read(content: Content, at: int, size: int) -> bytes:
    data = b""
    if content.seek(at):
        while len(data) < size and (piece := content.read(size - len(data))):
            data += piece
    return data


def _read_to_end(content: Content) -> int:
    size = 0
    content.seek(0)
    while piece := content.read(_PIECE):
        size += len(piece)
    return size
