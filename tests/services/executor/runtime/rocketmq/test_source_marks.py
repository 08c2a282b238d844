import re

from hypothesis import example, given
from hypothesis import strategies as st

from rocketconnect_sdk.columns.compact import Numbers
from rocketconnect_sdk.record import Offset
from services.executor.runtime.rocketmq.source_marks import (
    Run,
    SourceCoordinate,
    Stamper,
    mark_key,
    parse,
    partition_id,
    runs,
)
from tests.services.executor.runtime.rocketmq.stamped import messages, numbers, partitions


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
        SourceCoordinate(mark_key("c-1", partition), epoch, incarnation, offset) for offset in given_offsets
    ]


@given(st.lists(numbers, min_size=1, max_size=20))
def test_numbers_are_stamped_as_offsets_of_one_integer_are(integers: list[int]) -> None:
    stamper = Stamper("c-1", 7, "p", 2)
    assert list(stamper.stamp(Numbers(integers))) == stamper.stamp([(integer,) for integer in integers])


@given(messages())
def test_runs_say_the_same_as_parsing_message_by_message(found: list[tuple[bytes, SourceCoordinate | None]]) -> None:
    raws = [raw for raw, _ in found]
    said: list[SourceCoordinate | None] = []
    for run in runs(raws):
        assert run.start == len(said)
        said += [None] * (run.stop - run.start) if run.offsets is None else [_place(run, offset) for offset in run.offsets]
        assert run.stop == len(said)
    assert said == [place for _, place in found]


def _place(run: Run, offset: Offset) -> SourceCoordinate:
    return SourceCoordinate(run.key, run.epoch, run.incarnation, offset)


@given(st.binary(max_size=80))
@example(b"RCPOS\x01a|1|b|0|" + b"9" * 5000 + b"\x02")
@example(b"RCPOS\x01a|1|b|0|1.\x02")
@example(b"RCPOS\x01" * 5)
def test_hostile_properties_are_another_producers_message_or_a_place(raw: bytes) -> None:
    place = parse(raw)
    assert sum(run.stop - run.start for run in runs([raw, raw])) == 2
    (found,) = runs([raw])
    assert (found.offsets is None) == (place is None)


def test_a_malformed_message_in_a_run_is_another_producers() -> None:
    good, better = Stamper("u", 1, "p", 0).stamp([(1,), (2,)])
    bad = good.replace(b"|1\x02", b"|x\x02")
    assert [(run.start, run.stop, run.offsets) for run in runs([good, bad, better])] == [
        (0, 1, [(1,)]),
        (1, 2, None),
        (2, 3, [(2,)]),
    ]


def test_offsets_of_a_batch_may_have_several_lengths() -> None:
    """The last line of a file, when it has no end, behind others."""
    stamps = Stamper("u", 1, "p", 0).stamp([(5,), (8, 1)])
    assert [place.offset for stamp in stamps if (place := parse(stamp)) is not None] == [(5,), (8, 1)]
