"""The coordinator over a real SQLite store that can be made to fail."""

import asyncio
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from random import Random

import pytest

from rocketconnect_kit.clock import number_floor
from rocketconnect_kit.errors import Aborted, FailedPrecondition, ServiceError, Unavailable
from rocketconnect_kit.leader.seat import StoredSeat
from rocketconnect_kit.store import database
from services.cluster.coordinator import Coordinator
from services.cluster.decisions.events import ConnectorsChanged, Register, Tick
from services.cluster.decisions.leases import Timing
from services.cluster.model import PLAN, Changes, Connector, Key
from services.cluster.state import Policy
from services.cluster.store import ClusterStore

POLICY = Policy(Timing(lease=1.5, heartbeat_interval=0.1, send_deadline=0.3))


class UnreliableStore(ClusterStore):
    """A real store whose disk is full, or slow, when the test says so."""

    fails_with: ServiceError | None = None
    seconds = 0.0
    writes = 0

    def load(self) -> Changes:
        self._suffer()
        return super().load()

    def write(self, changes: Changes) -> None:
        self._suffer()
        super().write(changes)
        self.writes += bool(changes)

    def _suffer(self) -> None:
        time.sleep(self.seconds)
        if self.fails_with is not None:
            raise self.fails_with


@pytest.fixture
def store(tmp_path: Path) -> Iterator[UnreliableStore]:
    engine = database.engine(f"sqlite:///{tmp_path}/cluster.db")
    database.migrate(engine, "cluster")
    yield UnreliableStore(engine, 0)
    engine.dispose()


@pytest.fixture
def coordinator(store: UnreliableStore) -> Coordinator:
    return Coordinator(store, POLICY, time.monotonic, Random(0))


def registration(worker: str) -> Register:
    return Register(worker, "h:1", {}, frozenset({"file_source"}))


async def test_what_was_answered_is_on_disk(coordinator: Coordinator, store: UnreliableStore) -> None:
    async with coordinator.running():
        session = await coordinator.submit(registration("a"))
        worker = store.load().workers["a"]
        assert worker is not None
        assert worker.session == session


async def test_nobody_sees_what_could_not_be_written_and_it_works_again_when_the_store_does(
    coordinator: Coordinator, store: UnreliableStore, connector: Callable[..., Connector]
) -> None:
    async with coordinator.running():
        session = await coordinator.submit(registration("a"))
        store.fails_with = Unavailable("STORE_UNAVAILABLE", "disk full")
        with pytest.raises(Unavailable, match="disk full"):
            await coordinator.submit(ConnectorsChanged(snapshot=False, connectors=[connector()]))
        assert coordinator.board.views == {}
        coordinator.heartbeat("a", session)
        store.fails_with = None
        await coordinator.submit(ConnectorsChanged(snapshot=False, connectors=[connector()]))
        assert coordinator.board.views[Key("u1", PLAN)].worker == "a"


async def test_what_was_told_while_the_store_was_away_happens_when_it_is_back(
    coordinator: Coordinator, store: UnreliableStore, connector: Callable[..., Connector]
) -> None:
    async with coordinator.running():
        await coordinator.submit(registration("a"))
        store.fails_with = Unavailable("STORE_UNAVAILABLE", "disk full")
        coordinator.tell(ConnectorsChanged(snapshot=False, connectors=[connector()]))
        await asyncio.sleep(0.5)
        assert coordinator.board.views == {}
        store.fails_with = None
        async with asyncio.timeout(60):
            while coordinator.board.views.get(Key("u1", PLAN)) is None:
                await asyncio.sleep(0.02)


async def test_events_that_arrive_during_a_write_share_the_next_one(coordinator: Coordinator, store: UnreliableStore) -> None:
    async with coordinator.running():
        store.seconds = 0.05
        sessions = await asyncio.gather(*(coordinator.submit(registration(f"w{number}")) for number in range(50)))
        assert len(set(sessions)) == 50
        assert store.writes <= 3


async def test_heartbeats_do_not_wait_for_a_slow_disk(coordinator: Coordinator, store: UnreliableStore) -> None:
    async with coordinator.running():
        session = await coordinator.submit(registration("a"))
        store.seconds = 2.5
        slow = asyncio.create_task(coordinator.submit(registration("b")))
        for _ in range(24):
            await asyncio.sleep(0.1)
            coordinator.heartbeat("a", session)
        store.seconds = 0
        await slow
        coordinator.heartbeat("a", session)


async def test_a_worker_that_is_silent_is_judged_by_time_alone(coordinator: Coordinator) -> None:
    async with coordinator.running():
        session = await coordinator.submit(registration("a"))
        # While nobody at all is heard, nobody is judged.
        other = await coordinator.submit(registration("b"))
        for _ in range(11):
            coordinator.heartbeat("b", other)
            await asyncio.sleep(0.2)
        with pytest.raises(FailedPrecondition, match="has ended"):
            coordinator.heartbeat("a", session)


async def test_it_ends_when_another_process_leads(coordinator: Coordinator, store: UnreliableStore) -> None:
    async with coordinator.running() as deciding:
        StoredSeat(store._engine, "cluster").take("another process")
        with pytest.raises(Aborted, match="another cluster service leads now"):
            await asyncio.wait_for(deciding, 5)


async def test_an_event_whose_caller_has_gone_happens_all_the_same(coordinator: Coordinator, store: UnreliableStore) -> None:
    async with coordinator.running():
        store.seconds = 0.2
        gone = asyncio.create_task(coordinator.submit(registration("a")))
        await asyncio.sleep(0.05)
        gone.cancel()
        await coordinator.submit(registration("b"))
        assert set(store.load().workers) == {"a", "b"}


async def test_epochs_do_not_go_back_with_a_store_that_does(store: UnreliableStore) -> None:
    """A sink drops what comes under a lower epoch than it has seen."""
    wall, old = 1_800_000_000.0, store.load().counters
    coordinator = Coordinator(store, POLICY, time.monotonic, Random(0), lambda: wall)
    async with coordinator.running():
        sessions = [await coordinator.submit(registration("a")) for _ in range(3)]
    assert sessions == sorted(set(sessions))
    # A backup is put back, or a standby that lags takes over.
    store.write(Changes({"a": None}, {}, {}, {}, {}, {"number": old.get("number", 0)}))
    wall += 5
    coordinator = Coordinator(store, POLICY, time.monotonic, Random(0), lambda: wall)
    async with coordinator.running():
        assert await coordinator.submit(registration("a")) > max(sessions)


IN_2050 = 2_524_608_000.0


@pytest.mark.parametrize("other", [None, 1_800_000_000.0 + 30])
async def test_a_clock_that_jumps_to_2050_raises_no_number_and_is_told(
    store: UnreliableStore, caplog: pytest.LogCaptureFixture, other: float | None
) -> None:
    wall = 1_800_000_000.0

    def coordinator() -> Coordinator:
        return Coordinator(store, POLICY, time.monotonic, Random(0), lambda: wall, lambda: other)

    async with coordinator().running() as _:
        pass
    running = coordinator()
    async with running.running():
        before = await running.submit(registration("a"))
        wall = IN_2050
        while_wrong = await running.submit(registration("a"))
    assert before < while_wrong < before + 60_000
    assert [record for record in caplog.records if record.levelname == "ERROR" and "a clock is wrong" in record.getMessage()]
    # Nor does it for a leader that begins with it.
    again = coordinator()
    async with again.running():
        assert while_wrong < await again.submit(registration("a")) < before + 60_000
    wall = 1_800_000_100.0
    after = coordinator()
    async with after.running():
        assert await after.submit(registration("a")) == number_floor(wall) + 1


async def test_a_service_that_nobody_asked_anything_of_for_a_year_knows_when_it_ran_last(store: UnreliableStore) -> None:
    for days in (0, 300, 600, 900):
        now = 1_800_000_000.0 + days * 86_400
        coordinator = Coordinator(store, POLICY, time.monotonic, Random(0), partial(float, now))
        async with coordinator.running():
            await coordinator.submit(Tick())
    assert store.load().counters["clock"] == number_floor(1_800_000_000.0 + 3 * 300 * 86_400)


async def test_numbers_that_are_ahead_of_the_clock_are_told_at_the_start_and_go_on(
    store: UnreliableStore, caplog: pytest.LogCaptureFixture
) -> None:
    store.write(Changes({}, {}, {}, {}, {}, {"number": number_floor(IN_2050)}))
    coordinator = Coordinator(store, POLICY, time.monotonic, Random(0), lambda: 1_800_000_000.0)
    async with coordinator.running():
        assert await coordinator.submit(registration("a")) == number_floor(IN_2050) + 1
    assert [record for record in caplog.records if "are ahead of the clock" in record.getMessage()]


def test_the_floor_of_epochs_is_a_number_of_milliseconds_that_is_never_negative() -> None:
    assert number_floor(0.0) == 0
    assert number_floor(1_767_225_600 + 1.5) == 1500
