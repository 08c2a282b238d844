"""Sizes and times as people say them."""

import pytest

from rocketconnect_sdk.wording.sizes import about, size


@pytest.mark.parametrize(
    ("number", "told"),
    [
        (0, "0 bytes"),
        (1, "1 byte"),
        (999, "999 bytes"),
        (1_000, "1 kB"),
        (1_234_567, "1.2 MB"),
        (9_960_000, "10 MB"),
        (999_600, "1 MB"),
        (34_000_000_000, "34 GB"),
        (5 * 10**18, "5,000 PB"),
    ],
)
def test_sizes_are_as_short_as_people_say_them(number: int, told: str) -> None:
    assert size(number) == told


@pytest.mark.parametrize(
    ("seconds", "told"),
    [
        (0.1, "about 1 s"),
        (59, "about 59 s"),
        (179.6, "about 3 min"),
        (5_400, "about 1.5 h"),
        (40_000, "about 11 h"),
        (90_000, "about 1 d"),
    ],
)
def test_a_time_that_is_not_known_better_is_told_in_its_largest_unit(seconds: float, told: str) -> None:
    assert about(seconds) == told
