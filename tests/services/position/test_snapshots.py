"""Where a connector was when a revision ended, and going back there."""

import pytest

from rocketconnect_kit.errors import FailedPrecondition, NotFound
from services.position import snapshots
from services.position.domain import Fence, Update
from services.position.store import PositionStore


def opened(store: PositionStore, revision: int, *, generation: int | None = None, epoch: int = 1) -> Fence:
    generation = generation or revision
    fence = Fence("c", 0, generation, 100 * generation + epoch)
    store.open_task(fence, revision).result(10)
    return fence


def committed(store: PositionStore, by: Fence, **offsets: int) -> None:
    updates = [Update(partition, f"[{offset}]", 0, "", "") for partition, offset in offsets.items()]
    store.commit(by, [*updates, Update("~task/0", "[]", 0, '{"floors": {}}', "")], clean=False).result(10)


def stored(store: PositionStore) -> dict[str, tuple[str, int]]:
    found = store.page("c", "", 100)
    return {position.partition: (position.offset, position.incarnation) for position in found if position.partition[0] != "~"}


def kept(store: PositionStore) -> list[tuple[int, int, dict[str, str]]]:
    return [(each.revision, each.next_revision, dict(each.offsets)) for each in store.snapshots("c")[1]]


def test_the_end_of_a_revision_is_where_its_last_commit_came_before_the_next_one_opened(store: PositionStore) -> None:
    first = opened(store, 1)
    committed(store, first, p=1)
    committed(store, opened(store, 1, generation=2), p=5)
    assert kept(store) == []
    # Revision 2 never opened a task.
    third = opened(store, 3)
    with pytest.raises(FailedPrecondition):
        committed(store, first, p=6)
    committed(store, third, p=9, q=1)
    opened(store, 3, epoch=2)
    assert store.snapshots("c")[0] == 3
    assert kept(store) == [(1, 3, {"p": "[5]"})]


@pytest.mark.parametrize("revision", [1, 2])
def test_restoring_moves_what_moved_forgets_what_came_and_leaves_the_rest(store: PositionStore, revision: int) -> None:
    committed(store, opened(store, 1), p=5, still=7)
    third = opened(store, 3)
    committed(store, third, p=9, came=1)
    moved = store.restore("c", revision).result(10)
    assert [(each.partition, each.before, each.after) for each in moved.changes] == [("came", "[1]", None), ("p", "[9]", "[5]")]
    assert stored(store) == {"p": ("[5]", 1), "still": ("[7]", 0)}
    assert {position.partition for position in moved.positions} == {"p", "still", "~task/0"}
    with pytest.raises(FailedPrecondition, match="positions were altered or reset"):
        committed(store, third, p=10)
    # What is sent again on purpose is above what was sent before.
    again = store.open_task(Fence("c", 0, 4, 409), 4).result(10)
    assert again.incarnation == 1


def test_restoring_the_end_of_what_is_still_open_moves_nothing(store: PositionStore) -> None:
    committed(store, opened(store, 1), p=5)
    by = opened(store, 3)
    committed(store, by, p=9)
    assert store.restore("c", 3).result(10).changes == ()
    assert stored(store) == {"p": ("[9]", 0)}
    committed(store, by, p=10)


def test_an_end_that_is_not_known_is_refused_with_those_that_are_and_moves_nothing(store: PositionStore) -> None:
    committed(store, opened(store, 4), p=5)
    committed(store, opened(store, 5), p=6)
    for revision in (0, 3, -1):
        with pytest.raises(NotFound, match="known are the ends of the revisions: 4 ") as caught:
            store.restore("c", revision).result(10)
        assert caught.value.reason == "SNAPSHOT_NOT_FOUND"
    assert stored(store) == {"p": ("[6]", 0)}


def test_a_task_that_does_not_tell_its_revision_makes_no_snapshot_say_what_is_not_known(store: PositionStore) -> None:
    committed(store, opened(store, 1), p=1)
    committed(store, opened(store, 0, generation=2), p=2)
    committed(store, opened(store, 4), p=4)
    opened(store, 5)
    assert kept(store) == [(4, 5, {"p": "[4]"}), (1, 2, {"p": "[1]"})]


def test_the_last_so_many_snapshots_are_kept(store: PositionStore) -> None:
    for revision in range(1, snapshots.KEPT + 4):
        committed(store, opened(store, revision), p=revision)
    assert [each[0] for each in kept(store)] == list(range(snapshots.KEPT + 2, 2, -1))


def test_the_newest_revision_is_remembered_where_the_configurations_have_gone_back(store: PositionStore) -> None:
    assert store.newest_revision("c") == 0
    committed(store, opened(store, 1), p=1)
    committed(store, opened(store, 5), p=5)
    assert store.newest_revision("c") == 5
    committed(store, opened(store, 3, generation=6), p=7)
    assert store.newest_revision("c") == 5
    # What comes then is above it, so that the end of each is found by its number.
    committed(store, opened(store, 6, generation=7), p=9)
    assert kept(store) == [(5, 6, {"p": "[5]"}), (3, 6, {"p": "[7]"}), (1, 5, {"p": "[1]"})]
    assert store.newest_revision("c") == 6
