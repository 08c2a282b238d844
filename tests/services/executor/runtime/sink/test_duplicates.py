from hypothesis import given
from hypothesis import strategies as st

from rocketconnect_sdk.sink import SourceMark
from rocketmq_remoting.numbered import NumberedProperties
from services.executor.runtime.rocketmq.source_marks import SourceCoordinate, Stamper, highest, runs
from services.executor.runtime.sink.duplicates import LeftOut, select
from tests.services.executor.runtime.rocketmq.stamped import messages, tails


@given(st.lists(st.integers(100, 999), min_size=1, max_size=20), st.integers(0, 1000), tails)
def test_what_is_held_as_numbers_is_selected_as_message_by_message(integers: list[int], before: int, tail: bytes) -> None:
    stamps = [stamp + tail for stamp in Stamper("u", 1, "p", 0).stamp([(integer,) for integer in integers])]
    marks = {"u/p": SourceMark(1, 0, (before,))}
    single: dict[str, SourceMark] = dict(marks)
    expected = []
    for index, stamp in enumerate(stamps):
        kept, moved, _ = select([stamp], single)
        expected += [index] if kept is None else []
        single |= moved
    for form in (stamps, NumberedProperties.of(stamps) or stamps):
        kept, moved, _ = select(form, marks)
        assert (list(range(len(stamps))) if kept is None else kept) == expected
        assert marks | moved == single
        assert [highest(run.offsets) for run in runs(form) if run.offsets is not None] == [(max(integers),)]


@given(messages())
def test_select_keeps_exactly_what_is_above_the_mark_and_not_of_an_older_owner(
    found: list[tuple[bytes, SourceCoordinate | None]],
) -> None:
    """Against a plain loop."""
    marks: dict[str, SourceMark] = {}
    expected = []
    for index, (_, place) in enumerate(found):
        if place is None:
            expected.append(index)
            continue
        mark = marks.get(place.key)
        if mark is not None and place.epoch < mark.epoch:
            continue
        # A newer owner with a lower incarnation knows nothing of the move of its positions: its store has gone back.
        went_back = mark is not None and place.epoch > mark.epoch and place.incarnation < mark.incarnation
        if mark is None or (mark.incarnation if went_back else place.incarnation, place.offset) > (mark.incarnation, mark.offset):
            expected.append(index)
            marks[place.key] = SourceMark(place.epoch, place.incarnation, place.offset)
    kept, moved, _ = select([raw for raw, _ in found], {})
    assert (list(range(len(found))) if kept is None else list(kept)) == expected
    assert moved == marks


@given(messages(), st.integers(0, 30))
def test_reading_on_from_stored_marks_is_the_same_as_reading_at_once(
    found: list[tuple[bytes, SourceCoordinate | None]], cut: int
) -> None:
    raws = [raw for raw, _ in found]
    whole, marks, _ = select(raws, {})
    first, half, _ = select(raws[:cut], {})
    second, rest, _ = select(raws[cut:], half)
    size = len(raws[:cut])
    joined = [
        *(range(size) if first is None else first),
        *(size + i for i in (range(len(raws) - size) if second is None else second)),
    ]
    assert joined == list(range(len(raws)) if whole is None else whole)
    assert {**half, **rest} == marks


def test_what_is_read_twice_is_dropped_and_what_a_reset_sends_again_arrives() -> None:
    first = Stamper("u", 1, "p", 0).stamp([(1,), (2,), (3,)])
    kept, marks, _ = select(first, {})
    assert kept is None
    assert select(first, marks) == ([], {}, [LeftOut("u/p", 1, SourceMark(1, 0, (3,)), 3, 0, (3,))])
    again = Stamper("u", 2, "p", 1).stamp([(1,), (2,)])
    kept, marks, _ = select(again, marks)
    assert kept is None
    assert marks == {"u/p": SourceMark(2, 1, (2,))}


def test_what_a_producer_without_its_lease_sends_late_is_dropped_even_when_it_is_higher() -> None:
    """It has left out what its successor is about to send."""
    new = Stamper("u", 2, "p", 0).stamp([(1,), (2,)])
    late = Stamper("u", 1, "p", 0).stamp([(5,)])
    rest = Stamper("u", 2, "p", 0).stamp([(3,), (4,), (5,)])
    kept, marks, told = select([*new, *late, *rest], {})
    assert kept == [0, 1, 3, 4, 5]
    assert told == [LeftOut("u/p", 1, SourceMark(2, 0, (2,)), 1, 0, (5,))], (
        "what is left out for its epoch is not left out in silence"
    )
    assert marks["u/p"] == SourceMark(2, 0, (5,))


def test_duplicates_are_told_with_the_mark_that_they_are_not_above() -> None:
    stamper = Stamper("u", 2, "p", 0)
    before = {"u/p": SourceMark(2, 0, (3,))}
    kept, _, told = select(stamper.stamp([(2,), (3,), (4,)]), before)
    assert (kept, told) == ([2], [LeftOut("u/p", 2, SourceMark(2, 0, (4,)), 2, 0, (4,))])
    kept, _, told = select(Stamper("u", 3, "p", 0).stamp([(1,), (2,)]), before)
    assert (kept, told) == ([], [LeftOut("u/p", 3, before["u/p"], 2, 0, (2,))])
    assert not told[0].is_late
    again = SourceMark(2, 1, (1,))
    assert select(stamper.stamp([(9,)]), {"u/p": again}).left_out == [LeftOut("u/p", 2, again, 1, 0, (9,))], (
        "of an older incarnation"
    )


def test_after_a_restored_position_store_what_a_newer_owner_sends_is_told_by_its_offsets_alone() -> None:
    """The store has forgotten a move by hand: its owner sends under the incarnation of before, from its position on."""
    marks = {"u/p": SourceMark(1, 1, (600,))}
    kept, moved, told = select(Stamper("u", 2, "p", 0).stamp([(599,), (600,), (601,), (602,)]), marks)
    assert (kept, moved) == ([2, 3], {"u/p": SourceMark(2, 0, (602,))}), "nothing is lost, and nothing comes twice"
    assert [(each.messages, each.is_late) for each in told] == [(2, False)]
    assert select(Stamper("u", 2, "p", 0).stamp([(603,)]), moved).kept is None
    # The same owner, or an older one, sends what was on its way before the move.
    assert select(Stamper("u", 2, "p", 0).stamp([(900,)]), {"u/p": SourceMark(2, 1, (600,))}).kept == []
    # The next move is above both.
    assert select(Stamper("u", 3, "p", 2).stamp([(1,)]), moved).kept is None
