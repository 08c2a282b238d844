"""The floor of numbers by clocks that may be wrong."""

import pytest

from rocketconnect_kit.clock import DAY, bounded_floor, days_ahead, number_floor

NOW, IN_2050 = 1_800_000_000.0, 2_524_608_000.0
HERE, THEN = "2027-01-15 08:00+00:00", "2050-01-01 00:00+00:00"
LAST = number_floor(NOW - 5 * DAY)


@pytest.mark.parametrize(
    ("seconds", "other", "counts", "said"),
    [
        (NOW, None, NOW, ""),
        (NOW, NOW - 3600, NOW, ""),
        (
            IN_2050,
            NOW,
            NOW,
            f"the clock of this machine says {THEN}, and that of the database {HERE}",
        ),
        (
            NOW,
            IN_2050,
            NOW,
            f"the clock of this machine says {HERE}, and that of the database {THEN}",
        ),
        (
            IN_2050,
            None,
            NOW - 5 * DAY,
            f"the clock says {THEN}, and the last number was given out at 2027-01-10 08:00+00:00",
        ),
        (1e13, None, NOW - 5 * DAY, "the clock says 10000000000000 s after 1970"),
        (IN_2050, IN_2050, NOW - 5 * DAY, "the clock says 2050-01-01"),
        (0.0, None, 0.0, ""),
    ],
    ids=["right", "nearly the same", "ours is wrong", "the other is wrong", "alone", "beyond all years", "both", "far behind"],
)
def test_of_two_clocks_the_earlier_one_counts_and_none_that_is_far_ahead_of_the_last_number(
    seconds: float, other: float | None, counts: float, said: str
) -> None:
    floor, wrong = bounded_floor(seconds, LAST, other=other)
    assert floor == number_floor(counts)
    assert wrong.startswith(said)
    assert bool(wrong) == bool(said)


def test_where_nothing_was_drawn_by_a_clock_before_the_clock_is_believed() -> None:
    assert bounded_floor(IN_2050, 0) == (number_floor(IN_2050), "")
    assert bounded_floor(IN_2050, 12_345) == (number_floor(IN_2050), "")


def test_how_far_numbers_are_ahead_of_a_clock_is_told_in_days() -> None:
    assert days_ahead(number_floor(IN_2050), IN_2050 - 10 * DAY) == 10
    assert days_ahead(number_floor(NOW), IN_2050) < 0
