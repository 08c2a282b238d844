"""What files held before: each place to which one was read, with the content that it had there."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from connectors.file_source.content import Content
from connectors.file_source.identity import HEAD_BYTES, FileCoordinate, Identity, head_of, parts_of
from connectors.file_source.rotation.fingerprint import Fingerprint, bytes_between, parsed
from rocketconnect_sdk.record import Offset, Position, SourceBatch
from rocketconnect_sdk.resume import JSON

_FILE = re.compile("[0-9a-f]+-[0-9a-f]+-[0-9a-f]+")


@dataclass(frozen=True, slots=True)
class Former:
    """A file with the content of which something was read.

    Attributes:
        partition: Its source partition.
        offset: Behind what was read of it.
        fingerprint: Of what was read; None: a version before this one stored none.
        path: Where it was; empty: not known.
        turn: It is newer than those with a smaller one.
        copy: The file that holds its content by now, as `file` has it; empty: its partition says which one.
    """

    partition: str
    offset: Offset
    fingerprint: Fingerprint | None = None
    path: str = ""
    turn: int = 0
    copy: str = ""

    @property
    def file(self) -> str:
        """Which file it is, whatever it holds: device, inode and birth, as names of partitions have them."""
        return self.copy or named_file(self.partition)

    @property
    def head(self) -> str:
        """How it began, as names of partitions have it."""
        return parts_of(self.partition)[0].rpartition("-")[2]

    @property
    def identity(self) -> str:
        """Which file it is, and how it began: an Identity as a text."""
        return f"{self.file}-{self.head}"

    @property
    def inode(self) -> int:
        """Its inode."""
        return int(self.file.split("-")[1], 16)

    @property
    def files(self) -> Mapping[int, int]:
        """The file that its partition began in, and the one that holds its content by now: by inode when it was made, in ns."""
        found = [file.split("-") for file in {self.file, named_file(self.partition)}]
        return {int(inode, 16): int(born, 16) for _, inode, born in found}

    @property
    def place(self) -> FileCoordinate:
        """Where reading goes on."""
        return FileCoordinate(self.partition, int(parts_of(self.partition)[1]), self.offset)

    def is_held_by(self, content: Content, lines: int) -> bool:
        """Whether a file holds what was read of this one. `lines`: as head_of has them. Moves in it."""
        head = head_of(content.head(HEAD_BYTES), lines, whole=True)
        if head is None or self.head != f"{head:08x}":
            return False
        if self.fingerprint is not None:
            return self.fingerprint.fits(content)
        end = self.offset[0]
        before = bytes_between(content, end - 1, end)
        return before == b"\n" or (len(self.offset) > 1 and before != b"")

    def noted(self) -> SourceBatch:
        """A batch without records that stores beside the offset what tells the file, and how far it was read."""
        known: JSON = self.fingerprint.written() if self.fingerprint else None
        copy: Mapping[str, JSON] = {"copy": self.copy} if self.copy else {}
        resume = {"fingerprint": known, "path": self.path, "turn": self.turn, **copy}
        return SourceBatch(self.partition, [], [], end=self.offset, resume=resume)


def named_file(partition: str) -> str:
    """The file that a partition began in, as Former.file has it."""
    return parts_of(partition)[0].rpartition("-")[0]


def file_of(content: Content) -> str:
    """Which file it is, as Former.file has it."""
    return str(Identity(content.device, content.inode, content.born_ns, 0)).rpartition("-")[0]


@dataclass(slots=True)
class Formers:
    """All of them, by their partitions: from stored positions, and from this run. There may be many thousands."""

    _all: dict[str, Former] = field(default_factory=dict)
    _by_head: dict[str, set[str]] = field(default_factory=dict)
    _by_place: dict[str, set[str]] = field(default_factory=dict)
    """Their partitions by what files they are, and by their paths."""
    _last_turn: int = 0

    @classmethod
    def stored(cls, positions: Mapping[str, Position]) -> "Formers":
        """Those of stored positions, old ones too."""
        found = cls()
        for partition, position in positions.items():
            identity, generation = parts_of(partition)
            fingerprint = parsed(position.resume)
            if identity.count("-") == 3 and generation.isdecimal() and (position.offset > (0,) or fingerprint is not None):
                path, turn, copy = (position.resume.get(name) for name in ("path", "turn", "copy"))
                found.keep(
                    Former(
                        partition,
                        position.offset,
                        fingerprint,
                        path if isinstance(path, str) else "",
                        turn if isinstance(turn, int) else 0,
                        copy if isinstance(copy, str) and _FILE.fullmatch(copy) else "",
                    )
                )
        return found

    def of(self, partition: str) -> Former | None:
        """That of a partition; None: nothing was read of it."""
        return self._all.get(partition)

    def tells(self, partition: str) -> bool:
        """Whether what stands before the position of a partition is known: not where people set it, or an earlier version did."""
        known = self._all.get(partition)
        return known is not None and known.fingerprint is not None

    @property
    def copied(self) -> Mapping[str, str]:
        """The Identity, as a text, of the file in which each partition is read that is not read in the one of its name."""
        return {former.partition: former.identity for former in self._all.values() if former.copy}

    def keep(self, former: Former) -> None:
        """Reading of a file has come to a place."""
        known = self._all.get(former.partition)
        self._all[former.partition] = former
        self._last_turn = max(self._last_turn, former.turn)
        if known is None:
            self._by_head.setdefault(former.head, set()).add(former.partition)
        if known is None or (known.path, known.copy) != (former.path, former.copy):
            for place in () if known is None else (known.path, known.file):
                self._by_place[place].discard(former.partition)
            for place in (former.path, former.file):
                self._by_place.setdefault(place, set()).add(former.partition)

    def forget(self, former: Former) -> None:
        """It is no more."""
        del self._all[former.partition]
        self._by_head[former.head].discard(former.partition)
        for place in (former.path, former.file):
            self._by_place[place].discard(former.partition)

    def all(self) -> Iterator[Former]:
        """All, in no order."""
        return iter(self._all.values())

    def next_turn(self, partition: str) -> int:
        """The turn of a partition: its own, or that behind all others."""
        known = self._all.get(partition)
        return known.turn if known else 1 + self._last_turn

    def fingerprint(self, partition: str, offset: Offset) -> Fingerprint | None:
        """That which belongs to a place; None: none is known, or it is of another place, as of one that people set."""
        known = self._all.get(partition)
        return known.fingerprint if known and known.fingerprint and known.fingerprint.last[1] <= offset[0] else None

    def beginning(self, head: int) -> Iterator[Former]:
        """Those that began so, the newest first, and of those the ones of which most was read."""
        return self._sorted(self._by_head.get(f"{head:08x}", ()))

    def at(self, *places: str) -> Iterator[Former]:
        """Those that are one of these files (file_of), or were at one of these paths, in the same order."""
        return self._sorted({partition for place in places for partition in self._by_place.get(place, ())})

    def not_held_any_more(
        self, content: Content, path: Path, is_mine: Callable[[Former], bool], *, alone: bool = False, shorter: bool = False
    ) -> Former | None:
        """What was read last in a file, or in its place, where the file does not hold it any more. Moves in it.

        Args:
            content: The file.
            path: Where it is.
            is_mine: Others are left out.
            alone: It is the only file of its source, and each that was read before was in its place.
            shorter: It is not told yet what stands there now, only whether that is less.
        """
        file = file_of(content)
        here = self.at(file, str(path), *([""] if alone else []))
        former = next((each for each in here if is_mine(each) and (each.file == file or not shorter)), None)
        if former is None:
            return None
        is_less = content.stored_size < former.offset[0]
        # Another option may make another file of the same content.
        is_lost = is_less if shorter else not any(former.is_held_by(content, lines) for lines in (1, 2))
        return former if is_lost else None

    def _sorted(self, partitions: Iterable[str]) -> Iterator[Former]:
        found = [self._all[partition] for partition in partitions]
        return iter(sorted(found, key=lambda former: (former.turn, former.offset), reverse=True))
