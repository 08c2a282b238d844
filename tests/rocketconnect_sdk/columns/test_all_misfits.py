"""What a check tells of columns that do not fit: all of them at once, with the type that takes all of their values."""

from collections.abc import Sequence

import pytest

from rocketconnect_sdk.columns.all_misfits import misfits_of_objects, misfits_of_rows
from rocketconnect_sdk.columns.declared import parse_columns
from rocketconnect_sdk.columns.misfit import misfit_of_column
from rocketconnect_sdk.columns.rows import array_of

OBJECTS = [{"id": 1, "day": "2024-02-29", "at": "2024-02-29T01:02:03Z"}, {"id": 2.5, "day": "2024-03-01", "at": None, "more": 1}]


def test_every_column_that_does_not_fit_is_told() -> None:
    assert misfits_of_objects(OBJECTS, parse_columns("id:int64,day:int64,at:date")) == [
        "the column `id` is a whole number, and `2.5` is not; make it `double`",
        'the column `day` is a whole number, and `"2024-02-29"` is not; make it `date`',
        'the column `at` is a date such as 2024-02-29, and `"2024-02-29T01:02:03Z"` is not; make it `timestamp`',
    ]
    assert misfits_of_objects(OBJECTS, parse_columns("id:double,day:date,absent:int64")) == []


@pytest.mark.parametrize(
    ("values", "made"), [(["2024-02-29", "soon"], "string"), (["2024-02-29", 7], "json"), (["2024-02-29", None], "date")]
)
def test_the_type_that_is_proposed_takes_all_values_and_not_only_the_first(values: Sequence[object], made: str) -> None:
    (said,) = misfits_of_objects([{"v": value} for value in values], parse_columns("v:double"))
    assert said.endswith(f"; make it `{made}`")


def test_objects_of_another_table_are_told_beside_columns_that_do_not_fit() -> None:
    first, second = misfits_of_objects([{"id": "x"}, {"year": 1}], parse_columns("id:int64"))
    assert "of another table: it has none of the columns `id`, but `year`" in first
    assert second.startswith("the column `id` is a whole number")


def test_of_rows_with_types_every_column_is_told_too_whatever_schema_each_message_has() -> None:
    one = array_of([{"id": "x", "day": "soon"}], parse_columns("id,day"))[0]
    other = array_of([{"id": 7, "price": 1.5}], parse_columns("id:int64,price:double"))[0]
    told = misfits_of_rows([one, other], parse_columns("id:int64,day:date,price:int64"))
    assert [each.split("`")[1] for each in told] == ["id", "day", "price"]


@pytest.mark.parametrize(
    ("value", "made"),
    [("2024-02-29", "date"), ("2024-02-29T01:02:03", "timestamp_ntz"), ("2024-02-29T01:02:03Z", "timestamp"), ("7", "string")],
)
def test_a_date_in_a_column_of_numbers_is_called_a_date(value: str, made: str) -> None:
    assert misfit_of_column("v", parse_columns("v:int64").fields[0].schema, value).endswith(f"; make it `{made}`")
