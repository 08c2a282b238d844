"""Which events a pattern matches, and what is wrong with one."""

import json
import pickle
import time
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from connectors.eventbridge.patterns import Pattern, read_pattern
from connectors.eventbridge.wildcards import Wildcard
from tests.connectors.eventbridge.cases import EVENT, IN_ARRAYS, MATCHING, NOT_MATCHING, WRONG


def pattern(source: Any) -> Pattern:
    made, flaws = read_pattern(json.dumps(source))
    assert flaws == []
    return made


def test_patterns_match_the_events_that_the_documentation_says() -> None:
    for source in MATCHING:
        assert pattern(source).matches(EVENT), source


def test_patterns_match_no_others() -> None:
    for source in NOT_MATCHING:
        assert not pattern(source).matches(EVENT), source


def test_of_an_array_one_element_has_all_that_an_object_says() -> None:
    for event, source, matches in IN_ARRAYS:
        assert pattern(source).matches(event) is matches, (event, source)


@pytest.mark.parametrize(("source", "path", "reason"), WRONG)
def test_what_is_wrong_with_a_pattern_is_told_with_its_place(source: str, path: str, reason: str) -> None:
    _, flaws = read_pattern(source)
    assert path in [flaw.path for flaw in flaws]
    assert any(reason in flaw.reason for flaw in flaws), flaws
    assert all(flaw.fix.endswith((".", "}", ")")) for flaw in flaws)


def test_all_that_is_wrong_is_told_at_once() -> None:
    _, flaws = read_pattern('{"a": 1, "b": {"c": [{"like": 1}, {"cidr": "x"}, {"exists": 0}]}, "d": []}')
    assert [flaw.path for flaw in flaws] == ["a", "b.c[0].like", "b.c[1].cidr", "b.c[2].exists", "d"]


def test_a_pattern_has_a_limited_number_of_combinations() -> None:
    one = {"$or": [{f"f{number}": [1]} for number in range(32)]}
    assert read_pattern(json.dumps({"a": one, "b": {"$or": one["$or"][:31]}}))[1] == []
    (flaw,) = read_pattern(json.dumps({"a": one, "b": one}))[1]
    assert flaw.reason == "has more than 1,000 combinations of its alternatives"


def test_values_of_rows_are_what_a_target_would_read() -> None:
    row = {"at": datetime(2026, 1, 2, tzinfo=UTC), "price": Decimal("12.50"), "data": b"\x00", "list": (1, 2)}
    assert pattern({"at": [{"prefix": "2026-01-02"}], "price": [12.5], "data": ["AA=="], "list": [2]}).matches(row)
    assert not pattern({"at": [{"prefix": "2027"}]}).matches(row)


def test_a_pattern_travels_to_where_records_are() -> None:
    for source in MATCHING:
        assert pickle.loads(pickle.dumps(pattern(source))).matches(EVENT)


def test_texts_and_arrays_that_somebody_makes_on_purpose_cost_little_time() -> None:
    began = time.process_time()
    assert not Wildcard.read("*a" * 2_000 + "*b").takes("a" * 200_000)
    deep: Any = "x"
    for _ in range(100_000):
        deep = [deep]
    assert pattern({"a": ["x"], "b": {"c": [{"exists": False}]}}).matches({"a": deep, "b": deep})
    assert not pattern({"ip": [{"cidr": "10.0.0.0/8"}]}).matches({"ip": "1" * 1_000_000})
    assert time.process_time() - began < 5
