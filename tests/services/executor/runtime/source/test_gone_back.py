"""What a topic knows that a position store has forgotten, on tails that are written by hand."""

from rocketconnect_sdk.record import Offset
from rocketmq_remoting.model import MessageQueue
from services.executor.runtime.positions.client import Opened
from services.executor.runtime.positions.stored import Stored
from services.executor.runtime.rocketmq.tail import Tail
from services.executor.runtime.source.gone_back import beyond, newest_epoch, passing, progress_of, told
from services.executor.runtime.source.pieces import Progress
from services.executor.runtime.source.takeover import Found, Row, row_name

ONE, TWO = MessageQueue("t", "b", 0), MessageQueue("t", "b", 1)


def known(key: str) -> tuple[int, Offset]:
    return {"u/p": (4, (500,))}.get(key, (2, ()))


def test_of_what_the_store_knows_the_highest_offset_of_its_incarnation_counts() -> None:
    tails = {
        ONE: Tail({"u/p": {3: (900,), 4: (510,)}, "u/new": {2: (7,)}, "u/reset": {1: (9,)}}, 0, 9),
        TWO: Tail({"u/p": {4: (500,)}}, 0, 9),
    }
    found = beyond(tails, known)
    assert found.there == {ONE: {"u/p": (4, (510,)), "u/new": (2, (7,))}, TWO: {}}
    assert found.raised == {}


def test_a_higher_incarnation_than_the_store_knows_is_gone_on_with_and_nothing_behind_its_position_is_sent_again() -> None:
    """After the backup records up to 550 were sent, then the position was moved to 0, and 100 of them went again."""
    tails = {
        ONE: Tail({"u/p": {3: (900,), 4: (550,), 5: (100,)}}, 0, 9),
        TWO: Tail({"u/p": {4: (540,)}, "u/new": {6: (7,)}}, 0, 9),
    }
    found = beyond(tails, known)
    assert found.raised == {"u/p": 5, "u/new": 6}
    assert found.there == {ONE: {"u/p": (5, (550,))}, TWO: {"u/p": (5, (540,)), "u/new": (6, (7,))}}
    assert "u/new, u/p" in told(found.raised)
    progress = Progress({"p": 4}, 2, lambda partition: found.raised.get(f"u/{partition}", 0))
    assert [progress.incarnation(partition) for partition in ("p", "new", "other")] == [5, 6, 2]


def test_the_newest_epoch_is_that_of_the_rows_of_tasks() -> None:
    stored = {row_name(0): Row(1, 1).stored(7), row_name(3): Row(1, 1).stored(9), "p": Stored((500,))}
    assert newest_epoch(stored) == 9
    assert newest_epoch({"p": Stored((500,))}) == 0


def test_a_position_is_stored_under_the_incarnation_of_the_backup_until_it_has_passed_what_was_found() -> None:
    found = Found({ONE: {"u/p": (5, (550,))}}, {ONE: 0}, None, {"u/p": 5})
    progress = progress_of(Opened({"p": Stored((500,), 4)}, 0.0, clean=False, incarnation=2), "u", found)
    assert progress.incarnation("p") == 5

    def stored(offset: int) -> int:
        return passing({"p": Stored((offset,), 5)}, found, progress, lambda partition: f"u/{partition}")["p"].incarnation

    assert [stored(549), stored(550), stored(551)] == [4, 5, 5]
