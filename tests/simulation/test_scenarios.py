"""What the control plane promises in single cases, and under scripts of faults that hypothesis writes and shortens."""

from collections import Counter
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from services.executor.contract.assignment import Key
from tests.simulation.actors import cluster
from tests.simulation.actors.worker import Worker
from tests.simulation.faults import KINDS, Faults, Profile
from tests.simulation.run import FAULT_SECONDS, SINK, SOURCE, WORKERS, Simulation, recover

IDLE_UID = "idle-1"


def seeds(count: int) -> list[Any]:
    """The first of them is among the fast tests."""
    return [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, count))]


def settled(seed: int) -> Simulation:
    simulation = Simulation(seed, idle=6)
    simulation.world.run(15.0)
    assert {key for key in simulation.running() if key.connector_uid == IDLE_UID} == {Key(IDLE_UID, task) for task in range(6)}
    return simulation


def wait(simulation: Simulation, seconds: float) -> None:
    simulation.world.run(simulation.world.now + seconds)


def of_idle(simulation: Simulation) -> dict[Key, str]:
    return {key: worker for key, worker in simulation.running().items() if key.connector_uid == IDLE_UID}


_SCRIPTS = st.lists(st.tuples(st.sampled_from(KINDS), st.sampled_from([0.0, 0.05, 0.4, 1.5, 4.0, 7.0])), max_size=20)


@settings(
    max_examples=60 if settings.get_current_profile_name() == "search" else 12,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
@given(st.integers(0, 2**16), _SCRIPTS)
def test_whatever_a_script_says_a_task_has_one_owner_and_in_the_end_all_run(seed: int, script: list[tuple[str, float]]) -> None:
    simulation = Simulation(seed, idle=3)
    # These faults stop and cut off producers, whatever those of the seed would be.
    simulation.profile, simulation.sides.map_changes = Profile.MIXED, False
    faults = Faults(simulation, Random(seed), 0.0, 0, Profile.MIXED)
    wait(simulation, 3.0)
    for kind, seconds in script:
        faults.inject(kind)
        wait(simulation, seconds)
    # The source goes on for so long at least.
    simulation.world.run(max(simulation.world.now, FAULT_SECONDS))
    faults.end()
    recover(simulation)
    # Tasks move to workers that were gone only when these have stayed for a while.
    wait(simulation, 30.0)
    loads = Counter(simulation.running().values())
    assert max(loads.values(), default=0) - min(loads[worker] for worker in WORKERS) <= 1, simulation.world.story


@pytest.mark.parametrize("seed", seeds(5))
def test_when_a_worker_is_lost_its_tasks_move_within_ten_seconds_and_no_others_do(seed: int) -> None:
    simulation = settled(seed)
    before, since = of_idle(simulation), simulation.world.now
    simulation.world.processes["worker-1"].kill()
    wait(simulation, 10.0)
    after = of_idle(simulation)
    lost = [key for key in before if before[key] == "worker-1"]
    assert set(after) == set(before)
    assert [key for key in before if before[key] != after[key]] == lost
    given_since = [Key(*key) for at, key, _ in simulation.checks.given if at > since and key.connector_uid == IDLE_UID]
    assert sorted(given_since) == sorted(lost), "each moves once"


def test_a_worker_that_is_restarted_by_its_supervisor_has_its_tasks_back_in_two_seconds() -> None:
    simulation = settled(7)
    before = of_idle(simulation)
    simulation.world.processes["worker-0"].kill()
    wait(simulation, 0.5)
    simulation.start("worker-0")
    wait(simulation, 2.0)
    assert of_idle(simulation) == before


def test_a_worker_that_is_restarted_where_no_file_lasts_has_tasks_again_when_the_lease_before_is_over() -> None:
    simulation = settled(7)
    simulation.sides.keeps_files = False
    simulation.world.processes["worker-0"].kill()
    simulation.start("worker-0")
    wait(simulation, 12.0)
    assert len(of_idle(simulation)) == 6
    wait(simulation, 30.0)
    assert "worker-0" in of_idle(simulation).values()


@pytest.mark.parametrize("seed", seeds(6))
def test_a_worker_id_that_comes_up_on_another_machine_takes_nothing_from_the_one_that_may_still_be_at_work(seed: int) -> None:
    simulation = settled(seed)
    world = simulation.world
    for name in world.processes:
        world.network.cut("worker-0", name, 30.0)
    before = {key for key, worker in of_idle(simulation).items() if worker == "worker-0"}
    other = Worker(world, "elsewhere", simulation.sides, simulation.checks, worker_id="worker-0")
    wait(simulation, 4.0)
    assert other.session == 0
    # What held with the first one is broken where two of a task may write: checks.one_owner.
    wait(simulation, 20.0)
    assert other.session
    assert len(of_idle(simulation)) == 6
    since = world.now
    wait(simulation, 40.0)
    assert before
    assert len(of_idle(simulation)) == 6
    assert not [key for at, key, worker in simulation.checks.given if at > since + 12.0 and worker == "worker-0"], "it holds"


def test_all_replicas_of_the_cluster_service_can_be_away_for_long_without_any_task_noticing() -> None:
    simulation = settled(3)
    before, since = simulation.running(), simulation.world.now
    for name in cluster.REPLICAS:
        simulation.world.processes[name].kill()
    for _ in range(60):
        wait(simulation, 0.5)
        assert simulation.running() == before
    for name in cluster.REPLICAS:
        simulation.start(name)
    wait(simulation, 20.0)
    assert simulation.running() == before
    assert not [key for at, key, _ in simulation.checks.given if at > since]


def test_a_paused_worker_holds_nothing_when_it_wakes_up_after_its_lease() -> None:
    simulation = settled(5)
    worker = simulation.world.processes["worker-0"]
    assert isinstance(worker, Worker)
    for process in (worker, *worker.hosts):
        process.pause(20.0)
    wait(simulation, 12.0)
    assert set(of_idle(simulation).values()) == {"worker-1", "worker-2"}
    assert len(of_idle(simulation)) == 6
    wait(simulation, 40.0)
    assert len(of_idle(simulation)) == 6
    assert "worker-0" in of_idle(simulation).values()


@pytest.mark.parametrize("seed", seeds(5))
def test_a_worker_whose_machine_was_suspended_for_longer_than_its_lease_finds_it_over_when_it_is_awake(seed: int) -> None:
    simulation = settled(seed)
    world, worker = simulation.world, simulation.world.processes["worker-0"]
    assert isinstance(worker, Worker)
    hosts, monotonic = worker.hosts, worker.clock()
    assert hosts
    world.suspend("worker-0", 20.0)
    wait(simulation, 12.0)
    assert worker.clock() == pytest.approx(monotonic)
    assert set(of_idle(simulation).values()) == {"worker-1", "worker-2"}
    assert len(of_idle(simulation)) == 6
    wait(simulation, 8.0)
    assert not any(host.has_lease for host in hosts if not host.continues)
    recover(simulation)
    wait(simulation, 40.0)
    assert "worker-0" in of_idle(simulation).values()


def test_when_the_cluster_store_goes_back_epochs_do_not_and_everything_runs_again() -> None:
    simulation = settled(4)
    backup = simulation.cluster.load()
    simulation.world.processes["worker-0"].kill()
    wait(simulation, 10.0)
    since = simulation.world.now
    before = {Key(*key): unit.epoch for key, unit in simulation.cluster.tables.units.items()}
    for name in cluster.REPLICAS:
        simulation.world.processes[name].kill()
    simulation.cluster.tables = backup
    for name in (*cluster.REPLICAS, "worker-0"):
        simulation.start(name)
    wait(simulation, 40.0)
    assert len(of_idle(simulation)) == 6
    assert [at for at, _, _ in simulation.checks.given if at > since]
    after = {Key(*key): unit.epoch for key, unit in simulation.cluster.tables.units.items()}
    assert all(after[key] >= before[key] for key in of_idle(simulation))


@pytest.mark.parametrize("survive", [True, False], ids=["workers live on", "workers start again"])
@pytest.mark.parametrize("config_too", [True, False], ids=["configurations go back", "configurations stay"])
@pytest.mark.parametrize("plans", [1, 3])
@pytest.mark.parametrize("seed", seeds(4))
def test_plans_go_on_above_what_was_opened_when_the_cluster_store_goes_back(
    seed: int, plans: int, *, config_too: bool, survive: bool
) -> None:
    simulation = settled(seed)
    backup, configured = simulation.cluster.load(), dict(simulation.config.connectors)
    for revision in range(2, plans + 2):
        for uid in (SOURCE, SINK):
            tasks = str(3 - int(simulation.config.connectors[uid].config["tasks"]) % 2)
            config = {**simulation.config.connectors[uid].config, "tasks": tasks}
            simulation.config.change(uid, revision=revision, config=config)
        wait(simulation, 8.0)
    opened = {uid: simulation.positions.ledger(uid).connector.generation for uid in (SOURCE, SINK)}
    for name in cluster.REPLICAS:
        simulation.world.processes[name].kill()
    simulation.cluster.tables = backup
    if config_too:
        for connector in configured.values():
            simulation.config.put(connector)
    if not survive:
        for name in WORKERS:
            simulation.world.processes[name].kill()
    for name in (*cluster.REPLICAS, *WORKERS):
        simulation.start(name)
    wait(simulation, 60.0)
    recover(simulation)
    for uid in (SOURCE, SINK):
        assert simulation.positions.ledger(uid).connector.generation > opened[uid]
        generations = {unit.generation for key, unit in simulation.cluster.tables.units.items() if key.connector_uid == uid}
        assert generations == {simulation.positions.ledger(uid).connector.generation}
    assert of_idle(simulation)
