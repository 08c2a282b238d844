"""A model of source tasks that send, commit and die: what a new owner finds makes every record stand exactly once in the topic."""

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from rocketconnect_sdk.record import Offset
from rocketmq_remoting.model import MessageQueue
from services.executor.runtime.pieces import Piece, Progress, ReadBatch
from services.executor.runtime.positions import Stored
from services.executor.runtime.takeover import Found, Row, lowest, rows, scan_from

QUEUES = [MessageQueue("t", "b", number) for number in range(3)]
PARTITIONS = ("p", "q")


class Topic:
    """Queues of (partition, number)."""

    def __init__(self) -> None:
        self.queues: dict[MessageQueue, list[tuple[str, int]]] = {queue: [] for queue in QUEUES}

    def tail(self, queue: MessageQueue, start: int) -> dict[str, tuple[int, Offset]]:
        found: dict[str, tuple[int, Offset]] = {}
        for partition, number in self.queues[queue][start:]:
            found[partition] = max((0, (number,)), found.get(partition, (0, ())))
        return found


def look(topic: Topic, stored: dict[str, Stored], generation: int) -> tuple[Found, dict[MessageQueue, int]]:
    starts, base = scan_from(rows(stored), 0, generation)
    there = {queue: topic.tail(queue, start) for queue, start in starts.items()}
    passed = {partition: (each.incarnation, each.offset) for partition, each in stored.items()}
    found = Found(
        {
            queue: {key: place for key, place in marks.items() if place > passed.get(key, (-1, ()))}
            for queue, marks in there.items()
        },
        starts,
    )
    return found, base


def run_owner(topic: Topic, stored: dict[str, Stored], generation: int, chance: random.Random, *, size: int, dies: bool) -> None:
    """One life: reads batches of both partitions, sends their pieces in any order across queues, commits, and maybe dies."""
    found, base = look(topic, stored, generation)
    progress = Progress({}, 0)
    for queue in QUEUES:
        progress.add_queue(queue, len(topic.queues[queue]))

    def row(*, clean: bool = False) -> Stored:
        return Row(generation, 1, {}, {} if clean else progress.floors(found.held()), base).stored(1)

    stored["~task/0"] = Row(generation, 1, {}, progress.floors(found.held()), base).stored(1)
    waiting: dict[MessageQueue, list[Piece]] = {queue: [] for queue in QUEUES}
    at = {partition: (stored[partition].offset[0] if partition in stored else 0) for partition in PARTITIONS}
    for _ in range(chance.randrange(1, 40)):
        action = chance.random()
        if action < 0.35:
            partition = chance.choice(PARTITIONS)
            numbers = range(at[partition] + 1, min(at[partition] + 1 + chance.randrange(1, 6), size + 1))
            if numbers:
                at[partition] = numbers[-1]
                read(partition, list(numbers), progress, found, waiting)
        elif action < 0.8:
            queue = chance.choice(QUEUES)
            if waiting[queue]:
                send(topic, queue, waiting, progress)
        else:
            commit(stored, progress, found, row)
    if dies:
        send_unseen(topic, chance.choice(QUEUES), waiting, chance)
        return
    for partition in PARTITIONS:
        while at[partition] < size:
            numbers = range(at[partition] + 1, min(at[partition] + 4, size + 1))
            at[partition] = numbers[-1]
            read(partition, list(numbers), progress, found, waiting)
    for queue in QUEUES:
        while waiting[queue]:
            send(topic, queue, waiting, progress)
    commit(stored, progress, found, lambda: row(clean=True))


def send_unseen(topic: Topic, queue: MessageQueue, waiting: dict[MessageQueue, list[Piece]], chance: random.Random) -> None:
    """A last send may be stored without anybody learning of it."""
    if waiting[queue] and chance.random() < 0.7:
        piece = waiting[queue][0]
        topic.queues[queue] += [(piece.key, offset[0]) for offset in piece.offsets]


def read(partition: str, numbers: list[int], progress: Progress, found: Found, waiting: dict[MessageQueue, list[Piece]]) -> None:
    batch = ReadBatch(partition, partition, (numbers[-1],), 0.0)
    dealt = {queue: [number for number in numbers if number % len(QUEUES) == queue.queue_id] for queue in QUEUES}
    pieces = [
        Piece(batch, queue, partition, 0, [(n,) for n in mine], [b""] * len(mine), [b""] * len(mine))
        for queue, mine in dealt.items()
        if mine
    ]
    batch.open_pieces = len(pieces)
    found.read(partition)
    progress.read(batch)
    for piece in pieces:
        skip = found.skip(piece)
        if skip == len(piece):
            progress.confirmed(piece, None, 0)
        else:
            waiting[piece.queue].append(piece.part(skip, len(piece)))


def send(topic: Topic, queue: MessageQueue, waiting: dict[MessageQueue, list[Piece]], progress: Progress) -> None:
    piece = waiting[queue].pop(0)
    start = len(topic.queues[queue])
    topic.queues[queue] += [(piece.key, offset[0]) for offset in piece.offsets]
    progress.confirmed(piece, start, len(topic.queues[queue]))


def commit(stored: dict[str, Stored], progress: Progress, found: Found, row) -> None:  # type: ignore[no-untyped-def]
    moved = progress.take_moved()
    for partition, each in moved.items():
        found.passed(partition, each.incarnation, each.offset)
    stored.update(moved)
    stored["~task/0"] = row()


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 10**9), st.integers(0, 8), st.integers(1, 40))
def test_however_often_owners_die_every_record_is_in_its_queue_once_and_in_order(seed: int, deaths: int, size: int) -> None:
    chance = random.Random(seed)
    topic = Topic()
    stored: dict[str, Stored] = {}
    generation = 1
    for _ in range(deaths):
        run_owner(topic, stored, generation, chance, size=size, dies=True)
        generation += chance.random() < 0.3
    run_owner(topic, stored, generation, chance, size=size, dies=False)
    for queue, messages in topic.queues.items():
        for partition in PARTITIONS:
            mine = [number for name, number in messages if name == partition]
            assert mine == [number for number in range(1, size + 1) if number % len(QUEUES) == queue.queue_id]
    assert scan_from(rows(stored), 0, generation)[0] == {}


def test_a_row_survives_being_stored() -> None:
    row = Row(3, 2, {"t": tuple(QUEUES)}, {QUEUES[0]: 5}, {QUEUES[1]: 4}, 7)
    assert Row.parse(row.stored(9).resume) == row
    assert rows({"~task/4": row.stored(9), "file": Stored((1,))}) == {4: row}


def test_the_lowest_floor_of_each_queue_counts() -> None:
    assert lowest([{QUEUES[0]: 5, QUEUES[1]: 1}, {QUEUES[0]: 3}]) == {QUEUES[0]: 3, QUEUES[1]: 1}


def test_the_first_owner_of_a_generation_looks_from_the_lowest_floor_of_all_tasks_before() -> None:
    known = {0: Row(1, 1, {}, {QUEUES[0]: 7}), 1: Row(1, 1, {}, {QUEUES[0]: 4, QUEUES[1]: 9}), 2: Row(1, 1)}
    starts, base = scan_from(known, 0, 2)
    assert starts == base == {QUEUES[0]: 4, QUEUES[1]: 9}
    # The second task of the new generation comes later: the first one has written over a row, and kept the base.
    known[0] = Row(2, 1, {}, {QUEUES[0]: 50}, base)
    assert scan_from(known, 1, 2) == (base, base)
    assert scan_from(known, 0, 2) == ({QUEUES[0]: 50}, base)


def test_what_a_task_that_never_began_should_have_looked_for_is_looked_for_in_the_next_generation() -> None:
    known = {0: Row(1, 1, {}, {QUEUES[0]: 4, QUEUES[1]: 9}, tasks=1)}
    starts, base = scan_from(known, 0, 2)
    # Only the first of two tasks begins.
    known[0] = Row(2, 1, {}, {QUEUES[0]: 50}, base, tasks=2)
    assert scan_from(known, 0, 3) == (starts, starts)
    known[0] = Row(3, 1, {}, {QUEUES[0]: 60}, starts, tasks=1)
    assert scan_from(known, 0, 4)[0] == {QUEUES[0]: 60}


def test_when_all_tasks_of_a_generation_have_begun_nobody_looks_for_what_was_before_it() -> None:
    known = {
        0: Row(2, 1, {}, {QUEUES[0]: 50}, {QUEUES[0]: 4}, tasks=2),
        1: Row(2, 1, {}, {}, {QUEUES[0]: 4}, tasks=2),
        2: Row(1, 1, {}, {QUEUES[0]: 3}, tasks=3),
    }
    assert scan_from(known, 0, 3)[0] == {QUEUES[0]: 50}
