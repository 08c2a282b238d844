"""Keys of rows as integers."""

from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketconnect_sdk.changes.snapshots.keys import from_integers, is_ordered, to_integers
from rocketconnect_sdk.schema import STRING, WHOLE, Schema, Type

_VALUES: dict[Type, st.SearchStrategy[Any]] = {
    **{kind: st.integers(*limits) for kind, limits in WHOLE.items()},
    Type.BOOLEAN: st.booleans(),
    Type.DATE: st.dates(),
    Type.UUID: st.uuids(),
    Type.BYTES: st.binary(max_size=20),
}
_KINDS = st.lists(st.sampled_from(list(_VALUES)), min_size=1, max_size=3)


@st.composite
def two_keys(draw: st.DrawFn) -> tuple[list[Schema], tuple[Any, ...], tuple[Any, ...]]:
    kinds = draw(_KINDS)
    keys = [tuple(draw(_VALUES[kind]) for kind in kinds) for _ in range(2)]
    return [Schema(kind) for kind in kinds], keys[0], keys[1]


@given(two_keys())
def test_integers_are_in_the_order_of_their_keys(given: tuple[list[Schema], Any, Any]) -> None:
    schemas, one, other = given
    a, b = to_integers(schemas, one), to_integers(schemas, other)
    assert (a < b) == (one < other)
    assert all(0 <= integer < 10**19 for integer in a)
    assert from_integers(schemas, a) == one
    assert is_ordered(schemas, [Type.UUID, Type.BYTES])


@given(st.lists(st.text(), min_size=1, max_size=3))
def test_texts_come_back(key: list[str]) -> None:
    schemas = [STRING] * len(key)
    assert from_integers(schemas, to_integers(schemas, key)) == tuple(key)


def test_texts_are_in_their_order_only_where_a_database_compares_their_bytes() -> None:
    assert not is_ordered([Schema(Type.INT32), STRING])
    assert is_ordered([Schema(Type.INT32), STRING], [Type.STRING])
    assert not is_ordered([Schema(Type.DECIMAL)])


@pytest.mark.parametrize("integers", [(), (1, 2), (1 << 40,)])
def test_what_is_no_key_of_these_columns_is_refused(integers: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"is (no|a) key"):
        from_integers([Schema(Type.DATE)], integers)
    assert from_integers([Schema(Type.DATE)], to_integers([Schema(Type.DATE)], [date(2024, 1, 1)])) == (date(2024, 1, 1),)
