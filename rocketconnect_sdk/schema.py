"""The types of values. What they are in Arrow: rocketconnect_sdk.columns.arrow_types; in Spark: rocketconnect_sdk.spark.types."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import date, datetime, time
from decimal import Decimal
from enum import Enum
from uuid import UUID


class Type(Enum):
    """The type of a value, and what Python has for it."""

    BOOLEAN = "boolean"
    INT8 = "int8"
    INT16 = "int16"
    INT32 = "int32"
    INT64 = "int64"
    UINT8 = "uint8"
    UINT16 = "uint16"
    UINT32 = "uint32"
    UINT64 = "uint64"
    FLOAT32 = "float32"
    FLOAT64 = "float64"
    DECIMAL = "decimal"
    """decimal.Decimal, with `precision` digits of which `scale` are behind the point."""
    STRING = "string"
    BYTES = "bytes"
    DATE = "date"
    """datetime.date."""
    TIME = "time"
    """Of the day: datetime.time; with nanoseconds an int, of these since midnight."""
    TIMESTAMP = "timestamp"
    """datetime.datetime: with `zone` a point in time, in UTC; without, what a clock on a wall shows, and no tzinfo. With
    nanoseconds an int, of these since 1970."""
    UUID = "uuid"
    """uuid.UUID."""
    JSON = "json"
    """str: the text of any JSON."""
    STRUCT = "struct"
    """dict by the names of the fields."""
    ARRAY = "array"
    MAP = "map"


WHOLE: Mapping[Type, tuple[int, int]] = {
    **{Type(f"int{bits}"): (-(1 << bits - 1), (1 << bits - 1) - 1) for bits in (8, 16, 32, 64)},
    **{Type(f"uint{bits}"): (0, (1 << bits) - 1) for bits in (8, 16, 32, 64)},
}
"""The types of whole numbers, with the least and the largest of each."""


class Unit(Enum):
    """The smallest part of a TIME or TIMESTAMP."""

    MILLISECONDS = "ms"
    MICROSECONDS = "us"
    NANOSECONDS = "ns"

    @property
    def in_second(self) -> int:
        """How many there are in a second."""
        return {"ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}[self.value]


DIGITS = 38
"""The precision of decimals whose source does not say one: what Arrow's and Spark's usual decimals have."""
MOST_DIGITS = 76
"""Of a decimal that Arrow has a type for."""

Default = bool | int | float | str | bytes | Decimal | date | time | datetime | UUID | None


LENGTH = "length"
"""A parameter of a string."""


@dataclass(frozen=True, slots=True)
class Field:
    """A named part of a struct."""

    name: str
    schema: "Schema"


@dataclass(frozen=True, slots=True)
class Schema:
    """The type of a value, with what it is made of. Schemas are compared by value and can be keys of dicts.

    Attributes:
        type: The type.
        optional: None is allowed.
        name: The name of the type, such as that of a struct's table; empty: none.
        version: Its version; None: not said.
        doc: Documentation.
        fields: Of a struct, in order.
        items: Of the elements of an array, or of the values of a map.
        keys: Of the keys of a map.
        precision: Of a decimal: all its digits.
        scale: Of a decimal: its digits behind the point.
        unit: Of a time or timestamp.
        zone: Of a timestamp: see Type.
        parameters: (name, value) pairs that belong to the name.
        default: Stands for a value that is missing, as Python has it; None: there is no default. Of no struct, array and map.
    """

    type: Type
    optional: bool = False
    name: str = ""
    version: int | None = None
    doc: str = ""
    fields: tuple[Field, ...] = ()
    items: "Schema | None" = None
    keys: "Schema | None" = None
    precision: int = DIGITS
    scale: int = 0
    unit: Unit = Unit.MICROSECONDS
    zone: bool = False
    parameters: tuple[tuple[str, str], ...] = ()
    default: Default = None
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Hash it once: what works record by record looks schemas up again and again."""
        object.__setattr__(self, "_hash", hash(self._state()))

    def __hash__(self) -> int:
        """Equal for equal ones."""
        return self._hash

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        """Made anew by pickle: hashes of texts differ from process to process."""
        return Schema, self._state()

    @property
    def length(self) -> int:
        """Of a string: how many characters it has at most, as a database says of its column; 0: not said."""
        said = dict(self.parameters).get(LENGTH, "") if self.type is Type.STRING else ""
        return int(said) if said.isdecimal() else 0

    def _state(self) -> tuple[object, ...]:
        return tuple(getattr(self, each.name) for each in fields(self) if each.init)


def text(length: int = 0, *, optional: bool = False) -> Schema:
    """A string; with a length, of at most so many characters."""
    return Schema(Type.STRING, optional=optional, parameters=((LENGTH, str(length)),) if length else ())


def decimal(scale: int, *, precision: int = DIGITS, optional: bool = False) -> Schema:
    """The schema of a decimal.Decimal with so many digits behind its point, of so many altogether."""
    return Schema(Type.DECIMAL, optional=optional, precision=precision, scale=scale)


def timestamp(unit: Unit = Unit.MICROSECONDS, *, zone: bool = True, optional: bool = False) -> Schema:
    """The schema of a point in time or, without a zone, of what a clock shows."""
    return Schema(Type.TIMESTAMP, optional=optional, unit=unit, zone=zone)


def struct(fields: Sequence[tuple[str, Schema]], *, name: str = "", optional: bool = False) -> Schema:
    """A struct of (name, schema) pairs."""
    return Schema(Type.STRUCT, optional=optional, name=name, fields=tuple(Field(n, s) for n, s in fields))


STRING = Schema(Type.STRING)
OPTIONAL_STRING = Schema(Type.STRING, optional=True)
BYTES = Schema(Type.BYTES)
