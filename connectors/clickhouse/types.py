"""Types of columns: the schema that one stands for, and the one that is made for a schema. Pure."""

import re
from dataclasses import dataclass, replace

from connectors.clickhouse.endpoint import Version
from rocketconnect_sdk.schema import DIGITS, MOST_DIGITS, Schema, Type, Unit, decimal, timestamp
from rocketconnect_sdk.tables import columns as tables

_PLAIN = {
    "Bool": Type.BOOLEAN,
    **{f"Int{bits}": Type(f"int{bits}") for bits in (8, 16, 32, 64)},
    **{f"UInt{bits}": Type(f"uint{bits}") for bits in (8, 16, 32, 64)},
    "Float32": Type.FLOAT32,
    "Float64": Type.FLOAT64,
    "Date": Type.DATE,
    "Date32": Type.DATE,
    "UUID": Type.UUID,
}
_LARGE = {
    **dict.fromkeys(("Int128", "UInt128"), decimal(0, precision=DIGITS)),
    **dict.fromkeys(("Int256", "UInt256"), decimal(0, precision=MOST_DIGITS)),
}
_WRAPPED = re.compile(r"(Nullable|LowCardinality)\((.*)\)", re.DOTALL)
_ARRAY = re.compile(r"Array\((.*)\)", re.DOTALL)
_DECIMAL = re.compile(r"Decimal\((\d+), *(\d+)\)")
_MOMENT = re.compile(r"DateTime(?:64\((\d)(?:, *'[^']*')?\)|\('[^']*'\))?")
_DATE32: Version = (21, 9)
_BOOL: Version = (21, 12)
_MOMENTS: Version = (20, 5)
_DECIMAL256: Version = (21, 1)
_WHOLES = ("Array(", "Map(", "Tuple(", "Nested(", "AggregateFunction(", "SimpleAggregateFunction(", "JSON", "Variant(", "Dynamic")


@dataclass(frozen=True, slots=True)
class Column(tables.Column):
    """A column of a table; its kind is without Nullable and LowCardinality.

    Attributes:
        few: It is LowCardinality.
    """

    few: bool = False

    @property
    def is_fixed(self) -> bool:
        """That of a key, and one that takes no null and becomes no other one. See Column of the SDK."""
        return self.in_key or self._is_whole

    @property
    def may_be_missing(self) -> bool:
        """It is null then, has its default, or is empty where its type takes no null. See Column of the SDK."""
        return self.schema.optional or self.has_default or self._is_whole

    @property
    def items(self) -> "Column | None":
        """See Column of the SDK."""
        inner = self.schema.items
        return None if inner is None else Column("", items_kind(self.kind), inner)

    def stands_for(self, field: Schema) -> bool:
        """Whole numbers do for truth values, times of the day and nanoseconds. See Column of the SDK."""
        is_counted = self.schema.type is Type.INT64 and field.type in (Type.TIME, Type.TIMESTAMP)
        return is_counted or (self.schema.type is Type.UINT8 and field.type is Type.BOOLEAN)

    @property
    def _is_whole(self) -> bool:
        return self.kind.startswith(_WHOLES)

    @property
    def with_nulls(self) -> str:
        """Its type with nulls."""
        kind = f"Nullable({self.kind})"
        return f"LowCardinality({kind})" if self.few else kind


def column_of(name: str, kind: str, *, has_default: bool = False, in_key: bool = False) -> Column:
    """A column of a type, as the server writes it."""
    plain, is_nullable = _unwrapped(kind)
    few = kind.startswith("LowCardinality(")
    return Column(name, plain, replace(schema_of(plain), optional=is_nullable), has_default, in_key, few)


def schema_of(kind: str) -> Schema:
    """What a type stands for. One that has no schema here is text, of which the server makes its value."""
    kind, is_nullable = _unwrapped(kind)
    return replace(_schema_of(kind), optional=is_nullable)


def _schema_of(kind: str) -> Schema:
    if kind in _PLAIN:
        return Schema(_PLAIN[kind])
    if kind in _LARGE:
        return _LARGE[kind]
    if found := _DECIMAL.fullmatch(kind):
        return decimal(int(found[2]), precision=int(found[1]))
    if found := _MOMENT.fullmatch(kind):
        return timestamp(unit_of(int(found[1] or 0)))
    if found := _ARRAY.fullmatch(kind):
        return Schema(Type.ARRAY, items=schema_of(found[1]))
    return Schema(Type.STRING)


def unit_of(digits: int) -> Unit:
    """The unit that has so many digits behind the second."""
    return Unit.MILLISECONDS if digits <= 3 else Unit.MICROSECONDS if digits <= 6 else Unit.NANOSECONDS


def digits_of(kind: str) -> int:
    """How many digits a DateTime or DateTime64 has behind the second."""
    found = _MOMENT.fullmatch(kind)
    return int(found[1] or 0) if found else 0


def items_kind(kind: str) -> str:
    """Of an array the type of its innermost elements; of another type that type."""
    while found := _ARRAY.fullmatch(kind):
        kind, _ = _unwrapped(found[1])
    return kind


def _unwrapped(kind: str) -> tuple[str, bool]:
    is_nullable = False
    while found := _WRAPPED.fullmatch(kind):
        is_nullable = is_nullable or found[1] == "Nullable"
        kind = found[2]
    return kind, is_nullable


def column_type(schema: Schema, version: Version, *, key: bool = False) -> str:
    """The type of a column for values of a schema.

    Args:
        schema: Of the values.
        version: Of the server: what it has no type for is text.
        key: It is part of a key, and so takes no null.
    """
    kind = _column_type(schema, version)
    # There is no Nullable(Array(...)).
    return f"Nullable({kind})" if schema.optional and not key and not kind.startswith("Array(") else kind


def _column_type(schema: Schema, version: Version) -> str:
    kind = schema.type
    match kind:
        case Type.BOOLEAN:
            return "Bool" if version >= _BOOL else "UInt8"
        case Type.DATE:
            return "Date32" if version >= _DATE32 else "Date"
        case Type.DECIMAL:
            has_type = schema.precision <= DIGITS or (version >= _DECIMAL256 and schema.precision <= MOST_DIGITS)
            return f"Decimal({max(1, schema.precision)}, {schema.scale})" if has_type else "String"
        case Type.TIMESTAMP if version >= _MOMENTS:
            # What a clock on a wall shows is what it shows in UTC: a server would show it in its own zone otherwise.
            return f"DateTime64({len(str(schema.unit.in_second)) - 1}, 'UTC')"
        case Type.ARRAY if schema.items is not None and schema.items.type not in tables.NESTED:
            return f"Array({column_type(schema.items, version)})"
    return next((name for name, plain in _PLAIN.items() if plain is kind), "String")
