"""What notes of replays say together."""

import pytest

from rocketconnect_sdk.letters.dead_letters import DeadLetter, Filter, Spans, without_spans
from rocketconnect_sdk.letters.replay_notes import Done, ReplayNote, ReplayNotes, Sent
from rocketconnect_sdk.topics import Message


def note(sent: Spans, left_out: Spans | None = None, topic: str = "t", replay: str = "r", time_ms: int = 1) -> Message:
    made = ReplayNote("c", replay, topic, sent, left_out or {})
    return Message("dead/a/1", 7, made.body(), made.properties(), time_ms)


def test_the_last_replay_of_a_letter_is_found_in_ranges_of_any_length_and_by_where_it_went() -> None:
    notes = ReplayNotes()
    notes.add(note({"dead/a/0": [(5, 9_000)]}, time_ms=10))
    notes.add(note({"dead/a/0": [(6, 7), (20_000, 20_001)]}, topic="other", replay="s", time_ms=20))
    first, second = Sent(10, "t", "r"), Sent(20, "other", "s")
    assert [notes.last("dead/a/0", offset) for offset in (4, 5, 6, 8_999, 9_000, 20_000)] == [
        *(None, first, second, first, None, second)
    ]
    assert notes.last("dead/a/0", 6, "t") == first
    assert notes.last("dead/a/0", 20_000, "t") is None
    assert notes.last("dead/a/1", 6) is None


def test_notes_that_overlap_after_a_restart_count_each_letter_once() -> None:
    done = Done()
    for message in (
        note({"dead/a/0": [(0, 10)]}, {"dead/a/0": [(10, 12)]}, time_ms=5),
        note({"dead/a/0": [(4, 10)]}, {"dead/a/0": [(11, 12)]}, time_ms=4),
    ):
        found = ReplayNote.of(message)
        assert found is not None
        done.add(found, message.stored_ms)
    assert (done.topic, done.since_ms) == ("t", 4)
    assert (done.sent, done.left_out, list(done.ids_left_out())) == (10, 2, ["a:0:10", "a:0:11"])


def test_a_note_is_no_dead_letter_and_a_dead_letter_is_no_note() -> None:
    assert not Filter("c").takes(DeadLetter.of(note({"dead/a/0": [(0, 1)]})))
    assert ReplayNote.of(Message("dead/a/0", 0, b"{}", {}, 1)) is None
    for body in (b"cut", b"[" * 100_000):
        assert ReplayNote.of(Message("dead/a/0", 0, body, note({}).properties, 1)) is None


@pytest.mark.parametrize(
    ("spans", "others", "left"),
    [
        ([(0, 10)], [], [(0, 10)]),
        ([(0, 10)], [(0, 10)], []),
        ([(0, 10)], [(2, 3), (5, 7)], [(0, 2), (3, 5), (7, 10)]),
        ([(0, 4), (6, 9)], [(3, 7)], [(0, 3), (7, 9)]),
        ([(2, 4), (6, 9)], [(0, 1), (8, 20)], [(2, 4), (6, 8)]),
        ([(0, 2), (3, 5), (6, 8)], [(1, 7)], [(0, 1), (7, 8)]),
    ],
)
def test_ranges_without_others_are_what_is_in_none_of_them(
    spans: list[tuple[int, int]], others: list[tuple[int, int]], left: list[tuple[int, int]]
) -> None:
    assert without_spans(spans, others) == left
