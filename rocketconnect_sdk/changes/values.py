"""What changes of one table are as values: rows, or rows in an envelope; in columns, or one by one where they fit none."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rocketconnect_sdk.changes.envelope import Operation, Origin, envelope, row
from rocketconnect_sdk.changes.gathered import Change, Columns, Row
from rocketconnect_sdk.changes.unfit import Fitting
from rocketconnect_sdk.columns.compact import Column
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.schema import Schema

_HEADERS: Mapping[Operation, Mapping[str, str]] = {operation: {"op": operation.value} for operation in Operation}
_STREAMED = "false"
"""What source.snapshot says of changes of the log."""


class ChangeValues:
    """Makes the values, keys and headers of changes of a table. Used by one thread.

    Args:
        origin: The table.
        columns: Its columns, a struct.
        source: What the kind of database adds to the field source.
        key_schema: Of its key; None: it has none.
        enveloped: Whether rows are in an envelope.
        columnar: Values are held as columns.
        snapshot: What source.snapshot says of rows that are read.
        clock: Milliseconds since 1970.
        fitting: Makes rows fit the types of the columns.

    Attributes:
        schema: Of the values.
    """

    def __init__(
        self,
        origin: Origin,
        columns: Schema,
        source: Schema,
        key_schema: Schema | None,
        *,
        enveloped: bool,
        columnar: bool,
        snapshot: str,
        clock: Callable[[], int],
        fitting: Fitting,
    ) -> None:
        self.schema = envelope(origin, columns, source) if enveloped else row(origin, columns)
        self._key_schema = key_schema
        self._is_enveloped = enveloped
        self._columnar = columnar
        self._snapshot = snapshot
        self._clock = clock
        self._fitting = fitting
        self._constants = tuple(origin.constants.values())
        self._parts = {field.name: field.schema for field in self.schema.fields}

    @property
    def image_schemas(self) -> tuple[Schema, Schema]:
        """The types of rows before and after."""
        return (self._parts["before"], self._parts["after"]) if self._is_enveloped else (self.schema, self.schema)

    def values(self, columns: Columns) -> tuple[Sequence[object], Sequence[object] | None]:
        """Those of changes that were gathered, and their keys."""
        if self._columnar:
            try:
                return self._columns(columns)
            except RecordError:
                # At least one value is none of its column.
                pass
        columns = columns._replace(before=self._fitting.before(columns.before), after=self._fitting.after(columns.after))
        if self._columnar:
            try:
                return self._columns(columns)
            except RecordError:
                # The error policy decides, row by row.
                pass
        names = None if self._key_schema is None else [field.name for field in self._key_schema.fields]
        keys = None
        if names is not None:
            keys = [None if key is None else dict(zip(names, key, strict=True)) for key in columns.keys]
        now = self._clock()
        return [self._value(Change._make(change), now) for change in zip(*columns, strict=True)], keys

    def _columns(self, columns: Columns) -> tuple[Sequence[object], Sequence[object] | None]:
        from rocketconnect_sdk.changes import arrays

        key_schema = self._key_schema
        keys = None if key_schema is None else arrays.rows(key_schema, columns.keys)
        if not self._is_enveloped:
            return arrays.rows(self.schema, columns.after), keys
        before, after = map(arrays.rows, self.image_schemas, (columns.before, columns.after))
        return self.of_images(before, after, columns), keys

    def of_images(self, before: Column, after: Column, columns: Columns) -> Column:
        """Those of changes whose rows are columns already, by `image_schemas`."""
        if not self._is_enveloped:
            return after
        from rocketconnect_sdk.changes import arrays

        said = list(map(self._said, columns.operations))
        parts = [
            before,
            after,
            arrays.beside(self._parts["source"], self._constants, [said, columns.times, *zip(*columns.sources, strict=True)]),
            arrays.rows(self._parts["transaction"], columns.transactions),
            arrays.column(self._parts["op"], columns.operations),
            arrays.column(self._parts["ts_ms"], [self._clock()] * len(said)),
            arrays.column(self._parts["unchanged"], [names or None for names in columns.unchanged]),
        ]
        return arrays.struct(self.schema, parts, columns.tombstones)

    def _value(self, change: Change, now: int) -> dict[str, object] | None:
        after = self._named("after", change.after) if self._is_enveloped else _dict(self.schema, change.after)
        if change.tombstone or not self._is_enveloped:
            return None if change.tombstone else after
        return {
            "before": self._named("before", change.before),
            "after": after,
            "source": self._named("source", (*self._constants, self._said(change.operation), change.ts_ms, *change.source)),
            "transaction": self._named("transaction", change.transaction),
            "op": change.operation.value,
            "ts_ms": now,
            "unchanged": list(change.unchanged) or None,
        }

    def _named(self, part: str, values: Row | None) -> dict[str, object] | None:
        return _dict(self._parts[part], values)

    def _said(self, operation: Operation) -> str:
        return self._snapshot if operation is Operation.READ else _STREAMED

    def reads(self, rows: Any, count: int, ts_ms: int, source: Row) -> tuple[Column, Column | None]:
        """Those of rows of a snapshot, and their keys. See TableChanges.reads."""
        from rocketconnect_sdk.changes import arrays

        after = arrays.table(self._parts["after"] if self._is_enveloped else self.schema, rows)
        keys = None if self._key_schema is None else arrays.chosen(self._key_schema, after)
        if not self._is_enveloped:
            return after, keys
        nulls = {name: arrays.nulls(self._parts[name], count) for name in ("before", "transaction", "unchanged")}
        of_source = arrays.repeated(self._parts["source"], (*self._constants, self._snapshot, ts_ms, *source), count)
        op = arrays.column(self._parts["op"], [Operation.READ.value] * count)
        now = arrays.column(self._parts["ts_ms"], [self._clock()] * count)
        made = {**nulls, "after": after, "source": of_source, "op": op, "ts_ms": now}
        return arrays.struct(self.schema, [made[name] for name in self._parts]), keys

    def headers(self, operations: Sequence[Operation], unchanged: Sequence[Sequence[str]]) -> list[Mapping[str, str]] | None:
        """Of records without an envelope, which says these things itself."""
        return None if self._is_enveloped else list(map(_headers, operations, unchanged))

    def headers_of_reads(self, count: int) -> list[Mapping[str, str]] | None:
        """Of so many rows of a snapshot; they are the same."""
        return None if self._is_enveloped else [_HEADERS[Operation.READ]] * count


def _dict(schema: Schema, values: Row | None) -> dict[str, object] | None:
    if values is None:
        return None
    return {field.name: value for field, value in zip(schema.fields, values, strict=True)}


def _headers(operation: Operation, unchanged: Sequence[str]) -> Mapping[str, str]:
    if not unchanged:
        return _HEADERS[operation]
    return {**_HEADERS[operation], "unchanged": ",".join(unchanged)}
