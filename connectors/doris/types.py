"""Types of columns: the schema that one stands for, and the one that is made for a schema. Pure."""

import re
from dataclasses import dataclass, replace

from rocketconnect_sdk.schema import DIGITS, Schema, Type, Unit, decimal, timestamp
from rocketconnect_sdk.tables import columns

LARGEINT = decimal(0, precision=DIGITS)
_KEY_TEXT = 1024
"""Bytes of a text in a key of a table that is made: Doris takes no STRING there."""
_PLAIN = {
    "boolean": Type.BOOLEAN,
    "tinyint": Type.INT8,
    "smallint": Type.INT16,
    "int": Type.INT32,
    "integer": Type.INT32,
    "bigint": Type.INT64,
    "float": Type.FLOAT32,
    "double": Type.FLOAT64,
    "date": Type.DATE,
    "datev1": Type.DATE,
    "datev2": Type.DATE,
    "json": Type.JSON,
    "jsonb": Type.JSON,
    "variant": Type.JSON,
}
_MADE = {
    Type.BOOLEAN: "BOOLEAN",
    Type.INT8: "TINYINT",
    Type.INT16: "SMALLINT",
    Type.INT32: "INT",
    Type.INT64: "BIGINT",
    Type.UINT8: "SMALLINT",
    Type.UINT16: "INT",
    Type.UINT32: "BIGINT",
    Type.UINT64: "LARGEINT",
    Type.FLOAT32: "FLOAT",
    Type.FLOAT64: "DOUBLE",
    Type.DATE: "DATE",
}
_KIND = re.compile(r"([a-z0-9]+)(?:\(([\d, ]*)\))?.*", re.DOTALL)
_MOMENT = ("datetime", "datetimev1", "datetimev2")
_DECIMAL = ("decimal", "decimalv2", "decimalv3", "decimal32", "decimal64", "decimal128", "decimal128i")
_TEXT = ("char", "varchar")


@dataclass(frozen=True, slots=True)
class Column(columns.Column):
    """A column of a table.

    Attributes:
        default: Its default, as the server writes it; None: there is none, or the server makes a number of its own for each row.
    """

    default: str | None = None

    def stands_for(self, field: Schema) -> bool:
        """JSON has what is nested, and text. See Column of the SDK."""
        return self.schema.type is Type.JSON and field.type in (*columns.NESTED, Type.STRING)

    @property
    def width(self) -> int:
        """Bytes that a text may have; 0: there is no such limit."""
        name, numbers = parts(self.kind)
        return numbers[0] if name in _TEXT and numbers else 0


def parts(kind: str) -> tuple[str, list[int]]:
    """The name of a type, and the numbers behind it."""
    found = _KIND.fullmatch(kind.strip().lower())
    if found is None:
        return kind.lower(), []
    return found[1], [int(each) for each in (found[2] or "").split(",") if each.strip()]


def column_of(
    name: str, kind: str, *, optional: bool, is_numbered: bool = False, in_key: bool = False, default: str | None = None
) -> Column:
    """A column of a type, as the server writes it; see Column. `is_numbered`: the server makes its values."""
    has_default = is_numbered or default is not None
    return Column(name, kind, replace(schema_of(kind), optional=optional), has_default, in_key, None if is_numbered else default)


def schema_of(kind: str) -> Schema:
    """What a type stands for. One that has no schema here is text, of which the server makes its value."""
    name, numbers = parts(kind)
    if (name, numbers) == ("tinyint", [1]):
        # So some versions write a boolean.
        return Schema(Type.BOOLEAN)
    if name in _PLAIN:
        return Schema(_PLAIN[name])
    if name == "largeint":
        return LARGEINT
    if name in _DECIMAL:
        precision, scale = numbers if len(numbers) == 2 else (*numbers, 0)[:2] if numbers else (9, 0)
        return decimal(scale, precision=precision)
    if name in _MOMENT:
        digits = numbers[0] if numbers else 0
        return timestamp(Unit.MILLISECONDS if digits <= 3 else Unit.MICROSECONDS)
    return Schema(Type.STRING)


def digits_of(kind: str) -> int:
    """How many digits a DATETIME has behind the second."""
    name, numbers = parts(kind)
    return numbers[0] if name in _MOMENT and numbers else 0


def column_type(schema: Schema, *, key: bool = False) -> str:
    """The type of a column for values of a schema; in a key texts have a width."""
    kind = schema.type
    if kind in _MADE:
        return _MADE[kind]
    if kind is Type.DECIMAL and schema.precision <= DIGITS:
        return f"DECIMAL({max(1, schema.precision)}, {schema.scale})"
    if kind is Type.TIMESTAMP and schema.unit is not Unit.NANOSECONDS:
        return f"DATETIME({3 if schema.unit is Unit.MILLISECONDS else 6})"
    return f"VARCHAR({_KEY_TEXT})" if key else "STRING"
