"""A source says of a partition that it is no more, and its position is removed: by its owner alone, and never what is newer."""

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rocketconnect.position.v1 import position_service_pb2 as pb

from rocketconnect_kit.errors import Aborted, FailedPrecondition, InvalidArgument, ServiceError
from services.position import fencing, wire
from services.position.domain import ConnectorRow, Fence, Ledger, Update
from services.position.sightings import Sightings

if TYPE_CHECKING:
    from services.position.store import PositionStore

OWNER, NEWER = Fence("c", 0, 1, 1), Fence("c", 0, 1, 2)
SEEN = Sightings(lambda: 0)


def moved(offset: int, expected: str) -> Update:
    return Update("p", f"[{offset}]", 0, "", expected)


def gone(expected: str) -> Update:
    return Update("p", expected, 0, "", expected, forget=True)


def opened(ledger: Ledger, by: Fence) -> Ledger:
    return fencing.apply(ledger, fencing.open_task(ledger, by, SEEN)[0])


def committed(ledger: Ledger, by: Fence, *updates: Update) -> Ledger:
    return fencing.apply(ledger, fencing.commit(ledger, by, updates, SEEN, clean=False, now=1))


@pytest.fixture
def ledger() -> Ledger:
    return committed(opened(Ledger(ConnectorRow("c", 0, 0, carried_clean=True)), OWNER), OWNER, moved(7, "none"))


def test_what_its_owner_says_is_no_more_is_removed_also_when_it_says_so_again(ledger: Ledger) -> None:
    for _ in range(2):
        ledger = committed(ledger, OWNER, gone("[7]"))
        assert ledger.positions == {}
    assert committed(ledger, OWNER, moved(1, "none")).positions["p"].offset == "[1]"


def test_another_position_than_the_known_one_is_not_removed(ledger: Ledger) -> None:
    with pytest.raises(Aborted):
        committed(ledger, OWNER, gone("[6]"))


def test_who_was_replaced_removes_nothing(ledger: Ledger) -> None:
    with pytest.raises(FailedPrecondition):
        committed(opened(ledger, NEWER), OWNER, gone("[7]"))


def test_what_a_task_keeps_for_itself_is_never_removed() -> None:
    request = pb.CommitPositionsRequest(fence=pb.TaskFence(connector_uid="c", generation=1, epoch=1))
    request.updates.add(forget=True).position.partition = "~task/0"
    request.updates[0].position.offset = "[1]"
    with pytest.raises(InvalidArgument, match="keeps for itself"):
        wire.commit(request)


STEPS = st.lists(st.tuples(st.booleans(), st.sampled_from([OWNER, NEWER]), st.integers(0, 3), st.integers(0, 5)), max_size=12)


@settings(max_examples=300, deadline=None)
@given(STEPS)
def test_a_position_goes_back_or_away_only_by_the_owner_that_has_passed_it(steps: list[tuple[bool, Fence, int, int]]) -> None:
    """Commits come late and again, of two owners, in any order; each owner sends one after the other, as the runtime does."""
    ledger = opened(Ledger(ConnectorRow("c", 0, 0, carried_clean=True)), OWNER)
    owner = OWNER
    for forgets, by, offset, before in steps:
        if by is NEWER and owner is OWNER:
            ledger, owner = opened(ledger, NEWER), NEWER
        stored = ledger.positions.get("p")
        expected = f"[{before}]" if before < 5 else "none"
        try:
            ledger = committed(ledger, by, gone(expected) if forgets else moved(offset, expected))
        except ServiceError:
            assert ledger.positions.get("p") == stored
            continue
        assert by is owner
        now = ledger.positions.get("p")
        assert now == stored or (stored.offset if stored else "none") == expected


def test_what_is_removed_and_stored_again_in_one_transaction_is_there(store: "PositionStore") -> None:
    store.open_task(OWNER).result(60)
    store.commit(OWNER, [moved(7, "none")], clean=False).result(60)
    first = store.commit(OWNER, [gone("[7]")], clean=False)
    second = store.commit(OWNER, [moved(1, "none")], clean=False)
    assert (first.result(60), second.result(60)) == ({}, {})
    assert [each.offset for each in store.page("c", "", 10)] == ["[1]"]
    store.commit(OWNER, [gone("[1]")], clean=False).result(60)
    assert store.page("c", "", 10) == []
