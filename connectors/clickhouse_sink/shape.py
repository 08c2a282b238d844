"""How records and the columns of a table meet. Pure."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from connectors.clickhouse.native import block, type_of
from connectors.clickhouse.place import Version, quoted
from connectors.clickhouse.types import NESTED, Column, column_type, digits_of, items_kind
from rocketconnect_sdk.columns.arrow_types import readable
from rocketconnect_sdk.columns.parts import fields_of
from rocketconnect_sdk.evolution import Takes
from rocketconnect_sdk.evolution.fitting import fit, shown
from rocketconnect_sdk.files.lines import to_json
from rocketconnect_sdk.schema import DIGITS, Field, Schema, Type, Unit
from rocketconnect_sdk.targets.rows import Rows

_TIMES = (Type.TIME, Type.TIMESTAMP)
_NAMES = re.compile(r"'((?:[^'\\]|\\.)*)' = -?\d+")
"""Of the values of an Enum."""
_RANGES: Mapping[str, tuple[int, int]] = {
    "Date": (0, 65_535),
    "Date32": (-25_567, 120_529),
    "DateTime": (0, (1 << 32) - 1),
    # The years 1900 to 2299, in seconds.
    "DateTime64": (-2_208_988_800, 10_413_791_999),
}
"""By kind the least and the largest: days of dates, seconds of moments."""


@dataclass(frozen=True, slots=True)
class Target:
    """The columns that rows of one schema are written into.

    Attributes:
        columns: The columns.
        schema: By column what its values are on the way there.
    """

    columns: Sequence[Column]
    schema: Schema


def met(columns: Sequence[Column], records: Schema) -> Schema:
    """The columns of a table as records of a schema are compared with them and fitted to them.

    A column of text has what ClickHouse has no type for; one of whole numbers has truth values, times of the day and nanoseconds;
    and moments have no zone of their own. What may be missing need not be told.
    """
    fields = {each.name: each.schema for each in records.fields}
    return Schema(Type.STRUCT, fields=tuple(Field(each.name, _met(each, fields.get(each.name))) for each in columns))


def _met(column: Column, field: Schema | None) -> Schema:
    schema = column.schema
    if field is None:
        return replace(schema, optional=column.may_be_missing)
    if schema.type is field.type is Type.ARRAY and schema.items is not None:
        return replace(schema, items=_met(Column("", items_kind(column.kind), schema.items), field.items))
    if schema.type is Type.STRING and field.type in (*NESTED, *_TIMES, Type.BYTES, Type.DATE, Type.JSON, Type.UUID):
        return replace(field, optional=schema.optional, default=None)
    is_large = schema.type is Type.STRING and field.type is Type.DECIMAL and field.precision > DIGITS
    is_counted = schema.type is Type.INT64 and field.type in _TIMES
    is_truth = schema.type is Type.UINT8 and field.type is Type.BOOLEAN
    if is_large or is_counted or is_truth:
        return replace(field, optional=schema.optional, default=None)
    if schema.type is field.type is Type.TIMESTAMP:
        return replace(schema, zone=field.zone)
    return schema


def never_null(columns: Sequence[Column]) -> list[str]:
    """The columns that can never take nulls: a record that may have one is taken, and one that has one is told by itself."""
    return [each.name for each in columns if each.is_fixed and not each.schema.optional]


def takes(version: Version) -> Takes:
    """What a table of a server of this version can become, but for columns that keep their types."""
    text = column_type(Schema(Type.STRING), version)

    def widens(column: Schema, wider: Schema) -> bool:
        return column.type not in NESTED and column_type(replace(wider, optional=False), version) != text

    return Takes(columns=True, nulls=True, type=widens)


def target_of(columns: Sequence[Column], schema: Schema, records: Schema) -> Target:
    """The columns that are written: those of the records, and those that may not be missing.

    Args:
        columns: Of the table.
        schema: Of them; see `met`.
        records: What is written.
    """
    told = {each.name for each in records.fields}
    schemas = {each.name: each.schema for each in schema.fields}
    wanted = [each for each in columns if each.name in schemas and (each.name in told or not schemas[each.name].optional)]
    return Target(wanted, replace(schema, fields=tuple(Field(each.name, schemas[each.name]) for each in wanted)))


def create(name: str, columns: Schema, version: Version, engine: Sequence[str], extra: Sequence[str]) -> str:
    """The statement that makes a table.

    Args:
        name: As it stands in statements.
        columns: Of the records.
        version: Of the server.
        engine: The engine, the key that rows are partitioned by, the one that they are sorted by, and settings; empty: none.
        extra: Definitions of more columns and indexes.
    """
    kind, partition, order, settings = engine
    in_key = key_names(f"{partition},{order}")
    made = [f"{quoted(each.name)} {column_type(each.schema, version, key=each.name in in_key)}" for each in columns.fields]
    parts = [f"CREATE TABLE IF NOT EXISTS {name} ({', '.join([*made, *extra])}) ENGINE = {kind}"]
    parts += [f"PARTITION BY {partition}"] if partition else []
    parts += [f"ORDER BY {order if order.startswith('(') or order == 'tuple()' else f'({order})'}"] if order else []
    return " ".join([*parts, *([f"SETTINGS {settings}"] if settings else [])])


def key_names(expression: str) -> set[str]:
    """The words of an expression: columns of these names are part of the key, as far as there are any."""
    return set(expression.replace("`", " ").replace("(", " ").replace(")", " ").replace(",", " ").split())


def fitted(rows: Rows, target: Target) -> tuple[pa.Table, dict[int, str]]:
    """Rows of the columns of a table, in Arrow's types that `rows_block` takes, and by index what is wrong with some.

    Args:
        rows: What they are of.
        target: The columns.
    """
    held, reasons = fit(rows.values, rows.schema, target.schema)
    columns = {}
    for column, (field, values) in zip(target.columns, fields_of(held, target.schema), strict=True):
        made, bad = _typed(values, field.schema, column.kind)
        for row, why in bad:
            reasons.setdefault(row, f"{column.name} {why}")
        columns[column.name] = made
    return pa.table(columns), reasons


def structure_of(rows: pa.Table, target: Target) -> list[tuple[str, str]]:
    """The columns of a block: their names, which are numbers, and their types."""
    found = []
    for index, (column, field) in enumerate(zip(target.columns, target.schema.fields, strict=True)):
        optional = field.schema.optional and field.schema.type is not Type.ARRAY
        kind = type_of(rows.column(index).type, moments=_moments(column.kind), optional=optional)
        found.append((f"c{index}", kind))
    return found


def rows_block(rows: pa.Table, structure: Sequence[tuple[str, str]]) -> bytes:
    """Rows as a block."""
    arrays = (rows.column(index).combine_chunks() for index in range(rows.num_columns))
    return block([(name, kind, array) for (name, kind), array in zip(structure, arrays, strict=True)])


def _moments(kind: str) -> str:
    """The kind of a moment without its zone; empty: values are none."""
    inner = items_kind(kind)
    plain = inner.partition("(")[0]
    return f"{plain}({digits_of(inner)})" if plain == "DateTime64" else plain if plain in _RANGES else ""


_Bad = list[tuple[int, str]]


def _typed(values: pa.Array, schema: Schema, kind: str) -> tuple[pa.Array, _Bad]:  # noqa: PLR0911 - one for each kind
    """Values of the type that Spark has for a schema, in the form that they have on the way; and those that have none."""
    match schema.type:
        case Type.BOOLEAN:
            return values.cast(pa.uint8()), []
        case Type.UINT8 | Type.UINT16 | Type.UINT32 | Type.UINT64:
            return _unsigned(values, schema), []
        case Type.DATE if kind in _RANGES:
            return _date(values, kind)
        case Type.TIMESTAMP if kind.startswith("DateTime"):
            return _moment(values, schema, kind)
        case Type.TIMESTAMP | Type.TIME if kind == "Int64":
            return _ticks(values), []
        case Type.DATE | Type.TIMESTAMP | Type.TIME:
            return _clock(values, schema), []
        case Type.UUID if kind == "UUID":
            return _uuids(values), []
        case Type.ARRAY if kind.startswith("Array(") and schema.items is not None:
            return _array(values, schema.items, kind)
        case Type.STRUCT | Type.ARRAY | Type.MAP:
            plain = readable(values).to_pylist(maps_as_pydicts="strict")
            return pa.array([None if value is None else to_json(value).decode() for value in plain], pa.string()), []
        case Type.STRING if kind.startswith(("FixedString(", "Enum")):
            return values, _unknown(values, kind)
    return values, []


def _unknown(values: pa.StringArray, kind: str) -> _Bad:
    """Texts that a server would refuse, with all rows beside them."""
    if kind.startswith("Enum"):
        names = pa.array([each.replace("\\'", "'").replace("\\\\", "\\") for each in _NAMES.findall(kind)], pa.string())
        bad = pc.and_(pc.invert(pc.is_in(values, names)), values.is_valid())
        return list(_told(values, bad, f"is none of the values of its {kind.partition('(')[0]}"))
    width = int(kind.removeprefix("FixedString(").removesuffix(")"))
    why = f"has other than the {width} bytes of its column, which fills up with zeros"
    return list(_told(values, pc.not_equal(pc.binary_length(values), width), why))


def _array(values: pa.ListArray, items: Schema, kind: str) -> tuple[pa.Array, _Bad]:
    parents = pc.list_parent_indices(values)
    made, bad = _typed(values.flatten(), items, items_kind(kind))
    # A null is refused already, and stands for nothing.
    lengths = pc.fill_null(pc.list_value_length(values), 0)
    offsets = pa.concat_arrays([pa.array([0], pa.int32()), pc.cumulative_sum(lengths).cast(pa.int32())])
    field = pa.field("item", made.type, items.optional)
    return pa.ListArray.from_arrays(offsets, made, type=pa.list_(field)), [(parents[at].as_py(), why) for at, why in bad]


def _uuids(values: pa.StringArray) -> pa.Array:
    """Texts as the server has them: the bytes of each half in reverse."""
    digits = pc.fill_null(pc.replace_substring(values, "-", ""), "0" * 32)
    halves = np.frombuffer(bytes.fromhex("".join(digits.to_pylist())), np.uint8).reshape(-1, 2, 8)[:, :, ::-1]
    made = pa.Array.from_buffers(pa.binary(16), len(values), [None, pa.py_buffer(halves.tobytes())])
    return pc.if_else(values.is_valid(), made, None)


def _unsigned(values: pa.Array, schema: Schema) -> pa.Array:
    return values.cast({Type.UINT8: pa.uint8(), Type.UINT16: pa.uint16(), Type.UINT32: pa.uint32()}.get(schema.type, pa.uint64()))


def _date(values: pa.Array, kind: str) -> tuple[pa.Array, _Bad]:
    days = values.cast(pa.int32())
    least, most = _RANGES[kind]
    outside = pc.or_(pc.less(days, least), pc.greater(days, most))
    bad = list(_told(values, outside, f"is no {kind} of ClickHouse"))
    days = pc.if_else(pc.fill_null(outside, True), pa.scalar(0, pa.int32()), days) if bad else days
    return (days.cast(pa.uint16()) if kind == "Date" else days), bad


def _ticks(values: pa.Array) -> pa.Array:
    return values.cast(pa.int64())


def _held(schema: Schema) -> int:
    """How many of the numbers of a column of Spark are a second."""
    return Unit.MICROSECONDS.in_second if schema.unit is Unit.MILLISECONDS else schema.unit.in_second


def _moment(values: pa.Array, schema: Schema, kind: str) -> tuple[pa.Array, _Bad]:
    ticks, held, wanted = _ticks(values), _held(schema), 10 ** digits_of(kind)
    name = kind.partition("(")[0]
    step = max(1, held // wanted)
    cut = pc.not_equal(pc.multiply(pc.divide(ticks, step), step), ticks)
    bad = list(_told(values, cut, f"has more digits than a {kind}"))
    least, most = _RANGES[name]
    outside = pc.or_(pc.less(ticks, _scaled(least, held)), pc.greater(ticks, _scaled(most + 1, held) - 1))
    if wanted > held:
        outside = pc.or_(outside, pc.greater(pc.abs(ticks), (1 << 63) // (wanted // held) - 1))
    bad += _told(values, outside, f"is out of the range of {name}")
    if bad:
        ticks = pc.if_else(pc.fill_null(outside, True), pa.scalar(0, pa.int64()), ticks)
    made = pc.multiply(ticks, wanted // held) if wanted >= held else pc.divide(ticks, step)
    return (made.cast(pa.uint32()) if name == "DateTime" else made), bad


def _scaled(seconds: int, ticks: int) -> int:
    return max(-(1 << 63), min((1 << 63) - 1, seconds * ticks))


def _clock(values: pa.Array, schema: Schema) -> pa.Array:
    """Dates and times as text, for columns of text."""
    if schema.type is Type.TIME:
        # Of the day: numbers of their unit since midnight.
        unit = schema.unit.value
        values = values.cast(pa.int32()).cast(pa.time32(unit)) if unit == "ms" else values.cast(pa.int64()).cast(pa.time64(unit))
    elif schema.type is Type.TIMESTAMP:
        held = Unit.NANOSECONDS if schema.unit is Unit.NANOSECONDS else Unit.MICROSECONDS
        values = values.cast(pa.int64()).cast(pa.timestamp(held.value))
        if schema.unit is Unit.MILLISECONDS:
            values = values.cast(pa.timestamp("ms"))
    return values.cast(pa.string())


def _told(values: pa.Array, bad: pa.Array, why: str) -> Iterator[tuple[int, str]]:
    for row in pc.indices_nonzero(pc.fill_null(bad, False)).to_pylist():
        yield row, f"{shown(values[row])} {why}"
