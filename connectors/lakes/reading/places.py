"""Where reading goes on in the history of a table, and how its files are dealt out. Pure."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from rocketconnect_sdk.record import Offset


class TableCoordinate(NamedTuple):
    """A place in the history of a table; as an offset the four numbers.

    Attributes:
        version: Of the table.
        whole: 1: among all rows that the table has at that version. 0: among those that the version itself brings.
        file: The number of the file among those of the version.
        row: So many of its rows are done.
    """

    version: int
    whole: int = 0
    file: int = 0
    row: int = 0

    @property
    def behind(self) -> "TableCoordinate":
        """Where the next version begins."""
        return TableCoordinate(self.version + 1)


def place_of(offset: Offset) -> TableCoordinate:
    """The place that an offset names: its first four numbers. One behind them counts the records of the last row.

    Raises:
        ValueError: it names none.
    """
    if len(offset) not in (4, 5) or min(offset) < 0 or offset[1] > 1:
        msg = "is no place in the history of a table"
        raise ValueError(msg)
    return TableCoordinate(*offset[:4])


def place_from(text: str) -> TableCoordinate:
    """What `place_text` has written."""
    return TableCoordinate(*map(int, text.split(",")))


def place_text(place: TableCoordinate) -> str:
    """A place in a plan."""
    return ",".join(map(str, place))


@dataclass(frozen=True, slots=True)
class Split:
    """One of the parts that the files of a table are dealt out to: each is a source partition.

    Attributes:
        table: The id of the table: one that is made anew at the same path has another.
        number: Of the part, from 0.
        parts: How many parts there are.
    """

    table: str
    number: int = 0
    parts: int = 1

    @property
    def partition(self) -> str:
        """The source partition."""
        return self.table if self.parts == 1 else f"{self.table} {self.number}/{self.parts}"

    def has(self, file: int) -> bool:
        """Whether the file of this number is in this part."""
        return file % self.parts == self.number


_PARTITION = re.compile(r"(\S+)(?: (\d{1,4})/(\d{1,4}))?")


def split_of(partition: str) -> Split | None:
    """The part that a source partition is; None: it is none of a table."""
    found = _PARTITION.fullmatch(partition)
    if found is None:
        return None
    split = Split(found[1]) if found[2] is None else Split(found[1], int(found[2]), int(found[3]))
    return split if split.number < split.parts and split.partition == partition else None


def foreign(table: str, parts: int, partitions: Iterable[str]) -> str | None:
    """What is wrong with going on from positions of these partitions; None: nothing.

    Args:
        table: The id of the table.
        parts: How many parts its files are dealt out to.
        partitions: Those that have positions.
    """
    for partition in partitions:
        split = split_of(partition)
        if split is None or split.table != table:
            was = partition if split is None else split.table
            return (
                f"the positions are of the table {was}, and the table that is there now is {table}: it was made anew, or the "
                "configuration names another one. Reset the connector to read this one from where `start` says"
            )
        if split.parts != parts:
            return f"the positions are of splits={split.parts}, and splits is {parts} now. Set it back, or reset the connector"
    return None
