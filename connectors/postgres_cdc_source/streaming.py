"""The changes in the log, as batches of one table each."""

from collections import Counter, deque
from collections.abc import Callable, Sequence
from itertools import repeat
from typing import NamedTuple

from connectors.postgres_cdc_source.logical.stream import Stream
from connectors.postgres_cdc_source.logical.wire import events as ev
from connectors.postgres_cdc_source.logical.wire.messages import Decoder
from connectors.postgres_cdc_source.logical.wire.values import Missing
from connectors.postgres_cdc_source.rows.log_columns import LogColumns, LoggedRows
from connectors.postgres_cdc_source.rows.window import TableWindow
from connectors.postgres_cdc_source.tables import Filter, Name, Table, as_logged, lacking_in_old_rows, told_of_old_rows
from rocketconnect_sdk.changes import Operation, TableChanges, Transaction
from rocketconnect_sdk.changes.gathered import Row
from rocketconnect_sdk.changes.table import getter
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.database_logs.making import Making, log_partition
from rocketconnect_sdk.errors import PermanentError
from rocketconnect_sdk.record import SourceBatch

_WAIT = 0.05
_OPERATIONS = {ev.Insert: Operation.CREATE, ev.Update: Operation.UPDATE, ev.Delete: Operation.DELETE}
_RECENT = 10_000
"""Beyond the connections that a server has: so many can have committed without others seeing it."""


class _Known(NamedTuple):
    """A table of the log.

    Attributes:
        relation: What the log says of it.
        places: Which of the log's columns are captured.
        table: What of it is captured.
        changes: Gathers its changes.
        reader: Of its rows.
        key: Gives the primary key of a row; None: there is none.
    """

    relation: ev.Relation
    places: tuple[int, ...]
    table: Table
    changes: TableChanges
    reader: LogColumns
    key: Callable[[Row], Row] | None


class LogReader:
    """Reads a stream as batches.

    Args:
        stream: From the end of a transaction on.
        decoder: Of its messages.
        making: What becomes of changes.
        chosen: What is captured.
        key: The primary key of a table as it is now.
        values: Of columns of a row as it is now, by its key and the transaction that made it; None: it is gone.
        context: Of the task.

    Attributes:
        place: Everything before is read; 0: not known yet.
        recent: The numbers of the last transactions that it has read, or has begun to.
        window: What it is to tell of the changes of one table.
        truncated: Tables that the log has emptied; who looks at it takes them out.
    """

    def __init__(
        self,
        stream: Stream,
        decoder: Decoder,
        making: Making[Name],
        chosen: Filter,
        key: Callable[[Name], Sequence[str]],
        values: Callable[[Table, Row, Sequence[str], int], Sequence[object] | None],
        context: TaskContext,
    ) -> None:
        self.place = 0
        self.recent: deque[int] = deque(maxlen=_RECENT)
        self.window: TableWindow | None = None
        self.truncated: set[Name] = set()
        self._stream = stream
        self._decoder = decoder
        self._making = making
        self._chosen = chosen
        self._key = key
        self._values = values
        self._context = context
        self._known: dict[int, _Known | None] = {}
        self._full: list[SourceBatch] = []
        self._events: deque[ev.Event | ev.Rows] = deque()
        self._reached = 0
        self._begin: ev.Begin | None = None
        self._order = 0
        self._orders: Counter[int] = Counter()

    def poll(self) -> Sequence[SourceBatch]:
        """The next changes; none after a moment without any.

        Raises:
            ConnectorError: what Stream.read raises, and BadMessage.
        """
        wait = _WAIT
        size = 0
        while size < self._context.batch_bytes and self._held() < self._context.batch_records and not self.waits:
            if not self._events:
                frames = self._read(wait)
                self._events.extend(self._decoder.decode_many(frames))
                size += sum(map(len, frames))
            if not self._events:
                if self._begin is None:
                    self.place = max(self.place, self._reached)
                break
            room = self._context.batch_records - self._held()
            while self._events and room > 0 and not self.waits:
                event = self._events.popleft()
                self._take(event)
                room -= len(event.lsns) if isinstance(event, ev.Rows) else 1
            # What is there already goes along, as far as there is room.
            wait = 0.0
        return self.take()

    def _read(self, wait: float) -> list[bytes]:
        """What is there, as soon as there is something: the more of it, the sooner it is read."""
        frames: list[bytes] = []
        messages, size = self._context.batch_records, self._context.batch_bytes
        while messages > 0 and size > 0:
            batch = self._stream.read(wait, most_messages=messages, most_bytes=size)
            self._reached = batch.reached
            if not batch.frames:
                break
            frames += batch.frames
            messages, size, wait = messages - len(batch.frames), size - sum(map(len, batch.frames)), 0.0
        return frames

    @property
    def waits(self) -> bool:
        """Whether the next change must come behind the rows that the window is for."""
        return self.window is not None and bool(self._events) and self._must_wait(self._events[0])

    def take(self) -> Sequence[SourceBatch]:
        """All changes that it holds, to be given before anything else."""
        made, self._full = self._full, []
        return [*made, *(known.changes.take() for known in self._known.values() if known is not None and len(known.changes))]

    def _held(self) -> int:
        return sum(map(len, self._full)) + sum(len(known.changes) for known in self._known.values() if known is not None)

    def _take(self, event: ev.Event | ev.Rows) -> None:
        match event:
            case ev.Rows():
                self._rows(event)
            case ev.Insert():
                self._change(event, event.relation, Operation.CREATE, None, event.new)
            case ev.Update():
                self._change(event, event.relation, Operation.UPDATE, event.old, event.new)
            case ev.Delete():
                self._change(event, event.relation, Operation.DELETE, event.old, None)
            case ev.Truncate():
                for relation in event.relations:
                    self.truncated.add(Name(relation.namespace, relation.name))
                    self._change(event, relation, Operation.TRUNCATE, None, None)
            case ev.Begin():
                self._begin, self._order = event, 0
                self.recent.append(event.xid)
                self._orders.clear()
            case ev.Commit():
                self._begin, self.place = None, event.end_lsn
            case _:
                # What tables are like comes with their changes; messages and origins are not captured.
                pass

    def _change(self, event: ev.Change, relation: ev.Relation, operation: Operation, old: Row | None, new: Row | None) -> None:
        begin = self._begin
        known = self._table(relation)
        self._order += 1
        if begin is None or known is None:
            return
        self._orders[relation.oid] += 1
        before, after = old, new
        unchanged: tuple[str, ...] = ()
        if old is not None and (Missing.ABSENT in old or Missing.UNCHANGED in old):
            before = tuple(None if isinstance(value, Missing) else value for value in old)
        if new is not None and Missing.UNCHANGED in new:
            columns = zip(known.places, known.table.columns, strict=True)
            unchanged = tuple(column.name for place, column in columns if isinstance(new[place], Missing))
            after = tuple(None if isinstance(value, Missing) else value for value in new)
        before, after = self._picked(known, before), self._picked(known, after)
        if unchanged and before is not None and after is not None and known.changes.key(before) != known.changes.key(after):
            after, unchanged = self._whole(known, after, unchanged, begin.xid)
        if self.window is not None and self.window.name == known.table.name:
            self._tell(self.window, begin.xid, known, [row for row in (before, after) if row is not None])
        known.changes.add(
            operation,
            before,
            after,
            offset=(begin.commit_lsn, self._order),
            ts_ms=begin.time_us // 1000,
            source=(begin.xid, event.lsn),
            transaction=Transaction(str(begin.xid), self._order, self._orders[relation.oid]),
            unchanged=unchanged,
        )

    def _rows(self, event: ev.Rows) -> None:
        begin = self._begin
        known = self._table(event.relation)
        count = len(event.lsns)
        orders = range(self._order + 1, self._order + 1 + count)
        self._order += count
        if begin is None or known is None:
            return
        oid = event.relation.oid
        of_table = range(self._orders[oid] + 1, self._orders[oid] + 1 + count)
        self._orders[oid] += count
        before: Sequence[Row] | None
        after: Sequence[Row] | None
        before, after = (None if found is None else LoggedRows(found, known.reader) for found in (event.old, event.new))
        if self.window is not None and self.window.name == known.table.name:
            # Once is enough to read them.
            before, after = (None if rows is None else list(rows) for rows in (before, after))
            self._tell(self.window, begin.xid, known, [*(before or ()), *(after or ())])
        xid, commit_lsn = str(begin.xid), begin.commit_lsn
        known.changes.extend(
            _OPERATIONS[event.kind],
            before,
            after,
            offsets=[(commit_lsn, order) for order in orders],
            ts_ms=begin.time_us // 1000,
            sources=list(zip(repeat(begin.xid), event.lsns)),
            transactions=list(zip(repeat(xid), orders, of_table)),
        )

    def _whole(self, known: _Known, after: Row, unchanged: tuple[str, ...], xid: int) -> tuple[Row, tuple[str, ...]]:
        """A row that got another key, with what did not change of it; and what of that is not known, as the row is gone."""
        key = None if known.key is None else known.key(after)
        found = None if key is None else self._values(known.table, key, unchanged, xid)
        if found is None:
            return after, unchanged
        held = dict(zip(unchanged, found, strict=True))
        names = [column.name for column in known.table.columns]
        return tuple(held.get(name, value) for name, value in zip(names, after, strict=True)), ()

    @staticmethod
    def _tell(window: TableWindow, xid: int, known: _Known, rows: Sequence[Row]) -> None:
        window.saw_table(xid, known.table)
        for row in rows:
            window.saw(xid, None if known.key is None else known.key(row))
        if not rows:
            window.saw_truncate(xid)

    def _must_wait(self, event: ev.Event | ev.Rows) -> bool:
        """Whether a change leaves values out which only rows have that are still to be sent."""
        window, begin = self.window, self._begin
        if window is None or begin is None or not isinstance(event, ev.Update) or Missing.UNCHANGED not in event.new:
            return False
        if (event.relation.namespace, event.relation.name) != window.name:
            return False
        known = self._table(event.relation)
        if known is None or known.key is None:
            return False
        rows = (self._picked(known, event.old), self._picked(known, event.new))
        return any(row is not None and window.needs(begin.xid, known.key(row)) for row in rows)

    @staticmethod
    def _picked(known: _Known, row: Row | None) -> Row | None:
        if row is None or len(known.places) == len(row):
            return row
        return tuple(row[place] for place in known.places)

    def _table(self, relation: ev.Relation) -> _Known | None:
        """A table as it is at this place; None: it is not captured."""
        known = self._known.get(relation.oid)
        if known is not None and known.relation is relation:
            return known
        name = Name(relation.namespace, relation.name)
        if not self._chosen.takes(name):
            self._known[relation.oid] = None
            return None
        if known is not None and known.relation == relation:
            # Said again after a while, and the same.
            known = self._known[relation.oid] = known._replace(relation=relation)
            return known
        if known is not None and len(known.changes):
            self._full.append(known.changes.take())
        table, places = as_logged(relation, self._key(name), self._chosen)
        if lacking := lacking_in_old_rows(relation, self._making.keys.columns(str(name))):
            raise PermanentError(told_of_old_rows(name, lacking))
        changes = self._making.changes(table, log_partition(name))
        if changes.key_schema is None:
            self._context.log.warning("the table %s has no primary key: its records have no keys", name)
        key = getter(table.schema, table.key)
        made = self._known[relation.oid] = _Known(relation, places, table, changes, LogColumns(relation, places), key)
        return made
