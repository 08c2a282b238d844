import re

from hypothesis import example, given
from hypothesis import strategies as st

from rocketconnect_sdk.columns.compact import Numbers
from rocketconnect_sdk.record import Offset
from rocketconnect_sdk.sink import SourceMark
from rocketmq_remoting.numbered import NumberedProperties
from services.executor.runtime.rocketmq.source_marks import (
    LeftOut,
    Place,
    Run,
    Stamper,
    highest,
    mark_key,
    parse,
    partition_id,
    runs,
    select,
)

partitions = st.text(st.characters(blacklist_categories=["Cs", "Cc"]), min_size=1, max_size=50)
numbers = st.integers(0, 2**62)
offsets = st.lists(numbers, min_size=1, max_size=3).map(tuple)
tails = st.sampled_from([b"", b"KEYS\x01k7\x02", b"KEYS\x01k14\x02", b"connect-ext-a\x01b|c\x02", b"RCPOSX\x01a|1|b|2|3\x02"])
heads = st.sampled_from([b"", b"", b"", b"TAGS\x01x\x02"])


@st.composite
def messages(draw: st.DrawFn) -> list[tuple[bytes, Place | None]]:
    """Properties of messages as several producers would leave them in a queue, and what they say."""
    found: list[tuple[bytes, Place | None]] = []
    for _ in range(draw(st.integers(0, 5))):
        if draw(st.booleans()):
            found += [(tail, None) for tail in draw(st.lists(tails, max_size=3))]
        epoch, incarnation, partition = draw(st.integers(1, 3)), draw(st.integers(0, 1)), draw(st.sampled_from(["a", "b%d", "c/é"]))
        stamper = Stamper("uid", epoch, partition, incarnation)
        for offset in sorted(draw(st.lists(offsets, max_size=6))):
            (stamp,) = stamper.stamp([offset])
            place = Place(mark_key("uid", partition), epoch, incarnation, offset)
            found.append((draw(heads) + stamp + draw(tails), place))
    return found


@given(partitions)
def test_a_partition_id_is_short_and_plain_and_the_same_for_the_same_partition(partition: str) -> None:
    found = partition_id(partition)
    assert re.fullmatch(r"[A-Za-z0-9_./:-]{1,32}", found)
    assert found == partition_id(partition)
    assert found == partition or len(found) == 22


@given(
    st.integers(0, 2**62), partitions, numbers, st.integers(1, 3).flatmap(lambda n: st.lists(st.tuples(*[numbers] * n), max_size=5))
)
def test_what_is_stamped_is_what_is_parsed(epoch: int, partition: str, incarnation: int, given_offsets: list[Offset]) -> None:
    stamps = Stamper("c-1", epoch, partition, incarnation).stamp(given_offsets)
    assert [parse(stamp) for stamp in stamps] == [
        Place(mark_key("c-1", partition), epoch, incarnation, offset) for offset in given_offsets
    ]


@given(st.lists(numbers, min_size=1, max_size=20))
def test_numbers_are_stamped_as_offsets_of_one_integer_are(integers: list[int]) -> None:
    stamper = Stamper("c-1", 7, "p", 2)
    assert list(stamper.stamp(Numbers(integers))) == stamper.stamp([(integer,) for integer in integers])


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
def test_runs_say_the_same_as_parsing_message_by_message(found: list[tuple[bytes, Place | None]]) -> None:
    raws = [raw for raw, _ in found]
    said: list[Place | None] = []
    for run in runs(raws):
        assert run.start == len(said)
        said += [None] * (run.stop - run.start) if run.offsets is None else [_place(run, offset) for offset in run.offsets]
        assert run.stop == len(said)
    assert said == [place for _, place in found]


def _place(run: Run, offset: Offset) -> Place:
    return Place(run.key, run.epoch, run.incarnation, offset)


@given(st.binary(max_size=80))
@example(b"RCPOS\x01a|1|b|0|" + b"9" * 5000 + b"\x02")
@example(b"RCPOS\x01a|1|b|0|1.\x02")
@example(b"RCPOS\x01" * 5)
def test_hostile_properties_are_another_producers_message_or_a_place(raw: bytes) -> None:
    place = parse(raw)
    assert sum(run.stop - run.start for run in runs([raw, raw])) == 2
    kept, _, _ = select([raw], {})
    assert place is not None or kept is None


def test_a_malformed_message_in_a_run_is_another_producers() -> None:
    good, better = Stamper("u", 1, "p", 0).stamp([(1,), (2,)])
    bad = good.replace(b"|1\x02", b"|x\x02")
    assert [(run.start, run.stop, run.offsets) for run in runs([good, bad, better])] == [
        (0, 1, [(1,)]),
        (1, 2, None),
        (2, 3, [(2,)]),
    ]


@given(messages())
def test_select_keeps_exactly_what_is_above_the_mark_and_not_of_an_older_owner(found: list[tuple[bytes, Place | None]]) -> None:
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
        if mark is None or (place.incarnation, place.offset) > (mark.incarnation, mark.offset):
            expected.append(index)
            marks[place.key] = SourceMark(place.epoch, place.incarnation, place.offset)
    kept, moved, _ = select([raw for raw, _ in found], {})
    assert (list(range(len(found))) if kept is None else list(kept)) == expected
    assert moved == marks


@given(messages(), st.integers(0, 30))
def test_reading_on_from_stored_marks_is_the_same_as_reading_at_once(found: list[tuple[bytes, Place | None]], cut: int) -> None:
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
    assert select(first, marks) == ([], {}, [LeftOut("u/p", 1, SourceMark(1, 0, (3,)), 3)])
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
    assert told == [LeftOut("u/p", 1, SourceMark(2, 0, (2,)), 1)], "what is left out for its epoch is not left out in silence"
    assert marks["u/p"] == SourceMark(2, 0, (5,))


def test_doubles_are_told_with_the_mark_that_they_are_not_above() -> None:
    stamper = Stamper("u", 2, "p", 0)
    before = {"u/p": SourceMark(2, 0, (3,))}
    kept, _, told = select(stamper.stamp([(2,), (3,), (4,)]), before)
    assert (kept, told) == ([2], [LeftOut("u/p", 2, SourceMark(2, 0, (4,)), 2)])
    kept, _, told = select(Stamper("u", 3, "p", 0).stamp([(1,), (2,)]), before)
    assert (kept, told) == ([], [LeftOut("u/p", 3, before["u/p"], 2)])
    assert not told[0].is_late
    again = SourceMark(2, 1, (1,))
    assert select(stamper.stamp([(9,)]), {"u/p": again}).left_out == [LeftOut("u/p", 2, again, 1)], "of an older incarnation"


def test_offsets_of_a_batch_may_have_several_lengths() -> None:
    """The last line of a file, when it has no end, behind others."""
    stamps = Stamper("u", 1, "p", 0).stamp([(5,), (8, 1)])
    assert [place.offset for stamp in stamps if (place := parse(stamp)) is not None] == [(5,), (8, 1)]
