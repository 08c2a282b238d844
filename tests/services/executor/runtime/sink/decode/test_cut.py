from itertools import chain

from hypothesis import given
from hypothesis import strategies as st

from rocketconnect_sdk.record import SinkBatch
from rocketconnect_sdk.schema import BYTES, STRING, Schema, Type
from services.executor.runtime.sink.decode.cut import Cut
from services.executor.runtime.sink.decode.part import Part

MOST_ROWS = 6
NUMBER = Schema(Type.INT64)


def part(number: int, queue: str, schema: Schema | None, rows: int, *, bad: bool = False) -> Part:
    """The queues a and b are of one topic, c of another."""
    records = SinkBatch(queue, "t", ["x"] * rows, [number] * rows, schema=schema, size=rows)
    error = ValueError() if bad else None
    return Part(queue, number, number + 1, {}, records, max(rows, 1), 0, error=error, topic="other" if queue == "c" else "t")


@st.composite
def waiting(draw: st.DrawFn) -> list[Part]:
    """Parts as they come, of which the last may be bad."""
    kinds = st.tuples(st.sampled_from("abc"), st.sampled_from([STRING, BYTES, NUMBER, None]), st.integers(0, 3))
    drawn = draw(st.lists(kinds, max_size=30))
    bad = draw(st.booleans())
    return [part(number, *kind, bad=bad and number == len(drawn) - 1) for number, kind in enumerate(drawn)]


def cuts(parts: list[Part], rows: int = MOST_ROWS, *, apart: bool = False) -> list[Cut]:
    """All batches, until nothing is left."""
    found = [Cut(rows, 1 << 30, topics_apart=apart)]
    for each in parts:
        found[0].offer(each)
    while found[-1].left:
        found.append(found[-1].following())
    return found


def numbers(parts: list[Part]) -> list[int]:
    return [each.start for each in parts]


@given(waiting())
def test_each_part_is_in_one_batch_and_the_order_of_a_queue_stays(parts: list[Part]) -> None:
    taken = list(chain.from_iterable(cut.taken for cut in cuts(parts)))
    assert sorted(numbers(taken)) == numbers(parts)
    for queue in "abc":
        assert [each.start for each in taken if each.queue == queue] == [each.start for each in parts if each.queue == queue]


@given(waiting())
def test_where_topics_are_apart_a_batch_has_one_and_nothing_is_lost_or_out_of_order(parts: list[Part]) -> None:
    found = cuts(parts, apart=True)
    assert all(len({each.topic for each in cut.taken}) <= 1 for cut in found)
    taken = list(chain.from_iterable(cut.taken for cut in found))
    assert sorted(numbers(taken)) == numbers(parts)
    for queue in "abc":
        assert [each.start for each in taken if each.queue == queue] == [each.start for each in parts if each.queue == queue]


@given(waiting())
def test_a_batch_has_one_schema_and_is_no_larger_than_it_may_be_but_for_its_last_part(parts: list[Part]) -> None:
    for cut in cuts(parts):
        assert len({id(each.records.schema) for each in cut.taken if len(each.records) and each.records.schema}) <= 1
        assert sum(len(each.records) for each in cut.taken[:-1]) < MOST_ROWS
        assert cut.rows == sum(len(each.records) for each in cut.taken)


@given(waiting())
def test_the_oldest_part_is_in_the_next_batch_so_that_none_waits_for_ever(parts: list[Part]) -> None:
    waits = numbers(parts)
    for cut in cuts(parts):
        assert numbers(cut.taken)[:1] == waits[:1]
        waits = [number for number in waits if number not in numbers(cut.taken)]
        assert numbers(cut.left) == waits


@given(waiting())
def test_a_part_with_an_error_is_taken_behind_all_others(parts: list[Part]) -> None:
    taken = list(chain.from_iterable(cut.taken for cut in cuts(parts)))
    assert all(each.error is None for each in taken[:-1])


@given(waiting())
def test_what_is_left_out_of_a_batch_with_room_could_not_go_with_it(parts: list[Part]) -> None:
    for cut in cuts(parts):
        if cut.full:
            continue
        (schema,) = {id(each.records.schema) for each in cut.taken if len(each.records) and each.records.schema} or {0}
        fronts = {each.queue: each for each in reversed(cut.left)}.values()
        assert all(each.error is not None or (len(each.records) and id(each.records.schema) != schema) for each in fronts)


def test_two_tables_in_topics_of_their_own_that_come_in_turns_are_two_batches_and_not_one_for_each_part() -> None:
    parts = [part(number, f"q{number % 2}", (STRING, BYTES)[number % 2], 1) for number in range(200)]
    assert [len(cut.taken) for cut in cuts(parts, 1_000)] == [100, 100]


def test_what_is_only_passed_goes_with_the_part_before_it_however_often() -> None:
    cut = Cut(2, 1 << 30)
    cut.offer(part(0, "a", STRING, 1))
    cut.offer(part(0, "b", STRING, 1))
    # It is full: what comes is for the next batch.
    cut.offer(part(1, "b", STRING, 1))
    for number in range(1, 1_000):
        cut.offer(Part.of_nothing("a", "t", number, number + 1, 5_000 + number, 1.0))
        cut.offer(Part.of_nothing("b", "t", number + 1, number + 2, 0, 1.0))
    assert [(each.queue, each.start, each.until, each.stored_ms) for each in cut.taken] == [("a", 0, 1_000, 5_999), ("b", 0, 1, 0)]
    assert [(each.queue, each.start, each.until) for each in cut.left] == [("b", 1, 1_001)]
    # Nothing is passed behind what ends the task.
    cut.offer(part(1_001, "b", STRING, 1, bad=True))
    cut.offer(Part.of_nothing("b", "t", 1_002, 1_009, 0, 1.0))
    assert cut.left[1].until == 1_002
