"""Deleted connectors are forgotten, and never come back as if they were new."""

from typing import TYPE_CHECKING, Any

import pytest
import sqlalchemy as sa
from hypothesis import given, settings
from hypothesis import strategies as st
from rocketconnect.position.v1 import position_service_pb2 as pb

from rocketconnect_kit.errors import FailedPrecondition, InvalidArgument, ServiceError
from services.position import fencing
from services.position import store as tables
from services.position.directory import Directory
from services.position.domain import ConnectorRow, Effects, Fence, Ledger, Update
from services.position.service import PositionService
from services.position.sightings import Sightings
from services.position.store import PositionStore

if TYPE_CHECKING:
    from collections.abc import Callable

NOBODY: Any = None
"""The context of a call that does not ask for it."""
ALL = (tables._connectors, tables._tasks, tables._positions, tables._snapshots)
STEPS = st.lists(st.tuples(st.sampled_from(["open", "commit", "confirm"]), st.integers(0, 2), st.integers(1, 3), st.integers(1, 9)))


def taken(ledger: Ledger, step: "Callable[[], Effects]") -> Ledger:
    """What a ledger is after a step, which may be refused."""
    try:
        return fencing.apply(ledger, step())
    except ServiceError:
        return ledger


def after(ledger: Ledger, seen: Sightings, step: tuple[str, int, int, int]) -> Ledger:
    what, task, generation, epoch = step
    fence = Fence("c", task, generation, epoch)
    if what == "open":
        return taken(ledger, lambda: fencing.open_task(ledger, fence, seen, generation)[0])
    if what == "confirm":
        return taken(ledger, lambda: fencing.confirm(ledger, [fence], 100, seen)[0])
    updates = [Update(f"p{task}", f"[{epoch}]", 0, "", "")]
    return taken(ledger, lambda: fencing.commit(ledger, fence, updates, seen, clean=True, now=1))


@settings(max_examples=200, deadline=None)
@given(STEPS, STEPS)
def test_whoever_comes_to_a_forgotten_connector_changes_nothing_until_somebody_resets_it(
    before: list[tuple[str, int, int, int]], since: list[tuple[str, int, int, int]]
) -> None:
    seen = Sightings(lambda: 0)
    ledger = Ledger(ConnectorRow("c", 0, 0, carried_clean=True))
    for step in before:
        ledger = after(ledger, seen, step)
    former = ledger
    ledger = fencing.apply(ledger, fencing.forget(ledger, seen, 2))
    assert (ledger.tasks, ledger.positions) == ({}, {})
    forgotten = ledger
    for step in since:
        ledger = after(ledger, seen, step)
        ledger = fencing.apply(ledger, fencing.forget(ledger, seen, 3))
    assert ledger == forgotten
    ledger = fencing.apply(ledger, fencing.reset(ledger, 4))
    incarnations = [former.connector.incarnation, *(each.incarnation for each in former.positions.values())]
    epochs = [former.connector.epoch_floor, *(row.epoch for row in former.tasks.values())]
    newer = Fence("c", 0, former.connector.generation + 1, max(epochs) + 1)
    effects, opened = fencing.open_task(ledger, newer, seen)
    assert opened.incarnation > max(incarnations)
    assert opened.positions == ()
    for late in (Fence("c", 0, newer.generation, max(epochs)), Fence("c", 0, former.connector.generation, newer.epoch)):
        with pytest.raises(FailedPrecondition):
            fencing.commit(fencing.apply(ledger, effects), late, [], seen, clean=False, now=5)


def rows(engine: sa.Engine) -> list[int]:
    with engine.connect() as connection:
        return [connection.execute(sa.select(sa.func.count()).select_from(table)).scalar_one() for table in ALL]


def test_one_row_is_left_of_a_forgotten_connector_and_all_of_the_others(store: PositionStore, engine: sa.Engine) -> None:
    for uid in ("c", "d"):
        for revision in (1, 2):
            for task in range(3):
                fence = Fence(uid, task, revision, 10 * revision + task)
                store.open_task(fence, revision).result(60)
                store.commit(fence, [Update(f"p{task}", "[1]", 0, "{}", "")], clean=True).result(60)
    assert rows(engine) == [2, 6, 6, 2]
    for _ in range(2):
        store.forget("c").result(60)
        assert rows(engine) == [2, 3, 3, 1]
    with pytest.raises(FailedPrecondition) as refused:
        store.open_task(Fence("c", 0, 3, 100), 3).result(60)
    assert refused.value.reason == "POSITIONS_FORGOTTEN"
    assert "position reset" in refused.value.message
    assert store.confirm("c", [Fence("c", 0, 3, 100)], 1_000).result(60) == (Fence("c", 0, 3, 100),)
    store.put_back("c", {"p0": ("[7]", "")}).result(60)
    assert [each.offset for each in store.open_task(Fence("c", 0, 3, 100), 3).result(60).positions] == ["[7]"]


async def test_what_is_no_uid_is_refused_before_anything_is_forgotten(store: PositionStore) -> None:
    store.open_task(Fence("c", 0, 1, 1)).result(60)
    service = PositionService(store, Directory(), lambda: False, None)  # type: ignore[arg-type]  # nobody else is asked
    for wrong in (["c", "no uid"], ["c"] * 1_001):
        with pytest.raises(InvalidArgument):
            await service.ForgetPositions(pb.ForgetPositionsRequest(connector_uids=wrong), NOBODY)
    store.open_task(Fence("c", 0, 1, 1)).result(60)
    await service.ForgetPositions(pb.ForgetPositionsRequest(connector_uids=["c", "c", "unknown"]), NOBODY)
    for uid in ("c", "unknown"):
        with pytest.raises(FailedPrecondition, match="deleted"):
            store.open_task(Fence(uid, 0, 2, 2)).result(60)
