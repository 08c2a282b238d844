from collections.abc import Mapping

from services.cluster.board import BACKLOG, Board
from services.cluster.model import Key
from services.cluster.view import AssignmentView


def view(task: int, worker: str = "a", epoch: int = 1) -> AssignmentView:
    return AssignmentView(Key("u", task), "c", 1, 1, epoch, 1, {}, {}, False, worker, False, 0, None, "")


def shown(*views: AssignmentView) -> Mapping[Key, AssignmentView | None]:
    return {view.key: view for view in views}


def test_a_listener_gets_everything_first_and_then_what_changed() -> None:
    board = Board()
    board.publish(shown(view(0), view(1)))
    listener = board.subscribe(None)
    first = listener.take()
    assert first is not None
    assert (first.snapshot, first.assignments, first.removed) == (True, (view(0), view(1)), ())
    assert listener.take() is None
    assert not listener.ready.is_set()
    board.publish({Key("u", 0): None, **shown(view(1, epoch=2))})
    assert listener.ready.is_set()
    second = listener.take()
    assert second is not None
    assert (second.snapshot, second.assignments, second.removed) == (False, (view(1, epoch=2),), (Key("u", 0),))
    assert second.sequence > first.sequence


def test_a_worker_is_told_of_its_own_units_only_and_that_one_is_no_longer_its_own() -> None:
    board = Board()
    board.publish(shown(view(0, "a"), view(1, "b")))
    listener = board.subscribe("a")
    first = listener.take()
    assert first is not None
    assert first.assignments == (view(0, "a"),)
    board.publish(shown(view(1, "b", epoch=5)))
    assert not listener.ready.is_set()
    board.publish(shown(view(0, "b", epoch=6), view(1, "a", epoch=7)))
    second = listener.take()
    assert second is not None
    assert (second.assignments, second.removed) == ((view(1, "a", epoch=7),), (Key("u", 0),))


def test_changes_of_a_unit_that_were_not_taken_become_one() -> None:
    board = Board()
    listener = board.subscribe(None)
    listener.take()
    for epoch in range(1, 50):
        board.publish(shown(view(0, epoch=epoch)))
    update = listener.take()
    assert update is not None
    assert update.assignments == (view(0, epoch=49),)
    board.publish(shown(view(1)))
    board.publish({Key("u", 1): None})
    assert listener.take() is None, "what came and went between was never told"


def test_a_listener_that_is_far_behind_gets_a_snapshot_instead_of_a_backlog() -> None:
    board = Board()
    listener = board.subscribe(None)
    listener.take()
    board.publish(shown(view(BACKLOG + 5)))
    for task in range(BACKLOG + 1):
        board.publish(shown(view(task)))
    assert listener._behind is None
    board.publish({Key("u", 0): None})
    update = listener.take()
    assert update is not None
    assert update.snapshot
    assert len(update.assignments) == BACKLOG + 1


def test_an_empty_board_is_a_snapshot_too() -> None:
    update = Board().subscribe("a").take()
    assert update is not None
    assert (update.snapshot, update.assignments) == (True, ())


def test_what_is_shown_as_it_was_is_no_news() -> None:
    board = Board()
    board.publish(shown(view(0)))
    listener = board.subscribe(None)
    listener.take()
    board.publish({Key("u", 9): None, **shown(view(0))})
    assert not listener.ready.is_set()
    assert board.sequence == 1
