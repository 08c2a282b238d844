"""Values of one schema as those of another one: the columns that a table has.

A value is taken when the type of its column has it: the whole number 7 in a decimal, 2.0 in a whole number, a time in another unit
when nothing of it is cut off, a UUID or JSON as text. Everything else is told, value by value, and never becomes null.
"""

from dataclasses import dataclass, field, replace
from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc

from rocketconnect_sdk.arrow import to_array
from rocketconnect_sdk.columns.arrow_types import to_arrow_type
from rocketconnect_sdk.columns.declared import type_name
from rocketconnect_sdk.columns.parts import places_of
from rocketconnect_sdk.evolution.numbers import NUMBERS, has_all
from rocketconnect_sdk.evolution.tables import VALUE, as_table, nullable
from rocketconnect_sdk.schema import WHOLE, Schema, Type, Unit
from rocketconnect_sdk.spark.types import stored_type, to_spark

_SHOWN = 100
_WHOLE_DECIMAL = pa.decimal128(20, 0)
"""Has every whole number of 64 bits."""


def fit(values: pa.Array, schema: Schema, table: Schema) -> tuple[pa.Array, dict[int, str]]:
    """Values as rows of a table.

    Args:
        values: Of the type that Spark has for the schema: see rocketconnect_sdk.spark.types.to_spark.
        schema: What they are.
        table: A struct of the columns that are wanted.

    Returns:
        As many rows, of the type that Spark has for the table, with nulls allowed everywhere. By index those that do not fit, with
        what is wrong with them; null stands for them, so whatever has every value of the column has what is made here.

    Raises:
        RecordError: Spark has no such type.
    """
    if schema.type is not Type.STRUCT:
        values = pa.StructArray.from_arrays([values], names=[VALUE])
    fitting = _Fitting()
    made = fitting.part(_Place(()), values, as_table(schema), table)
    return made, fitting.reasons


@dataclass(frozen=True, slots=True)
class _Place:
    """Where elements are.

    Attributes:
        path: The column, and what is in it.
        rows: By element the index of its value; None: its own.
        alive: By element whether it is there: what is part of a null is not; None: all are.
    """

    path: tuple[str, ...]
    rows: pa.Array | None = None
    alive: pa.Array | None = None

    def inside(self, name: str, parent: pa.Array) -> "_Place":
        """In structs."""
        alive = parent.is_valid() if parent.null_count else None
        if alive is not None and self.alive is not None:
            alive = pc.and_(alive, self.alive)
        return replace(self, path=(*self.path, name), alive=self.alive if alive is None else alive)


@dataclass(slots=True)
class _Fitting:
    reasons: dict[int, str] = field(default_factory=dict)

    def part(self, place: _Place, values: pa.Array, schema: Schema, column: Schema) -> pa.Array:
        """Values of a column, or of a part of one."""
        if place.path and not column.optional and values.null_count:
            self._refuse(place, values.is_null(), "is null, and the column takes no null")
        if schema.type is column.type and schema.type in (Type.STRUCT, Type.ARRAY, Type.MAP):
            made = self._nested(place, values, schema, column)
        else:
            made = self._leaf(place, values, schema, column)
        if made is not None:
            return made
        self._refuse(place, values.is_valid(), f"is {type_name(schema)}, and the column is {type_name(column)}")
        return pa.nulls(len(values), _stored(column))

    def _leaf(self, place: _Place, values: pa.Array, schema: Schema, column: Schema) -> pa.Array | None:
        wanted = _stored(column)
        # Numbers stand for times of different units: the same type, but not the same values.
        if has_all(column, schema) and values.type == wanted and _ticks(schema) == _ticks(column):
            return values
        if schema.type in NUMBERS and column.type in NUMBERS:
            return self._numbers(place, values, column, wanted)
        if schema.type is column.type and column.type in (Type.TIME, Type.TIMESTAMP):
            return self._times(place, values, schema, column) if schema.zone == column.zone else None
        return values.cast(wanted) if has_all(column, schema) else None

    def _nested(self, place: _Place, values: pa.Array, schema: Schema, column: Schema) -> pa.Array | None:
        if schema.items is None or column.items is None:
            return self._struct(place, values, schema, column)
        wanted = _stored(column)
        if column.type is Type.ARRAY:
            items = self._elements(place, "[]", values, values.flatten(), schema.items, column.items)
            return pa.ListArray.from_arrays(_offsets(values), items, type=wanted, mask=values.is_null())
        pairs = pa.StructArray.from_arrays([values.keys, values.items], names=["key", "value"])
        lists = pa.ListArray.from_arrays(values.offsets, pairs)
        keys, held = lists.flatten().flatten()
        if keys.type != wanted.key_type:
            return None
        items = self._elements(place, "{}", lists, held, schema.items, column.items)
        return pa.MapArray.from_arrays(_offsets(lists), keys, items, type=wanted, mask=values.is_null())

    def _struct(self, place: _Place, values: pa.StructArray, schema: Schema, column: Schema) -> pa.Array:
        # Not flatten(), which copies: what is part of a null is not alive, whatever it holds.
        there = {
            part.name: (part.schema, values.field(index))
            for part, index in zip(schema.fields, places_of(values, schema), strict=True)
        }
        parts = []
        for part in column.fields:
            inside = place.inside(part.name, values)
            if part.name in there:
                of, held = there[part.name]
                parts.append(self.part(inside, held, of, part.schema))
            else:
                parts.append(self._missing(inside, len(values), part.schema))
        wanted = _stored(column)
        if not parts:
            return pa.array([{} if there else None for there in values.is_valid().to_pylist()], wanted)
        return pa.StructArray.from_arrays(parts, fields=list(wanted), mask=values.is_null() if values.null_count else None)

    def _missing(self, place: _Place, count: int, column: Schema) -> pa.Array:
        if column.default is not None:
            return to_spark(to_array([column.default], column)).take(pa.array([0] * count, pa.int64()))
        if not column.optional:
            self._refuse(place, pa.repeat(True, count), "is missing, and the column takes no null")
        return pa.nulls(count, _stored(column))

    def _elements(
        self, place: _Place, name: str, parents: pa.ListArray, items: pa.Array, schema: Schema, column: Schema
    ) -> pa.Array:
        of = pc.list_parent_indices(parents)
        rows = of if place.rows is None else place.rows.take(of)
        alive = None if place.alive is None else place.alive.take(of)
        return self.part(_Place((*place.path, name), rows, alive), items, schema, column)

    def _numbers(self, place: _Place, values: pa.Array, column: Schema, wanted: pa.DataType) -> pa.Array:
        made = _cast(values, wanted)
        # Compared, too: what a cast of Arrow has no room for does not always fail.
        bad = pa.repeat(False, len(values)) if values.type == wanted else _changed(values, made)
        if column.type in WHOLE:
            low, high = (pa.scalar(Decimal(limit) if wanted == _WHOLE_DECIMAL else limit, wanted) for limit in WHOLE[column.type])
            bad = pc.or_(bad, pc.or_(pc.less(made, low), pc.greater(made, high)).fill_null(False))
        return self._kept(place, bad, made, column, values)

    def _times(self, place: _Place, values: pa.Array, schema: Schema, column: Schema) -> pa.Array:
        """Of other units. Spark has timestamps of microseconds, and numbers for all others."""
        wanted = _stored(column)
        held, kept = _ticks(schema), _ticks(column)
        ticks = values.cast(pa.int64())
        # The column's own unit can be larger than that of its numbers.
        step = max(1, held // column.unit.in_second)
        bad = pc.not_equal(pc.multiply(pc.divide(ticks, step), step), ticks)
        if kept >= held:
            times = kept // held
            limit = ((1 << 63) - 1) // times
            # Not abs(), which the least of all numbers does not have.
            bad = pc.or_(bad, pc.or_(pc.less(ticks, -limit), pc.greater(ticks, limit)))
            made = pc.multiply(ticks, times)
        else:
            made = pc.divide(ticks, held // kept)
        return self._kept(place, bad.fill_null(False), made, column, values).cast(wanted)

    def _kept(self, place: _Place, bad: pa.Array, made: pa.Array, column: Schema, values: pa.Array) -> pa.Array:
        """What is made of values, without what is made of those that are bad: these are told, with what they were."""
        self._refuse(place, bad, f"has no place in a column of {type_name(column)}", values)
        # Whoever casts what is made to the column's own type meets nothing else.
        return pc.if_else(bad, pa.scalar(None, made.type), made) if pc.any(bad).as_py() else made

    def _refuse(self, place: _Place, bad: pa.Array, why: str, values: pa.Array | None = None) -> None:
        """Tells of those that are bad."""
        if place.alive is not None:
            bad = pc.and_(bad, place.alive)
        name = ".".join(place.path)
        for element in pc.indices_nonzero(bad).to_pylist():
            row = element if place.rows is None else place.rows[element].as_py()
            value = "" if values is None else f" {shown(values[element])}"
            self.reasons.setdefault(row, f"{name}{value} {why}")


def shown(value: pa.Scalar) -> str:
    """How a value begins, for people."""
    try:
        return str(value)[:_SHOWN]
    except OverflowError:
        # Python's dates begin with the year 1 and end with 9999.
        return f"{value.value} since 1970, as {value.type},"


def _stored(column: Schema) -> pa.DataType:
    """The type of what is made: what stands for a value that does not fit is null."""
    return stored_type(to_arrow_type(nullable(column)))


def _offsets(values: pa.ListArray) -> pa.Array:
    """Those of a list whose elements begin with the first one."""
    return pc.subtract(values.offsets, values.offsets[0])


def _ticks(schema: Schema) -> int:
    """In a second, of the numbers that Spark has for them."""
    if schema.type is Type.TIMESTAMP and schema.unit is Unit.MILLISECONDS:
        return Unit.MICROSECONDS.in_second
    return schema.unit.in_second


def _cast(values: pa.Array, wanted: pa.DataType) -> pa.Array:
    """Numbers of another type, null where it does not have them. Halves what fails until that stands alone."""
    if values.type == wanted:
        return values
    if pa.types.is_integer(values.type) and pa.types.is_decimal(wanted):
        # Arrow asks for as many digits as the type of the whole numbers could need.
        values = values.cast(_WHOLE_DECIMAL)
    if pa.types.is_decimal(values.type) and pa.types.is_floating(wanted):
        # Arrow multiplies with a power of ten, and 4.27 becomes 4.2700000000000005. Of text it reads the nearest number.
        values = values.cast(pa.string())
    parts: list[pa.Array] = []
    ranges = [(0, len(values))]
    while ranges:
        start, stop = ranges.pop()
        try:
            parts.append(values[start:stop].cast(wanted))
        except pa.ArrowInvalid:
            if stop - start == 1:
                parts.append(pa.nulls(1, wanted))
            else:
                middle = (start + stop) // 2
                ranges += [(middle, stop), (start, middle)]
    return parts[0] if len(parts) == 1 else pa.concat_arrays(parts)


def _changed(values: pa.Array, made: pa.Array) -> pa.Array:
    """Which of them are others when they are cast back."""
    back = _cast(made, values.type)
    same = pc.equal(back, values)
    if pa.types.is_floating(values.type):
        same = pc.or_(same, pc.and_(pc.is_nan(back), pc.is_nan(values)))
    return pc.and_(values.is_valid(), pc.invert(same.fill_null(False)))
