"""How records and the columns of a table meet. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from connectors.jdbc.dialect import Dialect, Table
from rocketconnect_sdk.columns.arrow_types import readable
from rocketconnect_sdk.columns.parts import fields_of
from rocketconnect_sdk.evolution.fitting import fit
from rocketconnect_sdk.files.lines import to_json
from rocketconnect_sdk.schema import LENGTH, Field, Schema, Type, Unit
from rocketconnect_sdk.targets.fitted import keyed
from rocketconnect_sdk.targets.rows import Rows

_NESTED = (Type.STRUCT, Type.ARRAY, Type.MAP)
_TIMES = (Type.TIME, Type.TIMESTAMP)
_KEY_WIDTH = 191
"""Characters of a text in a key for which no width is given: InnoDB's oldest rows take so many of four bytes."""
_LONGEST_IN_A_KEY = 768
"""Characters of four bytes that a key of InnoDB takes, of all its columns."""
_CHARACTER_BYTES, _PLAIN_BYTES = 4, 40


@dataclass(frozen=True, slots=True)
class Shape:
    """A table, as records of one schema are written into it.

    Attributes:
        name: The table.
        columns: The columns that are written, as the records are fitted to them.
        key: Those of the key.
        widths: Of text, in characters.
    """

    name: str
    columns: Schema
    key: tuple[str, ...]
    widths: Mapping[str, int]


def met(table: Schema, records: Schema, key: Sequence[str], dialect: Dialect) -> Schema:
    """The columns of a table as records of a schema are compared with them and fitted to them.

    A column of whole numbers has nanoseconds, one of JSON or text has structs, arrays and maps, and where times have no zone a
    column has points in time.
    """
    fields = {each.name: each.schema for each in records.fields}
    return replace(
        table,
        fields=tuple(
            Field(each.name, _met(each.schema, fields.get(each.name), dialect, in_key=each.name in key)) for each in table.fields
        ),
    )


def _met(column: Schema, field: Schema | None, dialect: Dialect, *, in_key: bool) -> Schema:
    column = replace(column, optional=column.optional and not in_key)
    if field is None:
        return column
    nested = field.type in _NESTED and column.type in (Type.JSON, Type.STRING)
    counted = field.type in _TIMES and field.unit is Unit.NANOSECONDS and column.type is Type.INT64
    if nested or counted:
        return replace(field, optional=column.optional)
    if dialect.zoneless and (column.type, field.type, field.zone) == (Type.TIMESTAMP, Type.TIMESTAMP, True):
        return replace(column, zone=True)
    return column


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
    records = narrowed(records, dialect.row_bytes)
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
        for bad, why in _untaken(column, shape.widths.get(each.name, 0), dialect):
            for row in pc.indices_nonzero(bad).to_pylist():
                reasons.setdefault(row, f"{each.name} {str(column[row])[:100]} {why}")
        columns[each.name] = column
    return pa.table(columns), reasons


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
    if schema.type in _NESTED:
        plain = readable(values).to_pylist(maps_as_pydicts="strict")
        return pa.array([None if value is None else to_json(value).decode() for value in plain], pa.string())
    if schema.type is Type.TIME and schema.unit is not Unit.NANOSECONDS:
        ticks = pc.multiply(values, 1000) if schema.unit is Unit.MILLISECONDS else values
        return ticks.cast(pa.time64("us"))
    return values
