"""Records become rows of a table, in the form in which the server reads them. Runs where the records are."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from connectors.clickhouse.client import Client
from connectors.clickhouse.place import quoted
from connectors.clickhouse.tables import Table, table_of
from connectors.clickhouse.types import Column, column_type
from connectors.clickhouse_sink.shape import create, fitted, met, never_null, rows_block, structure_of, takes, target_of
from connectors.clickhouse_sink.store import is_positions
from connectors.clickhouse_sink.writing import DEFINITIONS, ENGINE_FIX, INDEX, PLACE, Writing, engine_problem, queue_number
from rocketconnect_sdk.arrow import to_array
from rocketconnect_sdk.columns.objects import rows_of_array
from rocketconnect_sdk.errors import PermanentError, RecordError, RecordRefused, RetriableError
from rocketconnect_sdk.evolution import Change, Kind, settle
from rocketconnect_sdk.record import SinkBatch
from rocketconnect_sdk.schema import Schema, Type
from rocketconnect_sdk.sink import Receipt, SinkWriter
from rocketconnect_sdk.spark.types import to_spark
from rocketconnect_sdk.targets.changes import read_changes
from rocketconnect_sdk.targets.envelopes import row_schema
from rocketconnect_sdk.targets.fitted import keyed
from rocketconnect_sdk.targets.objects import Objects, read_values
from rocketconnect_sdk.targets.rows import Rows as Told

_BEGINNING = 100
_ATTEMPTS = 5
_PLACE_STRUCTURE = (("q", "UInt64"), ("o", "UInt64"), ("r", "UInt32"))
_INDEXES = (20, 3)
_NO_DELETES = "a row of ClickHouse is never deleted by this sink: drop such records with a transform, or let them be dead letters"


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of one queue, ready to be sent. A batch is one INSERT, so they travel with the receipt.

    Attributes:
        table: Where they go.
        columns: The names of the columns, without those of their places.
        structure: By column the name and the type that it has on its way; those of the places last.
        queue: "topic/broker/queue".
        offsets: The first and the last of their offsets.
        data: The rows, as a block.
    """

    table: str
    columns: Sequence[str]
    structure: Sequence[tuple[str, str]]
    queue: str
    offsets: tuple[int, int]
    data: bytes


class TableWriter(SinkWriter):
    """Makes rows of records; makes and changes tables, too.

    Args:
        writing: See Writing.
        client: The server.
    """

    def __init__(self, writing: Writing, client: Client) -> None:
        self._writing = writing
        self._client = client

    def stage(self, batch: SinkBatch, part: str) -> Receipt:
        """See SinkWriter. Nothing is sent yet but what makes the table ready."""
        del part
        refused: dict[int, str] = {}
        try:
            made = self._rows(batch, refused)
        except RecordError as error:
            refused, made = dict.fromkeys(range(len(batch)), str(error)), []
        if refused:
            raise RecordRefused(refused, made)
        return made

    def _rows(self, batch: SinkBatch, refused: dict[int, str]) -> list[Rows]:
        name = self._writing.name(batch.topic)
        table = table_of(self._client, name)
        if table is not None and is_positions(table.names):
            msg = f"{name} is a table of positions, which records are never written to"
            raise RecordError(msg)
        read = self._read(batch, table, refused)
        changes = read_changes(read.values, read.schema)
        refused.update({index: why for index, why in changes.reasons.items() if index not in refused})
        for index in (*changes.missing, *changes.deletes, *changes.truncates):
            refused.setdefault(index, _NO_DELETES)
        for index, spared in changes.unchanged.items():
            refused.setdefault(index, f"the change leaves out what {', '.join(spared)} had, which a new row needs")
        places = [index for index in changes.writes if index not in refused]
        if not places:
            return []
        records = changes.schema
        if table is not None and read.schema is not batch.schema:
            # They were read as the columns say: what is missing there may be so, and a null is told where it is one.
            records = keyed(records, [each.name for each in own(table) if not each.schema.optional])
        table, columns = self._ready(name, table, records)
        # An INSERT names its columns once: rows that name different ones are not told together.
        by_columns: dict[tuple[str, ...], list[int]] = {}
        for place in places:
            by_columns.setdefault(tuple(read.unnamed.get(place, ())), []).append(place)
        made = [
            self._block(batch, table, columns, changes.rows.take(some).without(names), some, refused)
            for names, some in by_columns.items()
        ]
        return [each for each in made if each is not None]

    def _block(
        self,
        batch: SinkBatch,
        table: Table,
        columns: Sequence[Column],
        held: Told,
        places: Sequence[int],
        refused: dict[int, str],
    ) -> Rows | None:
        """Rows that name the same columns, of these places of the batch."""
        target = target_of(columns, met(columns, held.schema), held.schema)
        rows, reasons = fitted(held, target)
        if reasons:
            refused.update({places[row]: why for row, why in reasons.items()})
            good = pa.array([row for row in range(len(places)) if row not in reasons], pa.int64())
            rows, places = rows.take(good), [places[row] for row in good.to_pylist()]
        if not places:
            return None
        structure = structure_of(rows, target)
        if self._writing.exact:
            rows, structure = _placed(rows, batch, places), [*structure, *_PLACE_STRUCTURE]
        offsets = (batch.offsets[places[0]], batch.offsets[places[-1]])
        names = [each.name for each in target.columns]
        return Rows(table.name, names, structure, batch.queue, offsets, rows_block(rows, structure))

    def _read(self, batch: SinkBatch, table: Table | None, refused: dict[int, str]) -> Objects:
        """The values as structs, of types that Spark has; what is none is null, and refused.

        Raises:
            RecordError: none of them is a row.
        """
        columns, schema = self._writing.columns, batch.schema
        if schema is not None and row_schema(schema) is not None and columns is None:
            values = _taken(batch.values, refused, lambda some: to_array(some, schema), schema)
            return Objects(to_spark(values), schema, {})
        if columns is not None:
            values = _taken(batch.values, refused, lambda some: rows_of_array(to_array(some, schema), columns), columns)
            return Objects(to_spark(values), columns, {})
        texts = _taken(batch.values, refused, lambda some: _texts(some, schema), Schema(Type.STRING))
        if table is None:
            msg = f"the value has no schema, and there is no table {self._writing.name(batch.topic)} to say what it is: set columns"
            raise RecordError(msg)
        read = read_values(texts, met(own(table), Schema(Type.STRUCT)), ())
        refused.update({index: why for index, why in read.reasons.items() if index not in refused})
        return read

    def _ready(self, name: str, table: Table | None, records: Schema) -> tuple[Table, Sequence[Column]]:
        """The table, and its columns for records of a schema; makes and changes it.

        Raises:
            RecordError: it does not take them.
            PermanentError: the policy is fail, or the table cannot say which records are in it.
        """
        writing = self._writing
        for _ in range(_ATTEMPTS):
            if table is None:
                if not writing.create:
                    msg = f"{writing.place}: there is no table {name}. Make it, or set table.create=true"
                    raise PermanentError(msg)
                self._create(name, records)
                table = table_of(self._client, name)
                continue
            if writing.exact and (reason := engine_problem(table.engine)):
                msg = f"{name} {reason}. {ENGINE_FIX}"
                raise PermanentError(msg)
            if writing.exact and (missing := [each for each in PLACE if each not in table.names]):
                msg = f"{name} lacks the columns {', '.join(missing)}. {places_fix(writing.place.table(name), missing)}"
                raise PermanentError(msg)
            columns = own(table)
            wanted = keyed(records, never_null(columns))
            settled = settle(met(columns, records), wanted, writing.policy, takes(self._client.version))
            fixed = {each.name for each in columns if each.is_fixed}
            changes = [self._change(table, each, settled.table) for each in settled.changes if each.path[0] not in fixed]
            if not changes:
                return table, columns
            for statement in changes:
                self._client.run_unless_there(statement)
            table = table_of(self._client, name)
        msg = f"{name} is changed by others all the time, or not as it was to be"
        raise RetriableError(msg)

    def _create(self, name: str, records: Schema) -> None:
        writing, version = self._writing, self._client.version
        extra = [] if not writing.exact else [*DEFINITIONS, *([INDEX] if version >= _INDEXES else [])]
        self._client.run(create(writing.place.table(name), records, version, writing.engine, extra))

    def _change(self, table: Table, change: Change, made: Schema) -> str:
        name = change.path[0]
        schema = next(each.schema for each in made.fields if each.name == name)
        column = next((each for each in table.columns if each.name == name), None)
        kind = column_type(schema, self._client.version)
        if column is not None and change.kind is Kind.NULLS:
            kind = column.with_nulls
        verb = "ADD COLUMN" if column is None else "MODIFY COLUMN"
        return f"ALTER TABLE {self._writing.place.table(table.name)} {verb} {quoted(name)} {kind}"


def own(table: Table) -> list[Column]:
    """The columns of records."""
    return [each for each in table.columns if each.name not in PLACE]


def places_fix(table: str, missing: Sequence[str]) -> str:
    """What to do about columns of places that a table lacks."""
    made = ", ".join(f"ADD COLUMN {each}" for each in DEFINITIONS if any(f"`{name}`" in each for name in missing))
    return f"Run ALTER TABLE {table} {made}; or set delivery=at_least_once"


def _placed(rows: pa.Table, batch: SinkBatch, places: Sequence[int]) -> pa.Table:
    count = len(places)
    whole = count == len(batch)
    offsets = pa.array(list(batch.offsets) if whole else [batch.offsets[place] for place in places], pa.uint64())
    numbers = [0] * count if batch.rows is None else [batch.rows[place] for place in places]
    columns = [pa.repeat(pa.scalar(queue_number(batch.queue), pa.uint64()), count), offsets, pa.array(numbers, pa.uint32())]
    for name, column in zip(PLACE, columns, strict=True):
        rows = rows.append_column(name, column)
    return rows


def _texts(values: Sequence[object], schema: Schema | None) -> pa.Array:
    made = to_array(values, schema)
    if not pa.types.is_string(made.type):
        msg = "the value is no row: give it a schema by its converter, or set columns"
        raise RecordError(msg)
    return made


def _taken(values: Sequence[object], refused: dict[int, str], make: Any, schema: Schema) -> pa.Array:
    """What `make` makes of values, with nulls in the place of those that it makes nothing of, which are refused."""
    parts: list[pa.Array] = []
    ranges = [(0, len(values))]
    while ranges:
        start, stop = ranges.pop()
        some = values if stop - start == len(values) else values[start:stop]
        try:
            parts.append(make(some))
        except RecordError as error:
            if stop - start == 1:
                refused[start] = f"{error}; the value begins {str(values[start])[:_BEGINNING]!r}"
                parts.append(make([None]) if schema.type is Type.STRING else to_array([None], replace(schema, optional=True)))
            else:
                middle = (start + stop) // 2
                ranges += [(middle, stop), (start, middle)]
    if len(parts) == 1:
        return parts[0]
    kind = parts[0].type
    return pa.concat_arrays([part.cast(kind) if part.type != kind else part for part in parts])


def unified(rows: Sequence[Rows]) -> list[list[Rows]]:
    """Rows that go in one statement, together."""
    found: dict[object, list[Rows]] = {}
    for each in rows:
        found.setdefault((each.table, tuple(each.columns), tuple(each.structure)), []).append(each)
    return list(found.values())
