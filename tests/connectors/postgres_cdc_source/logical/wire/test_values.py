"""Texts of PostgreSQL as values."""

from collections.abc import Callable
from datetime import UTC, date, datetime, time
from decimal import Decimal
from math import isnan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectors.postgres_cdc_source.logical.lsn import LARGEST, format_lsn, parse_lsn
from connectors.postgres_cdc_source.logical.types import TEXT, builtin
from connectors.postgres_cdc_source.logical.wire import scalars
from connectors.postgres_cdc_source.logical.wire.literals import read_array, read_hstore
from connectors.postgres_cdc_source.logical.wire.values import Beyond
from rocketconnect_sdk.schema import Type


@given(st.integers(0, LARGEST))
def test_a_place_in_the_log_goes_through_its_text(lsn: int) -> None:
    assert parse_lsn(format_lsn(lsn)) == lsn


@pytest.mark.parametrize("text", ["", "0", "1/2/3", "0/123456789", "x/1", "-1/0"])
def test_what_is_no_place_in_the_log_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="log sequence number"):
        parse_lsn(text)


@pytest.mark.parametrize(
    ("read", "text"),
    [
        (scalars.day, "infinity"),
        (scalars.day, "-infinity"),
        (scalars.day, "0044-03-15 BC"),
        (scalars.day, "5874897-12-31"),
        (scalars.moment, "infinity"),
        (scalars.moment, "294276-12-31 23:59:59.999999"),
        (scalars.moment, "4713-01-01 00:00:00+00 BC"),
        (scalars.clock, "24:00:00"),
        (scalars.interval, "infinity"),
    ],
)
def test_what_python_has_no_value_for_keeps_its_text(read: Callable[[str], object], text: str) -> None:
    assert read(text) == Beyond(text)


def test_infinity_is_told_from_a_far_date() -> None:
    assert Beyond("-infinity").is_infinite
    assert not Beyond("0044-03-15 BC").is_infinite


@pytest.mark.parametrize("read", [scalars.day, scalars.moment, scalars.clock, scalars.interval, scalars.binary, scalars.float32])
def test_a_text_of_another_type_is_no_value(read: Callable[[str], object]) -> None:
    with pytest.raises(ValueError, match=r"is no|could not convert"):
        read("x\\y")


def test_dates_and_times_are_pythons_own() -> None:
    assert scalars.day("2024-02-29") == date(2024, 2, 29)
    assert scalars.clock("23:59:59.5") == time(23, 59, 59, 500_000)
    assert scalars.moment("2024-02-29 01:02:03.000004") == datetime(2024, 2, 29, 1, 2, 3, 4)  # noqa: DTZ001
    assert scalars.moment("2024-02-29 01:02:03+00") == datetime(2024, 2, 29, 1, 2, 3, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "months", "days", "microseconds"),
    [
        ("PT0S", 0, 0, 0),
        ("P1Y2M3DT4H5M6.789S", 14, 3, 14_706_789_000),
        ("P-1Y-2M3DT-4H-5M-6.789S", -14, 3, -14_706_789_000),
        ("PT-0.5S", 0, 0, -500_000),
        ("P1DT-24H", 0, 1, -86_400_000_000),
    ],
)
def test_months_days_and_microseconds_of_an_interval_are_apart(text: str, months: int, days: int, microseconds: int) -> None:
    assert scalars.interval(text) == {"months": months, "days": days, "microseconds": microseconds}


def test_bytes_are_read_in_both_forms() -> None:
    assert scalars.binary("\\xdeadBEEF") == b"\xde\xad\xbe\xef"
    assert scalars.binary("a\\000b\\\\c\\377") == b"a\0b\\c\xff"


def test_an_amount_has_the_digits_of_its_currency() -> None:
    assert scalars.money("-$1,234.56", 2) == Decimal("-1234.56")
    assert scalars.money("$1,234.56", 0) == Decimal(123_456)


def test_a_number_of_32_bits_is_the_one_that_is_meant() -> None:
    assert scalars.float32("0.1") == 0.10000000149011612
    assert isnan(scalars.float32("NaN"))


@pytest.mark.parametrize(
    ("modifier", "schema"),
    [(-1, (Type.STRING, 38, 0)), ((10 << 16 | 2) + 4, (Type.DECIMAL, 10, 2)), ((5 << 16 | 2045) + 4, (Type.STRING, 38, 0))],
)
def test_a_numeric_is_a_decimal_where_its_digits_are_said(modifier: int, schema: tuple[Type, int, int]) -> None:
    found = builtin(1700, modifier, 2)
    assert found is not None
    assert (found.schema.type, found.schema.precision, found.schema.scale) == schema


def test_arrays_of_built_in_types_are_known_and_other_types_are_not() -> None:
    found = builtin(1007, -1, 2)
    assert found is not None
    assert found.schema.items is not None
    assert found.schema.items.type is Type.INT32
    assert found.read("{1,NULL,-3}") == [1, None, -3]
    assert builtin(99_999, -1, 2) is None


@pytest.mark.parametrize(
    ("text", "elements"),
    [
        ("{}", []),
        ("{a,NULL,b}", ["a", None, "b"]),
        ('{"NULL","","a,b","q\\"\\\\"}', ["NULL", "", "a,b", 'q"\\']),
        ("{{1,2},{3,NULL}}", [["1", "2"], ["3", None]]),
        ('[0:1][-1:0]={{a,"{}"},{c,d}}', [["a", "{}"], ["c", "d"]]),
    ],
)
def test_an_array_is_lists(text: str, elements: list[object]) -> None:
    assert read_array(text, str) == elements


@pytest.mark.parametrize(
    "text", ["", "{", "}", "1", "{1}{2}", "{{1}", '{"a}', "{1,}x", '{"a"b}', "{{1}2}", "{" * 50, "[1:2]", '{"a",}']
)
def test_what_is_no_array_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no array"):
        read_array(text, str)


@given(st.recursive(st.none() | st.text(), lambda inner: st.lists(inner, min_size=1, max_size=3), max_leaves=20))
def test_any_array_is_read_as_it_was_written(value: object) -> None:
    nested = value if isinstance(value, list) and _depth(value) <= 6 else [value if not isinstance(value, list) else None]
    assert read_array(_literal(nested), str) == nested


@given(st.dictionaries(st.text(), st.none() | st.text()))
def test_any_hstore_is_read_as_it_was_written(pairs: dict[str, str | None]) -> None:
    text = ", ".join(f"{_quote(key)}=>{'NULL' if value is None else _quote(value)}" for key, value in pairs.items())
    assert read_hstore(text) == pairs


@pytest.mark.parametrize("text", ["a", '"a"', '"a"=>', '"a"=>"b",', '"a"=>b', '"a"=>"b" "c"=>"d"'])
def test_what_is_no_hstore_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="hstore"):
        read_hstore(text)


def test_an_unknown_type_is_the_text() -> None:
    assert TEXT.read("(1,2)") == "(1,2)"


def _depth(value: object) -> int:
    return 1 + max(map(_depth, value), default=0) if isinstance(value, list) else 0


def _literal(value: object) -> str:
    if isinstance(value, list):
        return "{" + ",".join(map(_literal, value)) + "}"
    return "NULL" if value is None else _quote(str(value))


def _quote(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
