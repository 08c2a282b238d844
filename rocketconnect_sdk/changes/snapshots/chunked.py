"""Incremental snapshots of any database: tables are read in chunks while the log is read.

Each chunk is read in a short transaction, and its rows are sent when the log was read far enough. What the log has said by then
that they may not show, a window knows (see chunks): rows with keys that changed are left out.

The end of a batch is as the places of its table say it, and behind it a number that stands for the columns of the key: a table that
gets another key is read from its beginning again.

Rows that are asked for by their keys, and are not there, are sent as deleted behind those that are, unless the log has said
something of them since the transaction.
"""

import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, ClassVar, Generic, Protocol, TypeVar
from uuid import UUID

from rocketconnect_sdk.changes.envelope import Operation
from rocketconnect_sdk.changes.gathered import Row
from rocketconnect_sdk.changes.snapshots.incremental import DONE, Key, Requests
from rocketconnect_sdk.changes.table import TableChanges
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import ConnectorError, PermanentError
from rocketconnect_sdk.record import Offset, SourceBatch
from rocketconnect_sdk.schema import Schema, Type

SECONDS = 0.05
"""Until what could not be done now is tried again, and for which rows are waited."""
Texts = Sequence[Any]
"""Rows as the database sends them: an array for each column."""


class TableLike(Protocol):
    """What is to be known of a table. Equal ones have the same columns."""

    @property
    def name(self) -> object:
        """Its name; as text what people write."""
        ...

    @property
    def key(self) -> Sequence[str]:
        """The columns of its primary key; empty: it has none."""
        ...

    @property
    def schema(self) -> Schema:
        """The type of its rows."""
        ...


class Places(Protocol):
    """The offsets of a table's rows, which are read in the order of its key."""

    last: Offset

    def of(self, texts: Texts) -> tuple[list[Offset], Offset]:
        """Of rows, and the end of their batch; empty: the last one."""
        ...

    def go_on(self, end: Offset) -> None:
        """The next rows are behind this end."""
        ...


class KeyWindow(Protocol):
    """See chunks.Window: of a table."""

    spoiled: bool

    def left(self, keys: Sequence[object]) -> list[bool]:
        """See chunks.Window."""
        ...


class Log(Protocol):
    """What reads the log."""

    window: Any
    """A KeyWindow, which it is to tell of the changes of one table; None: there is no chunk."""

    def take(self) -> Sequence[SourceBatch]:
        """All changes that it holds, to be given before anything else."""
        ...


T = TypeVar("T", bound=TableLike)
P = TypeVar("P", bound=Places)
C = TypeVar("C", bound="Chunk[Any, Any]")
L = TypeVar("L", bound=Log)


@dataclass(frozen=True, slots=True)
class Reading(Generic[T, P]):
    """A table that is being read.

    Attributes:
        table: As it is in the last chunk.
        changes: Makes its batches.
        places: Of its rows.
        run: The number of the snapshot.
    """

    table: T
    changes: TableChanges
    places: P
    run: int


class Chunk(ABC, Generic[T, P]):
    """Rows that are being read in a transaction.

    Args:
        reading: Of which table.
        most: How many rows there are at most.

    Attributes:
        rows: Those that were read, as the database sends them.
    """

    def __init__(self, reading: Reading[T, P], most: int) -> None:
        self.reading = reading
        self.rows: list[bytes] = []
        self._most = most
        self._size = 0

    def read(self, most_bytes: int) -> bool:
        """Whether all rows are there, or about so many bytes of them, after a moment."""
        if not self.finished and self._size < most_bytes:
            found = self.more(self._most + 1, most_bytes - self._size)
            self.rows += found
            self._size += sum(map(len, found))
        return self.finished or self._size >= most_bytes

    @property
    def last(self) -> bool:
        """Whether there are no rows behind these."""
        return self.finished and len(self.rows) < self._most

    @property
    @abstractmethod
    def finished(self) -> bool:
        """Whether the database has no more rows."""

    @abstractmethod
    def more(self, most: int, most_bytes: int) -> list[bytes]:
        """The next rows, which have come after SECONDS."""

    @abstractmethod
    def texts(self, rows: Sequence[bytes]) -> Texts:
        """Rows as columns."""

    @abstractmethod
    def keys(self, texts: Texts) -> list[object]:
        """The keys of rows, as the log has them."""

    @property
    @abstractmethod
    def source(self) -> Row:
        """What the field source says of its rows."""

    @abstractmethod
    def batch(self, texts: Texts, offsets: Sequence[Offset], ts_ms: int) -> SourceBatch:
        """Rows as a batch."""

    @abstractmethod
    def close(self) -> None:
        """Ends the transaction. Calling it again does nothing."""


class Chunks(ABC, Generic[T, P, C, L]):
    """Reads the tables that are asked for.

    Args:
        requests: What is asked for.
        context: Of the task.
        rows: How many rows a chunk has.
        rate: How many rows chunks have in a second; 0: no limit.

    Attributes:
        altered: What is raised when a table has another definition than when the transaction began.
    """

    altered: ClassVar[type[ConnectorError]]

    def __init__(self, requests: Requests, context: TaskContext, *, rows: int, rate: int) -> None:
        self.requests = requests
        self.context = context
        self.rows = min(rows, rate or rows)
        self._rate = rate
        self._reading: Reading[T, P] | None = None
        self._chunk: C | None = None
        self._due = 0.0
        self._found: set[object] = set()
        """The keys of the rows of the table, as far as it is asked for by keys."""

    @property
    def is_open(self) -> bool:
        """Whether the transaction of a chunk may keep others from altering its table."""
        return self._chunk is not None

    def poll(self, log: L) -> list[SourceBatch]:
        """Goes on with the first table: batches that are to be given now, before the log is read further; often none.

        A table that the server refuses to read, as by a condition that is wrong, is not read again.

        Raises:
            SystemAway: the connection is lost.
            RetriableError: the server cannot do it now.
        """
        wanted = self.requests.open[:1]
        if self._chunk is not None and str(self._chunk.reading.table.name) not in wanted:
            self._drop(log)
        if self._chunk is None and (not wanted or self.requests.paused or time.monotonic() < self._due):
            return []
        try:
            return self._go_on(wanted[0], log)
        except self.altered as error:
            self._drop(log)
            return self.again(wanted[0], error)
        except PermanentError as error:
            self._drop(log)
            self._reading = None
            self.context.log.warning("the incremental snapshot of %s is given up: %s", wanted[0], error)
            return [self.requests.done(wanted[0])]

    def close(self) -> None:
        """Ends what is being read. Calling it again does nothing."""
        if self._chunk is not None:
            self._chunk.close()
        self._chunk = None

    @abstractmethod
    def begin(self, wanted: str, log: L) -> tuple[C, KeyWindow] | list[SourceBatch]:
        """Begins a chunk of a table, and the window for it, before the log is read further. Else batches that are to be given."""

    @abstractmethod
    def is_time(self, chunk: C, log: L) -> bool:
        """Whether the log was read far enough for the rows to be sent."""

    @abstractmethod
    def reading(self, wanted: str, table: T, begin: Offset, run: int) -> Reading[T, P]:
        """Begins to read a table behind a place."""

    @abstractmethod
    def problem(self, table: T) -> str | None:
        """Why a table can't be read in chunks; None: it can."""

    @abstractmethod
    def number(self, table: T) -> int:
        """Stands for the key of a table, see number_of."""

    @abstractmethod
    def again(self, wanted: str, error: ConnectorError) -> list[SourceBatch]:
        """The table was altered, and is read in another transaction: batches that are to be given before that."""

    def wait(self) -> None:
        """Nothing is begun for a moment."""
        self._due = time.monotonic() + SECONDS

    def about(self, wanted: str, table: T | None) -> Reading[T, P] | list[SourceBatch]:
        """A table as it is now is to be read on; else what moves its position to its end, or to the beginning: it has another key.

        Raises:
            PermanentError: it can't be read in chunks.
        """
        held, begin = self._reading, self.requests.place(wanted)
        if table is None:
            self.context.log.warning("%s is gone, or nothing of it is captured: its incremental snapshot has ended", wanted)
            return [self.requests.done(wanted)]
        if held is not None and held.run == begin[0] and held.table == table:
            return held
        if problem := self.problem(table):
            raise PermanentError(problem)
        if len(begin) > 1 and begin[-1] != self.number(table):
            self.context.log.warning("%s has another key: its incremental snapshot begins again", wanted)
            return self.requests.again(wanted)
        if len(begin) > 1 and self.requests.keys(wanted):
            # Which of them were there is not known any more.
            return self.requests.again(wanted)
        self._found = set()
        if len(begin) == 1:
            self.context.log.info("the incremental snapshot of %s begins", wanted)
        self._reading = self.reading(wanted, table, begin[:-1] if len(begin) > 1 else (), begin[0])
        return self._reading

    def _drop(self, log: L) -> None:
        self.close()
        log.window = None

    def _go_on(self, wanted: str, log: L) -> list[SourceBatch]:
        if self._chunk is None:
            begun = self.begin(wanted, log)
            if isinstance(begun, list):
                return begun
            self._chunk, log.window = begun
            return []
        chunk, window = self._chunk, log.window
        if not chunk.read(self.context.batch_bytes) or window is None:
            return []
        if window.spoiled:
            self._drop(log)
            return []
        if not self.is_time(chunk, log):
            return []
        made = [*log.take(), *self._batches(wanted, chunk, window)]
        self._drop(log)
        if self._rate:
            self._due = time.monotonic() + len(chunk.rows) / self._rate
        return made

    def _batches(self, wanted: str, chunk: C, window: KeyWindow) -> list[SourceBatch]:
        reading, made, ts_ms = chunk.reading, [], time.time_ns() // 1_000_000
        asked = self.requests.keys(wanted)
        for start in range(0, len(chunk.rows), self.context.batch_records):
            texts = chunk.texts(chunk.rows[start : start + self.context.batch_records])
            offsets, end = reading.places.of(texts)
            keys = chunk.keys(texts)
            left = window.left(keys)
            if asked:
                self._found.update(keys)
            kept = [offset for offset, is_left in zip(offsets, left, strict=True) if is_left]
            if kept:
                batch = chunk.batch(texts if all(left) else [text.filter(left) for text in texts], kept, ts_ms)
            else:
                batch = SourceBatch(reading.changes.partition, [], [])
            batch.end = (*(end or offsets[-1]), self.number(reading.table))
            reading.places.go_on(reading.places.last)
            self.requests.read(wanted, batch.end)
            made.append(batch)
        if chunk.last:
            self.context.log.info("the incremental snapshot of %s is done", wanted)
            gone = self._gone(chunk, window, asked, ts_ms)
            if gone is not None:
                self.requests.read(wanted, gone.end)
            made.append(self.requests.done(wanted) if gone is None else gone)
        return made

    def _gone(self, chunk: C, window: KeyWindow, asked: Sequence[Key], ts_ms: int) -> SourceBatch | None:
        """Deletions of the rows that are not there, at places that are as good as done; None: all are there, or changed since."""
        reading = chunk.reading
        keys = [_as_the_log(reading.table, key) for key in asked]
        gone = [(number, key) for number, key in enumerate(keys, 1) if key not in self._found]
        left = window.left([key for _, key in gone])
        if not any(left):
            return None
        columns = {field.name: place for place, field in enumerate(reading.table.schema.fields)}
        places = [columns[name] for name in reading.table.key]
        for (number, key), is_left in zip(gone, left, strict=True):
            if is_left:
                row: list[object] = [None] * len(columns)
                for place, value in zip(places, key, strict=True):
                    row[place] = value
                offset = (reading.run, DONE, number)
                reading.changes.add(Operation.DELETE, tuple(row), None, offset=offset, ts_ms=ts_ms, source=chunk.source)
        batch = reading.changes.take()
        batch.end = (reading.run, DONE, len(keys) + 1)
        return batch


def _as_the_log(table: TableLike, key: Key) -> Row:
    types = {field.name: field.schema.type for field in table.schema.fields}
    of = {Type.UUID: UUID, Type.DECIMAL: Decimal}
    return tuple(of.get(types[name], lambda same: same)(value) for name, value in zip(table.key, key, strict=True))
