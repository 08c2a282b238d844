"""Which messages of several queues are looked at."""

import pytest

from services.executor.host.jobs.chosen import shared


@pytest.mark.parametrize(
    ("sizes", "most", "shares"),
    [
        ([], 10, []),
        ([3, 4], 10, [3, 4]),
        ([100, 100], 10, [5, 5]),
        ([100, 1, 0, 100], 10, [4, 1, 0, 5]),
        ([100], 10, [10]),
        ([5, 5, 5], 2, [0, 1, 1]),
    ],
)
def test_queues_share_what_is_read_as_evenly_as_their_sizes_allow(sizes: list[int], most: int, shares: list[int]) -> None:
    assert shared(sizes, most) == shares
