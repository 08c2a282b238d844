"""What the author of a TableSink writes of the tables of a system."""

from abc import ABC, abstractmethod
from collections.abc import Sequence, Set
from dataclasses import dataclass
from typing import Any, ClassVar, Generic

import pyarrow as pa

from rocketconnect_sdk.columns.parts import fields_of
from rocketconnect_sdk.evolution import Change, Takes
from rocketconnect_sdk.evolution.fitting import fit
from rocketconnect_sdk.record import SinkBatch
from rocketconnect_sdk.schema import Schema
from rocketconnect_sdk.tables.columns import C
from rocketconnect_sdk.tables.reader import Reader, T
from rocketconnect_sdk.tables.values import Bad
from rocketconnect_sdk.targets.rows import Rows


@dataclass(frozen=True, slots=True)
class TableRows(Generic[T]):
    """What becomes of a table by records of one queue.

    Attributes:
        table: The table.
        schema: Of the columns of the rows.
        rows: The rows, as `typed` makes them.
        unnamed: By row the columns that it does not name, and others do; empty: each row names all.
        batch: The records.
        places: By row its record in the batch; of upserts nothing.
        key: The columns by which rows replace others; empty: each row is a new one.
        gone: The keys of the rows that are deleted; None: there are none. No key is in both.
    """

    table: T
    schema: Schema
    rows: pa.Table
    unnamed: Sequence[Sequence[str]]
    batch: SinkBatch
    places: Sequence[int] = ()
    key: Sequence[str] = ()
    gone: pa.Table | None = None


class Dialect(ABC, Generic[C, T]):
    """The tables of a system: which there are, how they are made and changed, and what their columns take.

    It is pickled to where the records are, and one thread calls it. All methods raise SystemAway where the system does not answer
    or cannot do it now, and PermanentError where it refuses.

    Attributes:
        place: Where the tables are, for people.

    Class attributes:
        positions: The columns that make a table one of positions, of whatever connector: records are never written to it.
        no_deletes: Why a record that deletes a row is a bad one, where each record is a new row.
    """

    place: object
    positions: ClassVar[Set[str]]
    no_deletes: ClassVar[str]

    @property
    @abstractmethod
    def takes(self) -> Takes:
        """What a table can become, but for columns that keep their types."""

    @abstractmethod
    def ping(self) -> None:
        """Returns when the system answers and lets us in."""

    @abstractmethod
    def table(self, name: str) -> T | None:
        """A table with the columns of records; None: there is none that the user sees."""

    def problem(self, table: T) -> tuple[str, str] | None:
        """Why a table does not do, and what to do about it. By default any does."""
        del table
        return None

    @abstractmethod
    def create(self, name: str, records: Schema) -> None:
        """Makes a table of the columns of records, if it is not there meanwhile."""

    @abstractmethod
    def alter(self, table: T, changes: Sequence[Change], columns: Schema) -> None:
        """Changes a table, as far as others have not meanwhile.

        Args:
            table: As it was.
            changes: Of the kinds that `takes` allows.
            columns: What its columns are then.
        """

    @abstractmethod
    def typed(self, values: pa.Array, schema: Schema, column: C) -> tuple[pa.Array, Bad]:
        """Values of the type that Spark has for a schema in the form that the column reads, and those that it would not take."""

    def filled(self, rows: pa.Table, table: T, unnamed: Sequence[Sequence[str]]) -> pa.Table:
        """Rows with the defaults of columns that they do not name, see TableRows. By default the server knows them."""
        del table, unnamed
        return rows

    @abstractmethod
    def encoded(self, written: TableRows[T]) -> Sequence[Any]:
        """What is sent for it: loads, each with the names of its `table` and its `queue`. They travel with the receipt."""

    def staged(self) -> None:
        """Called when the records of a batch are rows: ends what should not stay open till the next one. By default nothing."""

    def reader(self) -> Reader[C, T] | None:
        """Reads the tables for `rocketconnect verify`; it is at its end with the dialect. By default none does."""
        return None

    @abstractmethod
    def close(self) -> None:
        """Ends its connections. It may be used again."""


def fitted(dialect: Dialect[C, T], columns: Sequence[C], rows: Rows, target: Schema) -> tuple[pa.Table, dict[int, str]]:
    """Rows of the columns of a table in the forms that they read, and by index what is wrong with some.

    Args:
        dialect: Knows the forms.
        columns: Of the table, among them those of the target.
        rows: What they are of.
        target: What is written: see rocketconnect_sdk.tables.columns.target_of.
    """
    held, reasons = fit(rows.values, rows.schema, target)
    known = {each.name: each for each in columns}
    made = {}
    for field, values in fields_of(held, target):
        made[field.name], bad = dialect.typed(values, field.schema, known[field.name])
        for row, why in bad:
            reasons.setdefault(row, f"{field.name} {why}")
    return pa.table(made), reasons
