"""How records and the columns of a table meet. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from connectors.doris.place import quoted
from connectors.doris.types import NESTED, Column, column_type, digits_of, parts
from rocketconnect_sdk.columns.arrow_types import readable
from rocketconnect_sdk.columns.parts import fields_of
from rocketconnect_sdk.evolution import Takes
from rocketconnect_sdk.evolution.fitting import fit, shown
from rocketconnect_sdk.files.lines import to_json
from rocketconnect_sdk.schema import DIGITS, Field, Schema, Type, Unit
from rocketconnect_sdk.targets.rows import Rows

_TEXTUAL = (*NESTED, Type.TIME, Type.TIMESTAMP, Type.BYTES, Type.DATE, Type.JSON, Type.UUID)

TAKES = Takes(columns=True, nulls=False, type=lambda _column, _wider: False)
"""Other changes rewrite a table, and take their time."""

_STANDS_IN: Mapping[str, object] = {"boolean": False, "date": "1970-01-01", "datetime": "1970-01-01 00:00:00", "json": "{}"}


def met(columns: Sequence[Column], records: Schema) -> Schema:
    """The columns of a table as records of a schema are compared with them and fitted to them.

    A column of text has what Doris has no type for, and moments have no zone of their own. What may be missing need not be told.
    """
    fields = {each.name: each.schema for each in records.fields}
    return Schema(Type.STRUCT, fields=tuple(Field(each.name, _met(each, fields.get(each.name))) for each in columns))


def _met(column: Column, field: Schema | None) -> Schema:
    schema = column.schema
    if field is None:
        return replace(schema, optional=column.may_be_missing)
    is_text = schema.type is Type.STRING and field.type in _TEXTUAL
    is_json = schema.type is Type.JSON and field.type in (*NESTED, Type.STRING)
    is_long = schema.type is Type.STRING and field.type is Type.DECIMAL and field.precision > DIGITS
    if is_text or is_json or is_long:
        return replace(field, optional=schema.optional, default=None)
    if schema.type is field.type is Type.TIMESTAMP:
        return replace(schema, zone=field.zone)
    return schema


def target_of(schema: Schema, records: Schema) -> Schema:
    """What is written: the columns of the records, and those that may not be missing.

    Args:
        schema: Of the columns of the table; see `met`.
        records: The records.
    """
    told = {each.name for each in records.fields}
    return replace(schema, fields=tuple(each for each in schema.fields if each.name in told or not each.schema.optional))


def create(name: str, records: Schema, key: Sequence[str], properties: str) -> str:
    """The statement that makes a table.

    Args:
        name: As it stands in statements.
        records: Its columns.
        key: The unique key; empty: all rows stay.
        properties: As statements have them; empty: none.
    """
    fields = {each.name: each.schema for each in records.fields}
    # A key stands first.
    names = [*key, *(each for each in fields if each not in key)]
    columns = [_definition(each, fields[each], key) for each in names]
    if key:
        listed = ", ".join(map(quoted, key))
        model, spread = f"UNIQUE KEY ({listed})", f"HASH ({listed})"
        given = properties
    else:
        model, spread = "", "RANDOM"
        # Else the first columns would be its key, whatever they are.
        given = ", ".join(['"enable_duplicate_without_keys_by_default" = "true"', *([properties] if properties else [])])
    made = f"CREATE TABLE IF NOT EXISTS {name} ({', '.join(columns)}) {model} DISTRIBUTED BY {spread} BUCKETS AUTO"
    return f"{made} PROPERTIES ({given})" if given else made


def _definition(name: str, schema: Schema, key: Sequence[str]) -> str:
    null = "NULL" if schema.optional and name not in key else "NOT NULL"
    return f"{quoted(name)} {column_type(schema, key=name in key)} {null}"


def fitted(columns: Sequence[Column], rows: Rows, target: Schema) -> tuple[pa.Table, dict[int, str]]:
    """Rows of the columns of a table, of types that `lines` writes, and by index what is wrong with some.

    Args:
        columns: Of the table, among them those of the target.
        rows: What they are of.
        target: What is written.
    """
    held, reasons = fit(rows.values, rows.schema, target)
    known = {each.name: each for each in columns}
    made = {}
    for field, values in fields_of(held, target):
        column = known[field.name]
        made[field.name] = _typed(values, field.schema, column)
        for row, why in _untaken(values, made[field.name], field.schema, column):
            reasons.setdefault(row, f"{field.name} {why}")
    return pa.table(made), reasons


def lines(rows: pa.Table, more: Mapping[str, object]) -> list[bytes]:
    """Rows as JSON objects.

    Args:
        rows: See `fitted`.
        more: What else each has.
    """
    return [msgspec.json.encode({**row, **more}) for row in rows.to_pylist()]


def stand_ins(columns: Sequence[Column], told: Sequence[str]) -> dict[str, object]:
    """Of columns that take no null and are not told what stands there in a row that only deletes: nobody sees it."""
    return {each.name: _stand_in(each.kind) for each in columns if each.name not in told and not each.schema.optional}


def _stand_in(kind: str) -> object:
    name, _ = parts(kind)
    found = next((value for start, value in _STANDS_IN.items() if name.startswith(start)), None)
    return "0" if found is None else found


def _typed(values: pa.Array, schema: Schema, column: Column) -> pa.Array:
    """Values of the type that Spark has for a schema, as JSON has them."""
    match schema.type:
        case Type.STRUCT | Type.ARRAY | Type.MAP:
            plain = readable(values).to_pylist(maps_as_pydicts="strict")
            return pa.array([None if value is None else to_json(value).decode() for value in plain], pa.string())
        case Type.TIME:
            unit = schema.unit.value
            made = values.cast(pa.int32()).cast(pa.time32(unit)) if unit == "ms" else values.cast(pa.int64()).cast(pa.time64(unit))
            return made.cast(pa.string())
        case Type.TIMESTAMP:
            return _moments(values, schema, column)
        case Type.DECIMAL | Type.DATE | Type.UINT64:
            # A number of JSON would lose digits on its way.
            return values.cast(pa.string())
        case Type.BYTES:
            return _texts(values)
    return values


def _moments(values: pa.Array, schema: Schema, column: Column) -> pa.Array:
    """What a clock shows in UTC, whatever zone the server is in."""
    held = Unit.NANOSECONDS if schema.unit is Unit.NANOSECONDS else Unit.MICROSECONDS
    moments = values.cast(pa.int64()).cast(pa.timestamp(held.value))
    digits = digits_of(column.kind)
    if column.schema.type is Type.TIMESTAMP and digits <= 6:
        whole = moments.cast(pa.timestamp("s" if digits == 0 else "ms" if digits <= 3 else "us"), safe=False)
        return whole.cast(pa.string())
    return (moments.cast(pa.timestamp("ms")) if schema.unit is Unit.MILLISECONDS else moments).cast(pa.string())


def _texts(values: pa.Array) -> pa.Array:
    """Bytes as text; what is none is null."""
    found = []
    for value in values.to_pylist():
        try:
            found.append(None if value is None else value.decode())
        except UnicodeDecodeError:
            found.append(None)
    return pa.array(found, pa.string())


def _untaken(values: pa.Array, made: pa.Array, schema: Schema, column: Column) -> Iterator[tuple[int, str]]:
    """The rows that the server would refuse, with all rows beside them, or cut off without a word."""
    if schema.type is Type.BYTES:
        yield from _told(values, pc.and_(values.is_valid(), made.is_null()), "is no text in UTF-8")
    if pa.types.is_floating(made.type):
        yield from _told(made, pc.invert(pc.is_finite(made)), "is no finite number, and JSON has only these")
    if column.schema.type is Type.TIMESTAMP and schema.type is Type.TIMESTAMP:
        digits = digits_of(column.kind)
        held = 9 if schema.unit is Unit.NANOSECONDS else 6
        if digits < held:
            ticks, step = values.cast(pa.int64()), 10 ** (held - digits)
            cut = pc.not_equal(pc.multiply(pc.divide(ticks, step), step), ticks)
            yield from _told(made, cut, f"has more digits than a {column.kind}")
    if column.width and pa.types.is_string(made.type):
        yield from _told(
            made, pc.greater(pc.binary_length(made), column.width), f"is longer than the {column.width} bytes of its column"
        )


def _told(values: pa.Array, bad: pa.Array, why: str) -> Iterator[tuple[int, str]]:
    for row in pc.indices_nonzero(pc.fill_null(bad, False)).to_pylist():
        yield row, f"{shown(values[row])} {why}"
