"""Batches are cut, chosen from and joined without what holds their columns becoming lists of objects."""

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketconnect_sdk.columns.compact import Column, Numbers, Texts
from rocketconnect_sdk.record import SinkBatch, SourceBatch

COLUMNS: dict[str, Callable[[list[str]], Sequence[object]]] = {
    "Arrow": lambda texts: Column(pa.array(texts, pa.string())),
    "UTF-8": lambda texts: Texts([text.encode() for text in texts]),
    "objects": list,
}
texts = st.lists(st.text(max_size=3), min_size=1, max_size=8)


def source(values: Sequence[object], *, end: tuple[int, ...] = ()) -> SourceBatch:
    count = len(values)
    return SourceBatch(
        "p",
        values,
        Numbers(list(range(1, count + 1))),
        keys=[f"k{i}" for i in range(count)],
        timestamps_ms=range(count),
        topics=["t"] * count,
        size=10 * count,
        end=end,
    )


def sink(values: Sequence[object], begin: int = 0) -> SinkBatch:
    count = len(values)
    return SinkBatch("t/b/0", "t", values, range(begin, begin + count), keys=[f"k{i}" for i in range(count)], size=10 * count)


@pytest.mark.parametrize("held", COLUMNS)
@given(texts, st.integers(0, 8), st.integers(0, 8))
def test_a_slice_has_the_records_in_between_and_is_held_as_before(held: str, values: list[str], start: int, stop: int) -> None:
    whole = source(COLUMNS[held](values), end=(99,))
    part = whole.slice(start, stop)
    assert list(part.values) == values[start:stop]
    assert list(part.offsets) == list(whole.offsets)[start:stop]
    assert part.keys == list(whole.keys or ())[start:stop]
    assert part.headers is None
    assert type(part.values) is type(whole.values)
    # The position behind the whole goes with its last record, and with no other.
    assert part.end == ((99,) if stop >= len(values) else ())
    assert list(sink(COLUMNS[held](values)).slice(start, stop).values) == values[start:stop]


@pytest.mark.parametrize("held", COLUMNS)
@given(texts, st.data())
def test_chosen_records_keep_their_order_and_the_end_of_all(held: str, values: list[str], data: Any) -> None:
    places = sorted(data.draw(st.sets(st.integers(0, len(values) - 1))))
    whole = source(COLUMNS[held](values))
    part = whole.take(places)
    assert list(part.values) == [values[place] for place in places]
    assert list(part.offsets) == [(place + 1,) for place in places]
    assert part.size == 10 * len(places)
    # Those that were left out are done when the others are.
    assert part.end == (len(values),)
    assert type(part.values) is type(whole.values)


@pytest.mark.parametrize("held", COLUMNS)
@given(texts, st.integers(0, 8))
def test_the_parts_of_a_batch_are_the_batch_again(held: str, values: list[str], cut: int) -> None:
    whole = sink(COLUMNS[held](values))
    again = SinkBatch.concat([whole.slice(0, cut), whole.slice(cut, len(values))])
    assert list(again.values) == values
    assert list(again.offsets) == list(whole.offsets)
    assert again.keys == whole.keys
    assert again.timestamps_ms is None
    assert again.size == whole.size
    assert type(again.values) is type(whole.values)


def test_batches_that_are_held_otherwise_and_lack_columns_are_joined_as_objects() -> None:
    first, second = sink(Texts([b"a"])), sink([None], begin=1)
    second.keys = None
    joined = SinkBatch.concat([first, second])
    assert joined.values == ["a", None]
    assert joined.keys == ["k0", None]
    assert joined.offsets == [0, 1]


def test_columns_of_other_types_are_joined_as_objects() -> None:
    joined = SinkBatch.concat([sink(Column(pa.array([1]))), sink(Column(pa.array(["a"])), begin=1)])
    assert joined.values == [1, "a"]


def test_a_batch_with_a_map_is_not_cut_since_reading_goes_on_at_its_end_only() -> None:
    whole = source(["a", "b"])
    whole.resume = {"cursor": "x"}
    with pytest.raises(ValueError, match="cannot be cut"):
        whole.slice(0, 1)
    assert whole.take([0]).resume == {"cursor": "x"}
