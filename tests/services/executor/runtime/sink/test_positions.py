"""What a sink remembers of the sources of a queue."""

import json

from rocketconnect_sdk.sink import QueuePosition, SourceMark
from services.executor.runtime.sink.positions import MOST_MARKS, choose, from_stored, merged, moved_to, to_stored

MOST_THE_POSITION_SERVICE_TAKES = 256 * 1024


def mark(offset: int) -> SourceMark:
    return SourceMark(1, 0, (offset,))


def test_marks_that_moved_are_the_newest() -> None:
    marks = {"a": mark(1), "b": mark(1), "c": mark(1)}
    assert list(merged(marks, {"a": mark(2)}).items()) == [("b", mark(1)), ("c", mark(1)), ("a", mark(2))]
    assert merged(marks, {}) == marks


def test_of_very_many_source_partitions_those_that_have_not_moved_for_longest_are_forgotten() -> None:
    marks: dict[str, SourceMark] = {}
    for number in range(MOST_MARKS + 10):
        marks = merged(marks, {f"partition {number}": mark(number)})
        marks = merged(marks, {"always": mark(number)})
    assert len(marks) == MOST_MARKS
    assert "always" in marks
    assert "partition 10" not in marks
    assert f"partition {MOST_MARKS + 9}" in marks


def test_as_many_marks_as_are_kept_can_be_stored() -> None:
    longest = SourceMark(2**40, 2**40, (2**60, 2**60))
    marks = {f"{'u' * 32}/{number:032d}": longest for number in range(MOST_MARKS)}
    stored = to_stored(QueuePosition(2**60, 2**40, marks))
    assert len(json.dumps(stored.resume, separators=(",", ":"))) < MOST_THE_POSITION_SERVICE_TAKES


def test_what_the_sink_has_stored_wins_unless_a_deliberate_change_came_after_it() -> None:
    sink = QueuePosition(10, 1)
    assert choose(QueuePosition(20, 1), sink, 1) == sink
    assert choose(None, sink, 1) == sink
    altered = QueuePosition(5, 2)
    assert choose(altered, sink, 2) == altered
    assert choose(None, sink, 2) is None, "a reset has taken the position away: the queue begins anew"
    assert choose(altered, None, 2) == altered
    assert choose(None, None, 0) is None


def test_a_queue_whose_group_was_reset_goes_on_there_whatever_sink_and_sources_know() -> None:
    known = QueuePosition(10, 3, {"u/p": mark(9)}, 1_700_000_000_000, 2)
    moved = from_stored(moved_to(known, 4, "g", 100))
    assert moved == QueuePosition(4, 101)
    assert choose(moved, known, 0) == moved
    assert moved_to(known, 4, "g", 0).incarnation == 4
