"""Rows, and the option `columns`, held against a table that is there."""

from collections.abc import Sequence

import pytest

from rocketconnect_sdk.columns.declared import parse_columns
from rocketconnect_sdk.errors import Problem
from rocketconnect_sdk.evolution import Policy, Takes
from rocketconnect_sdk.evolution.held import columns_problem, rows_problems
from rocketconnect_sdk.schema import Schema, Type, struct

TABLE = parse_columns("id:int64,day:date,price:decimal(6,2)")
STAYS = Takes(columns=False, nulls=False, type=lambda *_: False)
GROWS = Takes(columns=True, nulls=True, type=lambda *_: True)


def rows(
    columns: str, policy: Policy = Policy.EVOLVE, takes: Takes = STAYS, *, is_tolerant: bool = False, key: Sequence[str] = ()
) -> Problem | None:
    place, records = ("path", "/t"), parse_columns(columns)
    found = list(rows_problems(place, "the rows of `t`", TABLE, records, policy, takes, is_tolerant=is_tolerant, key=key))
    assert len(found) < 2
    return found[0] if found else None


def test_all_columns_that_differ_are_told_at_once_with_the_cast_that_makes_them_fit() -> None:
    found = rows("id,day,price:double,more")
    assert found is not None
    assert (found.key, found.value, found.is_warning) == ("path", "/t", False)
    assert found.reason == (
        "does not take the rows of `t` as they are: id is string, and the column is int64; day is string, and the column is date; "
        "price is double, and the column is decimal(6,2); what does not fit is a bad record"
    )
    assert "transforms.types.spec=id:int64,day:date,price:decimal(6,2)." in found.fix


def test_rows_that_fit_or_that_the_table_is_changed_for_have_no_problem() -> None:
    assert rows("id:int32,day:date") is None
    assert rows("id:int64,more:string", Policy.IGNORE) is None
    assert rows("id:uint64", takes=GROWS) is None


def test_a_table_that_would_be_widened_is_told_with_what_comes_and_what_would_be_null() -> None:
    found = rows("id:int64,more:double,code", takes=GROWS)
    assert found is not None
    assert (found.key, found.is_warning) == ("path", True)
    assert found.reason == (
        "is widened for the rows of `t`: it gets the columns more (double), code (string), null in the rows that are there; these "
        "rows have no day, price, null in them"
    )
    assert found.fix.startswith("If they are of another table, give them one. schema.evolution=fail ends the task before such rows")


@pytest.mark.parametrize("policy", [Policy.EVOLVE, Policy.IGNORE])
def test_rows_without_a_column_of_the_table_are_refused_where_bad_records_are(policy: Policy) -> None:
    found, left_out = (rows("code,more", policy, GROWS, is_tolerant=is_tolerant) for is_tolerant in (False, True))
    assert found is not None
    assert left_out is not None
    assert found.reason == (
        "does not take the rows of `t`: the record is of another table: it has code, more, and none of the columns of this one, "
        "which are id, day, price; all of them would be bad records"
    )
    assert (found.is_warning, left_out.is_warning) == (False, True)


def test_rows_of_which_the_table_would_have_nothing_but_the_key_are_told() -> None:
    found = rows("id:int64,code", Policy.IGNORE, key=["id"])
    assert found is not None
    assert found.is_warning
    assert found.reason.startswith(
        "has nothing of the rows of `t` but its key: code would be left out; these rows have no day, price"
    )
    assert rows("id:int64,day:date,code", Policy.IGNORE, key=["id"]) is None


@pytest.mark.parametrize(
    ("columns", "is_tolerant", "is_warning"),
    [("id:double", False, True), ("id:string", False, False), ("id:string", True, True), ("id:string,price:double", False, False)],
)
def test_what_may_fit_value_by_value_is_a_warning_and_what_never_does_is_refused_where_bad_records_are(
    columns: str, is_tolerant: bool, is_warning: bool
) -> None:
    found = rows(columns, is_tolerant=is_tolerant)
    assert found is not None
    assert found.is_warning is is_warning


def test_a_policy_that_takes_no_difference_says_what_would_become_of_the_rows() -> None:
    fails, refuses = rows("id:int64,more", Policy.FAIL), rows("id:int64,more", Policy.DEAD_LETTER, is_tolerant=True)
    assert fails is not None
    assert refuses is not None
    assert fails.reason.endswith("more (string) is no column; the task would fail before them")
    assert refuses.reason.endswith("more (string) is no column; all of them would be bad records")
    assert (fails.is_warning, refuses.is_warning) == (False, True)


def test_columns_that_do_not_fit_are_all_told_and_the_right_ones_proposed() -> None:
    found = columns_problem("the table", TABLE, parse_columns("id,day:timestamp,price:double,more:int64"))
    assert found is not None
    assert not found.is_warning
    assert found.reason == (
        "does not fit the table, which is there: id is string, and the column is int64; day is timestamp, and the column is date; "
        "price is double, and the column is decimal(6,2); more (int64) is no column"
    )
    assert found.fix == "Set columns=id:int64,day:date,price:decimal(6,2), or name another table."


def test_a_column_that_needs_a_value_is_missing_from_columns_that_do_not_name_it() -> None:
    table = struct([("id", Schema(Type.INT64)), ("name", Schema(Type.STRING, optional=True))])
    found = columns_problem("the table", table, parse_columns("name"))
    assert found is not None
    assert "id is missing, and the column takes no null" in found.reason
    assert found.fix.startswith("Set columns=name,id:int64,")
    assert columns_problem("the table", table, parse_columns("id:int32")) is None
    number = columns_problem("the table", table, parse_columns("id:double"))
    assert number is not None
    assert number.is_warning
