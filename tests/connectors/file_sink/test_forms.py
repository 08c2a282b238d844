"""Columns of values into lines and rows; no Spark."""

import csv
import io
import json
from dataclasses import replace
from decimal import Decimal
from functools import partial

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from connectors.file_sink.dataset import file_name
from connectors.file_sink.forms import LineForm, blocks, typed_batches, unwritable
from connectors.file_source.rows import Csv
from rocketconnect_sdk.columns.compact import Column
from rocketconnect_sdk.columns.declared import parse_columns
from rocketconnect_sdk.columns.objects import rows_of_array
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.sink import QueuePosition, SinkCommit
from tests.examples import some

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8)


@given(st.lists(TEXT | st.none(), max_size=8), st.integers(0, 3))
def test_text_is_one_line_a_value(values: list[str | None], skip: int) -> None:
    array = pa.array(values, pa.string())[skip:]
    assert bytes(LineForm("text").lines(array)) == "".join(f"{value or ''}\n" for value in values[skip:]).encode()


@given(st.lists(st.tuples(TEXT, st.none() | st.integers(-5, 5)), min_size=1, max_size=8))
def test_csv_is_read_back(rows: list[tuple[str, int | None]]) -> None:
    kind = pa.struct([("a,b", pa.string()), ("n", pa.int64())])
    array = pa.array([{"a,b": text, "n": number} for text, number in rows], kind)
    form = LineForm("csv", delimiter=";")
    data = (form.header(form.names(kind)) + bytes(form.lines(array))).decode()
    found = list(csv.reader(io.StringIO(data, newline=""), delimiter=";"))
    assert found == [["a,b", "n"], *([text, "" if number is None else str(number)] for text, number in rows)]


def test_nested_columns_are_json_in_csv() -> None:
    array = pa.array([{"l": [1, 2], "s": {"x": None}, "d": Decimal("1.50")}, None])
    assert bytes(LineForm("csv").lines(array)) == b'"[1,2]","{""x"":null}",1.50\n,,\n'


def test_a_block_is_its_lines_without_the_last_newline() -> None:
    form = LineForm("jsonlines")
    batch = pa.RecordBatch.from_arrays([pa.array([{"a": 1}, {"a": 2}])], names=["value"])
    (block,) = blocks(form, [batch, batch.slice(0, 0)])
    assert block.column("value").to_pylist() == [b'{"a":1}\n{"a":2}']


COLUMNS = parse_columns("id:int32, name, ok:boolean")


def test_columns_make_rows_of_json_objects() -> None:
    values = pa.array(['{"id": 1, "name": "a", "more": 5}', '{"ok": true}', None])
    expected = [{"id": 1, "name": "a", "ok": None}, {"id": None, "name": None, "ok": True}, {"id": None, "name": None, "ok": None}]
    assert rows_of_array(values, COLUMNS).to_pylist() == expected
    batch = pa.RecordBatch.from_arrays([values], names=["value"])
    assert [row for made in typed_batches(COLUMNS, [batch]) for row in made.to_pylist()] == expected
    assert rows_of_array(pa.array([{"id": 2, "x": 1}]), COLUMNS).to_pylist() == [{"id": 2, "name": None, "ok": None}]


NUMBERS = ["5", "-1", "1.0", "1e2", "3000000000", "1e400", "NaN", "-Infinity", "-0", "05", "+1"]
STRINGS = ['"a"', '"5"', '"\\u0000"', '"\\ud800"', '"\\ud83d\\ude00"', '"ü\\n"', '"open', '"tab\t"']
TOKENS = st.sampled_from([*NUMBERS, *STRINGS, "true", "null", "{}", '{"id":1}', "[1]", "[]", "", "tru", "{}}", "}{"])
PAIRS = st.lists(st.tuples(st.sampled_from(["id", "name", "ok", "x", "f"]), TOKENS), max_size=4)
OBJECT = PAIRS.map(lambda pairs: "{" + ", ".join(f'"{name}": {token}' for name, token in pairs) + "}")
FIELDS = {"id": st.integers(-5, 5), "name": TEXT, "ok": st.booleans(), "f": st.floats()}
GOOD = st.fixed_dictionaries({}, optional=FIELDS).map(json.dumps)


@pytest.mark.slow
@given(st.lists(OBJECT | GOOD | TOKENS, min_size=1, max_size=4))
@settings(max_examples=some(1000))
def test_many_texts_become_the_same_rows_as_each_alone(texts: list[str]) -> None:
    columns = parse_columns("id:int32, name, ok:boolean, f:double")

    def rows_of(some: list[str], nothing: list[None]) -> str:
        # A null among them, and each is looked at.
        try:
            return repr(rows_of_array(pa.array([*some, *nothing], pa.string()), columns).to_pylist()[: len(some)])
        except RecordError:
            return "refused"

    assert rows_of(texts, []) == rows_of(texts, [None])


@pytest.mark.parametrize("value", ["no json", "[1]", "5", '{"id": "x"}', '{"id": 3000000000}', '{"name": 1}', '{"ok": 1}'])
def test_what_is_no_row_of_the_columns_is_an_error(value: str) -> None:
    with pytest.raises(RecordError):
        rows_of_array(pa.array([value]), COLUMNS)


def commit(queues: dict[str, tuple[int, int]], incarnation: int = 0) -> SinkCommit:
    before = {queue: QueuePosition(begin, incarnation) for queue, (begin, _) in queues.items()}
    after = {queue: QueuePosition(end, incarnation) for queue, (_, end) in queues.items()}
    return SinkCommit("uid", 0, 1, before, after, 7, "0123456789abcdef0123")


def test_names_of_files_say_their_ranges() -> None:
    assert file_name(commit({"orders/broker-a/0": (5, 9)})) == "orders-broker-a-q0.5-9"
    assert file_name(commit({"orders/b/0": (5, 9)}, incarnation=2)) == "orders-b-q0.5-9-i2"
    assert file_name(commit({"orders/b/10": (0, 3), "orders/b/2": (5, 9)})) == "orders-b-q2.5-9_q10.0-3"
    assert file_name(commit({"o/a/0": (0, 1), "o/b/0": (2, 3), "p/a/0": (4, 5)})) == "o-a-q0.0-1+o-b-q0.2-3+p-a-q0.4-5"
    assert file_name(commit({"_hidden/b/0": (0, 1)})).startswith("x_hidden")


def test_the_names_of_all_queues_of_a_topic_as_it_is_created_fit_for_hundreds_of_millions_of_messages() -> None:
    name = file_name(commit({f"orders/broker-a/{number}": (123_456_789 + number, 987_654_321 + number) for number in range(8)}))
    assert name.startswith("orders-broker-a-q0.123456789-987654321_q1.123456790-")
    assert name.endswith("_q7.123456796-987654328")
    assert len(f"{name}-{10**12}-{10**5}.snappy.parquet") <= 255


def test_names_of_very_many_queues_are_short_and_each_batch_has_its_own() -> None:
    many = commit({f"orders/b/{number}": (0, 3) for number in range(64)})
    assert file_name(many) == "orders-64queues-7rows-0123456789abcdef"
    assert file_name(replace(many, token="f" * 32)) == "orders-64queues-7rows-ffffffffffffffff"
    assert len(file_name(commit({f"{'t' * 127}{number}/b/0": (0, 3) for number in range(8)}))) < 210


def made_by(form: LineForm, values: pa.Array) -> dict[int, str]:
    return unwritable(values, form.lines)


def test_values_that_cannot_be_written_are_found_among_many_with_how_they_begin() -> None:
    values = ['{"id": 1}'] * 1000
    values[17], values[500], values[999] = "no json", "[5]", '{"id": "' + "x" * 200 + '"}'
    found = made_by(LineForm("csv", COLUMNS), pa.array(values))
    assert list(found) == [17, 500, 999]
    assert "is not JSON" in found[17]
    assert found[17].endswith("; the value begins 'no json'")
    assert "no JSON object" in found[500]
    assert "column `id`" in found[999]
    assert found[999].endswith("xxx'")
    assert len(found[999]) < 600
    assert unwritable(pa.array(values)[:17], partial(rows_of_array, columns=COLUMNS)) == {}
    assert list(unwritable(pa.array([{"id": 1}, {"id": 2**40}]), partial(rows_of_array, columns=COLUMNS))) == [1]


def test_bytes_that_are_no_text_cannot_be_in_csv() -> None:
    kind = pa.struct([("b", pa.binary())])
    found = made_by(LineForm("csv"), pa.array([{"b": b"ok"}, {"b": b"\xff"}], kind))
    assert list(found) == [1]
    assert "no CSV form" in found[1]
    assert list(made_by(LineForm("csv"), pa.array([b"ok", b"\xff", None], pa.binary()))) == [1]


def test_a_csv_file_of_every_type_is_read_as_what_was_written() -> None:
    """But bytes, which are written as they are."""
    of_time = "t:time(ms), n:time(ns), at:timestamp, m:timestamp(ms), w:timestamp_ntz(ns)"
    columns = parse_columns(f"d:decimal(7,2), day:date, {of_time}, u:uuid, j:json, i:uint64")
    texts = '"d":"1.5","day":"2024-02-29","t":"01:02:03","n":"01:02:03.000000001","at":"2024-02-29T01:02:03.000004Z"'
    more = '"m":"2024-02-29T01:02:03.5Z","w":"2024-02-29T01:02:03","u":"12345678-1234-5678-1234-567812345678"'
    values = pa.array([f'{{{texts},{more},"j":{{"a":"x,y"}},"i":18446744073709551615}}', "{}"])
    data = bytes(LineForm("csv", columns).lines(values))
    read = Csv(1000, replace=False, columns=columns, header=False).cut(data, 0, last=True)
    assert list(read.values) == list(Column(rows_of_array(values, columns)))
