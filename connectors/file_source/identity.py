"""Which file it is: the same after it was renamed, another after it was truncated or replaced. Pure.

A source partition is named PATTERN#DEVICE-INODE-BORN-HEAD-GENERATION. BORN is the time at which the file was made: an inode is
given to other files later. Where the file system knows it, DEVICE is 0: the number of a device can change when a machine starts.
HEAD is the CRC of the first line, or of the header and the first line behind it, at most 1,024 bytes: it tells apart what was
written into the same file one after the other. GENERATION counts the times that a file was written anew and yet began alike.

A partition keeps its name when its file is copied or packed and reading goes on in the copy: by that name its records are known in
the topic, and to sinks. Which file it is read in by then is stored with its position.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from zlib import crc32

from rocketconnect_sdk.record import Offset

HEAD_BYTES = 1024
_LONGEST_PATTERN = 900
_NOTHING: Mapping[str, str] = {}


@dataclass(frozen=True, slots=True)
class Identity:
    """A file with its content so far."""

    device: int
    inode: int
    born_ns: int
    head: int

    def __str__(self) -> str:
        """As in names of partitions."""
        device = 0 if self.born_ns else self.device
        return f"{device:x}-{self.inode:x}-{self.born_ns:x}-{self.head:08x}"


@dataclass(frozen=True, slots=True)
class FileCoordinate:
    """Where a file is read: in which partition, behind which offset."""

    partition: str
    generation: int
    offset: Offset


def head_of(data: bytes, lines: int, *, whole: bool) -> int | None:
    """HEAD of a file that begins with data; None: more of it is needed.

    Args:
        data: Its first HEAD_BYTES bytes, or all that there are.
        lines: How many lines tell it from others: 1, or 2 where the first one is a header.
        whole: There will be no more.
    """
    data = data[:HEAD_BYTES]
    end = -1
    for _ in range(lines):
        end = data.find(b"\n", end + 1)
        if end < 0:
            return crc32(data) if len(data) == HEAD_BYTES or (whole and data) else None
    return crc32(data[:end])


def parts_of(partition: str) -> tuple[str, str]:
    """The Identity and the generation in the name of a partition, as texts."""
    identity, _, generation = partition.rpartition("#")[2].rpartition("-")
    return identity, generation


def share_of(device: int, inode: int, shares: int) -> int:
    """Which task reads a file. By what it is, not by its name, so that a file that is renamed stays with its task.

    The device is 0 where several machines must agree: each mount of a network file system has a number of its own.
    """
    return crc32(f"{device:x}-{inode:x}".encode()) % shares


class Places:
    """What is known of files: from stored positions, and from this run.

    Args:
        pattern: The path or glob of the configuration, for the names of partitions.
        positions: Of all partitions of the connector.
        copied: Of partitions that are read in copies of their files by now, which file that is: an Identity as a text.
    """

    def __init__(self, pattern: str, positions: Mapping[str, Offset], copied: Mapping[str, str] = _NOTHING) -> None:
        self._pattern = pattern if len(pattern) <= _LONGEST_PATTERN else f"…{pattern[-_LONGEST_PATTERN:]}"
        self._newest: dict[str, FileCoordinate] = {}
        self._left: dict[str, int] = {}
        """The last generation of files that is read in copies by now."""
        for partition, offset in positions.items():
            identity, generation = parts_of(partition)
            if identity and generation.isdecimal():
                place = FileCoordinate(partition, int(generation), offset)
                if partition in copied:
                    self._leave(identity, place)
                self._keep(copied.get(partition, identity), place)

    def _keep(self, identity: str, place: FileCoordinate) -> None:
        known = self._newest.get(identity)
        if known is None or known.generation <= place.generation:
            self._newest[identity] = place

    def _leave(self, identity: str, place: FileCoordinate) -> None:
        self._left[identity] = max(place.generation, self._left.get(identity, 0))

    def names(self, pattern: str) -> bool:
        """Whether names of partitions begin with a pattern."""
        return pattern == self._pattern

    def known_inodes(self, is_mine: Callable[[int], bool]) -> set[int]:
        """The inode of every file that is known, of those whose HEAD is one of these."""
        known = [identity.split("-") for identity in self._newest if identity.count("-") == 3]
        return {int(inode, 16) for _, inode, _, head in known if is_mine(int(head, 16))}

    def knows(self, identity: Identity) -> bool:
        """Whether something of the file was read before."""
        return str(identity) in self._newest

    def forget(self, identity: str, partition: str) -> None:
        """A file is no more that was read in a partition."""
        known = self._newest.get(identity)
        if known is not None and known.partition == partition:
            del self._newest[identity]

    def alike(self, identity: Identity) -> Mapping[int, FileCoordinate]:
        """Other files that began as this one does, and of which something was read: their places by their inodes."""
        return {
            int(other.split("-")[1], 16): place
            for other, place in self._newest.items()
            if other.endswith(f"-{identity.head:08x}") and place.offset > (0,) and other != str(identity)
        }

    def of(self, identity: Identity) -> FileCoordinate:
        """Where reading of a file goes on, or begins."""
        return self._newest.get(str(identity)) or self.anew(identity)

    def anew(self, identity: Identity) -> FileCoordinate:
        """The place of a file that is not what it was: the beginning of another partition."""
        known = self._newest.get(str(identity))
        return self._begin(identity, 1 + max(known.generation if known else -1, self._left.get(str(identity), -1)))

    def _begin(self, identity: Identity, generation: int) -> FileCoordinate:
        place = FileCoordinate(f"{self._pattern}#{identity}-{generation}", generation, (0,))
        self._keep(str(identity), place)
        return place

    def moved(self, identity: Identity, place: FileCoordinate) -> None:
        """Reading has come to a place."""
        self._keep(str(identity), place)

    def copied(self, before: str, identity: Identity, place: FileCoordinate) -> None:
        """What was in one file is in another one now: reading goes on there, in the same partition.

        Args:
            before: The Identity of the file until now, as a text.
            identity: The file.
            place: The place.
        """
        known = self._newest.get(before)
        if known is not None and known.partition == place.partition:
            del self._newest[before]
        self._leave(parts_of(place.partition)[0], place)
        self._newest[str(identity)] = place


def wrong_characters(texts: Iterable[str]) -> bool:
    """Whether a name has characters that a partition cannot have."""
    return any(not char.isprintable() for text in texts for char in text)


def filename_problem(text: str) -> str | None:
    """What is wrong with the option filename; None: nothing, as far as its text tells."""
    if wrong_characters(text):
        return "has characters that cannot be printed"
    return None if Path(text).is_absolute() else "is a relative path, and a worker has a directory of its own"
