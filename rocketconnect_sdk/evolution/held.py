"""Rows held against a table that is there before any of them is written. Pure."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from rocketconnect_sdk.columns.declared import type_name as declared_name
from rocketconnect_sdk.columns.declared import write_columns
from rocketconnect_sdk.errors import PermanentError, Problem, RecordError
from rocketconnect_sdk.evolution.numbers import NUMBERS
from rocketconnect_sdk.evolution.settling import Policy, Takes, settle
from rocketconnect_sdk.evolution.tables import Change, Kind, differences, type_name
from rocketconnect_sdk.schema import Field, Schema, Type
from rocketconnect_sdk.transforms.type_names import read_type

_SHOWN = 30
_GIVEN = 200
_COLUMNS = "columns"


def rows_problem(
    place: tuple[str, str], rows: str, table: Schema, records: Schema, policy: Policy, takes: Takes, *, is_tolerant: bool
) -> Problem | None:
    """What is wrong with rows for a table that is there; None: nothing, or the table becomes what they need.

    Args:
        place: The option that names the table, and its value.
        rows: Which rows, for people.
        table: A struct of its columns.
        records: A struct: see as_table.
        policy: What happens when they differ.
        takes: What the table can become.
        is_tolerant: Bad records are left out.
    """
    found = list(differences(table, records))
    is_warning = False
    then = "the task would fail before them"
    try:
        settled = settle(table, records, policy, takes)
        # What is no column is one then, or is left out as the policy says; a null that a column does not take is a bad record.
        found = [change for change in differences(settled.table, records) if change.kind is Kind.TYPE or change.field is None]
        is_warning = is_tolerant or not any(map(_never, found))
        then = "what does not fit is a bad record"
    except PermanentError:
        pass
    except RecordError as error:
        if policy is not Policy.DEAD_LETTER:
            return Problem(*place, f"does not take {rows}: {error}", "Rename it with a transform.", is_warning=is_tolerant)
        is_warning, then = is_tolerant, "all of them would be bad records"
    if not found:
        return None
    reason = f"does not take {rows} as they are: {_told(found)}; {then}"
    return Problem(*place, reason, _fix_of_rows(found), is_warning=is_warning)


def columns_problem(place: str, table: Schema, columns: Schema) -> Problem | None:
    """What is wrong with the option `columns` for a table that is there; None: nothing.

    A number may have a place in a column of other numbers, and so that is a warning.

    Args:
        place: The table, for people.
        table: A struct of its columns.
        columns: What the option says.
    """
    # That a column may be null says the option of all.
    found = [change for change in differences(table, columns) if change.kind is not Kind.NULLS or change.field is None]
    if not found:
        return None
    is_warning = all(change.kind is Kind.TYPE and not _never(change) for change in found)
    fitting = _fitting(table, columns)
    fix = f"Set {_COLUMNS}={write_columns(fitting)}, or name another table." if fitting.fields else "Name another table."
    reason = f"does not fit {place}, which is there: {_told(found, _declared)}"
    return Problem(_COLUMNS, write_columns(columns)[:_GIVEN], reason, fix, is_warning=is_warning)


def _told(found: Sequence[Change], said: Callable[[Change], str] = str) -> str:
    more = f"; and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
    return "; ".join(map(said, found[:_SHOWN])) + more


def _declared(change: Change) -> str:
    """A difference, with types as the option has them."""
    field, column = (_name(schema) for schema in (change.field, change.column))
    return f"{change.name} is {field}, and the column is {column}" if change.kind is Kind.TYPE else str(change)


def _name(schema: Schema | None) -> str:
    if schema is None:
        return type_name(schema)
    return declared_name(_plain(schema)) if _is_nameable(schema) else type_name(schema)


def _never(change: Change) -> bool:
    """Whether no value of the field has a place in the column."""
    if change.column is None or change.field is None or change.kind is not Kind.TYPE:
        return change.kind is Kind.NULLS and change.field is None
    kinds = {change.column.type, change.field.type}
    return not (kinds <= NUMBERS or (len(kinds) == 1 and change.column.zone == change.field.zone))


def _fix_of_rows(found: Sequence[Change]) -> str:
    casts = {change.name: _cast_name(change.column) for change in found if change.kind is Kind.TYPE and len(change.path) == 1}
    spec = ",".join(f"{name}:{kind}" for name, kind in casts.items() if kind)
    other = "Give these rows another table, or change the columns of this one"
    if not spec:
        return f"{other}."
    return f"{other}; or cast the rows: transforms=types, transforms.types.type=cast, transforms.types.spec={spec}."


def _cast_name(schema: Schema | None) -> str:
    """What the transform `cast` calls a type; empty: it makes none of it."""
    if schema is None:
        return ""
    unit = f"({schema.unit.value})"
    names = {
        Type.DECIMAL: f"decimal({schema.precision},{schema.scale})",
        Type.TIME: f"time{unit}",
        Type.TIMESTAMP: f"timestamp{unit}" if schema.zone else f"local_timestamp{unit}",
    }
    name = names.get(schema.type, str(schema.type.value))
    try:
        read_type(name)
    except ValueError:
        return ""
    return name


def _fitting(table: Schema, columns: Schema) -> Schema:
    """The columns of the option that the table has, with its types; and those that it needs."""
    there = {field.name: field.schema for field in table.fields}
    needed = [field.name for field in table.fields if not field.schema.optional and field.schema.default is None]
    names = dict.fromkeys([*(field.name for field in columns.fields if field.name in there), *needed])
    fields = (Field(name, _plain(there[name])) for name in names if _is_nameable(there[name]))
    return Schema(Type.STRUCT, fields=tuple(fields))


def _is_nameable(schema: Schema) -> bool:
    try:
        declared_name(_plain(schema))
    except StopIteration:
        return False
    return True


def _plain(schema: Schema) -> Schema:
    """Without its name, its default, its length and what else does not make it another type."""
    if schema.type is Type.DECIMAL:
        return Schema(schema.type, precision=schema.precision, scale=schema.scale)
    if schema.type in (Type.TIME, Type.TIMESTAMP):
        return Schema(schema.type, unit=schema.unit, zone=schema.zone)
    return replace(Schema(schema.type), fields=schema.fields, items=schema.items, keys=schema.keys)
