"""The store on SQLite and on PostgreSQL."""

from collections.abc import Callable
from random import Random

import pytest
import sqlalchemy as sa

from rocketconnect_kit.errors import Aborted
from rocketconnect_kit.leader.seat import StoredSeat
from services.cluster.decisions import core
from services.cluster.decisions.events import ConnectorsChanged, Register, ReportPlan
from services.cluster.model import PLAN, Changes, Connector, Key, Plan, PlanState, TargetState, Unit, Worker
from services.cluster.state import Policy, State
from services.cluster.store import ClusterStore
from services.cluster.tables import Tables

TERM = 0
"""That of a new store."""

WORKER = Worker("w:1@host", 7, "h:1", {"spark": "3.5", "é": "ü"}, frozenset({"p", "org.X"}), 3, ended=True, drained=True, pid=77)
CONNECTOR = Connector("u1", "c", 3, {"k": "v\n'\""}, TargetState.PAUSED, 2, 4, PlanState.STALE, deleted=True)
PLANNED = Plan("u1", 5, 3, 12, {"k": "v"}, ({"path": "a"}, {}), 2.5, asked=True)
UNITS = {Key("u1", PLAN): Unit(Key("u1", PLAN), 6, 3), Key("u1", 0): Unit(Key("u1", 0), 5, 3, 2**40, "w", True, 3, True)}
EVERYTHING = Changes(
    {WORKER.id: WORKER}, {"u1": CONNECTOR}, {"u1": PLANNED}, UNITS, {"u1": 5, "old": 9}, {"number": 2**40, "assignment_changes": 3}
)


@pytest.fixture
def store(engine: sa.Engine) -> ClusterStore:
    return ClusterStore(engine, TERM)


def test_a_new_store_is_empty(store: ClusterStore) -> None:
    assert not store.load()


def test_what_was_written_is_read_as_it_was(store: ClusterStore, engine: sa.Engine) -> None:
    store.write(EVERYTHING)
    assert ClusterStore(engine, TERM).load() == EVERYTHING


def test_rows_are_replaced_and_removed_in_one_write(store: ClusterStore) -> None:
    store.write(EVERYTHING)
    moved = Unit(Key("u1", 0), 6, 4, 99)
    store.write(
        Changes(
            workers={WORKER.id: None},
            connectors={"u1": None},
            plans={"u1": None},
            units={Key("u1", PLAN): None, Key("u1", 0): moved},
            generations={"u1": 6},
            counters={"number": 100},
        )
    )
    left = store.load()
    assert (left.workers, left.connectors, left.plans, left.units) == ({}, {}, {}, {Key("u1", 0): moved})
    assert left.generations == {"u1": 6, "old": 9}
    assert left.counters == {"number": 100, "assignment_changes": 3}


def test_a_process_whose_term_is_over_writes_nothing_more(store: ClusterStore, engine: sa.Engine) -> None:
    store.write(EVERYTHING)
    term = StoredSeat(engine, "cluster").take("another process")
    assert term is not None
    other = ClusterStore(engine, term)
    with pytest.raises(Aborted) as refused:
        store.write(Changes(generations={"u1": 1}))
    assert refused.value.reason == "TERM_OVER"
    with pytest.raises(Aborted):
        store.write(Changes())
    other.write(Changes(generations={"u1": 7}))
    assert other.load().generations["u1"] == 7


def test_the_rows_of_a_run_lead_to_the_same_state_after_a_restart(store: ClusterStore, connector: Callable[..., Connector]) -> None:
    state = State(Tables(), Policy(), 0)
    session = 0
    for event in (
        Register("a", "h:1", {}, frozenset({"file_source"})),
        ConnectorsChanged(snapshot=True, connectors=[connector("u1"), connector("u2", wanted=TargetState.STOPPED)]),
    ):
        effects = core.step(state, [event], 1, Random(0))
        store.write(effects.changes)
        session = session or int(str(effects.replies[0]))
    epoch = state.tables.units[Key("u1", PLAN)].epoch
    store.write(core.step(state, [ReportPlan("a", session, "u1", epoch, ({"x": "1"}, {"x": "2"}), 60)], 1, Random(0)).changes)
    again = Tables()
    again.apply(store.load())
    for name in ("workers", "connectors", "plans", "units", "generations", "counters"):
        assert dict(getattr(again, name)) == dict(getattr(state.tables, name))
