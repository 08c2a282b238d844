"""1,000 connectors with 2,000 tasks on ten workers, for each strategy, in simulated time."""

import time
from collections import Counter
from math import ceil

import pytest

from services.cluster.assignment.consistent_hash import BOUND
from services.cluster.assignment.strategies import STRATEGIES, StrategyName
from services.cluster.decisions import core
from services.cluster.decisions.events import Drain, Effects, Event, Release, ReportPlan
from services.cluster.model import PLAN, Connector, Key, TargetState
from services.cluster.state import Policy
from tests.services.cluster.paper import ClusterOnPaper

CONNECTORS = 1_000
TEN = [f"w{number}" for number in range(10)]
LONGEST_STEP_SECONDS = 1.0
"""Against what grows with the square. A step takes about 20 ms of a processor that has nothing else to do."""


class Scale(ClusterOnPaper):
    """Notes who is given and who has to release which task, and how long steps take."""

    def __init__(self, strategy: StrategyName) -> None:
        super().__init__(Policy(strategy=STRATEGIES[strategy]))
        self.given: Counter[Key] = Counter()
        self.revoked: Counter[Key] = Counter()
        self.longest = 0.0
        for worker in TEN:
            self.register(worker)
        config = {"connector.class": "file_source"}
        self.connectors(
            *(Connector(f"u{number}", f"c{number}", 1, config, TargetState.RUNNING, 1, 0) for number in range(CONNECTORS))
        )
        plannings = [unit for unit in self.state.tables.units.values() if unit.key.task == PLAN]
        tasks = ({"part": "0"}, {"part": "1"})
        self.together(
            *(ReportPlan(unit.worker, self.sessions[unit.worker], unit.key.connector_uid, unit.epoch, tasks) for unit in plannings)
        )
        self.pass_time(1)
        self.forget()

    def step(self, event: Event) -> Effects:
        return self.together(event)

    def together(self, *events: Event) -> Effects:
        began = time.process_time()
        effects = core.step(self.state, events, self.now, self.random)
        self.longest = max(self.longest, time.process_time() - began)
        for key, unit in effects.changes.units.items():
            if unit is not None and unit.is_held:
                (self.revoked if unit.revoked else self.given)[key] += 1
        return effects

    def release_at_once(self) -> None:
        """Release everything that was revoked, as one batch of the coordinator."""
        revoked = [unit for unit in self.state.tables.units.values() if unit.revoked]
        self.together(*(Release(unit.worker, self.sessions[unit.worker], unit.key, unit.epoch) for unit in revoked))

    def forget(self) -> None:
        self.given.clear()
        self.revoked.clear()

    def held(self) -> dict[Key, tuple[str, int]]:
        """Return who holds each task, and under which epoch."""
        return {unit.key: (unit.worker, unit.epoch) for unit in self.state.tables.units.values()}

    def of(self, worker: str) -> set[Key]:
        return {key for key, (owner, _) in self.held().items() if owner == worker}

    def moved_since(self, before: dict[Key, tuple[str, int]]) -> set[Key]:
        """Return the tasks that another worker has, or the same one anew; each has moved once, and the others never paused."""
        moved = {key for key, held in self.held().items() if held != before[key]}
        assert self.given == Counter(moved)
        assert set(self.revoked) <= moved
        assert set(self.revoked.values()) <= {1}
        self.forget()
        return moved


@pytest.fixture(params=list(StrategyName), scope="module")
def strategy(request: pytest.FixtureRequest) -> StrategyName:
    return StrategyName(request.param)


def test_each_change_of_the_workers_moves_what_must_and_each_task_once(strategy: StrategyName) -> None:
    scale = Scale(strategy)
    before = scale.held()
    assert len(before) == 2 * CONNECTORS
    counts = Counter(owner for owner, _ in before.values())
    if strategy is StrategyName.CONSISTENT_HASH:
        assert max(counts.values()) <= ceil(BOUND * 200)
    else:
        assert set(counts.values()) == {200}

    lost = scale.of("w3")
    del scale.sessions["w3"]
    scale.pass_time(8)
    assert scale.moved_since(before) == lost
    assert scale.of("w3") == set()

    before = scale.held()
    scale.register("w3")
    scale.pass_time(9)
    assert scale.moved_since(before) == set(), "it has not stayed for long enough"
    scale.pass_time(2)
    scale.release_at_once()
    back = scale.moved_since(before)
    assert back == scale.of("w3")
    expected = {StrategyName.BALANCED: 200, StrategyName.STICKY: 0}
    assert len(back) == expected.get(strategy, len(back))
    if strategy is StrategyName.CONSISTENT_HASH:
        assert len(back & lost) >= 0.9 * len(lost)

    before = scale.held()
    scale.register("new")
    scale.release_at_once()
    joined = scale.moved_since(before)
    assert joined == scale.of("new")
    assert bool(joined) == (strategy is not StrategyName.STICKY)
    scale.pass_time(5)
    assert scale.moved_since(scale.held()) == set()

    before, drained = scale.held(), scale.of("w5")
    scale.answer(Drain("w5"))
    while scale.release_revoked():
        assert sum(unit.revoked for unit in scale.state.tables.units.values()) <= 1, "one after the other"
    assert scale.moved_since(before) == drained
    assert scale.of("w5") == set()

    assert scale.longest < LONGEST_STEP_SECONDS
