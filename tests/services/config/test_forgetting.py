"""Connectors that were deleted long ago are forgotten, here and at the position service, whatever fails in between."""

from collections.abc import Sequence

import pytest
import sqlalchemy as sa

from rocketconnect_kit.errors import NotFound, Unavailable
from services.config import tables
from services.config.domain import CleanupOutcome, Connector, ConnectorType, Draft, WantedState
from services.config.forgetting.rows import ForgettingStore
from services.config.forgetting.sweeping import Forgetting
from services.config.signature import Signature
from services.config.store import ConfigStore
from tests.services.config.conftest import Clock

LATER = 31 * 24 * 3600.0
CONFIG = {"connector.class": "slots"}
OF_CONNECTORS = (tables.connectors, tables.revisions, tables.history, tables.origins)


class Told:
    """A position service that may not answer."""

    def __init__(self) -> None:
        self.forgotten: list[str] = []
        self.fails_before = self.fails_behind = False

    async def forget(self, uids: Sequence[str]) -> bool:
        if self.fails_before:
            raise Unavailable("AWAY", "it is away")
        self.forgotten += uids
        if self.fails_behind:
            raise Unavailable("AWAY", "its answer is lost")
        return True


def create(store: ConfigStore, name: str, adopt_uid: str = "") -> Connector:
    return store.create(Draft(name, CONFIG, WantedState.RUNNING, "", adopt_uid), ConnectorType.SOURCE)


def deleted(store: ConfigStore, name: str, *, cleaned: bool = True) -> str:
    uid = create(store, name).uid
    store.update(name, CONFIG | {"slot": "b"}, "", ConnectorType.SOURCE)
    store.delete(name, "")
    if cleaned and (taken := store.take_cleanup(["slots"], 60)) is not None:
        store.report_cleanup(uid, taken.delete_time, CleanupOutcome.NOTHING, Signature("w"))
    return uid


def uids(engine: sa.Engine) -> set[str]:
    """Of which anything is stored."""
    with engine.connect() as connection:
        columns = [
            table.c["connector_uid" if "connector_uid" in table.c else "uid"] for table in (*OF_CONNECTORS, tables.forgotten)
        ]
        return {uid for column in columns for uid in connection.execute(sa.select(column)).scalars()}


@pytest.fixture
def told() -> Told:
    return Told()


def forgetting(engine: sa.Engine, told: Told, clock: Clock, days: float = 30) -> Forgetting:
    return Forgetting(ForgettingStore(engine), told, days, clock)


async def test_what_was_deleted_long_ago_is_forgotten_and_nothing_else(
    store: ConfigStore, engine: sa.Engine, clock: Clock, told: Told
) -> None:
    old, living = deleted(store, "old"), create(store, "living").uid
    uncleaned = deleted(store, "uncleaned", cleaned=False)
    clock.advance(LATER)
    recent = deleted(store, "recent")
    assert await forgetting(engine, told, clock, days=0).look() == 0
    assert uids(engine) == {old, living, uncleaned, recent}
    assert await forgetting(engine, told, clock).look() == 1
    assert uids(engine) == {living, uncleaned, recent}
    assert told.forgotten == [old]
    with pytest.raises(NotFound, match="no connector ever had the uid"):
        create(store, "again", adopt_uid=old)
    assert create(store, "again", adopt_uid=recent).uid == recent


async def test_what_is_adopted_in_time_is_not_forgotten(store: ConfigStore, engine: sa.Engine, clock: Clock, told: Told) -> None:
    uid = deleted(store, "c")
    clock.advance(LATER)
    create(store, "c", adopt_uid=uid)
    assert await forgetting(engine, told, clock).look() == 0
    assert told.forgotten == []


async def test_whatever_fails_or_is_killed_in_between_the_position_service_hears_of_it(
    store: ConfigStore, engine: sa.Engine, clock: Clock, told: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    uid = deleted(store, "c")
    clock.advance(LATER)
    told.fails_before = True
    with pytest.raises(Unavailable):
        await forgetting(engine, told, clock).look()
    with pytest.raises(NotFound):
        create(store, "again", adopt_uid=uid)
    told.fails_before, told.fails_behind = False, True
    with pytest.raises(Unavailable):
        await forgetting(engine, told, clock).look()
    told.fails_behind = False

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(ForgettingStore, "told", killed)
        await forgetting(engine, told, clock).look()
    await forgetting(engine, told, clock).look()
    assert set(told.forgotten) == {uid}
    assert uids(engine) == set()
    before = len(told.forgotten)
    await forgetting(engine, told, clock).look()
    assert len(told.forgotten) == before


async def test_many_are_forgotten_in_several_steps(store: ConfigStore, engine: sa.Engine, clock: Clock, told: Told) -> None:
    gone = {deleted(store, f"c{number}") for number in range(5)}
    clock.advance(LATER)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("services.config.forgetting.rows.MOST", 2)
        patched.setattr("services.config.forgetting.sweeping.MOST", 2)
        assert await forgetting(engine, told, clock).look() == 5
    assert set(told.forgotten) == gone
    assert uids(engine) == set()
