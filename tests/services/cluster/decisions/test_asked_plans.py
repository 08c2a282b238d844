"""A task asks for a new plan of its connector."""

import pytest

from rocketconnect_kit.errors import FailedPrecondition
from services.cluster.model import PLAN
from services.cluster.state import BURST_SECONDS, PLANS_APART_SECONDS
from tests.services.cluster.paper import ClusterOnPaper, MakeConnector

_LONG = 60.0


@pytest.fixture
def aged(running: ClusterOnPaper) -> ClusterOnPaper:
    """A connector with three tasks whose plan was made long ago."""
    running.pass_time(_LONG)
    assert not running.has("u1", PLAN)
    return running


def test_all_that_ask_together_are_answered_by_one_planning(aged: ClusterOnPaper) -> None:
    for task in (0, 1, 2, 0):
        aged.ask_for_plan("u1", task)
    assert not aged.has("u1", PLAN)
    aged.pass_time(BURST_SECONDS + 0.5)
    assert aged.owners("u1").pop(PLAN)
    assert aged.plan("u1", 4) == 2
    aged.release_revoked()
    aged.pass_time(_LONG)
    assert sorted(aged.owners("u1")) == [0, 1, 2, 3], "and none is planned for a second time"


def test_a_plan_that_was_asked_for_and_has_the_same_tasks_restarts_nothing(aged: ClusterOnPaper) -> None:
    epochs = aged.epochs("u1")
    aged.ask_for_plan("u1", 1)
    aged.pass_time(BURST_SECONDS + 0.5)
    assert aged.plan("u1", 3) == 1
    assert aged.epochs("u1") == epochs
    assert not any(aged.unit("u1", task).revoked for task in epochs)


def test_who_asks_all_the_time_is_planned_now_and_then(aged: ClusterOnPaper) -> None:
    plannings = 0
    for _ in range(int(_LONG)):
        aged.ask_for_plan("u1", 0)
        aged.pass_time(1)
        if aged.has("u1", PLAN):
            plannings += 1
            aged.plan("u1", 3)
    assert _LONG / PLANS_APART_SECONDS - 2 <= plannings <= _LONG / PLANS_APART_SECONDS


def test_what_is_asked_while_a_plan_is_made_is_planned_after_it(aged: ClusterOnPaper) -> None:
    aged.ask_for_plan("u1", 0)
    aged.pass_time(BURST_SECONDS + 0.5)
    aged.ask_for_plan("u1", 1)
    aged.plan("u1", 3)
    aged.pass_time(PLANS_APART_SECONDS - 1)
    assert not aged.has("u1", PLAN)
    aged.pass_time(2)
    assert aged.plan("u1", 4) == 2


def test_what_was_asked_is_not_forgotten_when_the_service_is_started_anew(aged: ClusterOnPaper) -> None:
    aged.ask_for_plan("u1", 0)
    aged.kill_and_restart()
    aged.pass_time(PLANS_APART_SECONDS + 1)
    assert aged.has("u1", PLAN)


def test_a_request_of_a_former_owner_does_nothing(aged: ClusterOnPaper) -> None:
    old = aged.unit("u1", 0).epoch
    aged.release("u1", 0, failed=True)
    aged.pass_time(_LONG)
    assert aged.unit("u1", 0).epoch > old
    with pytest.raises(FailedPrecondition, match="does not hold task 0 of u1 under epoch") as refused:
        aged.ask_for_plan("u1", 0, epoch=old)
    assert refused.value.reason == "FENCED"
    aged.pass_time(_LONG)
    assert not aged.has("u1", PLAN)


def test_a_request_of_a_task_that_is_being_replaced_does_nothing(aged: ClusterOnPaper, connector: MakeConnector) -> None:
    aged.connectors(connector(revision=2))
    assert aged.plan("u1", 2) == 2
    assert aged.unit("u1", 0).revoked
    with pytest.raises(FailedPrecondition, match="is not of the newest plan") as refused:
        aged.ask_for_plan("u1", 0)
    assert refused.value.reason == "FENCED"
    aged.release_revoked()
    aged.pass_time(_LONG)
    assert not aged.has("u1", PLAN)


def test_the_time_that_a_plan_asked_for_stays_where_it_is_sooner(running: ClusterOnPaper) -> None:
    running.plan_again("u1")
    running.plan("u1", 3, replan_after=3)
    running.ask_for_plan("u1", 0)
    running.pass_time(3.5)
    assert running.plan("u1", 3) == 1
    running.pass_time(_LONG)
    assert not running.has("u1", PLAN), "that plan was for both"
