"""The records of a batch as a table for a query, and its result as parts of a batch."""

import re
from bisect import bisect_left
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import accumulate
from math import isfinite
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from rocketconnect_sdk.columns.compact import Column, concatenated
from rocketconnect_sdk.errors import PermanentError, RecordError
from rocketconnect_sdk.queries.text import StreamQuery
from rocketconnect_sdk.record import NO_HEADERS, SinkBatch
from rocketconnect_sdk.schema import Field, Schema, Type
from rocketconnect_sdk.transforms.base import Records
from rocketconnect_sdk.transforms.row_sql import ABOUT
from rocketconnect_sdk.transforms.sql_columns import about, computed, rows_of
from services.executor.runtime.sink.decode.part import Part
from services.executor.runtime.sink.query.mixed import rows_of_mixed

_MILLISECONDS = re.compile(r"-?[0-9]{1,18}")

KEY = "_key"
"""The column of a result that becomes the key."""


@dataclass(frozen=True, slots=True)
class Gathered:
    """The records of a batch, behind each other: by queue and offset.

    Attributes:
        parts: Those with records, in this order.
        ends: Of each part the place behind its last record.
        records: All.
        queues: The queue of each.
        offsets: The offset of each.
        rows: The number of each in its message; None: a message is a record.
    """

    parts: Sequence[Part]
    ends: Sequence[int]
    records: Records
    queues: Sequence[str]
    offsets: Sequence[int]
    rows: Sequence[int | None]

    @property
    def rows_of_values(self) -> list[int]:
        """The places of the records that are no tombstones."""
        values = self.records.values
        if isinstance(values, Column) and not values.array.null_count:
            return list(range(len(values)))
        return [place for place, value in enumerate(values) if value is not None]


def gathered(parts: Sequence[Part]) -> Gathered:
    """The records of the parts of a batch, of which at least one has any."""
    ordered = sorted((part for part in parts if len(part.records)), key=lambda part: (part.queue, part.start))
    batches = [part.records for part in ordered]
    counts = [len(batch) for batch in batches]
    schema = next((batch.schema for batch in batches if batch.schema is not None), None)
    records = Records(
        concatenated([batch.values for batch in batches]),
        range(sum(counts)),
        batches[0].topic,
        schema,
        None,
        _joined([batch.keys for batch in batches], counts, None),
        _joined([batch.timestamps_ms for batch in batches], counts, None),
        _joined([batch.headers for batch in batches], counts, NO_HEADERS),
        [batch.topic for batch in batches for _ in range(len(batch))],
    )
    return Gathered(
        ordered,
        list(accumulate(counts)),
        records,
        [part.queue for part in ordered for _ in range(len(part.records))],
        [offset for batch in batches for offset in batch.offsets],
        [row for batch in batches for row in ([None] * len(batch) if batch.rows is None else batch.rows)],
    )


def _joined(columns: Sequence[Sequence[Any] | None], counts: Sequence[int], nothing: object) -> list[Any] | None:
    if all(column is None for column in columns):
        return None
    return [
        element
        for column, count in zip(columns, counts, strict=True)
        for element in ([nothing] * count if column is None else column)
    ]


def table_of(records: Records, query: StreamQuery, wanted: Collection[str], elsewhere: Collection[str]) -> pa.Table:
    """What a query reads of records without tombstones.

    A field that no record of the batch has is null, where the values have no schema that says which there are; one whose values
    have no common type is text there.

    Args:
        records: At least one.
        query: The query.
        wanted: Columns that are read besides.
        elsewhere: Columns of other tables, which records need not have.

    Raises:
        RecordError: the values do not fit their schema.
        PermanentError: the query reads a column that the records do not have.
    """
    array, schema = _rows(records)
    names = [each.name for each in schema.fields]
    # In SQL capital letters make no difference.
    needs, there = {name.casefold() for name in query.needs}, {name.casefold() for name in (*names, *elsewhere)}
    columns = {name: array.field(name) for name in names if query.every or name.casefold() in needs or name in wanted}
    missing = [name for name in wanted if name not in names and name not in ABOUT]
    if records.schema is not None and missing:
        msg = f"there is no column {', '.join(map(repr, missing))} in the records, but {', '.join(map(repr, names))}"
        raise PermanentError(msg)
    absent = missing if records.schema is not None else [*query.needs, *missing]
    columns |= {name: pa.nulls(len(array)) for name in absent if name.casefold() not in there}
    columns |= {name: about(records, name) for name in ABOUT if name in query.about or name in wanted}
    return pa.table(columns) if columns else pa.table({"_": pa.nulls(len(array))})


def _rows(records: Records) -> tuple[pa.StructArray, Schema]:
    try:
        return rows_of(records)
    except RecordError:
        if records.schema is not None:
            raise
        return rows_of_mixed(records.values)


def times_of(records: Records, table: pa.Table, column: str) -> list[int | None]:
    """The time of each record in milliseconds since 1970; None: it has none.

    Raises:
        PermanentError: the column has a type that is no time.
    """
    if not column:
        times = records.timestamps_ms
        return [None] * len(records) if times is None else list(times)
    found = table.column(column)
    kind = found.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return [_moment(text) for text in found.to_pylist()]
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        zone = kind.tz if pa.types.is_timestamp(kind) else None
        found = pc.cast(found, pa.timestamp("ms", zone), safe=False).cast(pa.int64())
    elif pa.types.is_floating(kind) and records.schema is None:
        # As JSON may have whole numbers.
        return [None if time is None or not isfinite(time) else int(time) for time in found.to_pylist()]
    elif not (pa.types.is_integer(kind) or pa.types.is_null(kind)):
        if records.schema is None:
            # It is the records that have no time, as others of the topic may have one.
            return [None] * len(records)
        msg = f"the column {column!r} of query.time is a {kind}: it has to be a timestamp, milliseconds since 1970 or ISO 8601"
        raise PermanentError(msg)
    times_found: list[int | None] = found.to_pylist()
    return times_found


def _moment(text: str | None) -> int | None:
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return int(text) if _MILLISECONDS.fullmatch(text) else None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    whole = moment - datetime(1970, 1, 1, tzinfo=UTC)
    return (whole.days * 86_400 + whole.seconds) * 1000 + whole.microseconds // 1000


@dataclass(frozen=True, slots=True)
class Values:
    """A result as values of records.

    Attributes:
        array: Structs.
        schema: Of them.
        keys: The column KEY, where there is one.
    """

    array: pa.StructArray
    schema: Schema
    keys: pa.ChunkedArray | None = None


def values_of(result: pa.Table, hidden: Collection[str]) -> Values:
    """The values that the rows of a result are.

    Raises:
        PermanentError: two columns have one name, there is none, or no schema stands for the type of one.
    """
    names = [name for name in result.column_names if name not in hidden and name != KEY]
    if doubled := sorted({name for name in names if names.count(name) > 1}):
        msg = f"the query gives several columns the name {', '.join(doubled)}: name them with AS"
        raise PermanentError(msg)
    if not names:
        msg = "the query gives no columns"
        raise PermanentError(msg)
    arrays, fields = [], []
    for name in names:
        column = result.column(name)
        if pa.types.is_null(column.type):
            column = column.cast(pa.string())
        try:
            array, schema = computed(column)
        except RecordError as error:
            msg = f"column {name!r}: {error}"
            raise PermanentError(msg) from error
        arrays.append(array)
        fields.append(Field(name, schema))
    schema = Schema(Type.STRUCT, fields=tuple(fields))
    kinds = [pa.field(each.name, array.type) for each, array in zip(fields, arrays, strict=True)]
    keys = result.column(KEY) if KEY in result.column_names else None
    return Values(pa.StructArray.from_arrays(arrays, fields=kinds), schema, keys)


@dataclass(slots=True)
class Results:
    """Parts of a result, and of which row of a message each record is whose number was made up.

    Attributes:
        parts: To be written.
        numbered: By queue, offset and made-up number: the row of the message, None where the message is one record.
    """

    parts: list[Part]
    numbered: dict[tuple[str, int, int], int | None] = field(default_factory=dict)


def parts_by_record(given: Gathered, values: Values | None, places: Sequence[int], tombstones: Sequence[int]) -> Results:
    """A result whose rows are each of one record.

    Args:
        given: The records.
        values: The rows; None: there are none.
        places: Of each row the place of its record, never decreasing.
        tombstones: Places of records that go on as they are.
    """
    every, keys = list(places), None
    array, schema = (None, None) if values is None else (values.array, values.schema)
    if values is not None and values.keys is not None:
        keys = values.keys.to_pylist()
    if tombstones:
        both = [*every, *tombstones]
        order = sorted(range(len(both)), key=both.__getitem__)
        if array is not None:
            array = pa.concat_arrays([array, pa.nulls(len(tombstones), array.type)]).take(pa.array(order, pa.int64()))
        if keys is not None:
            old = given.records.keys
            keys = [*keys, *(None if old is None else old[place] for place in tombstones)]
            keys = [keys[index] for index in order]
        every = [both[index] for index in order]
    several = len(set(every)) < len(every)
    found = Results([])
    start = 0
    for part, end, before in zip(given.parts, given.ends, [0, *given.ends], strict=False):
        stop = bisect_left(every, end, start)
        if stop > start:
            inner = [place - before for place in every[start:stop]]
            records = replace(
                _taken(part.records, inner),
                values=[None] * len(inner) if array is None else Column(array[start:stop]),
                schema=schema,
                keys=_taken(part.records, inner).keys if keys is None else keys[start:stop],
            )
            if several:
                records.rows = _numbered(part.queue, records, found.numbered)
            found.parts.append(_part(part, records))
        start = stop
    return found


def _taken(batch: SinkBatch, places: Sequence[int]) -> SinkBatch:
    """As SinkBatch.take, of places that may come several times."""
    return replace(batch.take(places), size=batch.size)


def _numbered(queue: str, records: SinkBatch, numbered: dict[tuple[str, int, int], int | None]) -> list[int]:
    found: list[int] = []
    numbers: dict[int, int] = {}
    for index, offset in enumerate(records.offsets):
        number = numbers.get(offset, 0)
        numbers[offset] = number + 1
        numbered[queue, offset, number] = None if records.rows is None else records.rows[index]
        found.append(number)
    return found


def part_of_windows(parts: Sequence[Part], values: Values, starts: Sequence[int]) -> Part:
    """A result whose rows are of windows: they stand where the batch ends in one of its queues, with the times of their windows."""
    last = max(parts, key=lambda part: (part.until > part.start, part.queue, part.until))
    keys = None if values.keys is None else values.keys.to_pylist()
    count = len(values.array)
    offsets = [last.until - 1] * count
    rows = list(range(count))
    size = values.array.nbytes
    records = SinkBatch(
        last.queue, last.records.topic, Column(values.array), offsets, keys, list(starts), None, values.schema, size, rows
    )
    return _part(last, records)


def _part(like: Part, records: SinkBatch) -> Part:
    return Part(like.queue, like.start, like.until, {}, records, len(records), 0, arrived=like.arrived, stored_ms=like.stored_ms)


def columns_elsewhere(tables: Mapping[str, pa.Table]) -> set[str]:
    """The columns of other tables."""
    return {name for table in tables.values() for name in table.column_names}
