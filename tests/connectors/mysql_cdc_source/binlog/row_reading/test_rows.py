"""Rows are the same whether code was made for their NULLs or not, and as columns; a table takes a bounded amount of code."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectors.mysql_cdc_source.binlog.errors import MalformedEvent
from connectors.mysql_cdc_source.binlog.row_reading.code import RowReader
from connectors.mysql_cdc_source.binlog.row_reading.column import Column, Type
from connectors.mysql_cdc_source.binlog.row_reading.images import RowImages
from connectors.mysql_cdc_source.columns import schema_of
from connectors.mysql_cdc_source.rows.log_columns import LogColumns, LoggedRows
from rocketconnect_sdk.arrow import to_array
from rocketconnect_sdk.errors import RecordError

_COLUMNS = [
    Column(Type.LONG, unsigned=False),
    Column(Type.VARCHAR, 255, charset="utf8mb4"),
    Column(Type.INT24, unsigned=False),
    Column(Type.INT24, unsigned=True),
    Column(Type.YEAR, unsigned=True),
    Column(Type.BLOB, 3, charset="binary"),
    Column(Type.VARCHAR, 300, charset="latin1"),
    Column(Type.ENUM, 1, labels=("a", "b")),
    Column(Type.LONGLONG, unsigned=True),
    Column(Type.STRING, 4, charset="binary"),
]
_VALUES = st.tuples(
    st.none() | st.integers(-(2**31), 2**31 - 1),
    st.none() | st.text(st.characters(codec="utf-8"), max_size=60),
    st.none() | st.integers(-(2**23), 2**23 - 1),
    st.none() | st.integers(0, 2**24 - 1),
    st.none() | st.sampled_from([0, 1901, 2155]),
    st.none() | st.binary(max_size=70),
    st.none() | st.text("aé€", max_size=60),
    st.none() | st.sampled_from(["", "a", "b"]),
    st.none() | st.integers(0, 2**64 - 1),
    st.none() | st.binary(min_size=4, max_size=4),
)


def _row(values: tuple[object, ...]) -> bytes:
    nulls = sum(1 << place for place, value in enumerate(values) if value is None)
    made = nulls.to_bytes(2, "little")
    for column, value in zip(_COLUMNS, values, strict=True):
        match value:
            case int() if column.type is Type.YEAR:
                made += bytes([value and value - 1900])
            case int():
                size = {Type.LONG: 4, Type.INT24: 3, Type.LONGLONG: 8}[column.type]
                made += value.to_bytes(size, "little", signed=not column.unsigned)
            case str() if column.type is Type.ENUM:
                made += bytes(["", "a", "b"].index(value) for _ in "x")
            case str() | bytes():
                raw = value.encode("cp1252" if column.charset == "latin1" else "utf-8") if isinstance(value, str) else value
                size = {Type.BLOB: 3, Type.VARCHAR: 1 if column.length < 256 else 2, Type.STRING: 1}[column.type]
                raw = raw.rstrip(b"\0") if column.type is Type.STRING else raw
                made += len(raw).to_bytes(size, "little") + raw
            case _:
                pass
    return made


@given(st.lists(_VALUES, min_size=1, max_size=5))
def test_rows_are_read_the_same_the_first_time_and_the_hundredth(rows: list[tuple[object, ...]]) -> None:
    reader = RowReader(_COLUMNS)
    raw = b"".join(map(_row, rows))
    for _ in range(20):
        assert reader.read_all(raw, 0) == rows


def test_a_table_with_ever_other_nulls_makes_a_bounded_amount_of_code() -> None:
    reader = RowReader([Column(Type.TINY, unsigned=False)] * 10)
    for nulls in range(1024):
        row = nulls.to_bytes(2, "little") + b"\7" * (10 - nulls.bit_count())
        wanted = tuple(None if nulls >> place & 1 else 7 for place in range(10))
        for _ in range(10):
            assert reader.read_all(row, 0) == [wanted]
    assert len(reader._code) <= 128
    assert len(reader._seen) <= 128


@given(st.lists(_VALUES, min_size=1, max_size=5))
def test_rows_that_are_read_later_are_the_same(rows: list[tuple[object, ...]]) -> None:
    reader, raw = RowReader(_COLUMNS), b"??" + b"".join(map(_row, rows))
    *starts, end = reader.walk.starts(raw, 2)
    assert end == len(raw)
    images = RowImages("shop.orders", reader, raw, starts)
    assert images == rows
    assert (len(images), images[-1], list(images[1:])) == (len(rows), rows[-1], rows[1:])


def test_a_table_with_ever_other_nulls_is_walked_with_a_bounded_amount_of_code() -> None:
    columns = [Column(Type.VARCHAR, 300, charset="utf8mb4"), *[Column(Type.TINY)] * 9]
    walk = RowReader(columns).walk
    for nulls in range(1024):
        text = b"" if nulls & 1 else b"\3\0abc"
        row = nulls.to_bytes(2, "little") + text + b"\7" * (9 - (nulls >> 1).bit_count())
        assert walk.starts(row * 2, 0) == [0, len(row), 2 * len(row)]
    assert len(walk._steps) <= 128


@given(st.lists(st.lists(_VALUES, min_size=1, max_size=5), min_size=1, max_size=4))
def test_the_rows_of_events_are_the_same_as_columns(events: list[list[tuple[object, ...]]]) -> None:
    images = [_images(_COLUMNS, b"".join(map(_row, event))) for event in events]
    made = images[0].reader.arrays(images)
    wanted = zip(*(row for event in events for row in event), strict=True)
    assert [array.to_pylist() for array in made] == [list(held) for held in wanted]
    assert [array.type for array in made] == [to_array([], schema_of(column)).type for column in _COLUMNS]


def test_text_that_is_none_is_found_when_rows_are_read_later() -> None:
    images = _images([_COLUMNS[1]], b"\0\1a" + b"\0\2\xff\xfe")
    with pytest.raises(RecordError, match="none of its column"):
        images.reader.arrays([images])
    with pytest.raises(MalformedEvent, match=r"shop\.orders"):
        list(images)


def _images(columns: list[Column], raw: bytes) -> LoggedRows:
    reader = RowReader(columns)
    *starts, _ = reader.walk.starts(raw, 0)
    return LoggedRows(RowImages("shop.orders", reader, raw, starts), LogColumns(columns))
