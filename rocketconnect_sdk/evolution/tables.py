"""How the columns of a table and the schema of records differ. Pure."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import lru_cache

from rocketconnect_sdk.columns.declared import type_name
from rocketconnect_sdk.evolution.numbers import has_all, joined
from rocketconnect_sdk.schema import Field, Schema, Type

VALUE = "value"
"""The column of values that are no structs."""


class Kind(Enum):
    """What is other in the records."""

    NEW = "new"
    """A field that is no column."""
    NULLS = "nulls"
    """A column that takes no null, and the field may be null or is not there."""
    TYPE = "type"
    """A field whose type has values that the type of the column lacks."""


@dataclass(frozen=True, slots=True)
class Change:
    """A difference, and what a table does about it.

    Attributes:
        path: The names of the column and of what is in it; [] for the elements of an array, {} for the values of a map.
        kind: What is other.
        column: The column as it is; None: there is none.
        field: The field of the records; None: there is none.
    """

    path: tuple[str, ...]
    kind: Kind
    column: Schema | None
    field: Schema | None

    @property
    def name(self) -> str:
        """The path in one word."""
        return ".".join(self.path)

    def __str__(self) -> str:
        """For people."""
        if self.kind is Kind.NEW and self.field is not None:
            return f"{self.name} ({type_name(self.field)}) is no column"
        if self.kind is Kind.NULLS:
            return f"{self.name} " + ("is missing" if self.field is None else "may be null") + ", and the column takes no null"
        return f"{self.name} is {type_name(self.field)}, and the column is {type_name(self.column)}"


def told_changes(changes: Iterable[Change]) -> str:
    """What changes make of a table, for people: "it gets the column total (double), null in the rows that are there"."""
    changes = list(changes)
    told = [columns_got(new)] if (new := [change for change in changes if change.kind is Kind.NEW]) else []
    for change in changes:
        if change.kind is Kind.NULLS:
            told.append(f"its column {change.name} takes nulls from now on")
        elif change.kind is Kind.TYPE and change.column is not None and change.field is not None:
            wider = joined(change.column, change.field)
            told.append(f"its column {change.name} was {type_name(change.column)}, and becomes {type_name(wider)}")
    return "; ".join(told)


def columns_got(new: Sequence[Change]) -> str:
    """What a table gets for fields that are no columns, for people."""
    names = ", ".join(f"{change.name} ({type_name(change.field)})" for change in new)
    return f"it gets the {'column' if len(new) == 1 else 'columns'} {names}, null in the rows that are there"


def told_old_rows(changes: Iterable[Change], table: Schema, records: Schema) -> str:
    """How the rows that are there get values of the columns that a table gets, for people; empty: it gets none.

    Args:
        changes: What makes the table take the records.
        table: Its columns before.
        records: A struct: see as_table.
    """
    new = [change.name for change in changes if change.kind is Kind.NEW and len(change.path) == 1]
    if not new:
        return ""
    fields = {field.name for field in records.fields}
    left = [field.name for field in table.fields if field.name not in fields]
    told = (
        f"rows that are there have null in {', '.join(new)}, also where the source has values for them, such as a default. A "
        "source that captures changes sends them again: `rocketconnect connector signal SOURCE execute-snapshot tables=TABLE`"
    )
    if left:
        told += (
            f". Records have no {', '.join(left)}: if one of these is renamed, the table has both columns; drop the old one when "
            "the rows were sent again"
        )
    return told


def as_table(schema: Schema) -> Schema:
    """The columns of records: of a struct its fields, of anything else one that is called value."""
    return schema if schema.type is Type.STRUCT else Schema(Type.STRUCT, fields=(Field(VALUE, schema),))


@lru_cache(maxsize=256)
def nullable(schema: Schema) -> Schema:
    """A schema with nulls allowed everywhere, but as keys of maps."""
    fields = tuple(Field(field.name, nullable(field.schema)) for field in schema.fields)
    return replace(schema, optional=True, fields=fields, items=None if schema.items is None else nullable(schema.items))


def differences(table: Schema, records: Schema) -> Iterator[Change]:
    """What records of a schema have that a table has not. Wider types in the table, and columns that may be null, are none.

    Args:
        table: A struct of its columns.
        records: A struct: see as_table.
    """
    yield from _of_struct((), table, records)


def _of_struct(path: tuple[str, ...], table: Schema, records: Schema) -> Iterator[Change]:
    fields = {field.name: field.schema for field in records.fields}
    for column in table.fields:
        here = (*path, column.name)
        field = fields.pop(column.name, None)
        if field is not None:
            yield from _of_part(here, column.schema, field)
        elif not column.schema.optional and column.schema.default is None:
            yield Change(here, Kind.NULLS, column.schema, None)
    for name, field in fields.items():
        yield Change((*path, name), Kind.NEW, None, field)


def _of_part(path: tuple[str, ...], column: Schema, field: Schema) -> Iterator[Change]:
    if field.optional and not column.optional:
        yield Change(path, Kind.NULLS, column, field)
    if not has_all(column, field) or _has_other_keys(column, field):
        yield Change(path, Kind.TYPE, column, field)
    elif column.type is Type.STRUCT:
        yield from _of_struct(path, column, field)
    elif column.items is not None and field.items is not None:
        yield from _of_part((*path, "[]" if column.type is Type.ARRAY else "{}"), column.items, field.items)


def _has_other_keys(column: Schema, field: Schema) -> bool:
    """Keys of maps are never changed: two of them could become one."""
    return column.type is Type.MAP and _bare(column.keys) != _bare(field.keys)


def _bare(schema: Schema | None) -> Schema | None:
    """A schema without what says nothing of its values."""
    if schema is None:
        return None
    fields = tuple(Field(field.name, part) for field in schema.fields if (part := _bare(field.schema)) is not None)
    items, keys = _bare(schema.items), _bare(schema.keys)
    return replace(schema, name="", version=None, doc="", parameters=(), default=None, fields=fields, items=items, keys=keys)


def same_names(names: Iterable[str]) -> str:
    """Two of these names that differ by the case of their letters alone, for people; empty: there are none."""
    seen: dict[str, str] = {}
    for name in names:
        if (other := seen.setdefault(name.lower(), name)) != name:
            return f"{other} and {name}"
    return ""


def same_but_for_case(schema: Schema) -> str:
    """Fields that engines which make no difference between small and large letters take for one, for people; empty: none.

    Args:
        schema: What they are in, at any depth.
    """
    if told := same_names(part.name for part in schema.fields):
        return told
    within = [*((part.name, part.schema) for part in schema.fields), ("[]", schema.items)]
    found = ((name, same_but_for_case(of)) for name, of in within if of is not None)
    return next((told if name == "[]" else f"{told} in {name}" for name, told in found if told), "")
