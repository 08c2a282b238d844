"""Tables that are there, and how their columns and records meet. Pure."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, Self, TypeVar

from rocketconnect_sdk.evolution import Takes
from rocketconnect_sdk.schema import DIGITS, Field, Schema, Type

NESTED = (Type.STRUCT, Type.ARRAY, Type.MAP)
_TEXTUAL = (*NESTED, Type.TIME, Type.TIMESTAMP, Type.BYTES, Type.DATE, Type.JSON, Type.UUID)


@dataclass(frozen=True, slots=True)
class Column(ABC):
    """A column of a table.

    Attributes:
        name: Its name.
        kind: Its type, as the server writes it.
        schema: What it stands for; it is optional where the column takes nulls.
        has_default: It has a value of its own in rows that do not tell one.
        in_key: It is part of the key of the table.
    """

    name: str
    kind: str
    schema: Schema
    has_default: bool = False
    in_key: bool = False

    @property
    def is_fixed(self) -> bool:
        """Whether it keeps its type, whatever the table takes. By default not."""
        return False

    @property
    def may_be_missing(self) -> bool:
        """Whether a row need not tell it."""
        return self.schema.optional or self.has_default

    @property
    def items(self) -> Self | None:
        """Of an array the column that its elements would be; None: of nothing else."""
        return None

    @abstractmethod
    def stands_for(self, field: Schema) -> bool:
        """Whether it has values of a type that is not its own, beyond what any column of text has: they are fitted as they are."""


C = TypeVar("C", bound=Column)


@dataclass(frozen=True, slots=True)
class Table(Generic[C]):
    """A table.

    Attributes:
        name: Its name, as it was asked for.
        columns: Those that rows are written into, in their order.
    """

    name: str
    columns: Sequence[C]

    @property
    def names(self) -> list[str]:
        """Of the columns."""
        return [each.name for each in self.columns]

    @property
    def fields(self) -> tuple[Field, ...]:
        """The columns, as those of a struct."""
        return tuple(Field(each.name, each.schema) for each in self.columns)

    @property
    def key(self) -> list[str]:
        """The columns of its key."""
        return [each.name for each in self.columns if each.in_key]


def met(columns: Sequence[Column], records: Schema) -> Schema:
    """The columns of a table as records of a schema are compared with them and fitted to them.

    A column of text has what the server has no type for, and moments have no zone of their own. What may be missing need not be
    told.
    """
    fields = {each.name: each.schema for each in records.fields}
    return Schema(Type.STRUCT, fields=tuple(Field(each.name, _met(each, fields.get(each.name))) for each in columns))


def _met(column: Column, field: Schema | None) -> Schema:
    schema = column.schema
    if field is None:
        return replace(schema, optional=column.may_be_missing)
    if column.items is not None and field.type is Type.ARRAY:
        return replace(schema, items=_met(column.items, field.items))
    if _takes_as_text(schema, field) or column.stands_for(field):
        return replace(field, optional=schema.optional, default=None)
    return replace(schema, zone=field.zone) if schema.type is field.type is Type.TIMESTAMP else schema


def _takes_as_text(column: Schema, field: Schema) -> bool:
    is_long = field.type is Type.DECIMAL and field.precision > DIGITS
    return column.type is Type.STRING and (field.type in _TEXTUAL or is_long)


def never_null(columns: Sequence[Column], takes: Takes) -> list[str]:
    """The columns that can never take nulls: a record that may have one is taken, and one that has one is told by itself."""
    return [each.name for each in columns if not each.schema.optional and (each.is_fixed or not takes.nulls)]


def target_of(columns: Sequence[Column], records: Schema) -> Schema:
    """What is written: the columns of the records, and those that may not be missing."""
    told = {each.name for each in records.fields}
    schema = met(columns, records)
    return replace(schema, fields=tuple(each for each in schema.fields if each.name in told or not each.schema.optional))


AnyTable = Table[Any]
