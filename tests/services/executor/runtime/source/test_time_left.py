"""How long a source will take for what is left."""

from services.executor.runtime.source.time_left import TimeLeft, left_with


def seen(*lefts: int | None, unit: str = "bytes", every: float = 1.0) -> list[float | None]:
    """What is said of it second by second."""
    time_left = TimeLeft()
    return [time_left.of(number * every, left, unit) for number, left in enumerate(lefts)]


def test_it_is_what_is_left_at_the_pace_of_late() -> None:
    assert seen(100, 90, 80, 70, 60) == [None, None, None, 7.0, 6.0]


def test_nothing_is_said_where_it_is_not_known_or_comes_no_nearer() -> None:
    assert seen(None, None, None, None, None) == [None] * 5
    assert seen(50, 50, 50, 50, 50, 50) == [None] * 6
    assert seen(50, 60, 70, 80, 90, 100) == [None] * 6
    assert seen(1 << 62, 1 << 62, 1 << 62, (1 << 62) - 1) == [None] * 4


def test_what_comes_anew_meanwhile_counts_against_it() -> None:
    assert seen(100, 90, 95, 85, 90)[-1] == 90 * 4 / 10


def test_only_the_last_half_minute_counts() -> None:
    stood_still, then_moved = [1_000] * 100, [1_000 - 10 * number for number in range(1, 61)]
    assert seen(*stood_still, *then_moved)[-1] == 400 / 10


def test_nothing_left_takes_no_time() -> None:
    assert seen(0) == [0.0]


def test_another_unit_and_what_was_not_known_begin_anew() -> None:
    time_left = TimeLeft()
    for number in range(5):
        time_left.of(float(number), 100 - number, "rows")
    assert time_left.of(5.0, 1_000, "bytes") is None
    assert time_left.of(9.0, 900, "bytes") == 36.0
    assert time_left.of(10.0, None, "bytes") is None
    assert time_left.of(11.0, 10, "bytes") is None


def test_it_is_asked_as_often_as_one_likes() -> None:
    assert seen(*range(10_000, 0, -1), every=0.001)[-1] is not None


def test_what_was_read_and_is_in_no_topic_is_left_too_where_nothing_else_is() -> None:
    assert left_with(0, "rows", 300) == (300, "bytes")
    assert left_with(0, "rows", 0) == (0, "rows")
    assert left_with(7, "rows", 300) == (7, "rows"), "more of another unit says nothing new"
    assert left_with(None, "", 300) == (None, ""), "not known is never a number"
