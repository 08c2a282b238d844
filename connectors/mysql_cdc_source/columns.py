"""Columns: their types here, and their values as the log has them."""

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from connectors.mysql_cdc_source.binlog.row_reading.column import Column
from connectors.mysql_cdc_source.binlog.row_reading.column import Type as Stored
from connectors.mysql_cdc_source.binlog.values.charsets import BINARY, most_bytes
from rocketconnect_sdk.schema import Schema, Type, Unit, text

_WHOLE = {
    Stored.TINY: (Type.INT8, Type.UINT8),
    Stored.SHORT: (Type.INT16, Type.UINT16),
    Stored.INT24: (Type.INT32, Type.UINT32),
    Stored.LONG: (Type.INT32, Type.UINT32),
    Stored.LONGLONG: (Type.INT64, Type.UINT64),
    Stored.YEAR: (Type.INT16, Type.INT16),
}
_PLAIN = {
    Stored.FLOAT: Type.FLOAT32,
    Stored.DOUBLE: Type.FLOAT64,
    Stored.DATE: Type.DATE,
    Stored.NEWDATE: Type.DATE,
    Stored.JSON: Type.JSON,
    Stored.ENUM: Type.STRING,
    Stored.SET: Type.STRING,
    Stored.GEOMETRY: Type.BYTES,
    Stored.VECTOR: Type.BYTES,
}
TIMES = frozenset({Stored.TIME, Stored.TIME2})
DATETIMES = frozenset({Stored.DATETIME, Stored.DATETIME2})
POINTS = frozenset({Stored.TIMESTAMP, Stored.TIMESTAMP2})
WHOLE = frozenset(_WHOLE)
_LIMITED = frozenset({Stored.STRING, Stored.VAR_STRING, Stored.VARCHAR})
_DAY = timedelta(days=1)
_MIDNIGHT = datetime(1970, 1, 1)  # noqa: DTZ001 - only its time of day is used
_MILLISECOND_DIGITS = 3


def schema_of(column: Column) -> Schema:  # noqa: PLR0911 - one for each kind
    """The type of a column's values."""
    optional = column.nullable
    kind = column.type
    if kind in _WHOLE:
        return Schema(_WHOLE[kind][bool(column.unsigned)], optional=optional)
    if kind is Stored.NEWDECIMAL:
        return Schema(Type.DECIMAL, optional=optional, precision=column.precision, scale=column.scale)
    if kind in TIMES:
        return Schema(Type.TIME, optional=optional, unit=_unit(column))
    if kind in DATETIMES or kind in POINTS:
        # A DATETIME has no zone; a TIMESTAMP is a point in time.
        return Schema(Type.TIMESTAMP, optional=optional, unit=_unit(column), zone=kind in POINTS)
    if kind is Stored.BIT:
        return Schema(Type.BOOLEAN if column.precision == 1 else Type.UINT64, optional=optional)
    if column.extension is not None:
        return Schema(Type.UUID if column.extension == "uuid" else Type.STRING, optional=optional)
    plain = _PLAIN.get(kind) or (Type.BYTES if column.charset in {None, BINARY} else Type.STRING)
    if plain is Type.STRING and kind in _LIMITED:
        return text(_characters(column), optional=optional)
    return Schema(plain, optional=optional)


def _characters(column: Column) -> int:
    """At most, of a text; 0: not known."""
    size = most_bytes(column.charset or "")
    return column.length // size if size else 0


def from_log(column: Column) -> Callable[[Any], object] | None:
    """Makes a value of the column's type of one that the log has and that is not None; None: it is one already.

    What no such type has (a day that is on no calendar, a TIME that is no time of a day) is the text that the server shows, and so
    no value of the column: the error policy decides.
    """
    if column.type is Stored.GEOMETRY:
        return lambda geometry: geometry.wkb
    if column.type in TIMES:
        return partial(_time, digits=column.scale)
    if column.type is Stored.BIT and column.precision == 1:
        return bool
    return None


def _time(time: timedelta, *, digits: int) -> object:
    if timedelta() <= time < _DAY:
        return (_MIDNIGHT + time).time()
    seconds, microseconds = divmod(abs(time) // timedelta(microseconds=1), 1_000_000)
    clock = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    fraction = f".{microseconds:06}"[: digits + 1] if digits else ""
    return f"{'-' if time < timedelta() else ''}{clock}{fraction}"


def _unit(column: Column) -> Unit:
    return Unit.MILLISECONDS if column.scale <= _MILLISECOND_DIGITS else Unit.MICROSECONDS
