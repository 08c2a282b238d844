"""Reads the rows of a table that are behind a place, page by page: no statement runs between two polls."""

import hashlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from connectors.clickhouse.client import Client
from connectors.clickhouse.endpoint import Version, literal, quoted
from connectors.clickhouse.reader import readable
from connectors.jdbc.values import to_column
from connectors.jdbc_source.place import Order
from connectors.jdbc_source.readers import BatchSizer
from rocketconnect_sdk.columns.arrow_types import to_arrow_type
from rocketconnect_sdk.columns.compact import Column
from rocketconnect_sdk.errors import PermanentError
from rocketconnect_sdk.record import Offset, Rejected, SourceBatch
from rocketconnect_sdk.schema import Schema, Type

_MOMENTS: Version = (20, 5)
"""Before this version times are whole seconds."""
_INT64 = Schema(Type.INT64)
_SHOWN = 4096
_ADVICE = "To correct it, correct the value in the table, or leave the column out; then restart the connector."


@dataclass(frozen=True, slots=True)
class Target:
    """A table as it is read.

    Attributes:
        name: Its name.
        columns: A struct of its columns.
        key: A struct of the columns of keys; None: records have none.
        order: How new rows are known.
    """

    name: str
    columns: Schema
    key: Schema | None
    order: Order


@dataclass(frozen=True, slots=True)
class ServersOrder:
    """How a server compares: see Ordering of connectors.jdbc_source.

    Attributes:
        version: Of the server.
    """

    version: Version

    def ordered(self, column: str, schema: Schema) -> str:
        """A UUID has an order of its own there."""
        return f"toString({column})" if schema.type is Type.UUID else column

    def moment(self, micros: int) -> str:
        """A point in time; where times are whole seconds the first one that is not before it."""
        if self.version < _MOMENTS:
            return f"toDateTime({-(-micros // 1_000_000)}, 'UTC')"
        return f"fromUnixTimestamp64Micro(toInt64({micros}), 'UTC')"

    def text(self, value: str) -> str:
        """A text."""
        return literal(value)


class NewRows:
    """Of one table, which is a source partition.

    Args:
        client: The server.
        target: The table.
        partition: Its name.
        position: Where reading goes on; None: at the beginning.
        pace: How much at once.
        delay: Rows that are newer, in microseconds, are left for later: earlier ones may still be on their way.
        first: Without a position rows are read from this time on, in microseconds; None: all.
        interval: Seconds between two looks for new rows.
        columnar: Values are given as columns.
    """

    def __init__(
        self,
        client: Client,
        target: Target,
        partition: str,
        position: Offset | None,
        pace: BatchSizer,
        *,
        delay: int,
        first: int | None,
        interval: float,
        columnar: bool,
    ) -> None:
        self.due = 0.0
        """On the monotonic clock: when there may be more."""
        self._client = client
        self._target = target
        self._partition = partition
        self._position = position
        self._pace = pace
        self._delay = delay
        self._first = first
        self._interval = interval
        self._columnar = columnar
        self._ordering = ServersOrder(client.version)

    def poll(self) -> SourceBatch | None:
        """The next rows, or None when there are none now. Raises as Client.rows."""
        asked = self._pace.rows
        columns = self._client.texts(self._page(asked + 1))
        if not columns:
            self.due = time.monotonic() + self._interval
            return None
        held: dict[str, pa.Array] = {}
        wrong: dict[int, str] = {}
        for field, values in zip(self._target.columns.fields, columns, strict=False):
            held[field.name], found = to_column(values, field.schema)
            wrong |= {place: f"{self._target.name}: {field.name}: {reason}" for place, reason in found.items()}
        # One row more than is given: it shows whether the next page would pass over a row like the last one.
        offsets = self._offsets(held, columns[-1], wrong)[:asked]
        batch = self._batch(held, {place: why for place, why in wrong.items() if place < len(offsets)}, offsets)
        self._position = offsets[-1]
        if len(columns[0]) <= asked:
            self.due = time.monotonic() + self._interval
        return batch

    def _page(self, count: int) -> str:
        order, ordering = self._target.order, self._ordering
        names = [quoted(each) for each in (*((order.time,) if order.time else ()), *order.keys)]
        columns = order.columns(ordering, names)
        conditions = [f"{columns[0]} IS NOT NULL"]
        if self._position is not None:
            conditions.append(self._behind(names, self._position))
        if order.time:
            now = 1_000_000 * int(self._client.rows("SELECT toUnixTimestamp(now())")[0][0])
            conditions.append(f"{columns[0]} < {ordering.moment(now - self._delay)}")
            if self._position is None and self._first is not None:
                conditions.append(f"{columns[0]} >= {ordering.moment(self._first)}")
        selected = [readable(quoted(each.name), each.schema) for each in self._target.columns.fields]
        selected += [self._micros(names[0])] if order.time else []
        rows = f"SELECT {', '.join(selected)} FROM {self._client.place.table(self._target.name)}"  # noqa: S608  # names are quoted
        return f"{rows} WHERE {' AND '.join(conditions)} ORDER BY {', '.join(columns)} LIMIT {count}"

    def _behind(self, names: Sequence[str], position: Offset) -> str:
        try:
            return self._target.order.behind(self._ordering, names, position)
        except (ValueError, OverflowError, IndexError) as error:
            msg = f"{self._partition}: the position {list(position)} is of other columns: {error}. Delete the position"
            raise PermanentError(msg) from error

    def _micros(self, column: str) -> str:
        if self._ordering.version < _MOMENTS:
            return f"toString(toInt64(toUnixTimestamp({column})) * 1000000)"
        return f"toString(toUnixTimestamp64Micro(toDateTime64({column}, 6, 'UTC')))"

    def _offsets(self, held: Mapping[str, pa.Array], times: Any, wrong: Mapping[int, str]) -> list[Offset]:
        order = self._target.order
        where = f"{self._target.name}: {', '.join(filter(None, (order.time, *order.keys)))}"
        keys = [list(Column(held[name])) for name in order.keys]
        micros = to_column(times, _INT64)[0].to_pylist() if order.time else [0] * len(times)
        made: list[Offset] = []
        before = self._position or ()
        for moment, key in zip(micros, zip(*keys, strict=True) if keys else [()] * len(micros), strict=True):
            if moment is None or None in key:
                msg = f"{where}: a row cannot be told from others: {next(iter(wrong.values()), 'it has a null')}. Correct it"
                raise PermanentError(msg)
            try:
                offset = order.offset(moment, key)
            except ValueError as error:
                msg = f"{where}: {error}: it has no place in an offset. Correct it, or choose other columns"
                raise PermanentError(msg) from None
            if offset <= before:
                msg = f"{where}: {list(offset)} is there twice. Name columns that are unique together (key.columns)"
                raise PermanentError(msg)
            made.append(offset)
            before = offset
        return made

    def _batch(self, held: Mapping[str, pa.Array], wrong: Mapping[int, str], offsets: Sequence[Offset]) -> SourceBatch:
        target, count = self._target, len(offsets)
        structs = _structs(target.columns, held, count)
        self._pace.saw(count, structs.nbytes)
        is_plain = self._columnar and not wrong
        values: Sequence[object] = Column(structs) if is_plain else list(Column(structs))
        if wrong:
            values = [_rejected(wrong[index], value) if index in wrong else value for index, value in enumerate(values)]
        keys: Sequence[object] | None = None
        if target.key is not None:
            parts = Column(_structs(target.key, held, count))
            keys = parts if is_plain else [None if index in wrong else key for index, key in enumerate(parts)]
        return SourceBatch(
            self._partition, values, offsets, keys, schema=target.columns, key_schema=target.key, size=structs.nbytes
        )


def _structs(schema: Schema, held: Mapping[str, pa.Array], count: int) -> pa.StructArray:
    arrays = [held[field.name][:count] for field in schema.fields]
    return pa.StructArray.from_arrays(arrays, fields=list(to_arrow_type(schema)))


def _rejected(reason: str, value: object) -> Rejected:
    text = repr(value).encode()
    return Rejected("InvalidValue", reason, text[:_SHOWN], len(text), hashlib.sha256(text).hexdigest(), _ADVICE)
