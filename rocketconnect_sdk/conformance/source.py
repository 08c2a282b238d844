"""What every source must do.

    class TestMySource(SourceSuite):
        subject = SourceCase(MySource(), {"option": "value"}, expected=["a", "b"])

A case that needs a directory or a server is a fixture named `case`.
"""

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import chain, pairwise
from typing import Any

import pytest

from rocketconnect_sdk.conformance.documented import check_documented
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.options import Config, parse
from rocketconnect_sdk.polled import batches_of
from rocketconnect_sdk.record import Offset, Position, SourceBatch
from rocketconnect_sdk.resume import read, written
from rocketconnect_sdk.source import Edge, Source, SourceTask

_SAMPLES = 40
_EMPTY_POLLS = 3
_LONGEST_POLL = 1.0
_LONGEST_PAUSE = 0.02


@dataclass(frozen=True, slots=True)
class SourceCase:
    """A source with something to read.

    Attributes:
        source: The source.
        config: Its own options.
        expected: The values that there are, in the order of their partition; of several partitions in any order. Values must be
            comparable; None: not looked at.
        seconds: How long reading everything may take.
    """

    source: Source
    config: Mapping[str, str]
    expected: Sequence[object] | None = None
    seconds: float = 30.0

    @property
    def parsed(self) -> Config:
        """The configuration, parsed."""
        return parse(self.source.options, self.config)


@dataclass(frozen=True, slots=True)
class Seen:
    """A record as it came out.

    Attributes:
        offset: Of the record.
        value: Its value.
        key: Its key.
        position: What is stored when all up to it is done; None: nothing, since its batch goes on behind it and has a map.
    """

    offset: Offset
    value: object
    key: object
    position: Position | None = field(default=None, compare=False)


@contextmanager
def _task(case: SourceCase, share: Mapping[str, str], context: TaskContext) -> Iterator[SourceTask]:
    task = case.source.open(case.parsed, share, context)
    try:
        yield task
    finally:
        task.close()


def _records(batch: SourceBatch) -> list[Seen]:
    keys = [None] * len(batch) if batch.keys is None else batch.keys
    within = [None if batch.resume is not None else Position(offset) for offset in batch.offsets[:-1]]
    positions = [*within, stored(Position(batch.end or batch.offsets[-1], batch.resume or {}))]
    return [Seen(*each) for each in zip(batch.offsets, batch.values, keys, positions, strict=True)]


def stored(position: Position) -> Position:
    """A position as it comes back from where it is stored."""
    return Position(position.offset, read(written(position.resume)))


def _places(case: SourceCase) -> Iterator[tuple[str, int, Position]]:
    """Positions that are stored while everything is read: the partition, how many of its records are done, the position."""
    for context in (TaskContext(), TaskContext(batch_records=2)):
        (found,) = read_all(case, context=context)
        for partition, records in found.items():
            places = [(partition, done, seen.position) for done, seen in enumerate(records, 1) if seen.position is not None]
            yield from _sampled(places)
            if len(places) == len(records):
                # Each record is a place, wherever batches end.
                return


def _drain(task: SourceTask, seconds: float) -> Iterator[SourceBatch]:
    empty, end = 0, time.monotonic() + seconds
    while empty < _EMPTY_POLLS and not task.finished:
        assert time.monotonic() < end, f"not everything was read within {seconds} s"
        batches = batches_of(task.poll())
        if not batches:
            empty += 1
            time.sleep(min(task.idle_seconds, _LONGEST_PAUSE))
        for batch in batches:
            # What only moves a position is no record, and no sign that there are none.
            empty = 0 if len(batch) else empty
            yield batch


def read_all(
    case: SourceCase, *, positions: Mapping[str, Position] | None = None, tasks: int = 1, context: TaskContext | None = None
) -> list[dict[str, list[Seen]]]:
    """Everything there is behind the positions: for each task, by partition."""
    read = []
    for number, share in enumerate(case.source.plan(case.parsed, tasks, positions or {}).tasks):
        with _task(case, share, replace(context or TaskContext(), task=number)) as task:
            task.start(dict(positions or {}))
            found: dict[str, list[Seen]] = {}
            for batch in _drain(task, case.seconds):
                if len(batch):
                    found.setdefault(batch.partition, []).extend(_records(batch))
            read.append(found)
    return read


def _ends(whole: Mapping[str, Sequence[Seen]]) -> dict[str, Position]:
    return {name: seen.position for name, records in whole.items() if (seen := records[-1]).position is not None}


def _sampled(items: Sequence[Any]) -> Sequence[Any]:
    """All, or some of many, the first and the last among them."""
    if len(items) <= _SAMPLES:
        return items
    return [items[i * (len(items) - 1) // (_SAMPLES - 1)] for i in range(_SAMPLES)]


class SourceSuite:
    """Subclass it, and give it a `subject`, or a fixture named `case`."""

    subject: SourceCase

    @pytest.fixture
    def case(self) -> SourceCase:
        """What is tested. Override it where the case needs other fixtures."""
        return self.subject

    def test_its_options_are_documented(self, case: SourceCase) -> None:
        """Every option says what it is for, under a key that can be read."""
        check_documented(case.source.options)
        assert (case.source.__doc__ or "").strip(), "the class has no docstring, which is its summary"

    def test_it_accepts_its_configuration(self, case: SourceCase) -> None:
        """check() finds nothing wrong with what works."""
        assert list(case.source.check(case.parsed)) == []

    @pytest.mark.parametrize("tasks", [1, 3, 1000])
    def test_a_plan_has_at_most_as_many_tasks_as_allowed_and_is_small(self, case: SourceCase, tasks: int) -> None:
        """Plans go through a database and over the network."""
        plan = case.source.plan(case.parsed, tasks, {})
        assert 1 <= len(plan.tasks) <= tasks
        assert all(isinstance(text, str) for task in plan.tasks for pair in task.items() for text in pair)
        assert max(len(json.dumps(dict(task))) for task in plan.tasks) < 100_000

    def test_it_reads_everything(self, case: SourceCase) -> None:
        """Each value once, in the order of its partition."""
        (found,) = read_all(case)
        values = [[seen.value for seen in records] for records in found.values()]
        assert sum(map(len, values)) > 0, "the case has nothing to read"
        if case.expected is not None:
            assert sorted(map(repr, chain.from_iterable(values))) == sorted(map(repr, case.expected))
            if len(values) == 1:
                assert values[0] == list(case.expected)

    def test_batches_are_whole_columns(self, case: SourceCase) -> None:
        """All columns of a batch have the same length, and partitions have names that can be stored."""
        with _task(case, case.source.plan(case.parsed, 1, {}).tasks[0], TaskContext()) as task:
            task.start({})
            for batch in _drain(task, case.seconds):
                assert len(batch) > 0 or batch.end, "a batch without records and without an end is a None"
                for column in (batch.offsets, batch.keys, batch.timestamps_ms, batch.headers, batch.topics):
                    assert column is None or len(column) == len(batch)
                # A map that can't be stored is a ValueError, which says why.
                stored(Position(batch.end, batch.resume or {}))
                assert 0 < len(batch.partition) <= 1024
                assert batch.partition.isprintable()

    def test_offsets_of_a_partition_grow_strictly(self, case: SourceCase) -> None:
        """Sinks drop what is not above what they have seen."""
        for found in read_all(case, tasks=3):
            for records in found.values():
                offsets = [seen.offset for seen in records]
                assert all(before < after for before, after in pairwise(offsets))
                assert all(isinstance(number, int) and number >= 0 for offset in offsets for number in offset)

    def test_a_replay_gives_the_same_records_with_the_same_offsets(self, case: SourceCase) -> None:
        """What was sent and not committed is sent again, and must be known again."""
        self._only_replayable(case)
        assert read_all(case) == read_all(case)

    def test_the_size_of_batches_changes_nothing(self, case: SourceCase) -> None:
        """Records and offsets do not depend on where batches end."""
        self._only_replayable(case)
        expected = read_all(case)
        for records, size in ((1, 1), (2, 7), (3, 64)):
            assert read_all(case, context=TaskContext(batch_records=records, batch_bytes=size)) == expected

    def test_from_every_offset_exactly_the_rest_is_read(self, case: SourceCase) -> None:
        """A position is where reading goes on: nothing again, nothing left out."""
        self._only_replayable(case)
        (whole,) = read_all(case)
        for partition, done, position in _places(case):
            (rest,) = read_all(case, positions={partition: position})
            left = whole[partition][done:]
            others = {name: seen for name, seen in whole.items() if name != partition}
            assert rest == ({**others, partition: left} if left else others)

    def test_from_the_end_nothing_is_read(self, case: SourceCase) -> None:
        """What was delivered is not delivered again after a restart."""
        self._only_replayable(case)
        (whole,) = read_all(case)
        assert read_all(case, positions=_ends(whole)) == [{}]

    def test_a_plan_that_is_made_again_loses_nothing_and_begins_nothing_anew(self, case: SourceCase) -> None:
        """Plans see what is stored."""
        self._only_replayable(case)
        (whole,) = read_all(case)
        assert not any(read_all(case, positions=_ends(whole), tasks=3))

    def test_every_offset_that_it_gave_is_a_place_to_go_on_from(self, case: SourceCase) -> None:
        """People put back what they have seen; what is no offset is told, under the name of the partition."""
        partitions = set()
        for partition, _, position in _places(case):
            partitions.add(partition)
            assert list(case.source.check_position(case.parsed, partition, position)) == []
        assert partitions
        for partition in partitions:
            for wrong in ((), (-1,)):
                problems = list(case.source.check_position(case.parsed, partition, Position(wrong)))
                assert problems, f"{wrong} is taken for an offset"
                assert all(problem.key == partition and problem.fix for problem in problems)

    def test_from_the_ends_that_it_finds_everything_or_nothing_is_read(self, case: SourceCase) -> None:
        """A source that can't tell the end of a partition says None; one that can has to be right."""
        self._only_replayable(case)
        (whole,) = read_all(case)
        for edge, expected in ((Edge.EARLIEST, whole), (Edge.LATEST, {})):
            found = {partition: case.source.find_position(case.parsed, partition, edge) for partition in whole}
            places = {partition: stored(place) for partition, place in found.items() if place is not None}
            for partition, place in places.items():
                assert list(case.source.check_position(case.parsed, partition, place)) == []
            untold = {partition: records for partition, records in whole.items() if partition not in places}
            assert read_all(case, positions=places) == [{**untold, **expected}]

    def test_no_partition_is_in_two_tasks_and_none_is_lost(self, case: SourceCase) -> None:
        """Tasks share the work."""
        self._only_replayable(case)
        (whole,) = read_all(case)
        shares = read_all(case, tasks=3)
        assert sum(map(len, shares)) == len(whole)
        assert {name: records for share in shares for name, records in share.items()} == whole

    def test_a_poll_that_finds_nothing_does_not_block(self, case: SourceCase) -> None:
        """A task must see that it is to stop."""
        with _task(case, case.source.plan(case.parsed, 1, {}).tasks[0], TaskContext()) as task:
            task.start({})
            for _ in _drain(task, case.seconds):
                pass
            began = time.monotonic()
            assert not any(map(len, batches_of(task.poll()))), "there are records after the last one"
            assert time.monotonic() - began < _LONGEST_POLL
            assert 0 < task.idle_seconds <= 60

    def test_it_can_be_closed_twice_and_without_a_start(self, case: SourceCase) -> None:
        """close() comes after errors, too."""
        share = case.source.plan(case.parsed, 1, {}).tasks[0]
        with _task(case, share, TaskContext()) as task:
            task.close()
        with _task(case, share, TaskContext()) as task:
            task.start({})
            task.poll()
            task.close()

    def test_a_start_that_is_made_again_begins_again(self, case: SourceCase) -> None:
        """start() is called again after SystemAway and RetriableError."""
        self._only_replayable(case)
        with _task(case, case.source.plan(case.parsed, 1, {}).tasks[0], TaskContext()) as task:
            task.start({})
            first = batches_of(task.poll())
            task.start({})
            again = batches_of(task.poll())
            assert first
            # Where a log goes on behind what there is moves with the time.
            assert [replace(batch, end=()) for batch in again] == [replace(batch, end=()) for batch in first]

    def test_being_kept_alive_changes_nothing(self, case: SourceCase) -> None:
        """keep_alive() is called while nothing is read, also before the first poll."""
        with _task(case, case.source.plan(case.parsed, 1, {}).tasks[0], TaskContext(batch_records=10)) as task:
            assert task.keep_alive_seconds > 0
            task.start({})
            task.keep_alive()
            values: list[object] = []
            for batch in _drain(task, case.seconds):
                values += batch.values
                task.keep_alive()
        if case.expected is not None:
            assert sorted(map(repr, values)) == sorted(map(repr, case.expected))

    def test_what_remains_is_a_number_that_comes_to_nothing(self, case: SourceCase) -> None:
        """remaining() is shown as progress."""
        with _task(case, case.source.plan(case.parsed, 1, {}).tasks[0], TaskContext()) as task:
            task.start({})
            for _ in _drain(task, case.seconds):
                remaining = task.remaining()
                assert remaining is None or remaining >= 0
            assert not task.remaining()

    @staticmethod
    def _only_replayable(case: SourceCase) -> None:
        if not case.source.replayable(case.parsed):
            pytest.skip("the source says that it cannot replay")
