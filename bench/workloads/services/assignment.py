"""The decisions of the cluster service at scale, in simulated time: all tasks are given out, then one worker is lost."""

import time
from collections import Counter
from collections.abc import Iterator
from random import Random

from bench.workload import BenchFailed, Options, Sample, Workload
from services.cluster.assignment.strategies import STRATEGIES, StrategyName
from services.cluster.decisions import core
from services.cluster.decisions.events import Effects, Tick
from services.cluster.model import Connector, Key, Plan, PlanState, TargetState, Unit, Worker
from services.cluster.state import Policy, State
from services.cluster.tables import Tables

CONNECTORS = (100, 1_000, 10_000)
TASKS_EACH = 2
WORKERS = 100
PLUGIN = "file_source"
_CONFIG = {"connector.class": PLUGIN}


def run(options: Options) -> Iterator[Sample]:
    """Every strategy with ever more connectors."""
    for _ in range(options.repeats):
        for connectors in CONNECTORS:
            for name in StrategyName:
                yield Sample(f"{name}, {WORKERS} workers", _measure(name, connectors), size=connectors)


def _measure(strategy: StrategyName, connectors: int) -> dict[str, float]:
    now = 1_000.0
    state = State(_tables(connectors), Policy(strategy=STRATEGIES[strategy]), now)
    _, assign = _step(state, now)
    before = _owners(state)
    if len(before) != connectors * TASKS_EACH:
        msg = f"{strategy}: only {len(before)} of {connectors * TASKS_EACH} tasks were given out"
        raise BenchFailed(msg)
    lost = {key for key, owner in before.items() if owner == "w0"}
    timing = state.policy.timing
    for worker in range(1, WORKERS):
        core.heartbeat(state, f"w{worker}", worker + 1, now + timing.lease - timing.heartbeat_interval)
    # Ticks come each second; without them the service would think that it was away itself.
    for second in range(1, int(timing.lease + timing.send_deadline)):
        _step(state, now + second)
    effects, lose = _step(state, now + timing.lease + timing.send_deadline)
    moved = {key for key, owner in _owners(state).items() if owner != before[key]}
    if moved != lost or {key for key, unit in effects.changes.units.items() if unit is not None} != lost:
        msg = f"{strategy}: {len(moved)} tasks moved, and the lost worker had {len(lost)}"
        raise BenchFailed(msg)
    most = max(Counter(before.values()).values())
    return {"assign_ms": assign * 1e3, "worker_lost_ms": lose * 1e3, "tasks_moved": float(len(moved)), "most_tasks_a_worker": most}


def _tables(connectors: int) -> Tables:
    """What the store of a cluster holds in which every connector was planned and nobody holds a task yet."""
    tables = Tables()
    for number in range(WORKERS):
        worker = Worker(f"w{number}", number + 1, f"w{number}:1", {}, frozenset({PLUGIN}))
        tables.workers.put(worker.id, worker)
    for number in range(connectors):
        uid = f"u{number}"
        wanted = Connector(uid, f"c{number}", 1, _CONFIG, TargetState.RUNNING, 1, 0, PlanState.CURRENT)
        tables.connectors.put(uid, wanted)
        tables.plans.put(uid, Plan(uid, 1, 1, 1, _CONFIG, tuple({"part": str(task)} for task in range(TASKS_EACH)), None))
        for task in range(TASKS_EACH):
            key = Key(uid, task)
            tables.units.put(key, Unit(key, 1, 1))
    tables.take_changes()
    return tables


def _step(state: State, now: float) -> tuple[Effects, float]:
    """Let time pass; with the seconds of processor time that it took: there is nothing in it that waits."""
    begin = time.process_time()
    effects = core.step(state, [Tick()], now, Random(1))
    return effects, time.process_time() - begin


def _owners(state: State) -> dict[Key, str]:
    return {key: unit.worker for key, unit in state.tables.units.items() if unit.is_held}


WORKLOAD = Workload(
    "The cluster service decides: all tasks (2 a connector) given out, then one worker lost",
    run,
    ("assign_ms", "worker_lost_ms", "tasks_moved", "most_tasks_a_worker"),
    ("assign_ms", "worker_lost_ms"),
    "connectors",
)
