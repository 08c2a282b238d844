"""What a table becomes when records of another schema come. Pure."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from rocketconnect_sdk.errors import PermanentError, RecordError
from rocketconnect_sdk.evolution.numbers import joined
from rocketconnect_sdk.evolution.tables import Change, Kind, differences
from rocketconnect_sdk.schema import Field, Schema, Type

_SHOWN = 10


class OtherColumns(PermanentError):
    """Records do not have the columns of the table, and the policy is fail.

    Attributes:
        first: The number of the first of them in the batch.
    """

    def __init__(self, message: str, first: int = 0) -> None:
        super().__init__(message)
        self.first = first


class OfAnotherTable(RecordError):
    """A record has no field that is a column: its row would be nothing but nulls, or the table two tables."""


class Policy(Enum):
    """What happens to records that do not have the columns of the table."""

    EVOLVE = "evolve"
    """The table changes as far as it can."""
    IGNORE = "ignore"
    """The table stays as it is: fields that are no columns are left out."""
    FAIL = "fail"
    """The task fails before them."""
    DEAD_LETTER = "dead_letter"
    """They are bad records."""


@dataclass(frozen=True, slots=True)
class Takes:
    """What a table can become.

    Attributes:
        columns: It can have more columns, and parts of structs; those that were there before are null in them.
        nulls: A column that takes no null can begin to.
        type: Whether a column of the first type can get the second one.
    """

    columns: bool
    nulls: bool
    type: Callable[[Schema, Schema], bool]


@dataclass(frozen=True, slots=True)
class Settled:
    """What was decided.

    Attributes:
        table: The columns now; see rocketconnect_sdk.evolution.fitting.fit for the records.
        changes: What makes them so, in the order of the columns.
        left_out: The fields that are no columns and do not become any, by path.
    """

    table: Schema
    changes: Sequence[Change] = ()
    left_out: Sequence[str] = ()


def settle(table: Schema, records: Schema, policy: Policy, takes: Takes) -> Settled:
    """What the columns of a table are for records of a schema.

    What a policy of evolve cannot change, and what ignore leaves as it is, is decided value by value: what the column does not
    have is a bad record.

    Args:
        table: A struct of its columns.
        records: A struct: see as_table.
        policy: What to do.
        takes: What the table can become.

    Raises:
        OtherColumns: the policy is fail.
        OfAnotherTable: no field is a column, and the policy is evolve or ignore.
        RecordError: the policy is dead_letter; or a field differs from a column by the case of its letters only.
    """
    found = list(differences(table, records))
    if policy in (Policy.EVOLVE, Policy.IGNORE) and is_of_another(table, records):
        names = (", ".join(field.name for field in each.fields[:_SHOWN]) for each in (records, table))
        msg = "the record is of another table: it has {}, and none of the columns of this one, which are {}".format(*names)
        raise OfAnotherTable(msg)
    if not found or policy is Policy.IGNORE:
        return Settled(table, (), [change.name for change in found if change.kind is Kind.NEW])
    told = "; ".join(map(str, found[:_SHOWN])) + (f"; and {len(found) - _SHOWN} more" if len(found) > _SHOWN else "")
    if policy is Policy.FAIL:
        msg = f"the records do not have the columns of the table, and schema.evolution is fail: {told}"
        raise OtherColumns(msg)
    if policy is Policy.DEAD_LETTER:
        msg = f"the record does not have the columns of the table: {told}"
        raise RecordError(msg)
    changes: list[Change] = []
    made = _evolved(table, records, (), found, takes, changes)
    done = {change.path for change in changes}
    return Settled(made, changes, [change.name for change in found if change.kind is Kind.NEW and change.path not in done])


def is_of_another(table: Schema, records: Schema) -> bool:
    """Whether there are columns and fields, and none is both."""
    columns, fields = ({field.name.casefold() for field in each.fields} for each in (table, records))
    return bool(columns and fields) and not columns & fields


def _evolved(
    column: Schema, field: Schema | None, path: tuple[str, ...], found: Sequence[Change], takes: Takes, changes: list[Change]
) -> Schema:
    """A column as it becomes; what is changed is added."""
    mine = {change.kind: change for change in found if change.path == path}
    if Kind.NULLS in mine and takes.nulls:
        changes.append(mine[Kind.NULLS])
        column = replace(column, optional=True)
    if field is None:
        return column
    if Kind.TYPE in mine:
        wider = joined(column, field)
        if wider not in (None, column) and takes.type(column, wider):
            changes.append(mine[Kind.TYPE])
            return wider
        return column
    if column.type is Type.STRUCT:
        fields = {part.name: part.schema for part in field.fields}
        parts = [
            Field(part.name, _evolved(part.schema, fields.get(part.name), (*path, part.name), found, takes, changes))
            for part in column.fields
        ]
        return replace(column, fields=(*parts, *_new(column, path, found, takes, changes)))
    if column.items is not None and field.items is not None:
        inner = "[]" if column.type is Type.ARRAY else "{}"
        return replace(column, items=_evolved(column.items, field.items, (*path, inner), found, takes, changes))
    return column


def _new(column: Schema, path: tuple[str, ...], found: Sequence[Change], takes: Takes, changes: list[Change]) -> list[Field]:
    new = [change for change in found if change.kind is Kind.NEW and change.path[:-1] == path]
    there = {part.name.casefold(): part.name for part in column.fields}
    for change in new:
        name = change.path[-1]
        if name.casefold() in there:
            other = there[name.casefold()]
            msg = f"{change.name} is no column, and can become none: it differs from {other} by the case of its letters only"
            raise RecordError(msg)
        there[name.casefold()] = name
    if not takes.columns:
        return []
    changes += new
    return [Field(change.path[-1], replace(change.field, optional=True)) for change in new if change.field is not None]
