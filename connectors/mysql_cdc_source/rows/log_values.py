"""Values of the log that have a fixed number of bytes, many at once: the same as binlog.temporal and binlog.decimals read singly.

What is on no calendar, and what no server writes, is a ValueError: such rows are read one by one.
"""

from collections.abc import Callable

import numpy as np
import pyarrow as pa

from connectors.mysql_cdc_source.binlog.row_reading.column import Column, Type
from connectors.mysql_cdc_source.binlog.values.decimals import parts_of, size_of
from connectors.mysql_cdc_source.binlog.values.temporal import MICROSECONDS, fraction_bytes
from rocketconnect_sdk.changes.slices import Array, validity

Make = Callable[[Array, Array], pa.Array]
"""Of the bytes of each value, and of which are NULL."""

MOST_DIGITS = 18
"""Of a DECIMAL that fits into 64 bits."""
_DATETIME_BIAS = 1 << 39
_SECOND, _DAY = 1_000_000, 86_400_000_000
_LAST_YEAR = 9999


def fixed(column: Column) -> tuple[int, Make] | None:
    """How many bytes values of a column have, and what makes an array of them; None: they are read one by one."""
    if column.extension is not None:
        return None
    if column.type in {Type.DATE, Type.NEWDATE}:
        return 3, _dates
    if column.type is Type.DATETIME2:
        size = fraction_bytes(column.scale)
        return 5 + size, lambda raw, nulls: _datetimes(raw, nulls, size)
    if column.type is Type.TIMESTAMP2:
        size = fraction_bytes(column.scale)
        return 4 + size, lambda raw, nulls: _timestamps(raw, nulls, size)
    if column.type is Type.NEWDECIMAL and column.precision <= MOST_DIGITS:
        precision, scale = column.precision, column.scale
        return size_of(precision, scale), lambda raw, nulls: _decimals(raw, nulls, precision, scale)
    return None


def _dates(raw: Array, nulls: Array) -> pa.Array:
    packed = _number(raw[:, ::-1])
    days, valid = _days(packed >> 9, packed >> 5 & 15, packed & 31)
    return _array(pa.date32(), days.astype(np.int32), valid, nulls)


def _datetimes(raw: Array, nulls: Array, size: int) -> pa.Array:
    packed, fraction = _number(raw[:, :5]) - _DATETIME_BIAS, _number(raw[:, 5:]) * MICROSECONDS[size]
    month, hour, minute, second = packed >> 22, packed >> 12 & 31, packed >> 6 & 63, packed & 63
    days, valid = _days(month // 13, month % 13, packed >> 17 & 31)
    valid = valid & (packed >= 0) & (hour < 24) & (minute < 60) & (second < 60) & (fraction < _SECOND)
    moments = days * _DAY + ((hour * 60 + minute) * 60 + second) * _SECOND + fraction
    return _array(pa.timestamp("us"), moments, valid, nulls)


def _timestamps(raw: Array, nulls: Array, size: int) -> pa.Array:
    fraction = _number(raw[:, 4:]) * MICROSECONDS[size]
    moments = _number(raw[:, :4]) * _SECOND + fraction
    # 0 stands for 0000-00-00.
    return _array(pa.timestamp("us", "UTC"), moments, (moments > 0) & (fraction < _SECOND), nulls)


def _decimals(raw: Array, nulls: Array, precision: int, scale: int) -> pa.Array:
    minus = raw[:, 0] < 0x80
    # All bits of negative ones are the other way round, and the sign's of all others.
    raw = raw ^ np.where(minus, 0xFF, 0)[:, None].astype(np.uint8)
    raw[:, 0] ^= 0x80
    digits, valid = np.zeros(len(raw), np.int64), np.ones(len(raw), np.bool_)
    for start, end, most in parts_of(precision, scale):
        part = _number(raw[:, start:end])
        digits, valid = digits * most + part, valid & (part < most)
    numbers = np.where(minus, -digits, digits)
    return _array(pa.decimal128(precision, scale), np.stack([numbers, numbers >> 63], axis=1), valid, nulls)


def _number(raw: Array) -> Array:
    """The numbers that these bytes are, the first of them the highest."""
    found = np.zeros(len(raw), np.int64)
    for place in range(raw.shape[1]):
        found = found << 8 | raw[:, place]
    return found


def _days(year: Array, month: Array, day: Array) -> tuple[Array, Array]:
    """Days since 1970, and which are on a calendar."""
    months = ((year - 1970) * 12 + month - 1).astype("datetime64[M]")
    days = months.astype("datetime64[D]") + (day - 1)
    is_there = (day >= 1) & (days.astype("datetime64[M]") == months)
    return days.astype(np.int64), is_there & (year >= 1) & (year <= _LAST_YEAR) & (month >= 1) & (month <= 12)


def _array(kind: pa.DataType, values: Array, valid: Array, nulls: Array) -> pa.Array:
    if not (valid | nulls).all():
        msg = f"it is no {kind}"
        raise ValueError(msg)
    return pa.Array.from_buffers(kind, len(values), [validity(nulls), pa.py_buffer(np.ascontiguousarray(values))])
