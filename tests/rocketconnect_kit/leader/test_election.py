"""The election among replicas, each an `Election` of its own on a real PostgreSQL; and the one process of a SQLite file."""

import asyncio
import threading
import time
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest
import sqlalchemy as sa

from rocketconnect_kit.errors import Aborted, Unavailable
from rocketconnect_kit.leader.election import LEASE_SECONDS, Election, Reign
from rocketconnect_kit.leader.seat import StoredSeat, require_term
from rocketconnect_kit.store import database
from tests.suspended import suspend

TABLE = "CREATE TABLE test_leader (holder VARCHAR, term BIGINT, until DOUBLE PRECISION)"
ROW = "INSERT INTO test_leader VALUES ('', 0, 0)"


@pytest.fixture
def engine(postgres: str) -> Iterator[sa.Engine]:
    name = f"t{uuid.uuid4().hex}"
    admin = sa.create_engine(postgres, isolation_level="AUTOCOMMIT")
    with admin.connect() as connection:
        connection.execute(sa.text(f"CREATE DATABASE {name}"))
    admin.dispose()
    made = database.engine(sa.make_url(postgres).set(database=name).render_as_string(hide_password=False))
    prepare(made)
    yield made
    made.dispose()


def prepare(engine: sa.Engine) -> None:
    with database.writing(engine) as connection:
        connection.execute(sa.text(TABLE))
        connection.execute(sa.text(ROW))


class Faulty(StoredSeat):
    """A seat whose replica is cut off from the database, at once or for ever, when the test says so."""

    away = False
    hangs: threading.Event | None = None

    def renew(self, term: int) -> bool:
        if self.hangs is not None:
            self.hangs.wait(30)
        if self.away:
            raise Unavailable("STORE_UNAVAILABLE", "cut off")
        return super().renew(term)


class Replica:
    """One replica, its terms, and when it began and ended to lead by its own view."""

    def __init__(self, engine: sa.Engine) -> None:
        self.seat = Faulty(engine, "test")
        self.terms: list[int] = []
        self.told: list[bool] = []
        self.skipped = 0.0
        self.ended: asyncio.Future[None] | None = None
        self.election = Election(self.seat, self.lead, lambda: time.monotonic() + self.skipped)
        self.election.listen(self.listen)

    @property
    def leads(self) -> bool:
        return self.election.leads

    @asynccontextmanager
    async def lead(self, term: int) -> AsyncIterator["asyncio.Task[None]"]:
        self.terms.append(term)
        ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.ended = ended

        async def work() -> None:
            await ended

        yield asyncio.create_task(work())

    async def listen(self, leads: bool) -> None:
        self.told.append(leads)


async def wait_until(true: Callable[[], bool], seconds: float = 180.0) -> float:
    """Return after how many seconds it came true."""
    began = time.monotonic()
    async with asyncio.timeout(seconds):
        while not true():
            await asyncio.sleep(0.005)
    return time.monotonic() - began


@pytest.fixture
async def three(engine: sa.Engine) -> AsyncIterator[list[Replica]]:
    """Three replicas; at no time two of them lead."""
    replicas = [Replica(engine) for _ in range(3)]
    both: list[tuple[bool, ...]] = []

    async def watch() -> None:
        while True:
            leads = tuple(replica.leads for replica in replicas)
            if sum(leads) > 1:
                both.append(leads)
            await asyncio.sleep(0.002)

    watching = asyncio.create_task(watch())
    async with AsyncExitStack() as stack:
        for replica in replicas:
            await stack.enter_async_context(replica.election.running())
        yield replicas
    watching.cancel()
    assert not both


def leader(replicas: list[Replica]) -> Replica:
    [found] = [replica for replica in replicas if replica.leads]
    return found


def test_a_leader_counts_from_when_it_asked_until_its_end() -> None:
    reign = Reign(LEASE_SECONDS)
    assert not reign.holds(0.0)
    reign.renewed(asked=100.0)
    assert reign.holds(99.9 + LEASE_SECONDS)
    assert not reign.holds(100.0 + LEASE_SECONDS)
    reign.end()
    assert not reign.holds(100.0)


async def test_one_of_several_leads_and_goes_on_leading(three: list[Replica]) -> None:
    first = leader(three)
    await asyncio.sleep(LEASE_SECONDS + 1)
    assert leader(three) is first
    assert [replica.terms for replica in three] == [[1], [], []]
    assert first.told == [True]


async def test_the_end_of_a_leader_in_good_order_lets_the_next_one_lead_at_once(engine: sa.Engine) -> None:
    first, second = Replica(engine), Replica(engine)
    async with AsyncExitStack() as stack:
        async with first.election.running():
            await stack.enter_async_context(second.election.running())
            assert [first.leads, second.leads] == [True, False]
        assert await wait_until(lambda: second.leads) < 1.5
    assert (first.terms, second.terms) == ([1], [2])


async def test_a_leader_that_is_cut_off_steps_down_before_another_one_leads_and_stands_again(three: list[Replica]) -> None:
    first = leader(three)
    first.seat.away = True
    await wait_until(lambda: not first.leads)
    assert await wait_until(lambda: any(replica.leads for replica in three)) < LEASE_SECONDS + 2
    assert leader(three) is not first
    assert first.told == [True, False]
    first.seat.away = False
    await asyncio.sleep(0.5)
    assert not first.leads


async def test_a_renewal_that_hangs_does_not_keep_the_leader_in_office(three: list[Replica]) -> None:
    first = leader(three)
    first.seat.hangs = threading.Event()
    await wait_until(lambda: not first.leads)
    await wait_until(lambda: any(replica.leads for replica in three))
    first.seat.hangs.set()
    first.seat.hangs = None
    await asyncio.sleep(0.5)
    assert leader(three) is not first


async def test_one_that_was_stopped_for_longer_than_its_lease_leads_again_only_when_it_has_asked(three: list[Replica]) -> None:
    first = leader(three)
    first.skipped = LEASE_SECONDS + 0.1
    assert not first.leads
    await wait_until(lambda: any(replica.leads for replica in three))


async def test_while_the_store_is_away_nobody_leads_and_when_it_is_back_the_next_term_begins(engine: sa.Engine) -> None:
    alone = Replica(engine)
    async with alone.election.running():
        alone.seat.away = True
        await wait_until(lambda: not alone.leads)
        await asyncio.sleep(1)
        assert not alone.leads
        alone.seat.away = False
        await wait_until(lambda: alone.leads)
    assert alone.terms[0] == 1
    assert len(alone.terms) > 1
    assert alone.terms == sorted(set(alone.terms))


async def test_a_leader_that_can_not_go_on_gives_its_place_to_another(three: list[Replica]) -> None:
    first = leader(three)
    assert first.ended is not None
    first.ended.set_exception(Unavailable("STORE_UNAVAILABLE", "the store can't be read"))
    await wait_until(lambda: not first.leads)
    assert await wait_until(lambda: any(replica.leads for replica in three)) < 2
    assert max(term for replica in three for term in replica.terms) == 2


async def test_a_defect_of_the_leader_ends_the_election(engine: sa.Engine) -> None:
    alone = Replica(engine)
    async with alone.election.running() as task:
        assert alone.ended is not None
        alone.ended.set_exception(ZeroDivisionError())
        with pytest.raises(ZeroDivisionError):
            await asyncio.wait_for(task, 10)


def test_the_next_term_waits_for_what_the_last_one_writes_and_refuses_what_comes_late(engine: sa.Engine) -> None:
    seat = StoredSeat(engine, "test")
    old = seat.take("first")
    assert old is not None
    taken: list[int | None] = []
    with database.writing(engine) as connection:
        require_term(connection, "test", old)
        seat.release(old)
        taker = threading.Thread(target=lambda: taken.append(seat.take("second")))
        taker.start()
        taker.join(0.5)
        assert taken == []
    taker.join(10)
    assert taken == [old + 1]
    with pytest.raises(Aborted) as refused, database.writing(engine) as connection:
        require_term(connection, "test", old)
    assert refused.value.reason == "TERM_OVER"


def test_a_long_write_of_the_leader_does_not_hold_up_its_renewals(engine: sa.Engine) -> None:
    seat = StoredSeat(engine, "test")
    term = seat.take("first")
    assert term is not None
    with database.writing(engine) as connection:
        require_term(connection, "test", term)
        began = time.monotonic()
        assert seat.renew(term)
        assert time.monotonic() - began < 30


def test_a_replica_that_stops_in_the_middle_of_a_transaction_holds_the_next_term_up_for_two_seconds_at_most(
    engine: sa.Engine,
) -> None:
    seat = StoredSeat(engine, "test")
    term = seat.take("first")
    assert term is not None
    stopped = engine.connect()
    require_term(stopped, "test", term)
    seat.release(term)
    began = time.monotonic()
    assert seat.take("second") == term + 1
    assert time.monotonic() - began < 30
    stopped.invalidate()
    stopped.close()


async def test_on_a_sqlite_file_who_starts_last_leads_and_who_led_before_ends(tmp_path: Path) -> None:
    engine = database.engine(f"sqlite:///{tmp_path}/test.db")
    prepare(engine)
    first, second = Replica(engine), Replica(engine)
    async with first.election.running() as task:
        assert first.leads
        async with second.election.running():
            assert second.leads
            assert first.ended is not None
            with pytest.raises(Aborted) as refused, database.writing(engine) as connection:
                require_term(connection, "test", first.terms[-1])
            first.ended.set_exception(refused.value)
            with pytest.raises(Aborted):
                await asyncio.wait_for(task, 10)
    engine.dispose()


async def test_a_leader_whose_machine_was_suspended_leads_no_more(engine: sa.Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    replica = Replica(engine)
    by_default = Election(replica.seat, replica.lead)
    async with by_default.running():
        seen = [by_default.leads]
        replica.seat.away = True
        suspend(monkeypatch, LEASE_SECONDS)
        assert [*seen, by_default.leads] == [True, False]
