"""JSON texts are equal when they mean the same."""

import json
from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from services.executor.verification.json_meaning import by_meaning

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inside: st.lists(inside, max_size=3) | st.dictionaries(st.text(), inside, max_size=3),
    max_leaves=8,
)


def meaning(*texts: str | None) -> list[Any]:
    found: list[Any] = by_meaning(pa.array(texts, pa.string())).to_pylist()
    return found


@given(VALUES)
def test_white_space_escapes_and_the_order_of_names_mean_nothing(value: object) -> None:
    first, second = meaning(json.dumps(value), json.dumps(value, indent=3, sort_keys=True, ensure_ascii=False))
    assert first == second


def test_numbers_are_compared_by_their_value_and_by_all_their_digits() -> None:
    assert len(set(meaning("100", "1e2", "100.00", "1.0E+2"))) == 1
    assert len(set(meaning("0.1", "0.10000000000000000001", "true", '"0.1"', "1e-1"))) == 4
    assert meaning("1e400000") != meaning("1e400001")


def test_what_is_no_json_and_what_is_null_stays_as_it_is() -> None:
    assert meaning("{", None, "null") == ["{", None, "null"]
