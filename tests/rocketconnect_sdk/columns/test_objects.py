"""Rows of columns and JSON, many at once: the same as one by one."""

from base64 import b64encode
from collections.abc import Callable
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
from tests.examples import some

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
@settings(max_examples=some(300))
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
    with pytest.raises(RecordError, match=r"^the column `c` is .*, and .* is not"):
        rows_of_values([{"c": value}], parse_columns(columns))


@pytest.mark.parametrize(
    ("columns", "value", "said"),
    [
        ("year:int64", 12.5, "the column `year` is a whole number, and `12.5` is not; make it `double`"),
        ("year:int64", "12", 'the column `year` is a whole number, and `"12"` is not; make it `string`'),
        ("n:int8", 300, "the column `n` is a whole number from -128 to 127, and `300` is not; make it `int16`"),
        ("n:uint8", -1, "the column `n` is a whole number from 0 to 255, and `-1` is not; make it `int16`"),
        (
            "n:uint64",
            1 << 64,
            f"the column `n` is a whole number from 0 to {(1 << 64) - 1}, and `{1 << 64}` is not; make it `decimal(20,0)`",
        ),
        ("n:int64", True, "the column `n` is a whole number, and `true` is not; make it `boolean`"),
        ("n:int64", [1], "the column `n` is a whole number, and a list is not; make it `json`"),
        ("f:double", True, "the column `f` is a number, and `true` is not; make it `boolean`"),
        ("f:double", 10**400, f"the column `f` is a floating point number of 64 bits, and `1{'0' * 39}` is not; make it `string`"),
        (
            "f:double",
            (1 << 53) + 1,
            f"the column `f` is a floating point number of 64 bits, and `{(1 << 53) + 1}` is not; make it `int64`",
        ),
        ("f:float", 1e300, "the column `f` is a number of 32 bits, and `1e+300` is not; make it `double`"),
        ("ok:boolean", 1, "the column `ok` is true or false, and `1` is not; make it `int64`"),
        ("t", 1, "the column `t` is text, and a whole number is not; make it `int64`"),
        ("t", {"secret": 1}, "the column `t` is text, and an object is not; make it `json`"),
        ("b:bytes", "QQ", "the column `b` is base64 text, and this text is not; make it `string`"),
        ("d:date", "2024-13-45", 'the column `d` is a date such as 2024-02-29, and `"2024-13-45"` is not; make it `string`'),
        ("d:timestamp(ms)", 5, "the column `d` is a time such as 2024-02-29T23:59:59.111Z, and `5` is not; make it `int64`"),
        ("d:time", 5, "the column `d` is a time such as 23:59:59.111111, and `5` is not; make it `int64`"),
        (
            "p:decimal(4,2)",
            123.456,
            "the column `p` is a decimal of 4 digits, 2 of them behind the point, and `123.456` is not; make it `decimal(6,3)`",
        ),
    ],
)
def test_what_is_wrong_is_said_of_the_first_value_with_the_type_that_takes_it(columns: str, value: object, said: str) -> None:
    name = columns.partition(":")[0]
    with pytest.raises(RecordError) as refused:
        rows_of_values([{}, {name: None}, {name: value}, {name: [[]]}], parse_columns(columns))
    assert str(refused.value) == said


@pytest.mark.parametrize(
    ("columns", "value"),
    [("n:int64", 12.5), ("f:double", True), ("f:float", 1e300), ("f:float", (1 << 24) + 1), ("n:int64", 2.0**53)],
)
def test_no_number_is_changed_into_another_one(columns: str, value: object) -> None:
    """Arrow would write 12, 1.0, infinity, 16777216, and what 9007199254740993.0 was read as."""
    name, values = columns[0], [None, value]
    for rows in (values, [value]):
        with pytest.raises(RecordError):
            rows_of_values([{name: each} for each in rows], parse_columns(columns))
    with pytest.raises(RecordError):
        rows_of_array(pa.array([{name: each} for each in values]), parse_columns(columns))
    with pytest.raises(RecordError):
        rows_of_array(pa.array([msgspec.json.encode({name: each}).decode() for each in values]), parse_columns(columns))


def test_a_whole_number_with_a_point_is_one() -> None:
    rows = rows_of_values(['{"n":12.0,"f":3}', '{"n":-0.0,"f":3.5}'], parse_columns("n:int32, f:float"))
    assert rows.to_pylist() == [{"n": 12, "f": 3.0}, {"n": 0, "f": 3.5}]


def test_texts_of_structs_are_read_for_the_columns_that_need_it() -> None:
    column = pa.array([{"day": "2024-02-29", "j": "[1]", "u": None}, None])
    rows = rows_of_array(column, parse_columns("day:date, j:json, u:uuid, more:decimal(3,1)"))
    assert list(Column(rows)) == [
        {"day": date(2024, 2, 29), "j": "[1]", "u": None, "more": None},
        {"day": None, "j": None, "u": None, "more": None},
    ]


@pytest.mark.parametrize("make", [lambda rows: rows_of_values(rows, COLUMNS), lambda rows: rows_of_array(pa.array(rows), COLUMNS)])
def test_a_record_of_another_table_is_refused_with_the_names_that_it_has_and_those_of_the_columns(
    make: Callable[[list[dict[str, int]]], pa.StructArray],
) -> None:
    with pytest.raises(RecordError) as refused:
        make([{"year": 2024, "carrier": 7}])
    assert str(refused.value).startswith(
        "the record is of another table: it has none of the columns `id`, `small`, `name`, `ok`, but `year`, `carrier`; "
    )
    assert make([{"id": 1, "carrier": 7}]).field("id").to_pylist() == [1]


def test_text_of_another_table_is_refused_among_rows_and_what_has_no_field_at_all_is_a_row_of_nulls() -> None:
    with pytest.raises(RecordError, match="of another table"):
        rows_of_array(pa.array(['{"id": 1}', '{"year": 2024}']), COLUMNS)
    assert rows_of_array(pa.array(["{}", '{"id": 1}', None]), COLUMNS).field("id").to_pylist() == [None, 1, None]


def test_of_many_names_the_first_are_told() -> None:
    with pytest.raises(RecordError, match="`f9` and 90 more"):
        rows_of_values([{f"f{number}": 1 for number in range(100)}], COLUMNS)
