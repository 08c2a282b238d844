"""A table whose rows are read: keeps the code that was made for its columns."""

from connectors.mysql_cdc_source.binlog.compression import unpack_body
from connectors.mysql_cdc_source.binlog.cursor import Cursor
from connectors.mysql_cdc_source.binlog.errors import MalformedEvent
from connectors.mysql_cdc_source.binlog.events import Change, Rows
from connectors.mysql_cdc_source.binlog.row_reading.code import Row, RowReader
from connectors.mysql_cdc_source.binlog.row_reading.images import RowImages, explained
from connectors.mysql_cdc_source.binlog.row_reading.table_map import TableMap
from rocketconnect_sdk.wording.counts import counted

_KNOWN_IMAGES = 100


class KnownTable:
    """A table, and the code that reads its rows, made for each set of columns that a log has of it.

    Args:
        table: The table.
        later: Rows are read when somebody asks for them, and not before.
    """

    def __init__(self, table: TableMap, *, later: bool = False) -> None:
        self.table = table
        self._later = later
        self._images: dict[bytes, tuple[tuple[int, ...], RowReader]] = {}

    def rows(self, cursor: Cursor, change: Change, *, ends_statement: bool, compressed: bool) -> Rows:
        """The rows of an event, of which the cursor is at the number of columns.

        Raises:
            MalformedEvent: they are none of this table.
        """
        count = cursor.packed()
        if count != len(self.table.columns):
            msg = f"rows of {self._name} have {counted(count, 'column')}, and the table has {len(self.table.columns)}"
            raise MalformedEvent(msg)
        size = (count + 7) // 8
        first = self._image(cursor.take(size))
        second = self._image(cursor.take(size)) if change is Change.UPDATE else None
        if compressed:
            cursor = Cursor(unpack_body(cursor.rest()))
        with explained(self._name):
            read = self._found if self._later else self._read
            return read(cursor, change, first, second, ends_statement=ends_statement)

    @property
    def _name(self) -> str:
        return f"{self.table.schema}.{self.table.table}"

    def _image(self, present: bytes) -> tuple[tuple[int, ...], RowReader]:
        image = self._images.get(present)
        if image is None:
            columns = self.table.columns
            indexes = tuple(index for index in range(len(columns)) if present[index >> 3] >> (index & 7) & 1)
            image = indexes, RowReader([columns[index] for index in indexes])
            if len(self._images) >= _KNOWN_IMAGES:
                self._images.clear()
            self._images[present] = image
        return image

    def _read(
        self,
        cursor: Cursor,
        change: Change,
        first: tuple[tuple[int, ...], RowReader],
        second: tuple[tuple[int, ...], RowReader] | None,
        *,
        ends_statement: bool,
    ) -> Rows:
        data, at = cursor.data, cursor.at
        columns, reader = first
        if second is None:
            # Of rows without columns nothing says how many they are; a server writes one.
            rows = reader.read_all(data, at) if columns else [()]
            if change is Change.INSERT:
                return Rows(change, self.table, [], rows, (), columns, ends_statement)
            return Rows(change, self.table, rows, [], columns, (), ends_statement)
        after_columns, after_reader = second
        before: list[Row] = []
        after: list[Row] = []
        end = len(data)
        while at < end:
            at = after_reader.read(data, reader.read(data, at, before.append), after.append)
            if not columns and not after_columns:
                msg = f"rows of {self._name} have no columns"
                raise MalformedEvent(msg)
        return Rows(change, self.table, before, after, columns, after_columns, ends_statement)

    def _found(
        self,
        cursor: Cursor,
        change: Change,
        first: tuple[tuple[int, ...], RowReader],
        second: tuple[tuple[int, ...], RowReader] | None,
        *,
        ends_statement: bool,
    ) -> Rows:
        """The same as `_read`, with rows that are found and not read."""
        (columns, reader), data = first, cursor.data
        if not columns or (second is not None and not second[0]):
            return self._read(cursor, change, first, second, ends_statement=ends_statement)
        if second is None:
            *starts, end = reader.walk.starts(data, cursor.at)
            self._check_end(end, data)
            rows = RowImages(self._name, reader, data, starts)
            if change is Change.INSERT:
                return Rows(change, self.table, [], rows, (), columns, ends_statement)
            return Rows(change, self.table, rows, [], columns, (), ends_statement)
        after_columns, after_reader = second
        starts, end = [cursor.at], len(data)
        add, ends = starts.append, (reader.walk.end, after_reader.walk.end)
        while starts[-1] < end:
            for end_of in ends:
                add(end_of(data, starts[-1]))
        self._check_end(starts.pop(), data)
        before = RowImages(self._name, reader, data, starts[::2])
        after = RowImages(self._name, after_reader, data, starts[1::2])
        return Rows(change, self.table, before, after, columns, after_columns, ends_statement)

    def _check_end(self, end: int, data: bytes) -> None:
        if end > len(data):
            msg = f"a row of {self._name} ends at byte {end}, and the event at {len(data)}"
            raise MalformedEvent(msg)
