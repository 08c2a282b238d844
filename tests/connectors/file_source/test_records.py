"""Bytes into records: against plain definitions, at every boundary."""

import csv
import io
import json
from dataclasses import replace
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from connectors.file_source import FileSource
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.options import parse
from rocketconnect_sdk.record import Offset, Rejected
from rocketconnect_sdk.testing import at
from tests.connectors.polling import polled
from tests.examples import some

LIMIT = 50


def read(
    steps: list[bytes], positions: dict[str, Offset] | None = None, size: int = 1 << 20, **options: str
) -> tuple[list[Any], list[Offset], str]:
    """Writes a file step by step and reads it in between: values, offsets, partition."""
    with TemporaryDirectory() as directory:
        path = Path(directory) / "a"
        raw = {"filename": str(path), **{key.replace("_", "."): value for key, value in options.items()}}
        context = TaskContext(max_record_bytes=LIMIT, batch_bytes=size)
        source = FileSource()
        with path.open("ab", buffering=0) as file:
            task = source.open(parse(source.options, raw), {"share": "0/1"}, context)
            file.write(steps[0])
            task.start(at(positions or {}))
            values: list[Any] = []
            offsets: list[Offset] = []
            partition = ""
            for step in [b"", *steps[1:]]:
                file.write(step)
                for batch in polled(task):
                    values += [_without(directory, value) for value in batch.values]
                    offsets += batch.offsets
                    partition = batch.partition
            task.close()
    return values, offsets, partition


def _without(directory: str, value: object) -> object:
    if not isinstance(value, Rejected):
        return value
    return replace(value, reason=value.reason.replace(directory, ""), advice=value.advice.replace(directory, ""))


def pieces(data: bytes, cuts: list[int]) -> list[bytes]:
    places = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    return [data[begin:end] for begin, end in pairwise(places)]


LINE = (
    st.binary(max_size=12)
    | st.text(max_size=8).map(lambda text: text.encode("utf-8", "ignore"))
    | st.binary(min_size=45, max_size=120)
)
DATA = st.lists(LINE, max_size=12).map(lambda lines: b"x\n" + b"\n".join(lines).replace(b"\0", b" "))
CUTS = st.lists(st.integers(0, 1000), max_size=5)
SIZES = st.sampled_from([1, 2, 7, 64, 1000])


def expected(line: bytes) -> object:
    if len(line) > LIMIT:
        return ("RecordTooLarge", len(line), sha256(line).hexdigest(), line[:4096])
    try:
        return line.decode().removesuffix("\r")
    except UnicodeDecodeError:
        return ("InvalidUtf8", len(line), sha256(line).hexdigest(), line)


def seen(value: object) -> object:
    return (value.error, value.length, value.sha256, value.original) if isinstance(value, Rejected) else value


@given(DATA, CUTS, SIZES)
@settings(max_examples=some(200), deadline=None)
def test_lines_come_out_whole_wherever_the_file_is_cut(data: bytes, cuts: list[int], size: int) -> None:
    values, offsets, _ = read(pieces(data, cuts), size=size)
    lines = data.split(b"\n")[:-1]
    assert list(map(seen, values)) == list(map(expected, lines))
    ends = [sum(map(len, lines[: i + 1])) + i + 1 for i in range(len(lines))]
    assert offsets == [(end,) for end in ends]


@given(DATA, st.integers(0, 100), SIZES, st.booleans())
@settings(max_examples=some(200), deadline=None)
def test_any_offset_is_a_place_to_go_on(data: bytes, number: int, size: int, follow: bool) -> None:
    with TemporaryDirectory() as directory:
        path = Path(directory) / "a"
        path.write_bytes(data)
        source = FileSource()
        config = parse(source.options, {"filename": str(path), "follow": str(follow).lower()})

        def run(positions: dict[str, Offset]) -> list[tuple[object, Offset, str]]:
            task = source.open(config, {"share": "0/1"}, TaskContext(max_record_bytes=LIMIT, batch_bytes=size))
            task.start(at(positions))
            found = []
            for batch in polled(task):
                found += [(value, offset, batch.partition) for value, offset in zip(batch.values, batch.offsets, strict=True)]
            task.close()
            return found

        whole = run({})
        last = number % len(whole)
        assert run({whole[last][2]: whole[last][1]}) == whole[last + 1 :]


FIELD = st.text(st.sampled_from('ab",\n\r ü;'), max_size=6)
ROWS = st.lists(st.tuples(FIELD, FIELD), max_size=6)


@given(ROWS, CUTS, SIZES, st.sampled_from(["\n", "\r\n"]))
@settings(max_examples=some(200), deadline=None)
def test_whatever_csv_writes_is_read_back_wherever_it_is_cut(
    rows: list[tuple[str, str]], cuts: list[int], size: int, end: str
) -> None:
    out = io.StringIO()
    csv.writer(out, lineterminator=end, quoting=csv.QUOTE_ALL).writerows([("x", "y"), *rows])
    values, offsets, _ = read(pieces(out.getvalue().encode(), cuts), size=size, format="csv")
    short = [row for row in rows if not _long(row)]
    assert [value for value in values if not isinstance(value, Rejected)][: len(short)] == [{"x": x, "y": y} for x, y in short]
    assert offsets == sorted(set(offsets))


def _long(row: tuple[str, str]) -> bool:
    return sum(len(field.encode()) + field.count('"') for field in row) + 5 > LIMIT


@given(st.text(st.sampled_from('ab",\n\r'), max_size=200), CUTS, st.booleans())
@settings(max_examples=some(300), deadline=None)
def test_no_text_is_too_strange_for_csv(text: str, cuts: list[int], last: bool) -> None:
    """Bad rows are rejected, nothing is lost, and where the file is cut changes nothing."""
    data = ("x,y\n" + text).encode()
    follow = str(not last).lower()
    once = read([data], format="csv", follow=follow)
    assert read([data], size=1, format="csv", follow=follow)[:2] == once[:2]
    if not last:
        assert read(pieces(data, cuts), format="csv")[:2] == once[:2]
    assert all(isinstance(value, dict | Rejected) for value in once[0])


def test_a_quote_that_is_never_closed_costs_one_line() -> None:
    rows = "".join(f"{number},row number {number}\n" for number in range(10))
    values, _, _ = read([f'x,y\n0,"open\n{rows}'.encode()], format="csv")
    assert isinstance(values[0], Rejected)
    assert values[0].error == "InvalidCsv"
    assert values[0].original == b'0,"open'
    assert len(values) == 11


@pytest.mark.parametrize("size", [1, 100, 1 << 20])
def test_a_long_line_is_rejected_with_its_hash_and_without_being_held(size: int) -> None:
    long = b"long " * 100_000
    values, offsets, _ = read(
        [b"a\n" + long + b"\nb\n"] if size > 1 else [b"a\n", long[:300], long[300:], b"\nb\n"], size=max(size, 100)
    )
    assert [values[0], values[2]] == ["a", "b"]
    assert seen(values[1]) == ("RecordTooLarge", len(long), sha256(long).hexdigest(), long[:4096])
    assert offsets == [(2,), (len(long) + 3,), (len(long) + 5,)]


def test_a_long_line_does_not_take_memory() -> None:
    import tracemalloc

    with TemporaryDirectory() as directory:
        path = Path(directory) / "a"
        with path.open("wb") as file:
            file.truncate(0)
            for _ in range(64):
                file.write(b"x" * (1 << 20))
            file.write(b"\nlast\n")
        source = FileSource()
        task = source.open(parse(source.options, {"filename": str(path)}), {"share": "0/1"}, TaskContext())
        task.start({})
        tracemalloc.start()
        (first,), (second,) = task.poll(), task.poll()
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        task.close()
    assert isinstance(first.values[0], Rejected)
    assert second.values == ["last"]
    assert peak < 20 << 20


def test_wrong_bytes_are_rejected_or_replaced_by_option() -> None:
    data = b"good\nb\xffd\nalso \xc3\xbc\n"
    rejected = read([data])[0]
    assert [rejected[0], rejected[2]] == ["good", "also ü"]
    assert seen(rejected[1]) == ("InvalidUtf8", 3, sha256(b"b\xffd").hexdigest(), b"b\xffd")
    assert read([data], encoding_errors="replace")[0] == ["good", "b�d", "also ü"]
    rows = read([b"x,y\n1,b\xffd\n2,fine\n"], format="csv")[0]
    assert seen(rows[0]) == ("InvalidUtf8", 5, sha256(b"1,b\xffd").hexdigest(), b"1,b\xffd")
    assert rows[1] == {"x": "2", "y": "fine"}
    assert read([b"x\nb\xffd\n"], format="csv", encoding_errors="replace")[0] == [{"x": "b�d"}]
    lines = read([b'"b\xffd"\n{"a":1}\n'], format="jsonlines")[0]
    assert seen(lines[0]) == ("InvalidUtf8", 5, sha256(b'"b\xffd"').hexdigest(), b'"b\xffd"')
    assert read([b'"b\xffd"\n'], format="jsonlines", encoding_errors="replace")[0] == ["b�d"]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(exclude_categories=["Cs"]), max_size=5),
    st.lists,
    max_leaves=4,
)


@given(
    st.lists(
        JSON | st.just(...) | st.sampled_from(["{", "[" * 40, '{"a":', "nul", "1 2", "\\"]).map(lambda text: (text,)), max_size=8
    ),
    CUTS,
    SIZES,
)
@settings(max_examples=some(150), deadline=None)
def test_json_lines_are_read_and_others_rejected(values: list[Any], cuts: list[int], size: int) -> None:
    lines = ["" if value is ... else value[0] if isinstance(value, tuple) else json.dumps(value) for value in values]
    data = "".join(f"{line}\n" for line in lines).encode()
    found, _, _ = read(pieces(data, cuts), size=size, format="jsonlines")
    bad = ("InvalidJson", "RecordTooLarge")
    assert [value.error in bad if isinstance(value, Rejected) else value for value in found] == [
        True if isinstance(value, tuple) or len(line.encode()) > LIMIT else value
        for value, line in zip(values, lines, strict=True)
        if value is not ...
    ]


def test_a_byte_order_mark_is_no_part_of_json_and_csv() -> None:
    mark = b"\xef\xbb\xbf"
    assert read([mark + b"[1]\n[2]\n"], format="jsonlines")[:2] == ([[1], [2]], [(7,), (11,)])
    assert read([mark + b"x\n1\n"], format="csv")[:2] == ([{"x": "1"}], [(7,)])


def test_deeply_nested_json_is_rejected() -> None:
    task_limit = 200_000
    with TemporaryDirectory() as directory:
        path = Path(directory) / "a"
        path.write_text("[" * task_limit + "\n1\n")
        source = FileSource()
        task = source.open(parse(source.options, {"filename": str(path), "format": "jsonlines"}), {"share": "0/1"}, TaskContext())
        task.start({})
        (batch,) = task.poll()
        task.close()
    assert isinstance(batch.values[0], Rejected)
    assert batch.values[1] == 1


def test_csv_columns_have_types_and_nulls() -> None:
    data = b"i,f,b,s\n1,1.5,true,x\n,,,\nNA,NA,NA,NA\n300,1,0,y\n"
    columns = "i:int8, f:double, b:boolean"
    values = read([data], format="csv", columns=columns, csv_null="NA")[0]
    assert values[:3] == [
        {"i": 1, "f": 1.5, "b": True, "s": "x"},
        {"i": None, "f": None, "b": None, "s": ""},
        {"i": None, "f": None, "b": None, "s": None},
    ]
    assert isinstance(values[3], Rejected)
    assert values[3].reason.endswith("the column `i` is a whole number from -128 to 127, and `300` is not; make it `int16`")


@pytest.mark.parametrize(
    ("kind", "text", "said"),
    [
        ("int64", "12.5", "a whole number, and `12.5` is not; make it `double`"),
        ("int64", "007", 'a whole number, and `"007"` is not; make it `string`'),
        ("int64", "true", "a whole number, and `true` is not; make it `boolean`"),
        ("double", "n/a", 'a number, and `"n/a"` is not; make it `string`'),
        ("boolean", "yes", 'true or false, and `"yes"` is not; make it `string`'),
        ("date", "29.2.2024", 'a date such as 2024-02-29, and `"29.2.2024"` is not; make it `string`'),
        (
            "decimal(4,2)",
            "0.12345678901234567",
            "a decimal of 4 digits, 2 of them behind the point, and `0.12345678901234567` is not; make it `decimal(19,17)`",
        ),
    ],
)
def test_a_field_that_is_none_of_its_column_says_which_type_takes_it(kind: str, text: str, said: str) -> None:
    (value,) = read([f"x,year\n1,{text}\n".encode()], format="csv", columns=f"year:{kind}")[0]
    assert isinstance(value, Rejected)
    assert value.reason.endswith(f": the column `year` is {said}")


@pytest.mark.parametrize(
    ("data", "options", "begin", "end"),
    [
        (b"x,y\n1,2\n\n3\n", {"format": "csv"}, 9, (11,)),
        (b"x,y\r\n1,2\r\n3\r\n", {"format": "csv"}, 10, (13,)),
        (b"x,y\n1,2\n3", {"format": "csv", "follow": "false"}, 8, (9, 1)),
        (b"x\n\xff\n", {}, 2, (4,)),
        (b"[1]\n" + b"x" * 200 + b"\n", {"format": "jsonlines"}, 4, (205,)),
        (b"[1]\n" + b"x" * 200, {"format": "jsonlines", "follow": "false"}, 4, (204, 1)),
    ],
    ids=["behind a blank line", "carriage returns", "no newline", "text", "too long", "too long without newline"],
)
def test_a_bad_record_names_its_file_its_bytes_and_how_to_go_on(
    data: bytes, options: dict[str, str], begin: int, end: Offset, tmp_path: Path
) -> None:
    (tmp_path / "b.csv").write_bytes(data)
    source = FileSource()
    config = parse(source.options, {"filename": str(tmp_path / "*.csv"), **options})
    task = source.open(config, {"share": "0/1"}, TaskContext(max_record_bytes=LIMIT))
    task.start({})
    found: list[tuple[object, Offset]] = []
    while not task.finished and not any(isinstance(value, Rejected) for value, _ in found):
        for batch in task.poll():
            found += zip(batch.values, batch.offsets, strict=True)
    task.close()
    value, offset = found[-1]
    assert isinstance(value, Rejected)
    assert offset == end
    assert value.reason.startswith(f"{tmp_path}/b.csv, bytes {begin} to {end[0]}: ")
    lines = data[:begin].count(b"\n") - (options.get("format") == "csv")
    assert (f"read from its beginning, and {lines} line" in value.advice) is (lines > 0)
    assert f"`cp CORRECTED {tmp_path}/b.csv`, then restart the connector, which goes on here." in value.advice


def test_csv_without_a_header_and_with_tabs() -> None:
    values = read([b"1\ta\n2\tb,c\n"], format="csv", csv_header="false", columns="n:int32,t", csv_delimiter="\\t")[0]
    assert values == [{"n": 1, "t": "a"}, {"n": 2, "t": "b,c"}]


def test_rows_with_other_numbers_of_fields_are_rejected() -> None:
    values = read([b"x,y\n1\n1,2,3\n1,2\n"], format="csv")[0]
    assert [isinstance(value, Rejected) for value in values] == [True, True, False]
    assert "1 field" in values[0].reason


def test_a_line_that_begins_a_whole_document_says_how_the_file_becomes_lines() -> None:
    values = read([b'[{"a":1},\n{"a":2}]\n{\n'], format="jsonlines")[0]
    assert [isinstance(value, Rejected) for value in values] == [True] * 3
    assert "one JSON array, and format=jsonlines" in values[0].reason
    assert "jq -c '.[]' in.json > out.jsonl" in values[0].reason
    assert "jq" not in values[1].reason
    assert "one JSON object over several lines" in values[2].reason


@pytest.mark.parametrize(
    ("form", "columns", "values"),
    [
        ("csv", "id:int64,name", [{"id": 1, "name": "a"}, {"id": 2, "name": "b"}]),
        ("csv", "id,name", [{"id": "1", "name": "a"}, {"id": "2", "name": "b"}]),
        ("text", "", ["1,a", "2,b"]),
    ],
)
@pytest.mark.parametrize("cut", range(12))
def test_the_mark_that_a_file_begins_with_is_in_no_field(form: str, columns: str, values: list[Any], cut: int) -> None:
    data = b"\xef\xbb\xbf1,a\n2,b\n"
    found, offsets, _ = read([data[:cut], data[cut:]], format=form, csv_header="false", columns=columns)
    assert (found, offsets[-1]) == (values, (len(data),))


@pytest.mark.parametrize("form", ["csv", "text", "jsonlines"])
def test_a_file_with_nothing_but_the_mark_has_no_record_yet(form: str) -> None:
    found, _, _ = read([b"\xef\xbb\xbf", b"1\n"], format=form, csv_header="false", columns="n" if form == "csv" else "")
    assert found == [{"csv": {"n": "1"}, "text": "1", "jsonlines": 1}[form]]
