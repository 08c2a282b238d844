"""Blocks of CSV as columns: the same rows and offsets as row by row, or none."""

import re
from collections.abc import Iterable
from datetime import UTC, date, datetime, time
from decimal import Decimal
from uuid import UUID

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from connectors.file_source.records import Cut
from connectors.file_source.rows import Csv
from rocketconnect_sdk.columns.compact import Column
from rocketconnect_sdk.columns.declared import TYPES, parse_columns
from rocketconnect_sdk.record import Rejected
from tests.examples import some

NUMBERS = ["5", "-5", "0", "007", "+1", "-0", "0x1F", "1e3", "5.0", " 5", "", "NA", "127", "128", "-129", "9" * 19, "-" + "9" * 18]
FRACTIONS = [
    "0.1",
    ".5",
    "5.",
    "1e5",
    "1E-5",
    "1e400",
    "-1e-400",
    "-0.0",
    "nan",
    "inf",
    "01.5",
    "1.5.5",
    "3.4e38",
    "3.5e38",
    "1e-46",
]
WORDS = ["true", "True", "0", "yes", "a", "ü", "a b", "\t", "x\0", '"q"', '"a\nb"', 'a"b', '""', "\r", "\ufeff", "NaN", "null"]
MOMENTS = [
    "2024-02-29",
    "2023-02-29",
    "0000-01-01",
    "9999-12-31",
    "2024-2-29",
    "01:02:03",
    "24:00:00",
    "23:59:60",
    "23:59:59.999",
    "23:59:59.9999999",
    "01:02",
    "2024-02-29T01:02:03Z",
    "2024-02-29 01:02:03.5+02:00",
    "2024-02-29T01:02:03.123456789-23:59",
    "2024-02-29T01:02:03+24:00",
    "0001-01-01T00:00:00+01:00",
    "9999-12-31T23:59:59.999999-00:01",
    "9999-12-31T23:59:59.999Z",
    "2024-02-29T01:02:03",
    "2024-02-29 24:00:00",
    "1600-01-01T00:00:00.000000001",
    "0001-01-01 00:00:00.1",
]
OTHERS = [
    "12345678-1234-5678-1234-567812345678",
    "ABCDEF12-1234-5678-1234-567812345678",
    "{12345678-1234-5678-1234-567812345678}",
    "{}",
    "[1]",
    "QQ==",
    "QR==",
    "QQ",
    "QUI=\n",
    "-0.10",
    "-0.00",
    "99999.99",
    "100000",
    "1.500",
    "+1.5",
    "1e3",
    "256",
    "65536",
    "4294967295",
    "18446744073709551615",
    "18446744073709551616",
]
FIELD = st.sampled_from([*NUMBERS, *FRACTIONS, *WORDS, *MOMENTS, *OTHERS]) | st.text(max_size=4)
KINDS = [*TYPES, "decimal(7,2)", "decimal(38,0)", "decimal(38,38)"]
PLAIN = st.sampled_from(["5", "-5", "", "12", "0", "NA"])


@st.composite
def blocks(draw: st.DrawFn) -> tuple[bytes, str]:
    kinds = draw(st.lists(st.sampled_from(KINDS), min_size=1, max_size=4))
    field = draw(st.sampled_from([FIELD, PLAIN]))
    rows = draw(st.lists(st.lists(field, min_size=len(kinds), max_size=len(kinds) + draw(st.integers(0, 1))), max_size=6))
    end = draw(st.sampled_from(["\n", "\r\n"]))
    text = "".join(",".join(row) + end for row in rows)
    damage = draw(st.sampled_from([b"", b"\xff", b"rest", b"\n"]))
    return text.encode("utf-8", "surrogatepass") + damage, ",".join(f"c{number}:{kind}" for number, kind in enumerate(kinds))


def cut(
    data: bytes, columns: str, *, wanted: bool, null: str | None = None, last: bool = False, limit: int = 1000, large: int = 1 << 16
) -> Cut:
    form = Csv(
        limit,
        replace=False,
        columns=parse_columns(columns),
        header=False,
        null=null,
        key=columns.partition(":")[0],
        columns_wanted=wanted,
    )
    form.large = large
    return form.cut(data, 100, last=last)


def rounded(values: Iterable[object], columns: str) -> str:
    """As text, which tells zeros apart. A column of floats has them rounded already, row by row that comes later."""
    floats = [part.partition(":")[0] for part in columns.split(",") if part.endswith(":float")]
    shown = repr([value | _floats(value, floats) if isinstance(value, dict) else value for value in values])
    return shown.replace("zoneinfo.ZoneInfo(key='UTC')", repr(UTC))


def _floats(value: dict[str, object], names: list[str]) -> dict[str, object]:
    return {name: pa.scalar(value[name], pa.float32()).as_py() for name in names if name in value}


@pytest.mark.slow
@given(blocks(), st.sampled_from([None, "NA", ""]), st.booleans())
@settings(max_examples=some(1500), deadline=None)
def test_columns_are_what_row_by_row_gives(block: tuple[bytes, str], null: str | None, last: bool) -> None:
    data, columns = block
    row_by_row, found = (cut(data, columns, wanted=wanted, null=null, last=last) for wanted in (False, True))
    if isinstance(found.values, Column) and last and found.used < len(data):
        # The line without an end comes with the next call.
        rest = Csv(1000, replace=False, columns=parse_columns(columns), header=False, null=null, key="c0")
        more = rest.cut(data[found.used :], 100 + found.used, last=True)
        values, offsets = [*found.values, *more.values], [*found.offsets, *more.offsets]
    else:
        values, offsets = list(found.values), list(found.offsets)
    assert rounded(values, columns) == rounded(row_by_row.values, columns)
    assert offsets == list(row_by_row.offsets)
    if len(found.values) == len(values):
        assert found.used == row_by_row.used
        keys = [[{"c0": key} for key in each.keys or ()] for each in (found, row_by_row)]
        assert rounded(keys[0], columns) == rounded(keys[1], columns)


@pytest.mark.parametrize("kind", KINDS)
def test_every_odd_text_is_the_same_by_columns_and_row_by_row(kind: str) -> None:
    for text in [*NUMBERS, *FRACTIONS, *WORDS, *MOMENTS, *OTHERS]:
        both = [cut(f"{text},\n".encode(), f"c:{kind},d", wanted=wanted) for wanted in (True, False)]
        columns, rows = (rounded(found.values, f"c:{kind}") for found in both)
        assert columns == rows, text


def exactly(values: Iterable[object] | None) -> str:
    return repr(values and list(values)).replace("zoneinfo.ZoneInfo(key='UTC')", repr(UTC))


@given(blocks(), st.sampled_from([None, "NA", ""]))
@settings(max_examples=some(500), deadline=None)
def test_large_blocks_give_the_same_rows_as_small_ones(block: tuple[bytes, str], null: str | None) -> None:
    data, columns = block
    small, large = (cut(data, columns, wanted=False, null=null, large=size) for size in (1 << 16, 0))
    assert exactly(large.values) == exactly(small.values)
    keys = [None if each.keys is None else list(each.keys) for each in (large, small)]
    assert (list(large.offsets), large.used, exactly(keys[0])) == (list(small.offsets), small.used, exactly(keys[1]))


def test_plain_blocks_become_columns() -> None:
    found = cut(b"5,a,0.5,true\r\n,,NA,\r\n", "i:int8,s,f:float,b:boolean", wanted=True, null="NA")
    assert isinstance(found.values, Column)
    assert list(found.values) == [
        {"i": 5, "s": "a", "f": 0.5, "b": True},
        {"i": None, "s": "", "f": None, "b": None},
    ]
    assert list(found.offsets) == [(114,), (121,)]


@pytest.mark.parametrize("data", [b'1,"a\nb"\n', b"1\n", b"x,a\n", b"1,\xff\n", b"1,a\n\n2,b\n"])
def test_a_block_with_anything_else_is_read_row_by_row(data: bytes) -> None:
    found = cut(b"0,plain\n" + data + b"3,more\n", "i:int64,s", wanted=True)
    assert not isinstance(found.values, Column)
    assert found.values[0] == {"i": 0, "s": "plain"}
    assert found.values[-1] == {"i": 3, "s": "more"}
    assert sum(isinstance(value, Rejected) for value in found.values) == (data in (b"1\n", b"x,a\n", b"1,\xff\n"))


def test_texts_of_every_type_become_columns() -> None:
    columns = "d:decimal(7,2), day:date, t:time(ms), n:time(ns), at:timestamp, w:timestamp_ntz(ms), u:uuid, j:json, b:bytes"
    columns += ", i:uint64, o:date"
    line = (
        b"-1.5,2024-02-29,01:02:03.5,00:00:00.000000007,2024-02-29T01:02:03.000004+01:00,2024-02-29 01:02:03,"
        b"12345678-1234-5678-1234-567812345678,[1],QQ==,18446744073709551615,\n"
    )
    found = [cut(line, columns, wanted=wanted).values for wanted in (True, False)]
    assert [isinstance(values, Column) for values in found] == [True, False]
    expected = {
        "d": Decimal("-1.50"),
        "day": date(2024, 2, 29),
        "t": time(1, 2, 3, 500_000),
        "n": 7,
        "at": datetime(2024, 2, 29, 0, 2, 3, 4, UTC),
        "w": datetime(2024, 2, 29, 1, 2, 3),  # noqa: DTZ001  # without a zone
        "u": UUID("12345678-1234-5678-1234-567812345678"),
        "j": "[1]",
        "b": b"A",
        "i": (1 << 64) - 1,
        "o": None,
    }
    assert list(found[0]) == list(found[1]) == [expected]


@pytest.mark.parametrize(
    ("kind", "text", "reason"),
    [
        (
            "decimal(3,2)",
            "10.00",
            r"a decimal of 3 digits, 2 of them behind the point, and `10.00` is not; make it `decimal\(4,2\)`",
        ),
        ("decimal(3,2)", "1.005", r"`1.005` is not; make it `decimal\(4,3\)`"),
        ("date", "29.02.2024", 'a date such as 2024-02-29, and `"29.02.2024"` is not'),
        ("time(ms)", "01:02:03.0001", "a time such as 23:59:59.111, and"),
        ("timestamp", "2024-02-29T01:02:03", "a time such as 2024-02-29T23:59:59.111111Z, and"),
        ("timestamp_ntz", "2024-02-29T01:02:03Z", "a time such as 2024-02-29T23:59:59.111111, and"),
        ("timestamp(ns)", "1600-01-01T00:00:00Z", "a time from 1678 to 2261 such as"),
        ("uuid", "x", "a UUID such as"),
        ("json", "{", "JSON, and this text is not"),
        ("bytes", "QQ", "base64 text, and this text is not"),
        ("uint8", "256", "a whole number from 0 to 255, and `256` is not; make it `int16`"),
        ("uint64", "-1", f"a whole number from 0 to {(1 << 64) - 1}, and `-1` is not; make it `int16`"),
    ],
)
def test_a_text_that_stands_for_no_value_of_the_column_says_why(kind: str, text: str, reason: str) -> None:
    (found,) = cut(f"{text}\n".encode(), f"c:{kind}", wanted=True).values
    assert isinstance(found, Rejected)
    assert re.match(f"the column `c` is .*{reason}", found.reason), found.reason
