"""The types of values. What they are in Arrow is in rocketconnect_sdk.arrow."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum


class Type(Enum):
    """The type of a value."""

    BOOLEAN = "boolean"
    INT8 = "int8"
    INT16 = "int16"
    INT32 = "int32"
    INT64 = "int64"
    FLOAT32 = "float32"
    FLOAT64 = "float64"
    STRING = "string"
    BYTES = "bytes"
    STRUCT = "struct"
    ARRAY = "array"
    MAP = "map"


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
        name: The name of the type, such as a logical type of RocketMQ Connect; empty: none.
        version: Its version; None: not said.
        doc: Documentation.
        fields: Of a struct, in order.
        items: Of the elements of an array, or of the values of a map.
        keys: Of the keys of a map.
        parameters: (name, value) pairs that belong to the name, such as the scale of a decimal.
        default: Stands for a value that is missing: a bool, int, float, str or bytes; None: there is no default.
    """

    type: Type
    optional: bool = False
    name: str = ""
    version: int | None = None
    doc: str = ""
    fields: tuple[Field, ...] = ()
    items: "Schema | None" = None
    keys: "Schema | None" = None
    parameters: tuple[tuple[str, str], ...] = ()
    default: bool | int | float | str | bytes | None = None


_LOGICAL = "io.openmessaging.connector.api.data.logical."
DECIMAL = f"{_LOGICAL}Decimal"
"""The name of BYTES that hold a decimal.Decimal; the parameter "scale" says how many digits are behind its point."""
DATE = f"{_LOGICAL}Date"
"""The name of INT32 that holds a datetime.date as days since 1970."""
TIME = f"{_LOGICAL}Time"
"""The name of INT32 that holds milliseconds since midnight: an int, since Spark's files have no times; datetime.time is written."""
TIMESTAMP = f"{_LOGICAL}Timestamp"
"""The name of INT64 that holds a datetime.datetime with a time zone as milliseconds since 1970 UTC."""


def decimal(scale: int, *, optional: bool = False) -> Schema:
    """The schema of a decimal.Decimal with so many digits behind its point."""
    return Schema(Type.BYTES, optional=optional, name=DECIMAL, version=1, parameters=(("scale", str(scale)),))


def struct(fields: Sequence[tuple[str, Schema]], *, name: str = "", optional: bool = False) -> Schema:
    """A struct of (name, schema) pairs."""
    return Schema(Type.STRUCT, optional=optional, name=name, fields=tuple(Field(n, s) for n, s in fields))


STRING = Schema(Type.STRING)
OPTIONAL_STRING = Schema(Type.STRING, optional=True)
BYTES = Schema(Type.BYTES)
