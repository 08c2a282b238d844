"""Which files are put together, and when."""

from itertools import chain

from hypothesis import given
from hypothesis import strategies as st

from connectors.lakes.compaction import Compaction

MEBIBYTE = 1 << 20


def test_it_is_due_an_interval_after_its_beginning_and_after_each_time() -> None:
    now = 100.0
    compaction = Compaction(60, MEBIBYTE, lambda: now)
    assert not compaction.is_due()
    now += 60
    assert compaction.is_due()
    compaction.done()
    assert not compaction.is_due()
    now += 61
    assert compaction.is_due()


def test_with_an_interval_of_zero_it_is_never_due() -> None:
    now = 0.0
    compaction = Compaction(0, MEBIBYTE, lambda: now)
    now = 1e9
    assert not compaction.is_due()


def test_files_of_a_partition_become_one_until_it_is_full_and_large_ones_stay() -> None:
    files = [("a", 300_000), ("b", 400_000), ("a", 600_000), ("a", 900_000), ("a", 400_000), ("b", 500_000), ("a", 500_000)]
    assert Compaction(1, MEBIBYTE).groups(files) == [[0, 2], [1, 5], [4, 6]]


def test_a_few_files_that_do_not_fill_one_wait_for_more() -> None:
    compaction = Compaction(1, MEBIBYTE)
    assert compaction.groups([("a", 1000)] * 4) == []
    assert compaction.groups([("a", 1000)] * 5) == [[0, 1, 2, 3, 4]]
    # Else the larger one would be written again for each that comes.
    assert compaction.groups([("a", 700_000), ("a", 1000)]) == []


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 2 * MEBIBYTE)), max_size=60))
def test_no_file_is_in_two_groups_and_none_becomes_larger_than_it_may(files: list[tuple[str, int]]) -> None:
    compaction = Compaction(1, MEBIBYTE)
    groups = compaction.groups(files)
    numbers = list(chain.from_iterable(groups))
    assert len(numbers) == len(set(numbers))
    for group in groups:
        assert len({files[number][0] for number in group}) == 1
        assert len(group) > 1
        assert sum(files[number][1] for number in group) <= MEBIBYTE
        assert all(files[number][1] < compaction.small for number in group)
