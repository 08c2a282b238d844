"""Rows of packed messages as JSON: what people read comes back as it was, and what they write wrong is told in words."""

import json
import math
from collections.abc import Sequence

import pyarrow as pa
import pytest
from hypothesis import assume, given, settings

from rocketconnect_sdk.columns.declared import parse_columns
from rocketconnect_sdk.columns.rows import Rows, array_of, offsets_of, unpack, values_of
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.letters.rows import column_types, read_rows, write_rows
from rocketconnect_sdk.schema import BYTES, STRING, Schema, Type, struct
from tests.examples import some
from tests.rocketconnect_sdk.typed_values import typed

COLUMNS = parse_columns("id:int64, price:decimal(5,2), born:date, seen:timestamp(ms), raw:bytes")
ROW = {"id": 1, "price": "12.50", "born": "2024-02-29", "seen": "2024-02-29T23:59:59.120Z", "raw": "AP8="}


def rows_of(values: Sequence[object], schema: Schema) -> Rows:
    return unpack(Rows(*array_of(values, schema), offsets_of([(number,) for number in range(len(values))]), "u/p").pack())


def rows_read(*values: object, schema: Schema = COLUMNS) -> Rows:
    """Rows with these values, of what people write."""
    return read_rows(rows_of([None] * len(values), schema), json.dumps(values[0] if len(values) == 1 else values))


@given(typed())
@settings(max_examples=some(500), deadline=None)
def test_what_is_written_of_a_row_is_read_as_the_same_row(case: tuple[Schema, object]) -> None:
    schema, value = case
    try:
        rows = rows_of([value], schema)
    except RecordError:
        assume(False)
    (text,) = write_rows(rows)
    assert isinstance(text, str)
    assert "\n" not in text
    assert read_rows(rows, text).pack() == rows.pack()


def test_a_row_is_written_as_options_have_its_types() -> None:
    rows = rows_read(ROW)
    assert [json.loads(str(text)) for text in write_rows(rows)] == [ROW]
    assert column_types(rows.schema) == [
        ("id", "int64"),
        ("price", "decimal(5,2)"),
        ("born", "date"),
        ("seen", "timestamp(ms)"),
        ("raw", "bytes"),
    ]


def test_types_say_what_they_are_made_of_and_what_must_be_there() -> None:
    named = struct([("k", Schema(Type.MAP, keys=BYTES, items=Schema(Type.ARRAY, optional=True, items=STRING)))], name="table.Value")
    assert column_types(named) == [("k", "map(bytes not null, array(string not null)) not null")]
    assert column_types(Schema(Type.FLOAT32, default=1.0)) == [("value", "float not null")]


def test_numbers_that_json_has_not_are_text_and_short_ones_stay_short() -> None:
    schema = parse_columns("a:double, b:float")
    texts = [{"a": "NaN", "b": 0.1}, {"a": "-Infinity", "b": None}]
    rows = rows_read(*texts, schema=schema)
    assert [json.loads(str(text)) for text in write_rows(rows)] == texts
    first, second = values_of(rows)
    assert isinstance(first, dict)
    assert math.isnan(first["a"])
    assert second == {"a": -math.inf, "b": None}


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"id": "1"}, 'the column `id` is a whole number, and `"1"` is not'),
        ({"id": 1.5}, "the column `id` is a whole number, and `1.5` is not"),
        ({"id": True}, "the column `id` is a whole number, and `true` is not"),
        ({"id": 1 << 63}, "the column `id` is a whole number from -9223372036854775808 to 9223372036854775807, and `9223372036"),
        ({"price": "12.345"}, "the column `price` is a decimal of 5 digits, 2 of them behind the point, and"),
        ({"born": "29.02.2024"}, 'the column `born` is a date such as 2024-02-29, and `"29.02.2024"` is not'),
        ({"seen": "2024-02-29"}, "the column `seen` is a time such as 2024-02-29T23:59:59.111Z, and"),
        ({"raw": "no base64!"}, "the column `raw` is base64 text, and"),
        ({"idd": 1}, "there is no column `idd`; there are id, price, born, seen, raw"),
    ],
)
def test_what_does_not_fit_its_column_is_told_with_what_would(changed: dict[str, object], told: str) -> None:
    with pytest.raises(RecordError, match="column") as refused:
        rows_read({**ROW, **changed})
    assert str(refused.value).startswith(told)
    assert "make it" not in str(refused.value)


def test_a_column_that_is_left_out_or_must_have_a_value_is_told() -> None:
    with pytest.raises(RecordError, match="the column `raw` is left out: write null where it has no value"):
        rows_read({name: value for name, value in ROW.items() if name != "raw"})
    with pytest.raises(RecordError, match=r"the column `in\.x` must have a value: null is none"):
        rows_read({"in": {"x": None}}, schema=struct([("in", struct([("x", STRING)]))]))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{", "it is no JSON"),
        ('{"id": NaN}', 'NaN is none of its numbers; write "NaN"'),
        ('{"id": 1, "id": 2}', "twice"),
        ("[1]", "a row is an object with its columns by name, and an array is not"),
    ],
)
def test_what_is_no_row_is_told(text: str, told: str) -> None:
    with pytest.raises(RecordError) as refused:
        read_rows(rows_read(ROW), text)
    assert told in str(refused.value)


def test_rows_are_changed_and_neither_added_nor_left_out() -> None:
    rows = rows_read(ROW, ROW)
    with pytest.raises(RecordError, match="a JSON array of 2 rows is needed, and this is 1: rows can be changed, not added"):
        read_rows(rows, json.dumps([ROW]))
    with pytest.raises(RecordError, match="row 2: the column `id`"):
        read_rows(rows, json.dumps([ROW, {**ROW, "id": "x"}]))


def test_keys_times_headers_and_offsets_of_rows_stay() -> None:
    keys, times = pa.array([b"k"], pa.binary()), pa.array([7], pa.int64())
    headers = pa.array([[("h", "1")]], pa.map_(pa.string(), pa.string()))
    before = Rows(*array_of([{"id": 1}], parse_columns("id:int64")), offsets_of([(5, 2)]), "u/p", keys, times, headers)
    after = unpack(read_rows(before, '{"id": 2}').pack())
    assert values_of(after) == [{"id": 2}]
    assert after.keys == keys
    assert after.timestamps_ms == times
    assert after.headers == headers
    assert (after.last, after.source) == ((5, 2), "u/p")
