"""The tables of ClickHouse, and records as rows in the form in which the server reads them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from connectors.clickhouse.client import Client
from connectors.clickhouse.endpoint import Endpoint, Version, quoted
from connectors.clickhouse.native import block, type_of
from connectors.clickhouse.places import (
    DEFINITIONS,
    ENGINE_FIX,
    INDEX,
    PLACE,
    STRUCTURE,
    engine_problem,
    places_problem,
    queue_number,
)
from connectors.clickhouse.positions import COLUMNS
from connectors.clickhouse.reader import ClickHouseReader
from connectors.clickhouse.tables import Table, table_of
from connectors.clickhouse.types import Column, column_type
from connectors.clickhouse.values import kind_of_moments, typed
from rocketconnect_sdk.evolution import Change, Kind, Takes
from rocketconnect_sdk.record import SinkBatch
from rocketconnect_sdk.schema import Schema, Type
from rocketconnect_sdk.tables.columns import NESTED
from rocketconnect_sdk.tables.dialect import Dialect, TableRows
from rocketconnect_sdk.tables.values import Bad
from rocketconnect_sdk.targets.fitted import key_first

_INDEXES: Version = (20, 3)


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


class ClickHouse(Dialect[Column, Table]):
    """The tables of a server.

    Args:
        client: The server.
        engine: Of tables that are made: the engine, the key that rows are partitioned by, the one that they are sorted by, and
            settings; empty: none.
        exact: Rows carry their places.
    """

    place: Endpoint
    positions = frozenset(COLUMNS)
    no_deletes = (
        "a row of ClickHouse is never deleted by this sink: drop such records with a transform, or let them be dead letters"
    )

    def __init__(self, client: Client, engine: Sequence[str], *, exact: bool) -> None:
        self.place = client.place
        self._client = client
        self._engine = engine
        self._exact = exact

    @property
    def takes(self) -> Takes:
        """See Dialect."""
        version = self._client.version
        text = column_type(Schema(Type.STRING), version)

        def widens(column: Schema, wider: Schema) -> bool:
            return column.type not in NESTED and column_type(replace(wider, optional=False), version) != text

        return Takes(columns=True, nulls=True, type=widens)

    def ping(self) -> None:
        """See Dialect."""
        self._client.rows("SELECT 1")

    def table(self, name: str) -> Table | None:
        """See Dialect."""
        table = table_of(self._client, name)
        if table is None:
            return None
        columns = [each for each in table.columns if each.name not in PLACE]
        return replace(table, columns=columns, places=[each for each in table.names if each in PLACE])

    def problem(self, table: Table) -> tuple[str, str] | None:
        """See Dialect."""
        if not self._exact:
            return None
        if reason := engine_problem(table.engine):
            return reason, ENGINE_FIX
        return places_problem(self.place.table(table.name), table.places)

    def create(self, name: str, records: Schema) -> None:
        """See Dialect."""
        version = self._client.version
        kind, partition, order, settings = self._engine
        sorted_by, in_partition = _words(order), _words(partition)
        made = [
            f"{quoted(each.name)} {column_type(each.schema, version, key=each.name in {*sorted_by, *in_partition})}"
            for each in key_first(records, sorted_by).fields
        ]
        made += [] if not self._exact else [*DEFINITIONS, *([INDEX] if version >= _INDEXES else [])]
        parts = [f"CREATE TABLE IF NOT EXISTS {self.place.table(name)} ({', '.join(made)}) ENGINE = {kind}"]
        parts += [f"PARTITION BY {partition}"] if partition else []
        parts += [f"ORDER BY {order if order.startswith('(') or order == 'tuple()' else f'({order})'}"] if order else []
        self._client.run(" ".join([*parts, *([f"SETTINGS {settings}"] if settings else [])]))

    def alter(self, table: Table, changes: Sequence[Change], columns: Schema) -> None:
        """See Dialect."""
        there = {each.name: each for each in table.columns}
        schemas = {each.name: each.schema for each in columns.fields}
        for change in changes:
            name = change.path[0]
            column = there.get(name)
            kind = column_type(schemas[name], self._client.version)
            if column is not None and change.kind is Kind.NULLS:
                kind = column.with_nulls
            verb = "ADD COLUMN" if column is None else "MODIFY COLUMN"
            self._client.run_unless_there(f"ALTER TABLE {self.place.table(table.name)} {verb} {quoted(name)} {kind}")

    def typed(self, values: pa.Array, schema: Schema, column: Column) -> tuple[pa.Array, Bad]:
        """See Dialect."""
        return typed(values, schema, column.kind)

    def encoded(self, written: TableRows[Table]) -> Sequence[Rows]:
        """See Dialect. An INSERT names its columns once: rows that name different ones are not told together."""
        by_columns: dict[tuple[str, ...], list[int]] = {}
        for row in range(written.rows.num_rows):
            by_columns.setdefault(tuple(written.unnamed[row]) if written.unnamed else (), []).append(row)
        return [self._block(written, unnamed, some) for unnamed, some in by_columns.items()]

    def _block(self, written: TableRows[Table], unnamed: Sequence[str], some: Sequence[int]) -> Rows:
        """Rows that name the same columns."""
        batch, places = written.batch, [written.places[row] for row in some]
        rows = written.rows.drop_columns(list(unnamed))
        rows = rows if len(some) == rows.num_rows else rows.take(pa.array(some, pa.int64()))
        names = rows.column_names
        structure = structure_of(rows, written.schema, written.table.columns)
        if self._exact:
            rows, structure = _placed(rows, batch, places), [*structure, *STRUCTURE]
        offsets = (batch.offsets[places[0]], batch.offsets[places[-1]])
        return Rows(written.table.name, names, structure, batch.queue, offsets, rows_block(rows, structure))

    def reader(self) -> ClickHouseReader:
        """See Dialect."""
        return ClickHouseReader(self._client)

    def close(self) -> None:
        """See Dialect."""
        self._client.close()


def _words(expression: str) -> list[str]:
    """The words of an expression: columns of these names are part of it, as far as there are any."""
    return expression.translate(str.maketrans("`(),", "    ")).split()


def structure_of(rows: pa.Table, schema: Schema, columns: Sequence[Column]) -> list[tuple[str, str]]:
    """The columns of a block: their names, which are numbers, and their types."""
    kinds = {each.name: each.kind for each in columns}
    schemas = {each.name: each.schema for each in schema.fields}
    found = []
    for index, (name, values) in enumerate(zip(rows.column_names, rows.columns, strict=True)):
        optional = schemas[name].optional and schemas[name].type is not Type.ARRAY
        found.append((f"c{index}", type_of(values.type, moments=kind_of_moments(kinds[name]), optional=optional)))
    return found


def rows_block(rows: pa.Table, structure: Sequence[tuple[str, str]]) -> bytes:
    """Rows as a block."""
    arrays = (column.combine_chunks() for column in rows.columns)
    return block([(name, kind, array) for (name, kind), array in zip(structure, arrays, strict=True)])


def _placed(rows: pa.Table, batch: SinkBatch, places: Sequence[int]) -> pa.Table:
    count = len(places)
    whole = count == len(batch)
    offsets = pa.array(list(batch.offsets) if whole else [batch.offsets[place] for place in places], pa.uint64())
    numbers = [0] * count if batch.rows is None else [batch.rows[place] for place in places]
    columns = [pa.repeat(pa.scalar(queue_number(batch.queue), pa.uint64()), count), offsets, pa.array(numbers, pa.uint32())]
    for name, column in zip(PLACE, columns, strict=True):
        rows = rows.append_column(name, column)
    return rows
