"""The guarantees of the cluster service, looked for in simulated time under everything that can go wrong."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from services.cluster.model import Key, Wanted
from tests.services.cluster.simulation import Simulation

WORKERS = ("a", "b", "c")
CONNECTORS = ("u", "v")

Action = tuple[str, str, float]

_ACTIONS: dict[str, Callable[[Simulation, str, float], None]] = {
    "start worker": lambda sim, worker, _: sim.start_worker(worker),
    "kill worker": lambda sim, worker, _: sim.kill_worker(worker),
    "pause worker": lambda sim, worker, seconds: sim.pause_worker(worker, seconds),
    "cut off worker": lambda sim, worker, seconds: sim.cut_off_worker(worker, seconds),
    "configure": lambda sim, uid, seconds: sim.configure(uid, tasks=int(seconds) % 6),
    "pause": lambda sim, uid, _: _want(sim, uid, Wanted.PAUSED),
    "stop": lambda sim, uid, _: _want(sim, uid, Wanted.STOPPED),
    "resume": lambda sim, uid, _: _want(sim, uid, Wanted.RUNNING),
    "restart": lambda sim, uid, _: sim.configure(uid, lambda c: replace(c, restarts=c.restarts + 1)),
    "delete": lambda sim, uid, _: sim.delete(uid),
    "fail": lambda sim, uid, _: sim.failing.add(uid),
    "heal": lambda sim, uid, _: sim.failing.discard(uid),
    "kill service": lambda sim, _name, seconds: _bounce(sim, seconds),
}
_OF_WORKERS = {"start worker", "kill worker", "pause worker", "cut off worker"}


def _want(sim: Simulation, uid: str, wanted: Wanted) -> None:
    if uid in sim.wanted:
        sim.configure(uid, lambda connector: replace(connector, wanted=wanted))


def _bounce(sim: Simulation, seconds: float) -> None:
    if sim.service_up:
        sim.kill_service()
        sim.at(seconds, sim.start_service)


_STEPS = st.sampled_from(sorted(_ACTIONS)).flatmap(
    lambda name: st.tuples(
        st.just(name),
        st.sampled_from(WORKERS if name in _OF_WORKERS else CONNECTORS),
        st.sampled_from([0.5, 1.0, 2.5, 4.0, 5.5, 8.0]),
        st.sampled_from([0.0, 0.05, 0.4, 1.5, 4.0, 7.0]),
    )
)


def settled(seed: int, *workers: str, tasks: int = 6) -> Simulation:
    sim = Simulation(seed)
    for worker in workers:
        sim.start_worker(worker)
    sim.run(1)
    sim.configure("u", tasks=tasks)
    sim.run(15)
    assert set(sim.running()) == sim.expected()
    return sim


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(0, 2**16), st.lists(_STEPS, max_size=25))
def test_a_task_has_one_owner_whatever_happens_and_every_task_has_one_in_the_end(
    seed: int, script: list[tuple[str, str, float, float]]
) -> None:
    sim = Simulation(seed)
    for worker in WORKERS[:2]:
        sim.start_worker(worker)
    sim.configure("u", tasks=3)
    sim.run(3)
    for name, target, seconds, wait in script:
        _ACTIONS[name](sim, target, seconds)
        sim.run(wait)
    sim.run(10)
    sim.failing.clear()
    sim.start_worker("a")
    for uid in list(sim.wanted):
        # Ten failures in a row give a task up; a restart is what the user does then.
        sim.configure(uid, lambda connector: replace(connector, restarts=connector.restarts + 1))
    sim.run(90)
    assert set(sim.running()) == sim.expected(), sim.story()
    loads = Counter(sim.running().values())
    assert max(loads.values(), default=0) - min((loads[worker] for worker in sim.processes), default=0) <= 1


@pytest.mark.parametrize("seed", range(5))
def test_when_a_worker_is_lost_its_tasks_move_within_ten_seconds_and_no_others_do(seed: int) -> None:
    sim = settled(seed, "a", "b", "c")
    before, since = sim.running(), sim.now
    sim.kill_worker("b")
    sim.run(10)
    after = sim.running()
    assert set(after) == set(before)
    assert {key for key in before if before[key] != after[key]} == {key for key in before if before[key] == "b"}
    assert {key for at, key, _ in sim.given if at > since} == {key for key in before if before[key] == "b"}


def test_a_worker_that_is_restarted_by_its_supervisor_has_its_tasks_back_in_two_seconds() -> None:
    sim = settled(7, "a", "b")
    before = sim.running()
    sim.kill_worker("a")
    sim.run(0.5)
    sim.start_worker("a")
    sim.run(2)
    assert sim.running() == before


def test_the_service_can_be_away_within_the_lease_without_any_task_noticing() -> None:
    sim = settled(3, "a", "b")
    before, since = sim.running(), sim.now
    sim.kill_service()
    sim.run(3)
    sim.start_service()
    sim.run(20)
    assert sim.running() == before
    assert not [key for at, key, _ in sim.given if at > since]


def test_the_same_seed_is_the_same_run() -> None:
    def story() -> list[str]:
        sim = settled(11, "a", "b", "c")
        sim.kill_worker("c")
        sim.failing.add("u")
        sim.run(30)
        return sim.log

    assert story() == story()


def test_a_paused_worker_holds_nothing_when_it_wakes_up_after_its_lease() -> None:
    sim = settled(5, "a", "b")
    sim.pause_worker("a", 20)
    sim.run(10)
    assert set(sim.running().values()) == {"b"}
    sim.run(30)
    assert set(sim.running()) == {Key("u", task) for task in range(6)}
    assert Counter(sim.running().values()) == {"a": 3, "b": 3}
