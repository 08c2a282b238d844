"""Batches that a source gives together."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketconnect_sdk.columns.compact import Texts
from rocketconnect_sdk.polled import batches_of
from rocketconnect_sdk.record import SourceBatch
from rocketconnect_sdk.schema import STRING, Schema, Type

NUMBER = Schema(Type.INT64)


def batch(partition: str, first: int, count: int = 1, **more: Any) -> SourceBatch:
    numbers = range(first, first + count)
    return SourceBatch(partition, [f"{partition} {n}" for n in numbers], [(n,) for n in numbers], schema=STRING, size=count, **more)


def test_none_and_a_single_batch_stay_as_they_are() -> None:
    one = batch("a", 1)
    assert batches_of(None) == []
    assert batches_of([]) == []
    (same,) = batches_of(one)
    assert same is one


def test_rows_of_tables_that_come_in_turns_become_a_batch_for_each_table() -> None:
    polled = [batch(f"table-{table}", row, keys=[str(row)], topics=[f"t{table}"]) for row in range(1, 101) for table in range(20)]
    made = batches_of(polled)
    assert [(one.partition, len(one), one.size) for one in made] == [(f"table-{table}", 100, 100) for table in range(20)]
    assert all(list(one.offsets) == [(row,) for row in range(1, 101)] for one in made)
    assert made[3].keys == [str(row) for row in range(1, 101)]
    assert made[3].topics == ["t3"] * 100
    assert (made[3].values[0], made[3].schema) == ("table-3 1", STRING)


def test_the_end_is_that_of_the_last_one() -> None:
    (one,) = batches_of([batch("a", 1, end=(5,)), batch("a", 6)])
    assert one.end == ()
    (one,) = batches_of([batch("a", 1), batch("a", 6, end=(9,))])
    assert one.end == (9,)


@pytest.mark.parametrize(
    "other",
    [
        {"schema": NUMBER},
        {"key_schema": STRING},
        {"keys": ["k"]},
        {"headers": [{}]},
        {"topics": ["t"]},
        {"timestamps_ms": [1]},
        {"properties": [{}]},
        {"resume": {"cursor": "c"}},
        {"values": Texts([b"v"])},
        {"values": [], "offsets": [], "end": (2,)},
    ],
    ids=str,
)
def test_what_is_not_alike_stays_apart_and_in_its_order(other: dict[str, Any]) -> None:
    second = batch("a", 2)
    for name, value in other.items():
        setattr(second, name, value)
    polled = [batch("a", 1), second, batch("a", 3), batch("a", 4)]
    made = batches_of(polled)
    assert made[:2] == polled[:2]
    assert [list(one.offsets) for one in made[2:]] == [[(3,), (4,)]]


def test_what_is_held_without_objects_stays_so() -> None:
    polled = [SourceBatch("a", Texts([b"x", b"y"]), [(1,), (2,)]), SourceBatch("a", Texts([b"z"]), [(3,)])]
    (one,) = batches_of(polled)
    assert isinstance(one.values, Texts)
    assert list(one.values) == ["x", "y", "z"]


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 3), st.sampled_from([STRING, NUMBER]), st.booleans())))
def test_each_partition_has_the_same_records_in_the_same_order_however_they_are_joined(
    steps: list[tuple[str, int, Schema, bool]],
) -> None:
    polled = []
    for number, (partition, count, schema, mapped) in enumerate(steps):
        one = batch(partition, number * 10 + 1, count, end=(number * 10 + 9,), resume={"n": number} if mapped else None)
        one.schema = schema
        polled.append(one)
    made = batches_of(polled)

    def of(batches: list[SourceBatch], partition: str) -> object:
        own = [one for one in batches if one.partition == partition]
        records = [(value, offset, one.schema) for one in own for value, offset in zip(one.values, one.offsets, strict=True)]
        maps = [(one.end, one.resume) for one in own if one.resume is not None]
        return records, maps, own and own[-1].end, own and own[-1].resume

    for partition in "abc":
        assert of(made, partition) == of(polled, partition)
