"""Draining a worker, one event at a time."""

from collections import Counter
from collections.abc import Callable

import pytest

from rocketconnect_kit.errors import FailedPrecondition, NotFound
from services.cluster.assignment.strategies import STRATEGIES, StrategyName
from services.cluster.decisions.events import Drain, Undrain
from services.cluster.model import Connector
from services.cluster.state import Policy
from tests.services.cluster.paper import ClusterOnPaper


@pytest.fixture
def running(cluster: ClusterOnPaper, connector: Callable[..., Connector]) -> ClusterOnPaper:
    """Connector u1 with eight tasks on workers a and b."""
    cluster.register("a")
    cluster.register("b")
    cluster.connectors(connector())
    cluster.plan("u1", 8)
    return cluster


def held_by(cluster: ClusterOnPaper, worker: str) -> set[int]:
    return {task for task, owner in cluster.owners("u1").items() if owner == worker}


def test_its_tasks_move_one_after_the_other_and_those_of_others_do_not(running: ClusterOnPaper) -> None:
    kept = {task: running.epochs("u1")[task] for task in held_by(running, "a")}
    running.answer(Drain("b"))
    for left in (4, 3, 2, 1):
        running.pass_time(1)
        assert len(held_by(running, "b")) == left
        assert running.release_revoked() == 1
    assert held_by(running, "a") == set(range(8))
    assert {task: running.epochs("u1")[task] for task in kept} == kept
    assert running.sessions["b"] == running.state.tables.workers["b"].session, "it keeps its session"


def test_it_gets_nothing_new(running: ClusterOnPaper, connector: Callable[..., Connector]) -> None:
    running.answer(Drain("b"))
    while running.release_revoked():
        pass
    running.connectors(connector("u2"))
    running.plan("u2", 4)
    running.deregister("a")
    assert set(running.owners("u2").values()) == {""}
    assert "only executors that are drained could take it (b)" in running.views[next(iter(running.views))].reason


def test_a_drain_lasts_through_restarts_of_the_service_and_of_the_worker_until_it_is_undrained(running: ClusterOnPaper) -> None:
    running.answer(Drain("b"))
    while running.release_revoked():
        pass
    running.kill_and_restart()
    running.register("b")
    running.pass_time(30)
    assert held_by(running, "b") == set()
    running.deregister("b")
    running.pass_time(700)
    running.register("b")
    running.pass_time(100)
    assert held_by(running, "b") == set()
    running.answer(Undrain("b"))
    running.pass_time(1)
    while running.release_revoked():
        pass
    assert Counter(running.owners("u1").values()) == {"a": 4, "b": 4}


@pytest.mark.parametrize(("strategy", "gets_back"), [("consistent_hash", True), ("sticky", False)])
def test_after_an_undrain_a_worker_has_what_its_strategy_gives_it(
    connector: Callable[..., Connector], strategy: StrategyName, gets_back: bool
) -> None:
    cluster = ClusterOnPaper(Policy(strategy=STRATEGIES[strategy]))
    cluster.register("a")
    cluster.register("b")
    cluster.connectors(connector())
    cluster.plan("u1", 8)
    before, kept = held_by(cluster, "b"), held_by(cluster, "a")
    assert before
    cluster.answer(Drain("b"))
    while cluster.release_revoked():
        pass
    assert held_by(cluster, "a") == before | kept
    cluster.answer(Undrain("b"))
    cluster.pass_time(1)
    while cluster.release_revoked():
        pass
    assert held_by(cluster, "b") == (before if gets_back else set())


def test_a_drained_worker_that_has_left_is_listed_until_it_is_undrained_and_then_forgotten(running: ClusterOnPaper) -> None:
    running.answer(Drain("b"))
    running.deregister("b")
    running.kill_and_restart()
    running.pass_time(700)
    assert running.state.tables.workers["b"].ended
    running.answer(Undrain("b"))
    running.pass_time(601)
    assert "b" not in running.state.tables.workers


def test_a_drained_worker_that_is_lost_loses_its_tasks_as_any_other(running: ClusterOnPaper) -> None:
    running.answer(Drain("b"))
    del running.sessions["b"]
    running.pass_time(8)
    assert held_by(running, "a") == set(range(8))


def test_the_last_worker_is_not_drained_and_nothing_has_changed(running: ClusterOnPaper) -> None:
    running.answer(Drain("b"))
    while running.release_revoked():
        pass
    units, workers = dict(running.state.tables.units), dict(running.state.tables.workers)
    with pytest.raises(FailedPrecondition, match="no other executor can take what it runs of name-u1") as refused:
        running.answer(Drain("a"))
    assert (refused.value.reason, refused.value.metadata["connectors"]) == ("NO_OTHER_WORKER", "name-u1")
    assert (dict(running.state.tables.units), dict(running.state.tables.workers)) == (units, workers)


def test_the_last_worker_is_not_drained_even_if_it_runs_nothing(cluster: ClusterOnPaper) -> None:
    cluster.register("a")
    with pytest.raises(FailedPrecondition, match="it is the last executor that takes work") as refused:
        cluster.answer(Drain("a"))
    assert refused.value.reason == "NO_OTHER_WORKER"
    assert not cluster.state.tables.workers["a"].drained


def test_a_worker_whose_tasks_only_it_can_take_is_not_drained_unless_forced(
    cluster: ClusterOnPaper, connector: Callable[..., Connector]
) -> None:
    cluster.register("a")
    cluster.register("b", zone="x")
    cluster.connectors(connector("u1"), connector("u2", config={"worker.labels": "zone=x"}))
    cluster.plan("u1", 4)
    cluster.plan("u2", 2)
    before = dict(cluster.state.tables.units)
    with pytest.raises(FailedPrecondition, match="name-u2") as refused:
        cluster.answer(Drain("b"))
    assert refused.value.metadata["connectors"] == "name-u2"
    assert dict(cluster.state.tables.units) == before
    cluster.answer(Drain("b", force=True))
    while cluster.release_revoked():
        pass
    assert set(cluster.owners("u1").values()) == {"a"}
    assert set(cluster.owners("u2").values()) == {""}
    cluster.answer(Undrain("b"))
    assert set(cluster.owners("u2").values()) == {"b"}


def test_what_nobody_else_can_take_any_more_goes_on_with_a_drained_worker(running: ClusterOnPaper) -> None:
    running.answer(Drain("b"))
    running.release_revoked()
    running.release_revoked()
    revoked = {unit.key.task for unit in running.state.units_of("u1") if unit.revoked}
    left = held_by(running, "b") - revoked
    running.deregister("a")
    running.release_revoked()
    running.pass_time(20)
    assert held_by(running, "b") == left


def test_a_drain_again_is_the_same_drain(running: ClusterOnPaper) -> None:
    running.answer(Drain("b"))
    units = dict(running.state.tables.units)
    running.answer(Drain("b"))
    assert dict(running.state.tables.units) == units


@pytest.mark.parametrize("event", [Drain("nobody"), Undrain("nobody"), Drain("")])
def test_a_worker_that_is_not_known_is_refused(running: ClusterOnPaper, event: Drain | Undrain) -> None:
    with pytest.raises(NotFound, match="there is no worker") as refused:
        running.answer(event)
    assert refused.value.reason == "WORKER_NOT_FOUND"


def test_a_worker_that_is_not_drained_is_undrained_without_effect(running: ClusterOnPaper) -> None:
    effects = running.step(Undrain("b"))
    assert not effects.changes
