"""How far the log is done, as the position of the partition "log". Pure.

The integers: the era, the number of the file, the offset in it, whether the snapshot is done; then, carried along, who the server
is, and the transactions before the place.
"""

import hashlib
import re
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from connectors.mysql_cdc_source.binlog.gtid import MariadbGtid, MariadbGtidSet, MysqlGtidSet
from connectors.mysql_cdc_source.binlog.server import LogFile
from rocketconnect_sdk.errors import PermanentError
from rocketconnect_sdk.record import Offset

_FIXED = 4
_WORDS = 4
_NONE, _MARIADB, _MYSQL = range(3)
_MARIADB_PART = re.compile(r"(\d+)-(\d+)-(\d+)")


class BinlogCoordinate(NamedTuple):
    """A place in the logs of the servers that were read, one after the other.

    Attributes:
        era: How many servers there were before this one.
        file: The number of the file.
        offset: In the file.
    """

    era: int
    file: int
    offset: int


@dataclass(frozen=True, slots=True)
class Watermark:
    """Everything before a place is done.

    Attributes:
        place: The place.
        snapshot_done: Whether the rows that were there before the log are, too.
        server: Who wrote the log: a hash as four integers.
        gtid_set: The transactions before the place; empty: not known.
    """

    place: BinlogCoordinate
    snapshot_done: bool
    server: tuple[int, ...]
    gtid_set: str

    @property
    def offset(self) -> Offset:
        """As integers."""
        return (*self.place, int(self.snapshot_done), *self.server, *_gtids(self.gtid_set))

    @classmethod
    def of(cls, offset: Offset) -> "Watermark":
        """Of its integers.

        Raises:
            ValueError: they are those of none.
        """
        if len(offset) <= _FIXED + _WORDS or offset[3] > 1:
            msg = "has other integers than a position of the log"
            raise ValueError(msg)
        server = offset[_FIXED : _FIXED + _WORDS]
        return cls(BinlogCoordinate(*offset[:3]), bool(offset[3]), server, _text(offset[_FIXED + _WORDS :]))


def server_of(identity: str) -> tuple[int, ...]:
    """The integers that stand for a server, made of what only it is called."""
    return _words(hashlib.sha256(identity.encode()).digest()[:16])


def behind(files: Sequence[LogFile], place: BinlogCoordinate) -> int | None:
    """How many bytes of the log come behind a place; None: its file is not among them.

    Args:
        files: All that the server has, the oldest first.
        place: Of that server.
    """
    sizes = {file_number(file.name): file.size for file in files}
    if place.file not in sizes:
        return None
    # It may have been read beyond what it was when it was looked at.
    return max(0, sum(size for number, size in sizes.items() if number >= place.file) - place.offset)


def file_number(file: str) -> int:
    """The number at the end of the name of a file of the log.

    Raises:
        PermanentError: it has none.
    """
    number = file.rpartition(".")[2]
    if not number.isdecimal():
        msg = f"the file {file!r} of the log has no number at its end"
        raise PermanentError(msg)
    return int(number)


def _words(raw: bytes) -> tuple[int, ...]:
    return tuple(int.from_bytes(raw[at : at + 4], "big") for at in range(0, 16, 4))


def _gtids(text: str) -> Offset:
    if not text:
        return (_NONE,)
    if _MARIADB_PART.match(text) and ":" not in text:
        return (_MARIADB, *(int(number) for part in text.split(",") for number in part.split("-")))
    made = [_MYSQL]
    for part in str(MysqlGtidSet.parse(text)).split(","):
        source, *ranges = part.split(":")
        made += [*_words(uuid.UUID(source).bytes), len(ranges)]
        for piece in ranges:
            first, _, last = piece.partition("-")
            made += [int(first), int(last or first)]
    return tuple(made)


def _text(numbers: Offset) -> str:
    kind, rest = numbers[0], list(numbers[1:])
    if kind == _MARIADB:
        if len(rest) % 3:
            msg = "has no whole GTIDs"
            raise ValueError(msg)
        return str(MariadbGtidSet(MariadbGtid(*rest[at : at + 3]) for at in range(0, len(rest), 3)))
    found: dict[uuid.UUID, list[tuple[int, int]]] = {}
    while kind == _MYSQL and len(rest) > _WORDS:
        source = uuid.UUID(bytes=b"".join(word.to_bytes(4, "big") for word in rest[:_WORDS]))
        end = _WORDS + 1 + 2 * rest[_WORDS]
        pairs = rest[_WORDS + 1 : end]
        found[source] = list(zip(pairs[::2], pairs[1::2], strict=True))
        rest = rest[end:]
    return str(MysqlGtidSet(found)) if found else ""
