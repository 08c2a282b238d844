"""Rows of an event that are read when somebody asks for them."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import overload

from connectors.mysql_cdc_source.binlog.errors import MalformedEvent
from connectors.mysql_cdc_source.binlog.row_reading.code import FAULTS, Row, RowReader


class RowImages(Sequence[Row]):
    """Rows, held as the bytes of their event. Each look at them reads them.

    Args:
        table: The name of their table, for people.
        reader: Reads one.
        data: Has the rows.
        starts: Where each begins.

    Raises:
        MalformedEvent: from each look at rows: they are none of the table.
    """

    __slots__ = ("_reader", "_table", "data", "starts")

    def __init__(self, table: str, reader: RowReader, data: bytes, starts: Sequence[int]) -> None:
        self._table = table
        self._reader = reader
        self.data = data
        self.starts = starts

    def __len__(self) -> int:
        """How many."""
        return len(self.starts)

    @overload
    def __getitem__(self, index: int) -> Row: ...
    @overload
    def __getitem__(self, index: slice) -> "RowImages": ...
    def __getitem__(self, index: int | slice) -> "Row | RowImages":
        """One of them, or some."""
        if isinstance(index, slice):
            return RowImages(self._table, self._reader, self.data, self.starts[index])
        (row,) = RowImages(self._table, self._reader, self.data, [self.starts[index]])
        return row

    def __iter__(self) -> Iterator[Row]:
        """One after the other."""
        rows: list[Row] = []
        with explained(self._table):
            for start in self.starts:
                self._reader.read(self.data, start, rows.append)
        return iter(rows)

    def __eq__(self, other: object) -> bool:
        """Equal to any sequence of the same rows."""
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]  # as a list


@contextmanager
def explained(table: str) -> Iterator[None]:
    """Rows of a table are read. Raises MalformedEvent in the place of FAULTS."""
    try:
        yield
    except FAULTS as error:
        msg = (
            f"rows of {table} are not as its columns are: {error}. If the table has columns of a server's own kind, "
            "leave it out with a filter"
        )
        raise MalformedEvent(msg) from error
