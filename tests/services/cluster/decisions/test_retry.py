from random import Random

from services.cluster.decisions.retry import RetryPolicy


def test_delays_double_from_a_second_to_a_minute_and_are_spread_by_a_quarter() -> None:
    policy, random = RetryPolicy(), Random(0)
    for failures, middle in [(1, 1), (2, 2), (3, 4), (6, 32), (7, 60), (1000, 60)]:
        delays = [policy.delay(failures, random) for _ in range(200)]
        assert 0.75 * middle <= min(delays) < 0.8 * middle
        assert 1.2 * middle < max(delays) <= 1.25 * middle


def test_an_attempt_that_was_healthy_for_a_minute_begins_a_new_count() -> None:
    policy = RetryPolicy()
    assert policy.count(7, lasted=59.9) == 8
    assert policy.count(7, lasted=60) == 1
