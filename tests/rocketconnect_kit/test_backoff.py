from rocketconnect_kit.backoff import Backoff


def test_pauses_double_up_to_the_longest_and_begin_anew_after_success() -> None:
    backoff = Backoff(1.0, 5.0, chance=lambda: 1.0)
    assert [backoff.pause() for _ in range(5)] == [1.0, 2.0, 4.0, 5.0, 5.0]
    assert backoff.attempts == 5
    backoff.reset()
    assert backoff.pause() == 1.0


def test_jitter_is_at_most_half_of_a_pause() -> None:
    assert Backoff(1.0, 5.0, chance=lambda: 0.0).pause() == 0.5
