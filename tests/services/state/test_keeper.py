"""The keeper over a real SQLite store that can be made to fail."""

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from rocketconnect_kit.errors import Aborted, ServiceError, Unavailable
from rocketconnect_kit.leader.seat import StoredSeat
from rocketconnect_kit.store import database
from services.state.core import ConnectorsTold, Reported
from services.state.keeper import Keeper
from services.state.model import Moment, State
from services.state.store import Changes, StateStore
from tests.services.state.things import connector, line, report


class UnreliableStore(StateStore):
    """A real store whose disk is full, or slow, when the test says so."""

    fails_with: ServiceError | None = None
    seconds = 0.0
    writes = 0

    def write(self, changes: Changes) -> None:
        time.sleep(self.seconds)
        if self.fails_with is not None:
            raise self.fails_with
        super().write(changes)
        self.writes += 1


@pytest.fixture
def store(tmp_path: Path) -> Iterator[UnreliableStore]:
    engine = database.engine(f"sqlite:///{tmp_path}/state.db")
    database.migrate(engine, "state")
    yield UnreliableStore(engine, 0)
    engine.dispose()


@pytest.fixture
def keeper(store: UnreliableStore) -> Keeper:
    return Keeper(store, 5.0, lambda: Moment(time.monotonic(), time.time()))


async def test_a_change_of_state_and_a_log_line_are_on_disk_when_they_are_acknowledged(
    keeper: Keeper, store: UnreliableStore
) -> None:
    async with keeper.running():
        keeper.tell(ConnectorsTold(snapshot=True, connectors=(connector(),)))
        await keeper.report(Reported((report(state=State.FAILED, trace="disk full"),), (("u1", line("gave up")),)))
        track = store.load()["u1"]
        assert track.sightings[0].report.trace == "disk full"
        assert [one.message for one in track.lines] == ["gave up"]


async def test_progress_is_written_later_at_most_once_a_second(keeper: Keeper, store: UnreliableStore) -> None:
    async with keeper.running():
        await keeper.report(Reported((report(),)))
        before = store.writes
        for number in range(100):
            await keeper.report(Reported((report(last_progress=100.0 + number),)))
        assert store.writes == before
        await asyncio.sleep(1.3)
        assert store.writes == before + 1
        assert store.load()["u1"].sightings[0].report.last_progress == 199.0


async def test_reports_that_arrive_during_a_write_share_the_next_one(keeper: Keeper, store: UnreliableStore) -> None:
    async with keeper.running():
        store.seconds = 0.1
        await asyncio.gather(*(keeper.report(Reported((report(task),))) for task in range(50)))
        assert store.writes <= 2
        assert len(store.load()["u1"].sightings) == 50


async def test_what_could_not_be_written_is_heard_and_acknowledged_when_it_is_written(
    keeper: Keeper, store: UnreliableStore
) -> None:
    async with keeper.running():
        keeper.tell(ConnectorsTold(snapshot=True, connectors=(connector(),)))
        store.fails_with = Unavailable("STORE_UNAVAILABLE", "disk full")
        lines = (("u1", line("opened")),)
        with pytest.raises(Unavailable, match="disk full"):
            await keeper.report(Reported((report(),), lines))
        assert keeper.states.view("name-u1", keeper.now()).tasks[0].state is State.RUNNING
        store.fails_with = None
        # The same again: it is acknowledged only now, and then it is on disk.
        await keeper.report(Reported((report(),), lines))
        track = store.load()["u1"]
        assert [one.message for one in track.lines] == ["opened"]
        assert 0 in track.sightings


async def test_a_clean_end_writes_what_could_wait(keeper: Keeper, store: UnreliableStore) -> None:
    async with keeper.running():
        keeper.tell(ConnectorsTold(snapshot=True, connectors=(connector(),)))
    assert store.load()["u1"].connector == connector()


async def test_lines_of_a_uid_that_was_deleted_and_adopted_are_kept(keeper: Keeper, store: UnreliableStore) -> None:
    async with keeper.running():
        keeper.tell(ConnectorsTold(snapshot=True, connectors=(connector(),)))
        await keeper.report(Reported((), (("u1", line("old")),)))
        keeper.tell(ConnectorsTold(snapshot=True))
        keeper.tell(ConnectorsTold(snapshot=True, connectors=(connector(),)))
        await asyncio.sleep(0.005)
        await keeper.report(Reported((), (("u1", line("new")),)))
    assert [one.message for one in store.load()["u1"].lines] == ["new"]


async def test_it_ends_when_another_process_leads(keeper: Keeper, store: UnreliableStore) -> None:
    async with keeper.running() as keeping:
        StoredSeat(store._engine, "state").take("another process")
        with pytest.raises(Aborted, match="another state service leads now"):
            await keeper.report(Reported((report(),)))
        with pytest.raises(Aborted):
            await asyncio.wait_for(keeping, 5)
    assert store.load() == {}
