"""Rows of columns and JSON, many at once: the same as one by one."""

from base64 import b64encode
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import msgspec
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rocketconnect_sdk.arrow import to_array
from rocketconnect_sdk.columns.compact import Column
from rocketconnect_sdk.columns.declared import parse_columns
from rocketconnect_sdk.columns.objects import rows_of_array, rows_of_bytes, rows_of_values
from rocketconnect_sdk.columns.texts import TEXTS as READ
from rocketconnect_sdk.columns.texts import read_text
from rocketconnect_sdk.converters import converter
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.schema import Field

COLUMNS = parse_columns("id:int64, small:int32, name, ok:boolean")
INTS = st.none() | st.integers(-(1 << 63), (1 << 63) - 1)
SMALL = st.none() | st.integers(-(1 << 31), (1 << 31) - 1)
ROW = st.fixed_dictionaries({"id": INTS, "small": SMALL, "name": st.none() | st.text(max_size=5), "ok": st.none() | st.booleans()})


@given(st.lists(ROW, min_size=1, max_size=5))
def test_what_was_written_is_read_as_the_same_rows(rows: list[dict[str, object]]) -> None:
    json = converter("json", {"schemas.enable": "false"}, is_key=False)
    column = to_array(rows, COLUMNS)
    read = rows_of_bytes(json.encode_many(Column(column), COLUMNS), COLUMNS)
    assert read is None or read.equals(column)


@pytest.mark.parametrize("bad", [b"[1]", b'{"id":1}\n{"id":2}', b'{"id":NaN}', b'{"id":1,"more":2}', b'{"name":"\xff"}', b""])
def test_what_is_not_plainly_such_an_object_is_left_to_who_looks_at_each(bad: bytes) -> None:
    assert rows_of_bytes([b'{"id":1}', bad], COLUMNS) is None


TYPED = parse_columns(
    "d:decimal(7,2), day:date, t:time, at:timestamp, n:timestamp_ntz(ns), u:uuid, b:bytes, big:uint64, small:uint8, r:double"
)
DIGITS = st.integers(-(10**7) + 1, 10**7 - 1).map(lambda number: f"{number / 100:.2f}")
TEXTS = {
    "d": DIGITS,
    "day": st.dates().map(str),
    "t": st.times().map(str),
    "at": st.datetimes().map(lambda moment: f"{moment.isoformat()}Z"),
    "n": st.datetimes(datetime(1700, 1, 1), datetime(2200, 1, 1)).map(lambda moment: moment.isoformat(" ")),  # noqa: DTZ001
    "u": st.uuids().map(str),
    "b": st.binary(max_size=4).map(lambda data: b64encode(data).decode()),
    "big": st.integers(0, (1 << 64) - 1),
    "small": st.integers(0, 255),
    "r": st.floats(allow_nan=False, allow_infinity=False),
}
ODD = st.sampled_from(["", "x", "1.005", "100000.00", 5, 2.5, True, -1, [1], "2023-02-29", "24:00:00", "0000-01-01", 1 << 64])


@pytest.mark.slow
@given(st.data())
@settings(max_examples=300)
def test_text_in_json_stands_for_the_same_value_one_by_one_and_at_once(data: st.DataObject) -> None:
    """Or is refused, by the look at each."""
    fields = {name: st.none() | data.draw(st.sampled_from([texts, texts, texts | ODD])) for name, texts in TEXTS.items()}
    rows = data.draw(st.lists(st.fixed_dictionaries(fields), min_size=1, max_size=4))
    texts = [msgspec.json.encode(row) for row in rows]
    at_once = rows_of_bytes(texts, TYPED)
    try:
        alone = rows_of_values(texts, TYPED)
    except RecordError:
        assert at_once is None
        return
    assert at_once is None or at_once.equals(alone)
    expected = [
        {field.name: read_text(field.schema, str(row[field.name])) for field in TYPED.fields if is_read(field, row)} for row in rows
    ]
    found: list[Any] = list(Column(alone))
    assert [{name: row[name] for name in wanted} for row, wanted in zip(found, expected, strict=True)] == expected


def is_read(field: Field, row: dict[str, object]) -> bool:
    return field.schema.type in READ and isinstance(row[field.name], str)


def test_json_in_a_column_is_the_text_of_the_field() -> None:
    columns = parse_columns("j:json, d:decimal(3,1)")
    rows = rows_of_values(['{"j":{"a":[1,"x"]},"d":1.5}', '{"j":"x","d":2}', '{"d":"-0.0"}'], columns)
    assert list(Column(rows)) == [
        {"j": '{"a":[1,"x"]}', "d": Decimal("1.5")},
        {"j": '"x"', "d": Decimal("2.0")},
        {"j": None, "d": Decimal("0.0")},
    ]


@pytest.mark.parametrize(
    ("columns", "value"),
    [
        ("c:decimal(3,1)", 1.25),
        ("c:decimal(30,20)", 0.12345678901234567),
        ("c:decimal(3,1)", True),
        ("c:date", 5),
        ("c:timestamp(ns)", 5),
        ("c:timestamp", "2024-02-29T00:00:00"),
        ("c:bytes", "QQ"),
        ("c:uint8", 256),
        ("c:uint8", "5"),
    ],
)
def test_a_field_that_is_no_value_of_its_column_is_refused(columns: str, value: object) -> None:
    with pytest.raises(RecordError, match="does not have the type of the column c"):
        rows_of_values([{"c": value}], parse_columns(columns))


def test_texts_of_structs_are_read_for_the_columns_that_need_it() -> None:
    column = pa.array([{"day": "2024-02-29", "j": "[1]", "u": None}, None])
    rows = rows_of_array(column, parse_columns("day:date, j:json, u:uuid, more:decimal(3,1)"))
    assert list(Column(rows)) == [
        {"day": date(2024, 2, 29), "j": "[1]", "u": None, "more": None},
        {"day": None, "j": None, "u": None, "more": None},
    ]
