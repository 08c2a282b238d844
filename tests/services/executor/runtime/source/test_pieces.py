from rocketmq_remoting.model import MessageQueue
from services.executor.runtime.positions.stored import Stored
from services.executor.runtime.source.pieces import Piece, Progress, ReadBatch

FIRST, SECOND = (MessageQueue("t", "b", number) for number in range(2))


def read(progress: Progress, *ends: int) -> list[list[Piece]]:
    """Batches of one partition with these ends, each with a piece for each queue."""
    found = []
    for end in ends:
        batch = ReadBatch("p", "p", (end,), 0.0, open_pieces=2)
        pieces = [Piece(batch, queue, "p", 0, [(end,)], [b"x"], [b""]) for queue in (FIRST, SECOND)]
        progress.read(batch)
        found.append(pieces)
    return found


def moved(progress: Progress) -> list[int]:
    return [int(stored.offset[0]) for stored in progress.take_moved().values()]


def test_a_position_moves_over_a_batch_when_every_piece_of_it_is_confirmed() -> None:
    progress = Progress({}, 0)
    ((left, right),) = read(progress, 10)
    assert moved(progress) == []
    progress.confirmed(right, 0, 1)
    assert (moved(progress), progress.in_flight) == ([], True)
    progress.confirmed(left, 0, 1)
    assert (moved(progress), progress.in_flight) == ([10], False)
    assert moved(progress) == []


def test_a_position_waits_for_every_batch_before() -> None:
    progress = Progress({}, 0)
    first, second, third = read(progress, 10, 20, 30)
    for piece in (*second, first[0]):
        progress.confirmed(piece, 0, 1)
    assert moved(progress) == []
    progress.confirmed(first[1], 0, 1)
    assert moved(progress) == [20]
    for piece in third:
        progress.confirmed(piece, 0, 1)
    assert moved(progress) == [30]


def test_batches_with_a_time_are_told_when_the_position_has_moved_over_them_also_those_that_were_confirmed_before() -> None:
    progress = Progress({}, 0)
    first, second = read(progress, 10, 20)
    first[0].batch.first_ms = second[0].batch.last_ms = 5
    for piece in second:
        progress.confirmed(piece, 0, 1)
    assert progress.take_passed() == []
    for piece in first:
        progress.confirmed(piece, 0, 1)
    assert progress.take_passed() == [first[0].batch, second[0].batch]
    assert progress.take_passed() == []


def test_a_successor_looks_from_the_first_message_that_is_above_the_position() -> None:
    progress = Progress({}, 0)
    for queue in (FIRST, SECOND):
        progress.add_queue(queue, 5)
    first, second = read(progress, 10, 20)
    assert progress.floors({}) == {FIRST: 5, SECOND: 5}
    progress.confirmed(first[0], 6, 7)
    progress.confirmed(second[0], 7, 8)
    assert progress.floors({}) == {FIRST: 6, SECOND: 5}
    progress.confirmed(first[1], 5, 6)
    assert progress.floors({}) == {FIRST: 7, SECOND: 6}
    progress.confirmed(second[1], 6, 7)
    assert progress.floors({FIRST: 4}) == {FIRST: 4, SECOND: 7}


def test_a_position_stands_at_the_end_of_a_batch_that_closes_and_never_within() -> None:
    progress = Progress({}, 0)
    batches = [ReadBatch("p", "p", (end,), 0.0, 1, resume={"cursor": end}, closes=end % 20 == 0) for end in (10, 20, 30, 40)]
    pieces = [Piece(batch, FIRST, "p", 0, [batch.end], [b"x"], [b""]) for batch in batches]
    for batch in batches:
        progress.read(batch)
    seen = []
    for number in (0, 2, 1, 3):
        progress.confirmed(pieces[number], number, number + 1)
        seen.append([(stored.offset, stored.resume) for stored in progress.take_moved().values()])
    assert seen == [[], [], [((20,), {"cursor": 20})], [((40,), {"cursor": 40})]]
    assert not progress.in_flight


def test_what_is_confirmed_and_not_passed_is_in_flight_and_has_to_be_looked_for() -> None:
    progress = Progress({}, 0)
    progress.add_queue(FIRST, 5)
    batch = ReadBatch("p", "p", (10,), 0.0, 1, resume={"cursor": 10}, closes=False)
    progress.read(batch)
    progress.confirmed(Piece(batch, FIRST, "p", 0, [(10,)], [b"x"], [b""]), 5, 6)
    assert (progress.take_moved(), progress.in_flight, progress.floors({})) == ({}, True, {FIRST: 5})


def test_a_partition_that_is_no_more_is_passed_when_all_before_it_is_and_nothing_is_kept_of_it() -> None:
    progress = Progress({}, 0)
    ((left, right),) = read(progress, 10)
    progress.read(ReadBatch("p", "p", (10,), 0.0, gone=True))
    assert moved(progress) == []
    progress.confirmed(left, 0, 1)
    progress.confirmed(right, 0, 1)
    assert progress.take_moved() == {"p": Stored((10,), gone=True)}
    assert (progress.in_flight, progress._open) == (False, {})
    ((left, right),) = read(progress, 3)
    progress.confirmed(left, 1, 2)
    progress.confirmed(right, 1, 2)
    assert progress.take_moved() == {"p": Stored((3,))}
