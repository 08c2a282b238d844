"""Reads those ranges of a table that are one task's."""

import time
from collections.abc import Mapping
from datetime import UTC
from typing import Any, cast

from connectors.jdbc.session import Session
from connectors.jdbc_source.place import Order
from connectors.jdbc_source.ranges import Share
from connectors.jdbc_source.readers import NewRows, column_name
from connectors.jdbc_source.tables import Target
from rocketconnect_sdk.errors import Problem
from rocketconnect_sdk.record import Offset, SourceBatch
from rocketconnect_sdk.wording.counts import counted

_MOST = 10_000
"""Ranges with rows: each has a position of its own, and all of them are loaded when a task starts."""


class RangedRows(NewRows):
    """Reads ranges one after the other: the next one when there are rows beyond the one that is read.

    A range that was read to its end has the position of its last number, and is not looked at again.

    Args:
        share: The ranges.
        positions: Of all partitions.
        others: See Reader; the partition is that of the table as a whole.
    """

    def __init__(self, *others: Any, share: Share, positions: Mapping[str, Offset], columnar: bool) -> None:
        super().__init__(*others, delay=0, position=None, first=None, zone=UTC, columnar=columnar)
        self._counts = False
        self._share = share
        self._positions = positions
        self._table = self.partition
        self._end: SourceBatch | None = None
        self._beyond: int | None = None
        self._enter(0)

    def poll(self) -> SourceBatch | None:
        """See Reader."""
        while True:
            if self._end is not None:
                end, self._end = self._end, None
                return end
            batch = super().poll()
            if batch is not None or self.due > time.monotonic():
                return batch

    def _rest(self) -> None:
        # A range ends when it has no more rows after one beyond it was seen: what was committed before that one is read.
        if self._beyond is None:
            self._beyond = self._next_number()
            if self._beyond is None:
                super()._rest()
            return
        end = (self._share.last(self._number),)
        if self._position != end:
            self._end = SourceBatch(self.partition, [], [], end=end)
        self._enter(self._beyond // self._share.size)

    def _enter(self, least: int) -> None:
        share = self._share
        number = share.next(self._table, least)
        while self._positions.get(share.partition(self._table, number)) == (share.last(number),):
            number = share.next(self._table, number + 1)
        self._number = number
        self.partition = share.partition(self._table, number)
        # Nothing lies below the first range: a negative number is found there, and told.
        self._position = self._positions.get(self.partition, (share.first(number) - 1,) if number else None)
        self.last = share.last(number)
        self._beyond = None

    def _next_number(self) -> int | None:
        return _next_number(self.session, self._target, self.last or 0)


def range_problem(session: Session, target: Target, size: int, *, indexed: bool) -> Problem | None:
    """What is wrong with a size: it makes more ranges than positions can be kept of.

    Args:
        session: The database.
        target: The table, with its order.
        size: Of a range.
        indexed: The column has an index, so that ranges without rows are told from others.

    Raises:
        What Session.connected does.
    """
    lowest, highest = (_outermost(session, target, function) for function in ("MIN", "MAX"))
    if lowest is None or highest is None:
        return None
    ranges = highest // size - lowest // size + 1
    if indexed and ranges > _MOST:
        ranges, last = 0, lowest - 1
        while ranges <= _MOST and (found := _next_number(session, target, last)) is not None:
            ranges, last = ranges + 1, (found // size + 1) * size - 1
    if ranges <= _MOST:
        return None
    fits = (highest - lowest) // (_MOST - 1) + 1
    return Problem(
        "split.size",
        str(size),
        f"makes {'more than ' if indexed else ''}{counted(min(ranges, _MOST) if indexed else ranges, 'range')} of {target.name}, "
        f"of which "
        f"{_MOST:,} can be kept",
        f"Set {fits:,} or more.",
    )


def _next_number(session: Session, target: Target, last: int) -> int | None:
    """The lowest number beyond another."""
    return _outermost(session, target, "MIN", f"> {last}")


def _outermost(session: Session, target: Target, function: str, where: str = "IS NOT NULL") -> int | None:
    with session.connected(target.name) as connection:
        column = column_name(session.dialect, cast("Order", target.order).keys[0])
        statement = f"SELECT {function}({column}) FROM {target.rows} WHERE {column} {where}"  # noqa: S608  # quoted
        found = session.reading.one(connection, statement)
        connection.rollback()
    return None if found is None else int(found)
