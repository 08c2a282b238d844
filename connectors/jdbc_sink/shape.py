"""How records and the columns of a table meet. Pure."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa
import pyarrow.compute as pc

from connectors.jdbc.dialect import Dialect, Table
from connectors.jdbc.kept.checks import Check
from rocketconnect_sdk.columns.parts import fields_of
from rocketconnect_sdk.evolution.fitting import fit
from rocketconnect_sdk.evolution.numbers import NUMBERS
from rocketconnect_sdk.schema import DIGITS, LENGTH, MOST_DIGITS, Field, Schema, Type, Unit, decimal
from rocketconnect_sdk.tables.columns import NESTED
from rocketconnect_sdk.tables.values import nested_texts
from rocketconnect_sdk.targets.fitted import key_first, keyed
from rocketconnect_sdk.targets.rows import Rows

_TIMES = (Type.TIME, Type.TIMESTAMP)
_KEY_WIDTH = 191
"""Characters of a text in a key for which no width is given: InnoDB's oldest rows take so many of four bytes."""
_LONGEST_IN_A_KEY = 768
"""Characters of four bytes that a key of InnoDB takes, of all its columns."""
_NUMBER = decimal(MOST_DIGITS // 2, precision=MOST_DIGITS)
_CHARACTER_BYTES, _PLAIN_BYTES = 4, 40


@dataclass(frozen=True, slots=True)
class Shape:
    """A table, as records of one schema are written into it.

    Attributes:
        name: The table.
        columns: The columns that are written, as the records are fitted to them.
        key: Those of the key.
        widths: Of text, in characters.
        checks: By column what it would change without an error.
        decimals: Columns of decimals of any digits.
    """

    name: str
    columns: Schema
    key: tuple[str, ...]
    widths: Mapping[str, int]
    checks: Mapping[str, Sequence[Check]] = field(default_factory=dict)
    decimals: Collection[str] = ()


def met(table: Table, records: Schema, key: Sequence[str], dialect: Dialect) -> Schema:
    """The columns of a table as records of a schema are compared with them and fitted to them.

    A column of whole numbers has nanoseconds, one of JSON or text has structs, arrays and maps, one of decimals of any digits has
    all numbers, and where times have no zone a column has points in time.
    """
    fields = {each.name: each.schema for each in records.fields}
    columns = []
    for each in table.columns.fields:
        field = fields.get(each.name)
        if field is not None and each.name in table.decimals and field.type in NUMBERS:
            column = replace(field, optional=each.schema.optional and each.name not in key)
        else:
            column = _met(each.schema, field, dialect, in_key=each.name in key)
        columns.append(Field(each.name, column))
    return replace(table.columns, fields=tuple(columns))


def as_read(table: Table) -> Schema:
    """The columns of a table as JSON without a schema is read: those of decimals of any digits have numbers, with most digits."""
    return replace(
        table.columns,
        fields=tuple(
            Field(each.name, replace(_NUMBER, optional=each.schema.optional)) if each.name in table.decimals else each
            for each in table.columns.fields
        ),
    )


def _met(column: Schema, field: Schema | None, dialect: Dialect, *, in_key: bool) -> Schema:
    column = replace(column, optional=column.optional and not in_key)
    if field is None:
        return column
    nested = field.type in NESTED and column.type in (Type.JSON, Type.STRING)
    counted = field.type in _TIMES and field.unit is Unit.NANOSECONDS and column.type is Type.INT64
    if nested or counted:
        return replace(field, optional=column.optional)
    if dialect.zoneless and (column.type, field.type, field.zone) == (Type.TIMESTAMP, Type.TIMESTAMP, True):
        return replace(column, zone=True)
    return column


def computed(table: Table, records: Schema) -> str:
    """The fields of records that the database computes, in words; empty: there are none."""
    names = [each.name for each in records.fields if each.name in table.computed]
    return f"{', '.join(names)}: the database computes it (GENERATED ALWAYS AS), and takes no value" if names else ""


def without(records: Schema, names: Collection[str]) -> Schema:
    """Records without some of their fields."""
    return replace(records, fields=tuple(each for each in records.fields if each.name not in names))


def numbered_problem(dialect: Dialect, name: str, table: Table, records: Schema, key: Sequence[str]) -> tuple[str, str] | None:
    """Why rows that are there cannot get the values of records, and what to do; None: they can.

    Args:
        dialect: Of the database.
        name: Of the table.
        table: The table.
        records: What is written.
        key: The columns by which rows replace each other.
    """
    names = [each.name for each in records.fields if each.name in table.numbered and each.name not in key]
    if not names:
        return None
    changes = ", ".join(f"ALTER COLUMN {dialect.column(each)} SET GENERATED BY DEFAULT" for each in names)
    reason = f"has {', '.join(names)} GENERATED ALWAYS AS IDENTITY, to which a row that is there gets no other value"
    return reason, f"Run: ALTER TABLE {dialect.quoted(name)} {changes}; or leave the field out."


def widens(dialect: Dialect, table: str, column: Schema, wider: Schema) -> bool:
    """Whether a column of a table can get a wider type."""
    kinds = [dialect.column_type(each, 0) for each in (column, wider)]
    return kinds[0] == kinds[1] or bool(dialect.widen(table, "x", kinds[1]))


def name_problem(dialect: Dialect, table: str, columns: Iterable[str] = ()) -> str:
    """Why names of a table, or of columns that it gets, cannot be; empty: they can."""
    parts = [("table", part) for part in table.split(".")] + [("column", name) for name in columns]
    told = ((kind, name, dialect.name_problem(name)) for kind, name in parts)
    return "; ".join(f"the name of the {kind} {name} {problem}" for kind, name, problem in told if problem)


def create(dialect: Dialect, name: str, records: Schema, key: Sequence[str], width: int, exact: str = "") -> str:
    """The statement that makes a table for records; `exact` is of the dialect."""
    records = key_first(narrowed(records, dialect.row_bytes), key)
    columns = [
        f"{dialect.column(each.name)} {column_kind(dialect, each, key, width, exact)}{' NOT NULL' if each.name in key else ''}"
        for each in records.fields
    ]
    if key:
        columns.append(f"PRIMARY KEY ({', '.join(map(dialect.column, key))})")
    return f"CREATE TABLE {dialect.quoted(name)} ({', '.join(columns)})"


def narrowed(records: Schema, row_bytes: int) -> Schema:
    """Records whose longest texts have no length any more, so that the others are within the bytes of a row; 0: any are."""
    left = [each.schema.length for each in records.fields]
    if not row_bytes:
        return records
    # Whatever is no text, or has no length, has a few bytes in the row itself.
    room = row_bytes - _PLAIN_BYTES * len(left)
    while max(left, default=0) and _CHARACTER_BYTES * sum(left) > room:
        left[left.index(max(left))] = 0
    kept = [
        each if each.schema.length == length else Field(each.name, without_length(each.schema))
        for each, length in zip(records.fields, left, strict=True)
    ]
    return replace(records, fields=tuple(kept))


def without_length(schema: Schema) -> Schema:
    """A text of any length."""
    return replace(schema, parameters=tuple(each for each in schema.parameters if each[0] != LENGTH))


def outgrown(records: Schema, widths: Mapping[str, int]) -> Sequence[Field]:
    """The fields whose texts may be longer than their columns are wide."""
    return [each for each in records.fields if each.schema.length > widths.get(each.name, each.schema.length)]


def column_kind(dialect: Dialect, field: Field, key: Sequence[str], width: int, exact: str = "") -> str:
    """The type of a column."""
    if field.name not in key:
        return dialect.column_type(field.schema, 0)
    kind = dialect.column_type(field.schema, _width(field.schema, width))
    return kind + exact if field.schema.type in (Type.STRING, Type.JSON) else kind


def _width(schema: Schema, width: int) -> int:
    """Of a text in a key."""
    return schema.length if 0 < schema.length <= _LONGEST_IN_A_KEY else width or _KEY_WIDTH


def created(records: Schema, key: Sequence[str], width: int) -> Table:
    """The table that create() makes."""
    texts = [each for each in records.fields if each.name in key and each.schema.type is Type.STRING]
    return Table(keyed(records, key), tuple(key), {each.name: _width(each.schema, width) for each in texts})


def fitted(rows: Rows, shape: Shape, dialect: Dialect) -> tuple[pa.Table, dict[int, str]]:
    """Rows as the database takes them, and by index what is wrong with those that it does not take."""
    held, reasons = fit(rows.values, rows.schema, shape.columns)
    columns = {}
    for each, values in fields_of(held, shape.columns):
        column = _typed(values, each.schema)
        if each.name in shape.decimals and each.schema.precision > DIGITS:
            # Digits are filled up with zeros to those of the type.
            column = pc.replace_substring_regex(pc.replace_substring_regex(column, r"(\.\d*?)0+$", r"\1"), r"\.$", "")
        for bad, why in _untaken(column, shape.widths.get(each.name, 0), dialect):
            for row in pc.indices_nonzero(bad).to_pylist():
                reasons.setdefault(row, f"{each.name} {_shown(column[row])} {why}")
        for check in shape.checks.get(each.name, ()):
            for row in pc.indices_nonzero(check.found(column).fill_null(False)).to_pylist():
                reasons.setdefault(row, f"{each.name} {_shown(column[row])} {check.why}")
        columns[each.name] = column
    return pa.table(columns), reasons


def _shown(value: pa.Scalar) -> str:
    plain = str(value)[:100]
    # So that spaces at the end are seen.
    return repr(plain) if pa.types.is_string(value.type) else plain


def checked(table: Table, key: Sequence[str]) -> Mapping[str, Sequence[Check]]:
    """The checks of columns of a table, some of which are those of the key by which rows replace each other."""
    return {name: [*found, *(table.key_checks.get(name, ()) if name in key else ())] for name, found in table.checks.items()}


def _untaken(column: pa.Array, width: int, dialect: Dialect) -> list[tuple[pa.Array, str]]:
    if pa.types.is_floating(column.type) and dialect.finite:
        return [(pc.invert(pc.is_finite(column)), "is no finite number, and the database has only these")]
    if not pa.types.is_string(column.type):
        return []
    found = []
    if width:
        found.append((pc.greater(pc.utf8_length(column), width), f"is longer than the {width} characters of its column"))
    if not dialect.nul:
        found.append((pc.match_substring(column, "\0"), "has the character U+0000, which the database does not take"))
    return found


def _typed(values: pa.Array, schema: Schema) -> pa.Array:
    """Values of the type that Spark has for a schema, as a database takes them."""
    if schema.type in NESTED:
        return nested_texts(values)
    if schema.type is Type.TIME and schema.unit is not Unit.NANOSECONDS:
        ticks = pc.multiply(values, 1000) if schema.unit is Unit.MILLISECONDS else values
        return ticks.cast(pa.time64("us"))
    return values
