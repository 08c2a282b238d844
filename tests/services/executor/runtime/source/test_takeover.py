"""A model of source tasks that send, commit and die: what a new owner finds makes every record stand exactly once in the topic."""

import random
from dataclasses import dataclass, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rocketconnect_sdk.errors import PermanentError
from rocketconnect_sdk.record import Offset, SourceBatch
from rocketmq_remoting.model import MessageQueue
from services.executor.runtime.positions.stored import Stored
from services.executor.runtime.rocketmq.source_marks import SourceCoordinate
from services.executor.runtime.rocketmq.tail import Sent
from services.executor.runtime.source.gone_back import next_count
from services.executor.runtime.source.pieces import Piece, Progress, ReadBatch
from services.executor.runtime.source.takeover import Found, Row, Search, lowest, rows, scan_from
from tests.examples import some

QUEUES = [MessageQueue("t", "b", number) for number in range(5)]
PARTITIONS = ("p", "q")


@dataclass(frozen=True)
class Map:
    """Which queue a record goes to: its number, in the place of the hash of a key that has this salt, modulo the queues."""

    queues: tuple[MessageQueue, ...]
    salt: int = 0

    def queue(self, number: int) -> MessageQueue:
        return self.queues[(number // (1 + self.salt) + self.salt) % len(self.queues)]


FIXED = Map(tuple(QUEUES[:3]))


class Topic:
    """Queues of (partition, number)."""

    def __init__(self) -> None:
        self.queues: dict[MessageQueue, list[tuple[str, int]]] = {queue: [] for queue in QUEUES}

    def tail(self, queue: MessageQueue, start: int) -> dict[str, tuple[int, Offset]]:
        found: dict[str, tuple[int, Offset]] = {}
        for partition, number in self.queues[queue][start:]:
            found[partition] = max((0, (number,)), found.get(partition, (0, ())))
        return found


def look(topic: Topic, stored: dict[str, Stored], generation: int, revision: int) -> tuple[Found, Search]:
    search = scan_from(rows(stored), 0, generation, revision)
    there = {queue: topic.tail(queue, start) for queue, start in search.starts.items()}
    passed = {partition: (each.incarnation, each.offset) for partition, each in stored.items()}
    sent = Sent(lambda key: passed.get(key, (0, ())))
    for queue, start in search.starts.items():
        for partition, number in topic.queues[queue][start:]:
            sent.add(SourceCoordinate(partition, 1, 0, (number,)), [(number,)])
    found = Found(
        {
            queue: {key: place for key, place in marks.items() if place > passed.get(key, (-1, ()))}
            for queue, marks in there.items()
        },
        search.starts,
        sent.offsets if search.mixed else None,
    )
    return found, search


class Owner:
    """One life of a task: it reads batches of both partitions, sends their pieces in any order across queues, and commits."""

    def __init__(
        self, topic: Topic, stored: dict[str, Stored], chance: random.Random, generation: int, revision: int, by: Map
    ) -> None:
        self.topic, self.stored, self.chance, self.by = topic, stored, chance, by
        self.generation, self.revision = generation, revision
        self.found, self.search = look(topic, stored, generation, revision)
        self.progress = Progress({}, 0)
        for queue in {*by.queues, *self.search.starts}:
            self.progress.add_queue(queue, len(topic.queues[queue]))
        self.store_row()
        self.waiting: dict[MessageQueue, list[Piece]] = {queue: [] for queue in QUEUES}
        self.at = {partition: (stored[partition].offset[0] if partition in stored else 0) for partition in PARTITIONS}

    def store_row(self, *, clean: bool = False) -> None:
        floors = {} if clean else self.progress.floors(self.found.held())
        search = self.search
        row = Row(self.generation, self.revision, floors, search.base, 1, self.found.mixed, search.base_mixed)
        self.stored["~task/0"] = row.stored(1)

    def run(self, size: int, *, dies: bool) -> None:
        for _ in range(self.chance.randrange(1, 40)):
            action = self.chance.random()
            if action < 0.35:
                self.read(self.chance.choice(PARTITIONS), self.chance.randrange(1, 6), size)
            elif action < 0.8:
                self.send(self.chance.choice(QUEUES))
            else:
                self.commit()
        if dies:
            self.send_unseen()
            return
        while any(self.at[partition] < size for partition in PARTITIONS):
            for partition in PARTITIONS:
                self.read(partition, 3, size)
            if self.found.mixed:
                self.drain()
        self.drain()
        self.commit(clean=True)

    def drain(self) -> None:
        for queue in QUEUES:
            while self.waiting[queue]:
                self.send(queue)

    def read(self, partition: str, most: int, size: int) -> None:
        numbers = range(self.at[partition] + 1, min(self.at[partition] + 1 + most, size + 1))
        if not numbers:
            return
        offsets = [(number,) for number in numbers]
        whole = self.found.missing(SourceBatch(partition, list(numbers), offsets), partition, 0)
        if self.found.waits(whole, partition, 0, is_open=self.progress.is_open(partition)):
            return
        self.at[partition] = numbers[-1]
        batch = ReadBatch(partition, partition, whole.end or whole.offsets[-1], 0.0)
        dealt: dict[MessageQueue, list[Offset]] = {}
        lane = self.found.lane("t", self.by.queues, partition, 0, whole.offsets[0]) if len(whole) else None
        for offset in whole.offsets:
            dealt.setdefault(lane or self.by.queue(offset[0]), []).append(offset)
        pieces = [Piece(batch, queue, partition, 0, mine, [b""] * len(mine), [b""] * len(mine)) for queue, mine in dealt.items()]
        batch.open_pieces = len(pieces)
        self.found.read(partition)
        self.progress.read(batch)
        for piece in pieces:
            skip = self.found.skip(piece)
            if skip == len(piece):
                self.progress.confirmed(piece, None, 0)
            else:
                self.waiting[piece.queue].append(piece.part(skip, len(piece)))

    def send(self, queue: MessageQueue) -> None:
        if self.waiting[queue]:
            piece = self.waiting[queue].pop(0)
            start = len(self.topic.queues[queue])
            self.topic.queues[queue] += [(piece.key, offset[0]) for offset in piece.offsets]
            self.progress.confirmed(piece, start, len(self.topic.queues[queue]))

    def send_unseen(self) -> None:
        """A last send may be stored without anybody learning of it."""
        queue = self.chance.choice(QUEUES)
        if self.waiting[queue] and self.chance.random() < 0.7:
            piece = self.waiting[queue][0]
            self.topic.queues[queue] += [(piece.key, offset[0]) for offset in piece.offsets]

    def commit(self, *, clean: bool = False) -> None:
        moved = self.progress.take_moved()
        for partition, each in moved.items():
            self.found.passed(partition, each.incarnation, each.offset, drained=not self.progress.is_open(partition))
        self.stored.update(moved)
        self.store_row(clean=clean)


lives = given(st.integers(0, 10**9), st.integers(0, 8), st.integers(1, 40))


@settings(max_examples=some(300), deadline=None)
@lives
def test_however_often_owners_die_every_record_is_in_its_queue_once_and_in_order(seed: int, deaths: int, size: int) -> None:
    chance = random.Random(seed)
    topic = Topic()
    stored: dict[str, Stored] = {}
    generation = 1
    for _ in range(deaths):
        Owner(topic, stored, chance, generation, 1, FIXED).run(size, dies=True)
        generation += chance.random() < 0.3
    Owner(topic, stored, chance, generation, 1, FIXED).run(size, dies=False)
    for queue, messages in topic.queues.items():
        for partition in PARTITIONS:
            mine = [number for name, number in messages if name == partition]
            assert mine == [number for number in range(1, size + 1) if FIXED.queue(number) == queue]
    assert scan_from(rows(stored), 0, generation, 1).starts == {}


@settings(max_examples=some(600), deadline=None)
@lives
def test_however_often_owners_die_and_maps_change_every_record_is_there_once_and_queues_are_in_order(
    seed: int, deaths: int, size: int
) -> None:
    """Sinks drop what is not above the highest offset that they have seen in a queue, so each queue has to be in order."""
    chance = random.Random(seed)
    topic = Topic()
    stored: dict[str, Stored] = {}
    generation, by = 1, FIXED
    for life in range(deaths + 1):
        Owner(topic, stored, chance, generation, generation, by).run(size, dies=life < deaths)
        if chance.random() < 0.5:
            generation += 1
            by = Map(tuple(sorted(chance.sample(QUEUES, chance.randrange(1, 6)))), chance.randrange(3))
    for messages in topic.queues.values():
        for partition in PARTITIONS:
            mine = [number for name, number in messages if name == partition]
            assert mine == sorted(set(mine))
    everything = [message for messages in topic.queues.values() for message in messages]
    assert sorted(everything) == [(partition, number) for partition in PARTITIONS for number in range(1, size + 1)]


def test_when_the_old_map_is_finished_records_go_by_the_new_one() -> None:
    """Of 1, 2, 3 the second is missing; what was sent went to the first two of three queues."""
    found = Found(
        {QUEUES[0]: {"p": (0, (3,))}, QUEUES[1]: {"p": (0, (1,))}},
        {QUEUES[0]: 0, QUEUES[1]: 0},
        {"p": (0, {(1,), (3,)})},
    )
    batch = found.missing(SourceBatch("p", ["a", "b", "c"], [(1,), (2,), (3,)], keys=["x", "y", "z"]), "p", 0)
    assert (batch.values, batch.offsets, batch.keys, batch.end) == (["b"], [(2,)], ["y"], (3,))
    assert found.lane("t", QUEUES[:3], "p", 0, (2,)) == QUEUES[2]
    assert not found.waits(batch, "p", 0, is_open=True)
    assert found.waits(SourceBatch("p", ["d"], [(4,)]), "p", 0, is_open=True)
    assert found.lane("t", QUEUES[:3], "p", 0, (4,)) == QUEUES[2]
    assert not found.waits(SourceBatch("p", ["d"], [(4,)]), "p", 0, is_open=False)
    assert found.lane("t", QUEUES[:3], "p", 0, (4,)) is None
    # What is above the position is of both maps until it is passed.
    found.passed("p", 0, (2,), drained=True)
    assert found.mixed
    found.passed("p", 0, (4,), drained=False)
    assert not found.mixed


def test_what_is_on_its_way_outside_of_the_map_is_looked_for_as_such_by_the_next_owner() -> None:
    found = Found({QUEUES[0]: {"p": (0, (3,))}}, {QUEUES[0]: 0}, {"p": (0, {(3,)})})
    found.passed("p", 0, (3,), drained=False)
    assert found.mixed
    found.passed("p", 0, (5,), drained=True)
    assert not found.mixed


def test_what_was_sent_before_a_deliberate_reset_is_sent_again() -> None:
    found = Found({QUEUES[0]: {"p": (0, (3,))}}, {QUEUES[0]: 0}, {"p": (0, {(3,)})})
    batch = SourceBatch("p", ["c"], [(3,)])
    assert found.missing(batch, "p", 1) is batch
    assert found.lane("t", QUEUES[:1], "p", 1, (3,)) is None


def test_a_missing_record_that_no_queue_of_its_new_topic_can_take_in_order_is_refused_with_what_to_do() -> None:
    other = MessageQueue("u", "b", 0)
    found = Found({other: {"uid/p": (0, (9,))}}, {other: 0, QUEUES[0]: 0}, {"uid/p": (0, {(9,)})})
    with pytest.raises(PermanentError, match=r"topic u.*put the former configuration back"):
        found.lane("u", [other], "uid/p", 0, (3,))


def test_of_what_was_sent_only_what_is_behind_the_position_and_not_of_before_a_move_by_hand_counts() -> None:
    sent = Sent(lambda _key: (1, (2,)))
    for incarnation, number in ((0, 5), (1, 1), (1, 3), (1, 4), (0, 6)):
        sent.add(SourceCoordinate("p", 1, incarnation, (number,)), [(number,)])
    assert sent.offsets == {"p": (1, {(3,), (4,)})}
    # A higher one than is stored: the store has gone back. Behind its position all that was sent is there.
    sent.add(SourceCoordinate("p", 2, 7, (1,)), [(1,)])
    sent.add(SourceCoordinate("p", 2, 7, (9,)), [(9,)])
    assert sent.offsets == {"p": (7, {(3,), (4,), (9,)})}


def test_a_row_survives_being_stored() -> None:
    ends, lost = {QUEUES[0]: 5, QUEUES[1]: 9}, {QUEUES[1]: (3, 7)}
    epochs = {QUEUES[0]: 8}
    row = Row(3, 2, {QUEUES[0]: 5}, {QUEUES[1]: 4}, 7, mixed=True, ends=ends, lost=lost, epochs=epochs, base_epochs={QUEUES[1]: 7})
    assert Row.parse(row.stored(9).resume) == row
    # No two rows of an owner have the same offset, so that a commit shows which one it follows.
    assert next_count(None, 9) == next_count(Stored((9,)), 9) == next_count(Stored((8, 7)), 9) == 1
    assert next_count(replace(row, count=4).stored(9), 9) == 5
    assert rows({"~task/4": row.stored(9), "file": Stored((1,))}) == {4: row}


def test_a_row_of_before_maps_were_told_apart_counts_as_mixed() -> None:
    old = {"generation": 1, "revision": 1, "queues": {}, "floors": {"t/b/0": 5}, "base": {}, "tasks": 1}
    assert Row.parse(old) == Row(1, 1, {QUEUES[0]: 5}, {}, 1, mixed=True, base_mixed=True, ends={QUEUES[0]: 5})


def test_the_lowest_floor_of_each_queue_counts() -> None:
    assert lowest([{QUEUES[0]: 5, QUEUES[1]: 1}, {QUEUES[0]: 3}]) == {QUEUES[0]: 3, QUEUES[1]: 1}


def test_the_first_owner_of_a_generation_looks_from_the_lowest_floor_of_all_tasks_before() -> None:
    known = {0: Row(1, 1, {QUEUES[0]: 7}), 1: Row(1, 1, {QUEUES[0]: 4, QUEUES[1]: 9}), 2: Row(1, 1)}
    base = {QUEUES[0]: 4, QUEUES[1]: 9}
    search = scan_from(known, 0, 2, 1)
    assert search == Search(base, base, mixed=False, base_mixed=False)
    # The second task of the new generation comes later: the first one has written over a row, and kept the base.
    known[0] = Row(2, 1, {QUEUES[0]: 50}, base)
    assert scan_from(known, 1, 2, 1) == search
    assert scan_from(known, 0, 2, 1) == Search({QUEUES[0]: 50}, base, mixed=False, base_mixed=False)


def test_above_a_floor_that_has_passed_its_owners_messages_nothing_counts_that_an_older_owner_sends_late() -> None:
    row = Row(1, 1, {}, epochs={QUEUES[0]: 3, QUEUES[1]: 4}).above({QUEUES[0]: 5, QUEUES[1]: 6}, {QUEUES[0]}, 9)
    assert (row.floors, row.epochs) == ({QUEUES[0]: 5, QUEUES[1]: 6}, {QUEUES[0]: 3, QUEUES[1]: 9})
    assert scan_from({0: row}, 0, 1, 1).epochs == row.epochs
    # Which task of the generation before had a source partition is not known, so what one of them may have sent in time counts.
    other = Row(1, 1, {}).above({QUEUES[1]: 8}, {}, 7)
    search = scan_from({0: row, 1: other}, 0, 2, 1)
    assert search.epochs == search.base_epochs == {QUEUES[0]: 3, QUEUES[1]: 7}
    assert scan_from({0: Row(2, 1, {}, search.base, base_epochs=search.base_epochs), 1: other}, 1, 2, 1).epochs == search.epochs
    # A row of before this was stored: any counts.
    old = Row(1, 1, {QUEUES[0]: 2})
    assert scan_from({0: row, 1: old}, 0, 2, 1).epochs == {QUEUES[1]: 9}


def test_what_a_task_that_never_began_should_have_looked_for_is_looked_for_in_the_next_generation() -> None:
    known = {0: Row(1, 1, {QUEUES[0]: 4, QUEUES[1]: 9}, tasks=1)}
    base = scan_from(known, 0, 2, 1).base
    # Only the first of two tasks begins.
    known[0] = Row(2, 1, {QUEUES[0]: 50}, base, tasks=2)
    assert scan_from(known, 0, 3, 1).starts == base
    known[0] = Row(3, 1, {QUEUES[0]: 60}, base, tasks=1)
    assert scan_from(known, 0, 4, 1).starts == {QUEUES[0]: 60}


def test_when_all_tasks_of_a_generation_have_begun_nobody_looks_for_what_was_before_it() -> None:
    known = {
        0: Row(2, 1, {QUEUES[0]: 50}, {QUEUES[0]: 4}, tasks=2),
        1: Row(2, 1, {}, {QUEUES[0]: 4}, tasks=2),
        2: Row(1, 1, {QUEUES[0]: 3}, tasks=3),
    }
    assert scan_from(known, 0, 3, 1).starts == {QUEUES[0]: 50}


def test_the_first_owner_of_a_generation_knows_the_highest_end_and_every_loss_of_all_tasks_before() -> None:
    known = {
        0: Row(1, 1, {}, tasks=2, ends={QUEUES[0]: 7, QUEUES[1]: 2}, lost={QUEUES[0]: (3, 5)}),
        1: Row(1, 1, {}, tasks=2, ends={QUEUES[0]: 9}, lost={QUEUES[0]: (4, 6)}),
    }
    search = scan_from(known, 0, 2, 1)
    assert (search.starts, search.ends, search.lost) == ({}, {QUEUES[0]: 9, QUEUES[1]: 2}, {QUEUES[0]: (3, 6)})
    # What it has accepted is over for it, not for the other task.
    known[0] = Row(2, 1, {}, tasks=2, ends={QUEUES[0]: 1})
    assert scan_from(known, 0, 2, 1).ends == {QUEUES[0]: 1}
    assert (scan_from(known, 1, 2, 1).ends, scan_from(known, 1, 2, 1).lost) == ({QUEUES[0]: 9}, {QUEUES[0]: (4, 6)})


def test_what_another_revision_has_sent_was_sent_by_another_map_until_it_is_passed() -> None:
    known = {0: Row(1, 1, {QUEUES[0]: 4}, tasks=2), 1: Row(1, 1, {QUEUES[1]: 4}, tasks=2)}
    assert not scan_from(known, 0, 2, 1).mixed
    search = scan_from(known, 0, 2, 2)
    assert search.mixed
    assert search.base_mixed
    # The first task of the new revision has passed what it found; the second one has not begun.
    known[0] = Row(2, 2, {QUEUES[0]: 50}, search.base, 2, mixed=False, base_mixed=True)
    assert not scan_from(known, 0, 2, 2).mixed
    assert scan_from(known, 1, 2, 2).mixed
    # It never does, and a third revision, or the same in another generation, comes.
    assert scan_from(known, 0, 3, 2).mixed
    known[1] = Row(2, 2, {QUEUES[1]: 60}, search.base, 2, mixed=False, base_mixed=True)
    assert not scan_from(known, 0, 3, 2).mixed
    assert scan_from(known, 0, 3, 3).mixed


def test_a_clean_end_leaves_nothing_of_another_map() -> None:
    assert not scan_from({0: Row(1, 1, {}, {}, 1, mixed=True)}, 0, 2, 2).mixed
