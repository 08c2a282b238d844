"""Which ranges a read has. Pure."""

import pytest

from pyspark_rocketmq.ranges import Missing, Range, between

Q = "t/broker-0/0"


def ranges(start: int | None, stop: int, first: int, end: int, *, most: int = 100, skip: bool = False) -> list[tuple[int, int]]:
    found = between({} if start is None else {Q: start}, {Q: stop}, {Q: (first, end)}, most, skip=skip)
    return [(each.start, each.stop) for each in found]


def test_a_range_is_cut_into_partitions() -> None:
    assert ranges(5, 12, 0, 20, most=3) == [(5, 8), (8, 11), (11, 12)]
    assert list(between({}, {Q: 1}, {Q: (0, 1)}, 9, skip=False)) == [Range(Q, 0, 1)]


def test_a_queue_that_nobody_has_read_begins_with_its_first_message() -> None:
    assert ranges(None, 12, 10, 20) == [(10, 12)]


def test_nothing_is_read_of_an_empty_range() -> None:
    assert ranges(7, 7, 0, 20) == []
    assert ranges(20, 20, 20, 20) == []
    assert ranges(9, 7, 0, 20) == []


@pytest.mark.parametrize(
    ("start", "stop", "first", "end", "gone"),
    [(5, 12, 8, 20, (5, 8)), (5, 7, 9, 20, (5, 7)), (5, 12, 0, 10, (10, 12)), (15, 10, 0, 10, (10, 15))],
)
def test_what_is_not_there_is_told_or_passed_over(start: int, stop: int, first: int, end: int, gone: tuple[int, int]) -> None:
    with pytest.raises(Missing, match=r"on\.gap=skip") as caught:
        ranges(start, stop, first, end)
    assert (caught.value.start, caught.value.stop) == gone
    expected = [(max(start, first), min(stop, end))] if max(start, first) < min(stop, end) else []
    assert ranges(start, stop, first, end, skip=True) == expected
