"""Columns of values into lines and rows; no Spark."""

import csv
import io
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectors.file_sink.dataset import file_name
from connectors.file_sink.forms import LineForm, blocks, typed, typed_batches
from rocketconnect_sdk.columns import parse_columns
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.sink import QueuePosition, SinkCommit

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
    assert typed(values, COLUMNS).to_pylist() == expected
    batch = pa.RecordBatch.from_arrays([values], names=["value"])
    assert [row for made in typed_batches(COLUMNS, [batch]) for row in made.to_pylist()] == expected
    assert typed(pa.array([{"id": 2, "x": 1}]), COLUMNS).to_pylist() == [{"id": 2, "name": None, "ok": None}]


@pytest.mark.parametrize("value", ["no json", "[1]", "5", '{"id": "x"}', '{"id": 3000000000}', '{"name": 1}', '{"ok": 1}'])
def test_what_is_no_row_of_the_columns_is_an_error(value: str) -> None:
    with pytest.raises(RecordError):
        typed(pa.array([value]), COLUMNS)


def commit(queues: dict[str, tuple[int, int]], incarnation: int = 0) -> SinkCommit:
    before = {queue: QueuePosition(begin, incarnation) for queue, (begin, _) in queues.items()}
    after = {queue: QueuePosition(end, incarnation) for queue, (_, end) in queues.items()}
    return SinkCommit("uid", 0, 1, before, after, 7, "0123456789abcdef0123")


def test_names_of_files_say_their_ranges_while_that_can_be_read() -> None:
    assert file_name(commit({"orders/broker-a/0": (5, 9)})) == "orders-broker-a-0-5-9"
    assert file_name(commit({"orders/b/0": (5, 9)}, incarnation=2)) == "orders-b-0-5-9-i2"
    assert file_name(commit({"orders/b/1": (0, 3), "orders/b/0": (5, 9)})) == "orders-b-0-5-9+orders-b-1-0-3"
    many = commit({f"orders/b/{number}": (0, 3) for number in range(8)})
    assert file_name(many) == "orders-8queues-7rows-0123456789abcdef"
    assert file_name(commit({"_hidden/b/0": (0, 1)})).startswith("x_hidden")
