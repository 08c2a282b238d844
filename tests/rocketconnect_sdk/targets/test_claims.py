"""With numbers as they come from the clock, milliseconds since 2026 began: in 2026, in 2042, and by a clock that is wrong."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketconnect_sdk.errors import PermanentError
from rocketconnect_sdk.sink import QueuePosition
from rocketconnect_sdk.targets.claims import Claims, Version, closing, is_mine, merged, next_version, unpacked

PLAN, EPOCH = 28_342_800_000, 28_342_800_417
IN_2042, IN_9999 = 504_921_600_000, 251_634_700_000_000
CLOSED = 2**24 - 1
VERSIONS = st.builds(Version, st.integers(0, 2**48), st.integers(0, CLOSED))
QUEUE = "orders/broker-a/0"


@given(VERSIONS, VERSIONS)
def test_numbers_have_the_order_of_versions_and_stand_for_one_each(first: Version, second: Version) -> None:
    assert unpacked(first.packed) == first
    assert (first < second) == (first.packed < second.packed)
    assert (0 <= first.packed < 2**63) == (first.epoch < 2**39)


@pytest.mark.parametrize("epoch", [EPOCH, IN_2042, IN_9999])
def test_there_is_room_for_numbers_of_the_clock(epoch: int) -> None:
    assert unpacked(Version(epoch, CLOSED).packed) == Version(epoch, CLOSED)


def test_what_has_no_room_is_told() -> None:
    with pytest.raises(PermanentError, match=r"no room for more commits than were tried \(16777214\)\. Restart the task"):
        next_version(EPOCH, [Version(EPOCH, CLOSED - 1)])


def test_an_attempt_is_behind_all_of_its_owner() -> None:
    known = [Version(EPOCH, 7), Version(EPOCH + 1, 4), Version(EPOCH + 1, 9), Version(EPOCH + 9, 50)]
    assert next_version(EPOCH + 1, known) == Version(EPOCH + 1, 10)
    assert next_version(EPOCH + 2, known) == Version(EPOCH + 2, 1)


def test_who_owns_a_task() -> None:
    mine = Version(EPOCH, 5)
    assert not is_mine((PLAN, EPOCH), 0, Claims())
    assert not is_mine((PLAN, EPOCH + 1), 0, Claims(PLAN, {0: mine}))
    assert is_mine((PLAN, EPOCH), 0, Claims(PLAN, {0: mine, 1: Version(EPOCH + 9, 1)}))
    assert not is_mine((PLAN + 1, EPOCH + 1), 0, Claims(PLAN, {0: Version(EPOCH, CLOSED)}))


@pytest.mark.parametrize(
    "newer",
    [
        Claims(PLAN, {0: Version(EPOCH + 1, 1)}),
        Claims(PLAN, {0: Version(EPOCH, CLOSED)}),
        Claims(PLAN + 1, {0: Version(EPOCH, 5)}),
        Claims(PLAN + 1, {1: Version(EPOCH + 1, 1)}),
    ],
    ids=["another owner", "closed", "another plan", "a plan without this task"],
)
def test_an_owner_that_was_replaced_is_told(newer: Claims) -> None:
    with pytest.raises(PermanentError, match="a newer owner"):
        is_mine((PLAN, EPOCH), 0, newer)


def test_the_first_owner_of_a_plan_closes_the_tasks_of_older_ones_and_no_other_owner_does() -> None:
    tasks = {0: Version(EPOCH, 4), 1: Version(EPOCH + 1, 3), 2: Version(EPOCH - 9, CLOSED)}
    new = PLAN + 500, EPOCH + 500
    closed = closing(new, 0, Claims(PLAN, tasks))
    assert closed == {1: Version(EPOCH + 1, CLOSED)}
    assert Version(EPOCH + 1, CLOSED).packed < Version(EPOCH + 501, 1).packed
    after = Claims(new[0], {**tasks, **closed, 0: Version(new[1], 1)})
    assert closing((new[0], new[1] + 1), 1, after) == {}
    assert after.open == {0: Version(new[1], 1)}


def test_a_queue_is_where_the_latest_of_the_tasks_has_it() -> None:
    one = {QUEUE: QueuePosition(20), "q": QueuePosition(5, incarnation=1)}
    other = {QUEUE: QueuePosition(30), "q": QueuePosition(90)}
    assert merged([one, other]) == merged([other, one]) == {QUEUE: QueuePosition(30), "q": QueuePosition(5, incarnation=1)}
