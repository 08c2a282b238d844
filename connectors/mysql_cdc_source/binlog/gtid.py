"""Global transaction ids, and sets of them: what a server, or whoever reads its log, has done.

https://mariadb.com/kb/en/gtid/ and https://dev.mysql.com/doc/refman/8.4/en/replication-gtids-concepts.html
"""

import re
import uuid
from bisect import bisect_right
from collections.abc import Iterable, Mapping
from operator import itemgetter
from typing import NamedTuple, Self

from connectors.mysql_cdc_source.binlog.cursor import Cursor
from connectors.mysql_cdc_source.binlog.errors import MalformedEvent
from rocketconnect_sdk.wording.counts import counted

_MYSQL_PART = re.compile(r"([0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})((?::[1-9]\d*(?:-\d+)?)+)")
_MARIADB_PART = re.compile(r"(\d+)-(\d+)-(\d+)")


class MariadbGtid(NamedTuple):
    """A transaction of MariaDB, as in 0-1-100."""

    domain: int
    server: int
    sequence: int

    def __str__(self) -> str:
        """As the server writes it."""
        return f"{self.domain}-{self.server}-{self.sequence}"


class MysqlGtid(NamedTuple):
    """A transaction of MySQL, as in 3e11fa47-71ca-11e1-9e33-c80aa9429562:23. Not run against a server."""

    source: uuid.UUID
    number: int

    def __str__(self) -> str:
        """As the server writes it."""
        return f"{self.source}:{self.number}"


Gtid = MariadbGtid | MysqlGtid


class MariadbGtidSet:
    """The last transaction of each domain. Never changed.

    Args:
        gtids: One per domain; of several the last counts.
    """

    __slots__ = ("_last", "_text")

    def __init__(self, gtids: Iterable[MariadbGtid] = ()) -> None:
        self._last = {gtid.domain: gtid for gtid in gtids}
        self._text: str | None = None

    @classmethod
    def parse(cls, text: str) -> Self:
        """The set of a text such as `0-1-100,1-2-3`.

        Raises:
            ValueError: it is none.
        """
        found = []
        for part in filter(None, (part.strip() for part in text.split(","))):
            if not (match := _MARIADB_PART.fullmatch(part)):
                msg = f"{part!r} is no GTID of MariaDB; it is DOMAIN-SERVER-SEQUENCE, such as 0-1-100"
                raise ValueError(msg)
            found.append(MariadbGtid(*map(int, match.groups())))
        return cls(found)

    def with_(self, gtid: MariadbGtid) -> Self:
        """This set, and one more transaction."""
        return type(self)((*self._last.values(), gtid))

    def __str__(self) -> str:
        """As the server writes it."""
        if self._text is None:
            self._text = ",".join(str(self._last[domain]) for domain in sorted(self._last))
        return self._text

    def __eq__(self, other: object) -> bool:
        """Whether both are the same transactions."""
        return isinstance(other, MariadbGtidSet) and self._last == other._last

    def __hash__(self) -> int:
        """As its text."""
        return hash(str(self))


class MysqlGtidSet:
    """Per server the ranges of transactions, both ends included. Never changed. Not run against a server.

    Args:
        ranges: Per server, in any order.
    """

    __slots__ = ("_ranges", "_text")

    def __init__(self, ranges: Mapping[uuid.UUID, Iterable[tuple[int, int]]] | None = None) -> None:
        self._ranges = {source: _merged(given) for source, given in (ranges or {}).items()}
        self._text: str | None = None

    @classmethod
    def parse(cls, text: str) -> Self:
        """The set of a text such as `3e11fa47-71ca-11e1-9e33-c80aa9429562:1-5:11`.

        Raises:
            ValueError: it is none.
        """
        ranges: dict[uuid.UUID, list[tuple[int, int]]] = {}
        for part in filter(None, (part.strip() for part in text.split(","))):
            if not (match := _MYSQL_PART.fullmatch(part)):
                msg = f"{part!r} is no GTID set of MySQL; it is UUID:FROM-TO, such as 3e11fa47-71ca-11e1-9e33-c80aa9429562:1-5"
                raise ValueError(msg)
            mine = ranges.setdefault(uuid.UUID(match[1]), [])
            for piece in match[2][1:].split(":"):
                first, _, last = piece.partition("-")
                mine.append((int(first), int(last or first)))
        return cls(ranges)

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """The set as PREVIOUS_GTIDS_EVENT and COM_BINLOG_DUMP_GTID have it.

        Raises:
            MalformedEvent: it is none.
        """
        cursor, ranges = Cursor(data), {}
        for _ in range(cursor.uint(8)):
            source = uuid.UUID(bytes=cursor.take(16))
            # The end that is stored is the first number behind the range.
            ranges[source] = [(cursor.uint(8), cursor.uint(8) - 1) for _ in range(_fitting(cursor.uint(8), cursor.left // 16))]
        return cls(ranges)

    def to_bytes(self) -> bytes:
        """The bytes that from_bytes reads."""
        out = bytearray(len(self._ranges).to_bytes(8, "little"))
        for source, ranges in self._ranges.items():
            out += source.bytes + len(ranges).to_bytes(8, "little")
            for first, last in ranges:
                out += first.to_bytes(8, "little") + (last + 1).to_bytes(8, "little")
        return bytes(out)

    def __contains__(self, gtid: MysqlGtid) -> bool:
        """Whether a transaction is among them."""
        ranges = self._ranges.get(gtid.source, ())
        at = bisect_right(ranges, gtid.number, key=itemgetter(0))
        return at > 0 and gtid.number <= ranges[at - 1][1]

    def without(self, other: "MysqlGtidSet") -> Self:
        """Those of this set that another one does not have."""
        others = other._ranges  # noqa: SLF001 - of the same class
        left = {source: _cut(ranges, others.get(source, ())) for source, ranges in self._ranges.items()}
        return type(self)({source: ranges for source, ranges in left.items() if ranges})

    def with_(self, gtid: MysqlGtid) -> Self:
        """This set, and one more transaction."""
        mine = self._ranges.get(gtid.source, ())
        return type(self)({**self._ranges, gtid.source: [*mine, (gtid.number, gtid.number)]})

    def __str__(self) -> str:
        """As the server writes it."""
        if self._text is None:
            self._text = ",".join(
                f"{source}:" + ":".join(str(first) if first == last else f"{first}-{last}" for first, last in self._ranges[source])
                for source in sorted(self._ranges)
            )
        return self._text

    def __eq__(self, other: object) -> bool:
        """Whether both are the same transactions."""
        return isinstance(other, MysqlGtidSet) and self._ranges == other._ranges

    def __hash__(self) -> int:
        """As its text."""
        return hash(str(self))


GtidSet = MariadbGtidSet | MysqlGtidSet


def _merged(ranges: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    merged: list[tuple[int, int]] = []
    for first, last in sorted(ranges):
        if merged and first <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(last, merged[-1][1]))
        else:
            merged.append((first, last))
    return tuple(merged)


def _cut(ranges: Iterable[tuple[int, int]], holes: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """What is left of ranges, both in their order."""
    left = list(ranges)
    for first, last in holes:
        parts = [((a, min(b, first - 1)), (max(a, last + 1), b)) for a, b in left]
        left = [part for pair in parts for part in pair if part[0] <= part[1]]
    return left


def _fitting(count: int, possible: int) -> int:
    if count > possible:
        msg = f"a set of GTIDs says that it has {counted(count, 'range')}, and has bytes for {possible}"
        raise MalformedEvent(msg)
    return count
