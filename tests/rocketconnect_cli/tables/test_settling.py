"""Rows that differ are told when they stay so, and only then."""

from hypothesis import given
from hypothesis import strategies as st

from rocketconnect_cli.tables.settling import Suspects, row_of


def difference(key: str, source: str, sink: str) -> dict[str, str]:
    return {"table": "t", "sink": "s", "key": key, "sourceDigest": source, "sinkDigest": sink}


def test_a_row_that_is_equal_by_then_is_no_difference() -> None:
    suspects = Suspects(10)
    suspects.add([difference("1", "a", "b")], 0)
    suspects.look_again(suspects.rows, [], 1, 1)
    assert (len(suspects), suspects.different) == (0, [])


def test_a_row_that_stays_as_it_is_for_long_enough_is_one() -> None:
    suspects = Suspects(10)
    suspects.add([difference("1", "a", "b")], 0)
    for now in (5, 9.9):
        suspects.look_again(suspects.rows, [difference("1", "a", "b")], now, now)
        assert (len(suspects), suspects.different) == (1, [])
    suspects.look_again(suspects.rows, [difference("1", "a", "b")], 10, 10)
    assert (len(suspects), suspects.different) == (0, [difference("1", "a", "b")])


def test_a_row_that_changes_on_either_side_is_waited_for_again() -> None:
    suspects = Suspects(10)
    suspects.add([difference("1", "a", "b")], 0)
    suspects.look_again(suspects.rows, [difference("1", "c", "b")], 9, 9)
    suspects.look_again(suspects.rows, [difference("1", "c", "a")], 18, 18)
    suspects.look_again(suspects.rows, [difference("1", "c", "a")], 27, 27)
    assert (len(suspects), suspects.different) == (1, [])
    suspects.look_again(suspects.rows, [difference("1", "c", "a")], 28, 28)
    assert suspects.different == [difference("1", "c", "a")]


def test_a_row_that_stays_as_it_is_is_none_before_what_was_in_the_source_then_has_come_through() -> None:
    suspects = Suspects(10)
    suspects.add([difference("1", "a", "b")], 5)
    for passed in (float("-inf"), 4.9):
        suspects.look_again(suspects.rows, [difference("1", "a", "b")], 1_000, passed)
        assert (len(suspects), suspects.different) == (1, [])
    suspects.look_again(suspects.rows, [difference("1", "a", "b")], 1_001, 5)
    assert suspects.different == [difference("1", "a", "b")]


ROWS = st.tuples(st.sampled_from("123"), st.sampled_from("ab"), st.sampled_from("ab"))


@given(st.lists(st.tuples(st.floats(0.1, 5), st.lists(ROWS))))
def test_what_is_told_was_the_same_whenever_it_was_looked_at_for_the_whole_time(
    looks: list[tuple[float, list[tuple[str, str, str]]]],
) -> None:
    suspects = Suspects(6)
    suspects.add([difference(key, "a", "b") for key in "123"], 0)
    seen = {key: [(0.0, "a", "b")] for key in "123"}
    now = 0.0
    for pause, found in looks:
        now += pause
        states = {key: (source, sink) for key, source, sink in found if source != sink}
        rows = suspects.rows
        suspects.look_again(rows, [difference(key, *state) for key, state in states.items()], now, now)
        for _, _, key in rows:
            seen[key].append((now, *states.get(key, ("", ""))))
    for each in suspects.different:
        history = seen[each["key"]]
        last, *state = history[-1]
        run = [at for at, *there in history if there == state]
        assert last - min(at for at in run if all(there == state for when, *there in history if at <= when)) >= 6
        assert row_of(each)[2] not in {key for _, _, key in suspects.rows}
