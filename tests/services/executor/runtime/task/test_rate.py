import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.executor.runtime.task.rate import RateLimit, TokenBucket


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@given(st.lists(st.integers(1, 5_000), min_size=20, max_size=200), st.sampled_from([10.0, 333.0, 10_000.0]))
def test_a_rate_is_exact_over_long_runs_whatever_the_pieces_are(pieces: list[int], rate: float) -> None:
    clock = Clock()
    bucket = TokenBucket(rate, clock)
    for piece in pieces:
        clock.now += bucket.delay()
        bucket.take(piece)
    seconds = clock.now - 100.0 + bucket.delay()
    # What was saved up before the first piece is all that it may be ahead.
    assert seconds == pytest.approx((sum(pieces) - rate * 0.1) / rate, abs=1e-6)


def test_what_was_not_used_is_saved_up_for_a_tenth_of_a_second_only() -> None:
    clock = Clock()
    bucket = TokenBucket(100, clock)
    clock.now += 3600
    bucket.take(110)
    assert bucket.delay() == pytest.approx(1.0)


def test_records_and_bytes_are_both_limited_and_pieces_are_small_where_rates_are() -> None:
    clock = Clock()
    limit = RateLimit(100, 1_000, clock)
    assert limit.piece(10_000, 1 << 20) == (10, 100)
    limit.take(1, 2_100)
    assert limit.delay() == pytest.approx(2.0)
    clock.now += 2
    limit.take(210, 1)
    assert limit.delay() == pytest.approx(2.0)


def test_without_limits_nothing_waits() -> None:
    limit = RateLimit(None, None, Clock())
    limit.take(10**9, 10**12)
    assert limit.delay() == 0
    assert limit.piece(7, 8) == (7, 8)
