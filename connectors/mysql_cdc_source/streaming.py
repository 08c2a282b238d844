"""The log as changes of tables."""

import time
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

from connectors.mysql_cdc_source.binlog.events import Change, Incident, Query, Rows, TransactionBegin
from connectors.mysql_cdc_source.binlog.row_reading.images import RowImages
from connectors.mysql_cdc_source.binlog.row_reading.table_map import TableMap
from connectors.mysql_cdc_source.binlog.stream import BinlogStream, Entry
from connectors.mysql_cdc_source.columns import from_log
from connectors.mysql_cdc_source.periods import is_sequence, period_of, shown
from connectors.mysql_cdc_source.rows.log_columns import LogColumns, LoggedRows
from connectors.mysql_cdc_source.rows.window import Seen, TableWindow
from connectors.mysql_cdc_source.statements.effects import effects_of
from connectors.mysql_cdc_source.tables import Filter, Name, Table, as_logged
from connectors.mysql_cdc_source.watermark import BinlogCoordinate, file_number
from rocketconnect_sdk.changes import Operation, TableChanges, Transaction
from rocketconnect_sdk.changes.gathered import Row
from rocketconnect_sdk.changes.table import getter
from rocketconnect_sdk.changes.unseen import ANY, Unseen
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.database_logs.making import Making, log_partition
from rocketconnect_sdk.errors import PermanentError
from rocketconnect_sdk.record import SourceBatch

_WAIT = 0.05
_LONGEST = 0.1
"""Seconds of a poll, also where the log has nothing that is captured."""
_OPERATIONS = {Change.INSERT: Operation.CREATE, Change.UPDATE: Operation.UPDATE, Change.DELETE: Operation.DELETE}
Values = Callable[[Table, Sequence[Row], Sequence[str], Seen], Mapping[int, Row]]
"""Of the rows with these keys, the values of columns as they are now, by the numbers of the keys."""
_OF_TRANSACTIONS = frozenset({"BEGIN", "COMMIT", "ROLLBACK"})
_OF_SESSION = 4
"""In the flags of an event: the statement is of a temporary table, or has something of one."""


class _Known(NamedTuple):
    """A table of the log as it is in its last rows.

    Attributes:
        logged: What the log says of it.
        table: What of it is captured.
        changes: Gathers its changes.
        row: Makes a row of that table, of what the log has, of these columns of it.
        key: Gives the primary key of a row; None: there is none.
        end: The column of the log with the end of a row, if the table has versions of rows.
    """

    logged: TableMap | None
    table: Table
    changes: TableChanges
    row: "_RowMaker"
    key: Callable[[Row], Row] | None
    end: int | None = None


class _Part(NamedTuple):
    """Rows of a change of the log.

    Attributes:
        rows: Their numbers.
        unchanged: The columns of which the values are not known.
    """

    rows: range
    unchanged: tuple[str, ...]


class LogReader:
    """Reads a stream as batches, of one table each.

    Args:
        stream: From a place between two transactions on.
        era: Of the server.
        making: What becomes of changes.
        chosen: What is captured.
        now: A table as it is now; None: it is gone.
        values: What a change does not tell of rows that got another key.
        context: Of the task.
        folded: Whether names of tables are in small letters, whatever a statement has (lower_case_table_names=1).

    Attributes:
        place: How far it has read; None: nothing yet. Only between two transactions.
        gtid_set: The transactions before that place.
        window: What it is to tell of the changes of one table.
    """

    def __init__(
        self,
        stream: BinlogStream,
        era: int,
        making: Making[Name],
        chosen: Filter,
        now: Callable[[Name], Table | None],
        values: Values,
        context: TaskContext,
        *,
        folded: bool = False,
    ) -> None:
        self.place: BinlogCoordinate | None = None
        self.gtid_set = ""
        self.window: TableWindow | None = None
        self._last: Entry | None = None
        self._stream = stream
        self._era = era
        self._making = making
        self._chosen = chosen
        self._now = now
        self._values = values
        self._context = context
        self._folded = folded
        self._unseen = Unseen(context.log, context.connector)
        self._known: dict[Name, _Known] = {}
        self._full: list[SourceBatch] = []
        self._entries: deque[Entry] = deque()
        self._file, self._number = "", 0
        self._event: BinlogCoordinate = BinlogCoordinate(0, 0, 0)
        self._row = 0
        self._order = 0
        self._orders: Counter[Name] = Counter()

    def poll(self) -> Sequence[SourceBatch]:
        """The next changes; none after a moment without any.

        Raises:
            ConnectorError: what BinlogStream.poll raises; and PermanentError: the log says that changes are missing.
        """
        size, wait, until = 0, _WAIT, time.monotonic() + _LONGEST
        while time.monotonic() < until and size < self._context.batch_bytes and self._held() < self._context.batch_records:
            if not self._entries:
                self._entries.extend(self._stream.poll(wait))
            if not self._entries:
                break
            entry = self._entries.popleft()
            self._take(entry)
            if isinstance(entry.event, Rows):
                size += entry.header.size
            # What is there already goes along, as far as there is room.
            wait = 0.0
        self._unseen.flush()
        return self.take()

    @property
    def last(self) -> Seen | None:
        """The last event of a transaction that it has read, also in the middle of it; None: there was none yet."""
        return None if self._last is None or not self._last.position.file else self._seen(self._last)

    def take(self) -> Sequence[SourceBatch]:
        """All changes that it holds, to be given before anything else."""
        made, self._full = self._full, []
        return [*made, *(known.changes.take() for known in self._known.values() if len(known.changes))]

    def _held(self) -> int:
        return sum(map(len, self._full)) + sum(len(known.changes) for known in self._known.values())

    def _take(self, entry: Entry) -> None:
        event = entry.event
        if entry.gtid is not None:
            self._last = entry
        if isinstance(event, Rows):
            self._rows(entry, event)
        elif isinstance(event, TransactionBegin):
            self._order = 0
            self._orders.clear()
        elif isinstance(event, Query):
            self._query(entry, event)
        elif isinstance(event, Incident):
            msg = f"the server says that changes are missing from its log ({event.message}): take a new snapshot"
            raise PermanentError(msg)
        if entry.between and entry.position.file:
            self.place = self._place(entry)
            self.gtid_set = entry.position.gtid_set

    def _place(self, entry: Entry) -> BinlogCoordinate:
        file = entry.position.file
        if file != self._file:
            self._file, self._number = file, file_number(file)
        return BinlogCoordinate(self._era, self._number, entry.position.offset)

    def _seen(self, entry: Entry) -> Seen:
        return Seen(self._place(entry), entry.gtid)

    def _rows(self, entry: Entry, event: Rows) -> None:
        if is_sequence(event.table):
            return
        known = self._table(event.table)
        for part in (event,) if known.end is None else shown(event, known.end):
            self._changes(entry, known, part)

    def _changes(self, entry: Entry, known: _Known, event: Rows) -> None:
        operation = _OPERATIONS[event.change]
        before, after = known.row.all(event.before, event.before_columns), known.row.all(event.after, event.after_columns)
        count = max(len(before), len(after))
        parts: list[_Part] = [_Part(range(count), ())]
        if event.change is Change.INSERT and (lacking := known.row.missing(event.after_columns)):
            msg = (
                f"the log lacks the columns {', '.join(lacking)} of a new row of {known.table.name}, and nobody can tell their "
                "values: SET GLOBAL binlog_row_image = 'FULL', and in the server's configuration, then take a new snapshot"
            )
            raise PermanentError(msg)
        if event.before and len(event.before_columns) < len(event.table.columns):
            self._check_key(known.table.name, known.row.missing(event.before_columns))
        if event.change is Change.UPDATE and len(event.after_columns) < len(event.table.columns):
            after = known.row.filled(before, after, event.after_columns)
            if unchanged := known.row.missing({*event.before_columns, *event.after_columns}):
                before = list(before)
                parts = self._whole(known, before, after, unchanged, self._seen(entry))
        name, place = known.table.name, self._place(entry)
        if place != self._event:
            self._event, self._row = place, 0
        ts_ms = entry.header.timestamp * 1000
        gtid = None if entry.gtid is None else str(entry.gtid)
        server, file, start = entry.header.server_id, entry.position.file, entry.start
        if self.window is not None and self.window.name == name:
            # Once is enough to read them.
            before, after = list(before), list(after)
            keys = () if known.key is None else map(known.key, (*before, *after))
            self.window.saw_rows(Seen(place, entry.gtid), known.table.key, keys, whole=not any(part.unchanged for part in parts))
        first, order, of_table = self._row, self._order + 1, self._orders[name] + 1
        for rows, unchanged in parts:
            known.changes.extend(
                operation,
                _some(before, rows) or None,
                _some(after, rows) or None,
                offsets=[(*place, first + row + 1) for row in rows],
                ts_ms=ts_ms,
                sources=[(file, start, first + row, gtid, server) for row in rows],
                transactions=[None if gtid is None else (gtid, order + row, of_table + row) for row in rows],
                unchanged=unchanged,
            )
        self._row, self._order = self._row + count, self._order + count
        self._orders[name] += count

    def _whole(self, known: _Known, before: Sequence[Row], after: list[Row], unchanged: tuple[str, ...], seen: Seen) -> list[_Part]:
        """Makes rows whole that got another key, by what is in the table, unless they are gone from there."""
        keys = [(known.changes.key(old), known.changes.key(new)) for old, new in zip(before, after, strict=True)]
        moved = [row for row, (old, new) in enumerate(keys) if new is not None and new != old]
        if not moved or known.key is None:
            return [_Part(range(len(after)), unchanged)]
        found = self._values(known.table, [known.key(after[row]) for row in moved], unchanged, seen)
        places = [known.table.place(name) for name in unchanged]
        for number, told in found.items():
            whole = list(after[moved[number]])
            for place, value in zip(places, told, strict=True):
                whole[place] = value
            after[moved[number]] = tuple(whole)
        are_whole = {moved[number] for number in found}
        parts, begin = [], 0
        for is_whole, rows in groupby(range(len(after)), are_whole.__contains__):
            end = begin + sum(1 for _ in rows)
            parts.append(_Part(range(begin, end), () if is_whole else unchanged))
            begin = end
        return parts

    def _check_key(self, name: Name, missing: Sequence[str]) -> None:
        """Of old rows, of which the log lacks columns."""
        if lacking := [column for column in self._making.keys.columns(str(name)) if column in missing]:
            msg = (
                f"message.key.columns: the log lacks {', '.join(lacking)} of rows of {name} before their changes, and nobody can "
                "tell which keys they had: SET GLOBAL binlog_row_image = 'FULL', and in the server's configuration, then take "
                "a new snapshot"
            )
            raise PermanentError(msg)

    def _query(self, entry: Entry, event: Query) -> None:
        if event.text in _OF_TRANSACTIONS:
            return
        effects = effects_of(event.text, event.schema, event.speech)
        if effects.defines:
            self._stream.forget_definitions()
        if (effects.defines or effects.told) and self.window is not None:
            self.window.saw_definition(self._seen(entry), event.text)
        where = f"at {entry.position.file}:{entry.start}"
        for told in effects.told:
            name = None if told.name is None else self._named(told.name)
            if name is None or (not name.table and self._chosen.takes_any(name.database)) or self._chosen.takes(*name):
                self._unseen.tell(_shown(name), told.what, where)
        # A temporary table is no business of anybody else. One that is made anew is none, and has the flag all the same.
        if effects.emptied is not None and (effects.defines or not entry.header.flags & _OF_SESSION):
            self._empty(self._named(effects.emptied), entry)

    def _named(self, name: Name) -> Name:
        return Name(name.database.lower(), name.table.lower()) if self._folded else name

    def _empty(self, name: Name, entry: Entry) -> None:
        if not self._chosen.takes(*name):
            return
        known = self._truncated(name)
        if known is None:
            # It is gone by now, and there was no row of it since the beginning: what its columns were nobody knows.
            self._unseen.tell(str(name), "TRUNCATE", f"at {entry.position.file}:{entry.start}")
            return
        self._order += 1
        self._orders[name] += 1
        place = self._place(entry)
        if self.window is not None and self.window.name == name:
            self.window.saw_truncate(self._seen(entry))
        gtid = None if entry.gtid is None else str(entry.gtid)
        known.changes.add(
            Operation.TRUNCATE,
            None,
            None,
            offset=(*place, 1),
            ts_ms=entry.header.timestamp * 1000,
            source=(entry.position.file, entry.start, 0, gtid, entry.header.server_id),
            transaction=None if gtid is None else Transaction(gtid, self._order, self._orders[name]),
        )

    def _truncated(self, name: Name) -> _Known | None:
        """A table that a statement empties: as it was in the last rows before, else as it is now; None: it is gone."""
        known = self._known.get(name)
        if known is None:
            table = self._now(name)
            if table is None:
                return None
            changes = self._making.changes(table, log_partition(name))
            known = self._known[name] = _Known(None, table, changes, _RowMaker(table, ()), getter(table.schema, table.key))
        return known

    def _table(self, logged: TableMap) -> _Known:
        name = Name(logged.schema, logged.table)
        known = self._known.get(name)
        if known is not None and (known.logged is logged or known.logged == logged):
            return known
        period = period_of(logged, self._now) or ()
        table, places = as_logged(logged, self._chosen, period)
        changes = self._making.changes(table, log_partition(name))
        if known is not None:
            if len(known.changes):
                self._full.append(known.changes.take())
            self._context.log.info("the table %s has other columns from here on", name)
        elif changes.key_schema is None:
            self._context.log.warning("the table %s has no primary key: its records have no keys", name)
        known = self._known[name] = _Known(
            logged, table, changes, _RowMaker(table, places), getter(table.schema, table.key), *period[1:]
        )
        return known


def _shown(name: Name | None) -> str:
    """A table, all tables of a database, or some that nobody can name."""
    if name is None:
        return ANY
    return str(name) if name.table else f"{name.database}.{ANY}"


def _some(rows: Sequence[Row], numbers: range) -> Sequence[Row]:
    return rows if len(rows) == len(numbers) else rows[numbers.start : numbers.stop]


class _RowMaker:
    """Makes rows of a table.

    Args:
        table: What of it is captured.
        places: Which of the log's columns these are.
    """

    def __init__(self, table: Table, places: Sequence[int]) -> None:
        self._table = table
        self._places = tuple(places)
        self._made = [(place, make) for place, column in enumerate(table.columns) if (make := from_log(column)) is not None]
        self._at_once = None if self._made else LogColumns(table.columns)

    def all(self, rows: Sequence[Row], columns: Sequence[int]) -> Sequence[Row]:
        """Rows, of which the log has these columns; None in the place of the others."""
        if self._places == tuple(columns) and self._at_once is not None:
            return LoggedRows(rows, self._at_once) if isinstance(rows, RowImages) else rows
        return list(self._each(rows, columns))

    def filled(self, before: Sequence[Row], after: Sequence[Row], columns: Sequence[int]) -> list[Row]:
        """Rows after a change, of which the log has these columns: what it leaves out of them is as before."""
        held = set(columns)
        logged = [place in held for place in self._places]
        return [
            tuple(new if is_logged else old for is_logged, old, new in zip(logged, *rows, strict=True))
            for rows in zip(before, after, strict=True)
        ]

    def missing(self, held: Collection[int]) -> tuple[str, ...]:
        """The names of the columns that are not among these of the log."""
        return tuple(str(column.name) for place, column in zip(self._places, self._table.columns, strict=True) if place not in held)

    def _each(self, rows: Sequence[Row], columns: Sequence[int]) -> Iterator[Row]:
        at = {column: index for index, column in enumerate(columns)}
        picks = [at.get(place) for place in self._places]
        for row in rows:
            made = [None if pick is None else row[pick] for pick in picks]
            for place, make in self._made:
                if made[place] is not None:
                    made[place] = make(made[place])
            yield tuple(made)
