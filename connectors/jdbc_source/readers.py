"""Reads one table, or the query."""

import hashlib
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any, cast

import pyarrow as pa
from pyarrow import compute

from connectors.jdbc.dialect import Dialect
from connectors.jdbc.reading.dialect import Rows
from connectors.jdbc.session import Session
from connectors.jdbc.values import to_column
from connectors.jdbc_source.place import Order
from connectors.jdbc_source.tables import Target
from rocketconnect_sdk.columns.arrow_types import to_arrow_type
from rocketconnect_sdk.columns.compact import Column
from rocketconnect_sdk.errors import PermanentError
from rocketconnect_sdk.record import Offset, Rejected, SourceBatch
from rocketconnect_sdk.schema import WHOLE, Schema, Type

_FIRST = 100
"""So many rows are read before it is known how long they are."""
_INT64 = Schema(Type.INT64)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class BatchSizer:
    """How many rows are read at once, so that they have about so many bytes.

    Args:
        rows: At most.
        size: In bytes.
    """

    def __init__(self, rows: int, size: int) -> None:
        self._most = rows
        self._size = size
        self.rows = min(_FIRST, rows)

    def saw(self, rows: int, size: int) -> None:
        """So many rows had so many bytes."""
        self.rows = max(1, min(self._most, self._size * rows // max(size, 1), self.rows * 10))


class Reader(ABC):
    """Of one source partition.

    Args:
        session: The database.
        find: Describes what is read; called again for each round, since tables change.
        partition: Its name.
        interval: Seconds between two looks for new rows.
        pace: How much at once.
        columnar: Values are given as columns.
    """

    def __init__(
        self, session: Session, find: Callable[[], Target], partition: str, interval: float, pace: BatchSizer, *, columnar: bool
    ) -> None:
        self.session = session
        self.partition = partition
        self.due = 0.0
        """On the monotonic clock: when there may be more; infinity: never."""
        self.left: int | None = None
        """About how many rows there are still to read now; None: not known."""
        self._find = find
        self._found: Target | None = None
        self._interval = interval
        self._pace = pace
        self._columnar = columnar

    @property
    def is_open(self) -> bool:
        """Rows are on their way: no other statement can run."""
        return False

    @abstractmethod
    def poll(self) -> SourceBatch | None:
        """The next rows, or None when there are none now. Raises what Session.connected does."""

    @property
    def _target(self) -> Target:
        self._found = self._found or self._find()
        return self._found

    def _rest(self) -> None:
        """There is no more for now."""
        self.due = time.monotonic() + self._interval
        self._found = None
        self.left = 0

    def _counted(self) -> int | None:
        """About how many rows the table has; None: its database does not say."""
        if self._target.is_query:
            return None
        with self.session.connected(self._target.name) as connection:
            rows = self.session.reading.counted(connection, self._target.name)
            connection.rollback()
        return rows

    def _took(self, rows: int) -> None:
        """So many rows are not left any more. Behind those that were counted nobody knows."""
        self.left = self.left - rows if self.left is not None and self.left > rows else None

    def _select(self, more: Sequence[str]) -> str:
        readable = self.session.reading.readable
        columns = [readable(column_name(self.session.dialect, field.name), field.schema) for field in self._target.columns.fields]
        return f"SELECT {', '.join([*columns, *more])} FROM {self._target.rows}"  # noqa: S608  # names are quoted

    def _batch(self, held: Mapping[str, pa.Array], wrong: Mapping[int, str], offsets: Sequence[Offset]) -> SourceBatch:
        target = self._target
        structs = _structs(target.columns, held)
        self._pace.saw(len(structs), structs.nbytes)
        values: Sequence[object] = Column(structs) if self._columnar and not wrong else list(Column(structs))
        if wrong:
            values = [_rejected(wrong[i], value) if i in wrong else value for i, value in enumerate(values)]
        keys: Sequence[object] | None = None
        if target.key is not None:
            parts = Column(_structs(target.key, held))
            keys = parts if self._columnar and not wrong else [None if i in wrong else key for i, key in enumerate(parts)]
        return SourceBatch(
            self.partition,
            values,
            offsets,
            keys,
            topics=None if target.topic is None else [target.topic] * len(structs),
            schema=target.columns,
            key_schema=target.key,
            size=structs.nbytes,
        )

    def _read(self, columns: Sequence[Sequence[Any]]) -> tuple[Mapping[str, pa.Array], Mapping[int, str]]:
        held: dict[str, pa.Array] = {}
        wrong: dict[int, str] = {}
        for field, values in zip(self._target.columns.fields, columns, strict=False):
            held[field.name], found = to_column(values, field.schema)
            wrong |= {place: f"{self._target.name}: {field.name}: {reason}" for place, reason in found.items()}
        return held, wrong


class NewRows(Reader):
    """Reads rows behind a place, page by page: no statement runs between two polls.

    Args:
        delay: Rows that are newer, in microseconds, are left for later: some that are older may not be committed yet.
        position: Where reading goes on; None: at the beginning.
        first: Without a position rows are read from this time on, in microseconds; None: all.
        zone: Of the clock that times without a zone are written by.
        others: See Reader.
    """

    def __init__(self, *others: Any, delay: int, position: Offset | None, first: int | None, zone: tzinfo, columnar: bool) -> None:
        super().__init__(*others, columnar=columnar)
        self._delay = delay
        self.last: int | None = None
        """The last number that is read; None: there is no end."""
        self._position = position
        self._first = first
        self._zone = zone
        self._counts = position is None and first is None
        """What is left is known: all of the table, which was not counted yet."""

    def poll(self) -> SourceBatch | None:
        """See Reader."""
        order = cast("Order", self._target.order)
        if self._counts:
            self._counts, self.left = False, self._counted()
        asked = self._pace.rows
        width = len(self._target.columns.fields) + bool(order.time)
        statement = self._page(order, asked)
        with self.session.connected(self._target.name) as connection:
            rows = self.session.reading.rows(connection, statement, width)
            columns = rows.take(asked)
            rows.close()
            connection.rollback()
        if not columns:
            self._rest()
            return None
        held, wrong = self._read(columns)
        offsets = self._offsets(order, held, columns[-1], wrong)
        batch = self._batch(held, wrong, offsets)
        self._position = offsets[-1]
        self._took(len(batch))
        if len(batch) < asked:
            self._rest()
        return batch

    def _page(self, order: Order, count: int) -> str:
        reading = self.session.reading
        quoted = [column_name(self.session.dialect, each) for each in (*((order.time,) if order.time else ()), *order.keys)]
        columns = order.columns(reading, quoted)
        conditions = [] if self._position is None else [self._behind(order, quoted, self._position)]
        if order.time:
            conditions.append(f"{columns[0]} < {reading.moment(self._as_written(order, self._now() - self._delay))}")
            if self._position is None and self._first is not None:
                conditions.append(f"{columns[0]} >= {reading.moment(self._as_written(order, self._first))}")
        else:
            conditions.append(f"{columns[0]} IS NOT NULL")
        if self.last is not None:
            conditions.append(f"{columns[0]} <= {self.last}")
        more = [reading.micros(quoted[0])] if order.time else []
        return f"{self._select(more)} WHERE {' AND '.join(conditions)} ORDER BY {', '.join(columns)} LIMIT {count}"

    def _as_written(self, order: Order, micros: int) -> int:
        """A point in time as the column has it: what the clock shows there, where it has no zone."""
        (schema,) = (field.schema for field in self._target.columns.fields if field.name == order.time)
        return micros if schema.zone else wall(micros, self._zone)

    def _behind(self, order: Order, quoted: Sequence[str], position: Offset) -> str:
        try:
            return order.behind(self.session.reading, quoted, position)
        except (ValueError, OverflowError, IndexError) as error:
            msg = f"{self.partition}: the position {list(position)} is of other columns: {error}. Delete the position"
            raise PermanentError(msg) from error

    def _now(self) -> int:
        with self.session.connected(self._target.name) as connection:
            return int(self.session.reading.one(connection, f"SELECT {self.session.reading.clock}"))

    def _offsets(
        self, order: Order, held: Mapping[str, pa.Array], times: Sequence[Any], wrong: Mapping[int, str]
    ) -> Sequence[Offset]:
        columns = [held[name] for name in order.keys]
        if order.time:
            columns.insert(0, to_column(times, _INT64)[0])
        where = f"{self._target.name}: {', '.join(filter(None, (order.time, *order.keys)))}"
        if any(column.null_count for column in columns):
            msg = f"{where}: a row cannot be told from others: {next(iter(wrong.values()), 'it has a null')}. Correct it"
            raise PermanentError(msg)
        try:
            made = _offsets(order, columns)
        except ValueError as error:
            msg = f"{where}: {error}: it has no place in an offset. Correct it, or choose other columns"
            raise PermanentError(msg) from None
        before = self._position or ()
        for offset in made:
            if offset <= before:
                msg = f"{where}: {list(offset)} is there twice. Name columns that are unique together"
                raise PermanentError(msg)
            before = offset
        return made


class AllRows(Reader):
    """Reads everything, again and again or once: at least once, since a round that was interrupted begins again.

    An offset is the time in milliseconds when the round began, 1 and the number of the row; 2 stands for the end of the round.

    Args:
        position: What the last round came to.
        others: See Reader; an interval of 0: there is only one round.
    """

    def __init__(self, *others: Any, position: Offset | None, columnar: bool) -> None:
        super().__init__(*others, columnar=columnar)
        self._began, done, *_ = (*(position or ()), 0, 0)
        self._row = 0
        self._rows_left: Rows | None = None
        if done > 1:
            self.due = self._again(time.time() - self._began / 1000)

    @property
    def is_open(self) -> bool:
        """See Reader."""
        return self._rows_left is not None

    def poll(self) -> SourceBatch | None:
        """See Reader."""
        if self._rows_left is None:
            self._began, self._row = max(self._began + 1, time.time_ns() // 1_000_000), 0
            width, statement = len(self._target.columns.fields), self._select(())
            self.left = self._counted()
            with self.session.connected(self._target.name) as connection:
                self._rows_left = self.session.reading.rows(connection, statement, width)
        columns = self._taken(self._rows_left)
        if columns:
            held, wrong = self._read(columns)
            count = len(columns[0])
            offsets = [(self._began, 1, self._row + number) for number in range(1, count + 1)]
            self._row += count
            self._took(count)
            return self._batch(held, wrong, offsets)
        self._rows_left = None
        self._rest()
        self.due = self._again(0)
        return SourceBatch(self.partition, [], [], end=(self._began, 2))

    def _taken(self, rows: Rows) -> Sequence[Any]:
        """The next rows. Without their connection there are no more of them: what failed begins again with the first one."""
        try:
            with self.session.connected(self._target.name) as connection:
                columns = rows.take(self._pace.rows)
                if not columns:
                    rows.close()
                    connection.rollback()
        except BaseException:
            self._rows_left = None
            raise
        return columns

    def _again(self, passed: float) -> float:
        return time.monotonic() + self._interval - passed if self._interval else float("inf")


def wall(micros: int, zone: tzinfo) -> int:
    """What a clock in a time zone shows at a point in time. Both in microseconds since 1970."""
    there = (_EPOCH + timedelta(microseconds=micros)).astimezone(zone).replace(tzinfo=UTC)
    return (there - _EPOCH) // timedelta(microseconds=1)


def column_name(dialect: Dialect, name: str) -> str:
    """The quoted name of a column: a point in it divides nothing."""
    mark = dialect.quoted("a")[0]
    return mark + name.replace(mark, mark * 2) + mark


def _structs(schema: Schema, held: Mapping[str, pa.Array]) -> pa.StructArray:
    return pa.StructArray.from_arrays([held[field.name] for field in schema.fields], fields=list(to_arrow_type(schema)))


def _offsets(order: Order, columns: Sequence[pa.Array]) -> list[Offset]:
    """Of rows. Raises ValueError: a number is negative."""
    if all(schema.type in WHOLE for schema in order.schemas):
        for column in columns:
            if compute.min(column).as_py() < 0 or compute.max(column).as_py() >= 10**19:
                break
        else:
            return list(zip(*(column.to_pylist() for column in columns), strict=True))
    plain = [list(Column(column)) for column in columns]
    times = plain.pop(0) if order.time else [0] * len(plain[0])
    return [order.offset(int(micros), key) for micros, key in zip(times, zip(*plain, strict=True), strict=True)]  # type: ignore[call-overload]


def _rejected(reason: str, value: object) -> Rejected:
    text = repr(value).encode()
    advice = "To correct it, correct the value in the table, or leave the column out with a query; then restart the connector."
    return Rejected("InvalidValue", reason, text[:4096], len(text), hashlib.sha256(text).hexdigest(), advice)
