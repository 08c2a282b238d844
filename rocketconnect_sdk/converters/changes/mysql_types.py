"""Types of MySQL by what it calls them, and their values as texts that Canal has of them. Pure."""

import re
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import msgspec

from rocketconnect_sdk.columns.texts import read_text
from rocketconnect_sdk.schema import WHOLE, Schema, Type, Unit, text

_FORM = re.compile(r"\s*([a-z0-9_]+)\s*(?:\(([^)]*)\))?(.*)", re.IGNORECASE | re.DOTALL)
_WHOLE = {
    "tinyint": (Type.INT8, Type.UINT8),
    "smallint": (Type.INT16, Type.UINT16),
    "mediumint": (Type.INT32, Type.UINT32),
    "int": (Type.INT32, Type.UINT32),
    "integer": (Type.INT32, Type.UINT32),
    "bigint": (Type.INT64, Type.UINT64),
    "year": (Type.INT16, Type.INT16),
}
_PLAIN = {
    **dict.fromkeys(("float",), Type.FLOAT32),
    **dict.fromkeys(("double", "real"), Type.FLOAT64),
    "date": Type.DATE,
    "json": Type.JSON,
    **dict.fromkeys(("binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob"), Type.BYTES),
    **dict.fromkeys(("geometry", "point", "linestring", "polygon", "multipoint", "multilinestring", "multipolygon"), Type.BYTES),
    **dict.fromkeys(("geometrycollection", "geomcollection"), Type.BYTES),
}
_DECIMALS = ("decimal", "numeric", "dec", "fixed")
_PRECISION, _MOST = 10, 65
_MILLISECOND_DIGITS = 3
_NAMES: Mapping[Type, tuple[str, int]] = {
    Type.BOOLEAN: ("tinyint(1)", -7),
    Type.INT8: ("tinyint", -6),
    Type.INT16: ("smallint", 5),
    Type.INT32: ("int", 4),
    Type.INT64: ("bigint", -5),
    Type.UINT8: ("tinyint unsigned", 5),
    Type.UINT16: ("smallint unsigned", 4),
    Type.UINT32: ("int unsigned", -5),
    Type.UINT64: ("bigint unsigned", 3),
    Type.FLOAT32: ("float", 7),
    Type.FLOAT64: ("double", 8),
    Type.STRING: ("text", 2005),
    Type.BYTES: ("blob", 2004),
    Type.DATE: ("date", 91),
    Type.UUID: ("char(36)", 1),
    Type.JSON: ("json", 12),
}
"""What MySQL calls a type, and the number of that in java.sql.Types."""
_MIDNIGHT = datetime(1970, 1, 1)  # noqa: DTZ001 - a clock on a wall


def schema_of(name: str) -> Schema:  # noqa: PLR0911 - one for each kind
    """The type of a column that may be null, by its type in MySQL: "decimal(10,2) unsigned". What is not known is text."""
    found = _FORM.match(name)
    kind, inner, rest = (found[1].lower(), found[2] or "", found[3].lower()) if found else ("", "", "")
    numbers = [int(each) for each in inner.split(",") if each.strip().isdecimal()]
    if kind in _WHOLE:
        return Schema(_WHOLE[kind]["unsigned" in rest], optional=True)
    if kind in _DECIMALS:
        precision, scale = (*numbers, 0) if len(numbers) == 1 else tuple(numbers[:2]) or (_PRECISION, 0)
        return Schema(Type.DECIMAL, optional=True, precision=min(precision, _MOST), scale=scale)
    if kind == "time":
        return Schema(Type.TIME, optional=True, unit=_unit(numbers))
    if kind in ("datetime", "timestamp"):
        return Schema(Type.TIMESTAMP, optional=True, unit=_unit(numbers), zone=kind == "timestamp")
    if kind == "bit":
        return Schema(Type.BOOLEAN if numbers in ([], [1]) else Type.UINT64, optional=True)
    if kind in ("char", "varchar"):
        return text(numbers[0] if numbers else 0, optional=True)
    return Schema(_PLAIN.get(kind, Type.STRING), optional=True)


def reader(schema: Schema, zone: ZoneInfo) -> Callable[[str], Any]:
    """Reads texts of a column. A ValueError: one is none of its values; says why.

    Args:
        schema: Of the column.
        zone: Of points in time.
    """
    kind = schema.type
    if kind is Type.TIMESTAMP and schema.zone:
        wall = Schema(Type.TIMESTAMP, unit=schema.unit)
        return lambda written: read_text(wall, _short(written)).replace(tzinfo=zone).astimezone(UTC)
    if kind in WHOLE:
        return lambda written: _whole(schema, written)
    if kind in _READERS:
        return _READERS[kind]
    return lambda written: read_text(schema, _short(written) if kind in (Type.TIME, Type.TIMESTAMP) else written)


def name_of(schema: Schema) -> tuple[str, int]:
    """What MySQL calls a type, and the number of that in java.sql.Types."""
    if schema.type is Type.DECIMAL:
        return f"decimal({schema.precision},{schema.scale})", 3
    if schema.type is Type.TIME:
        return f"time({_digits(schema.unit)})", 92
    if schema.type is Type.TIMESTAMP:
        return f"{'timestamp' if schema.zone else 'datetime'}({_digits(schema.unit)})", 93
    return _NAMES.get(schema.type, ("json", 12))


def text_of(value: object, schema: Schema | None, zone: ZoneInfo) -> str | None:  # noqa: PLR0911 - one for each kind
    """A value as Canal writes it.

    Args:
        value: The value.
        schema: Its type; None: not known.
        zone: Of points in time.
    """
    if isinstance(value, int) and schema is not None and schema.unit is Unit.NANOSECONDS:
        moment = _MIDNIGHT + timedelta(microseconds=value // 1_000)
        value = moment.time() if schema.type is Type.TIME else moment.replace(tzinfo=UTC if schema.zone else None)
    match value:
        case None | str():
            return value
        case bool():
            return "1" if value else "0"
        case bytes():
            return value.decode("latin-1")
        case Decimal():
            return format(value, "f")
        case datetime():
            local = value.astimezone(zone).replace(tzinfo=None) if value.tzinfo else value
            return local.isoformat(" ")
        case date() | time():
            return value.isoformat()
        case int() | float() | UUID():
            return str(value)
    return msgspec.json.encode(value).decode()


def _whole(schema: Schema, written: str) -> int:
    value, (least, most) = int(written), WHOLE[schema.type]
    if not least <= value <= most:
        msg = f"{written} is beyond {schema.type.value}"
        raise ValueError(msg)
    return value


def _boolean(written: str) -> bool:
    if written not in ("0", "1"):
        msg = f"{written[:20]!r} is neither 0 nor 1"
        raise ValueError(msg)
    return written == "1"


def _short(written: str) -> str:
    """Without the zeros at the end of its fraction, of which there may be more than the column has."""
    return written.rstrip("0").rstrip(".") if "." in written else written


def _unit(numbers: list[int]) -> Unit:
    return Unit.MILLISECONDS if not numbers or numbers[0] <= _MILLISECOND_DIGITS else Unit.MICROSECONDS


def _digits(unit: Unit) -> int:
    return _MILLISECOND_DIGITS if unit is Unit.MILLISECONDS else 6


_READERS: Mapping[Type, Callable[[str], Any]] = {
    Type.BOOLEAN: _boolean,
    Type.FLOAT32: float,
    Type.FLOAT64: float,
    Type.STRING: str,
    # Canal writes bytes as the characters of their numbers.
    Type.BYTES: lambda written: written.encode("latin-1"),
}
