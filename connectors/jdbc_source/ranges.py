"""A table in ranges of the numbers that its rows are known by, so that several tasks read it. Pure.

Ranges begin at multiples of their size, whatever is in the table and however many tasks there are: a range is always the same
source partition, and a position always says the same.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from zlib import crc32


@dataclass(frozen=True, slots=True)
class Share:
    """The ranges that one task reads.

    Attributes:
        size: So many numbers are a range.
        task: The number of the task.
        tasks: How many tasks there are.
    """

    size: int
    task: int
    tasks: int

    def next(self, table: str, least: int) -> int:
        """The first range of a table from `least` on that is one of this share. Tables begin with different tasks."""
        return least + (self.task + crc32(table.encode()) - least) % self.tasks

    def first(self, number: int) -> int:
        """The first number of a range."""
        return number * self.size

    def last(self, number: int) -> int:
        """The last number of a range."""
        return (number + 1) * self.size - 1

    def partition(self, table: str, number: int) -> str:
        """The source partition of a range.

        Args:
            table: The source partition of its table as a whole.
            number: Of the range.
        """
        return f"{table} {number}x{self.size}"


def foreign(table: str, size: int, partitions: Iterable[str]) -> str | None:
    """A partition that holds rows of a table in ranges of another size, or in none; None: there is none.

    Args:
        table: The source partition of the table as a whole.
        size: Of the ranges; 0: there are none.
        partitions: Those that have positions.
    """
    ranged = re.compile(re.escape(table) + r" \d+x(\d+)")
    for partition in partitions:
        found = ranged.fullmatch(partition)
        if (found and int(found[1]) != size) or (partition == table and size):
            return partition
    return None
