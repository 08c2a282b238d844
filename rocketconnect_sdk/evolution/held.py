"""Rows held against a table that is there before any of them is written. Pure."""

from collections.abc import Collection, Iterator, Sequence

from rocketconnect_sdk.columns.declared import is_nameable, type_name, write_columns
from rocketconnect_sdk.errors import Problem, RecordError
from rocketconnect_sdk.evolution.numbers import NUMBERS
from rocketconnect_sdk.evolution.options import POLICY
from rocketconnect_sdk.evolution.settling import OfAnotherTable, OtherColumns, Policy, Settled, Takes, settle
from rocketconnect_sdk.evolution.tables import Change, Kind, columns_got, differences
from rocketconnect_sdk.schema import Field, Schema, Type
from rocketconnect_sdk.transforms.type_names import read_type

_SHOWN = 30
_GIVEN = 200
_COLUMNS = "columns"


def rows_problems(
    place: tuple[str, str],
    rows: str,
    table: Schema,
    records: Schema,
    policy: Policy,
    takes: Takes,
    *,
    is_tolerant: bool,
    key: Collection[str] = (),
) -> Iterator[Problem]:
    """What is wrong with rows for a table that is there, or else what the table becomes for them.

    Args:
        place: The option that names the table, and its value.
        rows: Which rows, for people.
        table: A struct of its columns.
        records: A struct: see as_table.
        policy: What happens when they differ.
        takes: What the table can become.
        is_tolerant: Bad records are left out.
        key: The columns of the key, where rows of a key replace each other.
    """
    found = list(differences(table, records))
    is_warning = False
    then = "the task would fail before them"
    settled: Settled | None = None
    try:
        settled = settle(table, records, policy, takes)
        # What is no column is one then, or is left out as the policy says; a null that a column does not take is a bad record.
        found = [change for change in differences(settled.table, records) if change.kind is Kind.TYPE or change.field is None]
        is_warning = is_tolerant or not any(map(_never, found))
        then = "what does not fit is a bad record"
    except OtherColumns:
        pass
    except OfAnotherTable as error:
        reason = f"does not take {rows}: {error}; all of them would be bad records"
        yield Problem(*place, reason, "Give these rows another table, or rename their fields.", is_warning=is_tolerant)
        return
    except RecordError as error:
        if policy is not Policy.DEAD_LETTER:
            yield Problem(*place, f"does not take {rows}: {error}", "Rename it with a transform.", is_warning=is_tolerant)
            return
        is_warning, then = is_tolerant, "all of them would be bad records"
    if found:
        reason = f"does not take {rows} as they are: {_told(found)}; {then}"
        yield Problem(*place, reason, _fix_of_rows(found), is_warning=is_warning)
    if settled is not None and (is_warning or not found):
        yield from _of_another_perhaps(place, rows, table, records, settled, key)


def _of_another_perhaps(
    place: tuple[str, str], rows: str, table: Schema, records: Schema, settled: Settled, key: Collection[str]
) -> Iterator[Problem]:
    """Rows that are written, and that may be meant for another table."""
    there, fields = ([field.name for field in each.fields] for each in (table, records))
    absent = [name for name in there if name not in fields]
    lacking = f"; these rows have no {_listed(absent)}, null in them" if absent else ""
    if new := [change for change in settled.changes if change.kind is Kind.NEW]:
        reason = f"is widened for {rows}: {columns_got(new[:_SHOWN])}{lacking}"
        fix = (
            f"If they are of another table, give them one. {POLICY.key}=fail ends the task before such rows, and ignore leaves out "
            "what is no column."
        )
        yield Problem(*place, reason, fix, is_warning=True)
    elif settled.left_out and key and set(there) & set(fields) <= set(key):
        reason = f"has nothing of {rows} but its key: {_listed(settled.left_out)} would be left out{lacking}"
        yield Problem(*place, reason, "Give these rows another table, or rename their fields.", is_warning=True)


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
    reason = f"does not fit {place}, which is there: {_told(found)}"
    return Problem(_COLUMNS, write_columns(columns)[:_GIVEN], reason, fix, is_warning=is_warning)


def _told(found: Sequence[Change]) -> str:
    more = f"; and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
    return "; ".join(map(str, found[:_SHOWN])) + more


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")


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
    name = type_name(schema)
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
    fields = (Field(name, there[name]) for name in names if is_nameable(there[name]))
    return Schema(Type.STRUCT, fields=tuple(fields))
