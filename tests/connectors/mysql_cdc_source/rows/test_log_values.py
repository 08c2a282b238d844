"""Dates, times and decimals of the log are the same many at once and one by one."""

from collections.abc import Sequence
from datetime import datetime
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectors.mysql_cdc_source.binlog.errors import MalformedEvent
from connectors.mysql_cdc_source.binlog.row_reading.code import FAULTS, RowReader
from connectors.mysql_cdc_source.binlog.row_reading.column import Column, Type
from connectors.mysql_cdc_source.binlog.row_reading.images import RowImages
from connectors.mysql_cdc_source.binlog.values.decimals import parts_of, size_of
from connectors.mysql_cdc_source.columns import schema_of
from connectors.mysql_cdc_source.rows import log_columns
from connectors.mysql_cdc_source.rows.log_columns import LogColumns, LoggedRows
from rocketconnect_sdk.arrow import to_array
from rocketconnect_sdk.errors import RecordError

DIGITS = [(1, 0), (4, 4), (9, 2), (10, 0), (18, 0), (18, 1), (18, 18), (19, 2), (65, 30)]
_MOMENTS = st.datetimes(datetime(1, 1, 1), datetime(9999, 12, 31))  # noqa: DTZ001 - a DATETIME has no zone


def decimal_bytes(precision: int, scale: int, number: int) -> bytes:
    raw, left = b"", abs(number)
    for start, end, most in reversed(parts_of(precision, scale)):
        left, part = divmod(left, most)
        raw = part.to_bytes(end - start, "big") + raw
    raw = bytes([raw[0] ^ 0x80]) + raw[1:]
    return bytes([byte ^ 0xFF for byte in raw]) if number < 0 else raw


def date_bytes(moment: datetime) -> bytes:
    return (moment.year << 9 | moment.month << 5 | moment.day).to_bytes(3, "little")


def fraction(microseconds: int, digits: int) -> bytes:
    size = (digits + 1) // 2
    shown: int = microseconds // 10 ** (6 - digits) * 10 ** (2 * size - digits)
    return shown.to_bytes(size, "big")


def datetime_bytes(digits: int, moment: datetime) -> bytes:
    day = (moment.year * 13 + moment.month) << 5 | moment.day
    packed = day << 17 | moment.hour << 12 | moment.minute << 6 | moment.second
    return (packed + (1 << 39)).to_bytes(5, "big") + fraction(moment.microsecond, digits)


def timestamp_bytes(digits: int, seconds: int, microseconds: int) -> bytes:
    return seconds.to_bytes(4, "big") + fraction(microseconds, digits)


def columns_of_values() -> st.SearchStrategy[tuple[Column, list[bytes | None]]]:
    """A column, and the bytes of values of it, now and then of none."""
    kinds: list[tuple[Column, int, st.SearchStrategy[bytes]]] = [(Column(Type.DATE), 3, _MOMENTS.map(date_bytes))]
    for precision, scale in DIGITS:
        most = 10**precision - 1
        values = st.integers(-most, most).map(partial(decimal_bytes, precision, scale))
        kinds.append((Column(Type.NEWDECIMAL, precision=precision, scale=scale), size_of(precision, scale), values))
    for digits in (0, 1, 3, 4, 6):
        size = (digits + 1) // 2
        kinds.append((Column(Type.DATETIME2, scale=digits), 5 + size, _MOMENTS.map(partial(datetime_bytes, digits))))
        points = st.builds(partial(timestamp_bytes, digits), st.integers(1, 2**32 - 1), st.integers(0, 999_999))
        kinds.append((Column(Type.TIMESTAMP2, scale=digits), 4 + size, points))
    one = st.sampled_from(kinds)
    return one.flatmap(
        lambda kind: st.tuples(
            st.just(kind[0]),
            st.lists(st.none() | kind[2] | kind[2] | st.binary(min_size=kind[1], max_size=kind[1]), min_size=1, max_size=6),
        )
    )


@given(columns_of_values())
def test_many_values_are_what_each_is_by_itself(made: tuple[Column, list[bytes | None]]) -> None:
    column, held = made
    images = _images(column, held)
    try:
        wanted = to_array([value for (value,) in images], schema_of(column))
    except (RecordError, MalformedEvent, *FAULTS):
        with pytest.raises((RecordError, MalformedEvent)):
            images.reader.arrays([images])
    else:
        (found,) = images.reader.arrays([images])
        assert found.type == wanted.type
        assert repr(found.to_pylist()) == repr(wanted.to_pylist())


@pytest.mark.parametrize(
    ("column", "raw"),
    [
        (Column(Type.DATE), b"\x5d\xd1\x0f"),
        (Column(Type.DATETIME2, scale=6), datetime_bytes(6, datetime(2024, 2, 29, 1, 2, 3, 4))),  # noqa: DTZ001
        (Column(Type.TIMESTAMP2), bytes([100, 0, 0, 1])),
        (Column(Type.NEWDECIMAL, precision=18, scale=2), decimal_bytes(18, 2, -12_345)),
    ],
)
def test_no_value_of_the_usual_kinds_is_read_by_itself(column: Column, raw: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    def read(*_: Any) -> None:
        pytest.fail("each value is looked at")

    monkeypatch.setattr(log_columns, "value_reader", read)
    images = _images(column, [raw, None])
    (found,) = images.reader.arrays([images])
    assert found.to_pylist() == [value for (value,) in images]


@pytest.mark.parametrize(
    "day", [(0, 0, 0), (2023, 2, 29), (2024, 2, 30), (2024, 0, 10), (2024, 10, 0), (2024, 13, 1), (10_000, 1, 1)]
)
def test_a_day_of_no_calendar_is_for_the_error_policy(day: tuple[int, int, int]) -> None:
    year, month, number = day
    held = [date_bytes(datetime(2024, 2, 29)), (year << 9 | month << 5 | number).to_bytes(3, "little")]  # noqa: DTZ001
    images = _images(Column(Type.DATE), held)
    with pytest.raises(RecordError):
        images.reader.arrays([images])


def _images(column: Column, held: Sequence[bytes | None]) -> LoggedRows:
    reader = RowReader([column])
    raw = b"".join(b"\1" if value is None else b"\0" + value for value in held)
    *starts, _ = reader.walk.starts(raw, 0)
    return LoggedRows(RowImages("d.t", reader, raw, starts), LogColumns([column]))
