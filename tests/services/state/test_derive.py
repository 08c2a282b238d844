"""What is shown of tasks and connectors, row by row of the tables in derive.py."""

import itertools
from typing import Any

import pytest

from services.state.model import BADNESS, PLAN, Key, State, TargetState
from tests.services.state.things import StatesOnPaper, assignment, connector, report


class TestTask:
    def test_shows_what_its_worker_reports(self, states: StatesOnPaper) -> None:
        states.want(connector())
        states.assign(assignment())
        states.report(report(state=State.WAITING, trace="broker is away", metrics=b"m", restarts=1))
        task = states.task()
        assert (task.state, task.trace, task.worker, task.epoch, task.generation) == (State.WAITING, "broker is away", "w1", 10, 1)
        assert (task.since, task.last_progress, task.metrics, task.restarts, task.config) == (50.0, 60.0, b"m", 1, {"part": "0"})

    def test_is_starting_until_it_is_reported_for_at_most_a_lease(self, states: StatesOnPaper) -> None:
        states.want(connector())
        states.assign(assignment())
        assert (states.task().state, states.task().since) == (State.STARTING, 2000.0)
        states.pass_time(5.1)
        assert (states.task().state, states.task().trace) == (State.UNASSIGNED, "worker w1 has not reported for 5 s")

    def test_is_never_running_when_its_worker_is_silent_for_longer_than_the_lease(self, states: StatesOnPaper) -> None:
        states.want(connector())
        states.assign(assignment())
        states.report(report())
        states.pass_time(5)
        assert states.task().state is State.RUNNING
        states.pass_time(2)
        task = states.task()
        assert (task.state, task.trace, task.since) == (State.UNASSIGNED, "worker w1 has not reported for 7 s", 2005.0)
        states.report(report())
        assert states.task().state is State.RUNNING

    @pytest.mark.parametrize("unowned", [State.FAILED, State.RESTARTING])
    def test_without_an_owner_after_a_failure_shows_the_error_of_the_last_one(self, states: StatesOnPaper, unowned: State) -> None:
        states.want(connector())
        states.assign(assignment())
        states.report(report(state=State.FAILED, trace="no such file: /x", restarts=2))
        states.assign(assignment(worker="", unowned=unowned, reason="failed 3 times in a row", failures=3))
        task = states.task()
        assert (task.state, task.worker) == (unowned, "")
        assert task.trace == "no such file: /x\nfailed 3 times in a row"
        states.pass_time(100)
        assert states.task().state is unowned, "silence of the last owner means nothing when nobody holds it"

    def test_without_an_owner_shows_the_reason_and_not_what_a_lost_worker_last_said(self, states: StatesOnPaper) -> None:
        states.want(connector())
        states.assign(assignment())
        states.report(report(trace="all is well"))
        states.assign(assignment(worker="", reason="no executor is registered: start one"))
        assert (states.task().state, states.task().trace) == (State.UNASSIGNED, "no executor is registered: start one")

    def test_shows_a_newer_epoch_than_the_cluster_has_told_as_it_is_reported(self, states: StatesOnPaper) -> None:
        states.want(connector())
        states.assign(assignment())
        states.report(report(epoch=11, worker="w2"))
        assert (states.task().state, states.task().worker, states.task().epoch) == (State.RUNNING, "w2", 11)

    def test_keeps_its_configuration_while_it_is_stopped_for_a_newer_plan(self, states: StatesOnPaper) -> None:
        states.want(connector())
        states.assign(assignment())
        states.assign(assignment(revoked=True, config={}))
        assert states.task().config == {"part": "0"}


class TestRestarts:
    """Counted is each start after a failure, and nothing else."""

    @pytest.mark.parametrize("unowned", [State.FAILED, State.RESTARTING])
    def test_a_failure_counts_when_the_task_is_started_again_and_not_before(self, states: StatesOnPaper, unowned: State) -> None:
        states.want(connector())
        states.assign(assignment())
        states.report(report(state=State.FAILED, trace="no such file: /x"))
        states.assign(assignment(worker="", unowned=unowned, failures=1))
        assert states.task().restarts == 0
        states.assign(assignment(worker="w2", epoch=11, failures=1))
        assert states.task().restarts == 1
        states.report(report(worker="w2", epoch=11))
        assert states.task().restarts == 1

    def test_starts_again_by_workers_and_by_the_cluster_add_up(self, states: StatesOnPaper) -> None:
        states.want(connector())
        states.assign(assignment())
        states.report(report(restarts=2))
        states.assign(assignment(worker="", unowned=State.RESTARTING, failures=1))
        assert states.task().restarts == 2
        states.assign(assignment(epoch=11, failures=1))
        states.report(report(epoch=11, restarts=1))
        assert states.task().restarts == 4

    def test_a_move_to_another_worker_does_not_count(self, states: StatesOnPaper) -> None:
        states.want(connector())
        states.assign(assignment(failures=1, worker="", unowned=State.RESTARTING), assignment(1))
        states.assign(assignment(failures=1, epoch=11))
        states.assign(assignment(failures=1, epoch=11, revoked=True), assignment(1, revoked=True))
        states.assign(assignment(failures=1, epoch=12, worker="w2"), assignment(1, epoch=13, worker="w2"))
        assert [states.task(number).restarts for number in (0, 1)] == [1, 0]

    def test_the_count_goes_on_when_the_cluster_begins_to_count_failures_anew(self, states: StatesOnPaper) -> None:
        states.want(connector())
        states.assign(assignment())
        for epoch, failures in ((11, 1), (12, 2), (13, 1), (14, 0)):
            states.assign(assignment(epoch=epoch - 1, worker="", unowned=State.FAILED, failures=max(failures, 1)))
            states.assign(assignment(epoch=epoch, failures=failures))
        assert states.task().restarts == 4

    def test_a_failure_is_seen_also_when_only_the_next_start_is_told(self, states: StatesOnPaper) -> None:
        states.want(connector())
        states.assign(assignment())
        states.assign(assignment(epoch=11, failures=1))
        assert states.task().restarts == 1

    def test_a_task_of_a_new_plan_begins_at_0(self, states: StatesOnPaper) -> None:
        states.want(connector())
        states.assign(assignment())
        states.assign(assignment(epoch=11, failures=1))
        states.assign(assignment(epoch=12, generation=2))
        assert states.task().restarts == 0

    @pytest.mark.parametrize(("worker", "expected"), [("w1", 3), ("", 2)])
    def test_what_is_heard_of_first_after_failures_has_been_started_after_each_but_the_last(
        self, states: StatesOnPaper, worker: str, expected: int
    ) -> None:
        states.want(connector())
        states.assign(assignment(worker=worker, unowned=State.FAILED, failures=3))
        assert states.task().restarts == expected


class TestStalled:
    def test_when_it_has_work_and_makes_no_progress_for_as_long_as_it_said(self, states: StatesOnPaper) -> None:
        states.want(connector())
        states.assign(assignment())
        for _ in range(10):
            states.report(report(has_work=True, stall_after=10.0, trace="polling"))
            assert states.task().state is State.RUNNING
            states.pass_time(1)
        task = states.task()
        assert (task.state, task.since) == (State.STALLED, 2010.0)
        assert task.trace == "has work to do and has made no progress for 10 s; it says: polling"
        states.report(report(has_work=True, stall_after=10.0, last_progress=61.0))
        assert states.task().state is State.RUNNING

    @pytest.mark.parametrize(
        "changed",
        [{"has_work": False}, {"state": State.WAITING}, {"state": State.PAUSED}, {"last_progress": 99.0}, {"epoch": 11}],
        ids=str,
    )
    def test_never_while_there_is_a_reason(self, states: StatesOnPaper, changed: dict[str, Any]) -> None:
        states.want(connector())
        states.assign(assignment())
        stuck: dict[str, Any] = {"has_work": True, "stall_after": 10.0}
        lasting = {name: value for name, value in changed.items() if name in {"last_progress", "epoch"}}
        for said in [stuck] * 8 + [stuck | changed] + [stuck | lasting] * 6:
            states.report(report(**said))
            states.pass_time(1)
        assert states.task().state is State.RUNNING

    def test_never_when_it_did_not_ask_for_it(self, states: StatesOnPaper) -> None:
        states.want(connector())
        states.assign(assignment())
        for _ in range(100):
            states.report(report(has_work=True))
            states.pass_time(4)
        assert states.task().state is State.RUNNING


class TestConnector:
    @pytest.mark.parametrize(("worse", "better"), list(itertools.pairwise(State)))
    def test_shows_the_worst_of_its_tasks(self, states: StatesOnPaper, worse: State, better: State) -> None:
        assert BADNESS[worse] < BADNESS[better]
        states.want(connector())
        states.assign(*(assignment(task) for task in range(4)))
        states.report(report(0, state=better), report(1, state=worse, trace="so"), report(2, state=better), report(3, state=worse))
        assert (states.view().state, states.view().trace) == (worse, "task 1: so")
        states.report(report(3, state=worse, trace="too"))
        assert states.view().trace == "task 1: so (and 1 more)"

    def test_without_a_task_waits_to_be_planned_then_is_planned(self, states: StatesOnPaper) -> None:
        states.want(connector())
        assert (states.view().state, states.view().trace) == (
            State.UNASSIGNED,
            "waits to be planned: the cluster service has not begun with it",
        )
        states.assign(assignment(PLAN, worker="", epoch=0, reason="no executor offers plugin x: start one"))
        assert (states.view().state, states.view().trace) == (State.UNASSIGNED, "planning: no executor offers plugin x: start one")
        states.assign(assignment(PLAN))
        assert (states.view().state, states.view().trace) == (State.UNASSIGNED, "being planned by worker w1")
        states.assign(assignment(0, epoch=11), removed=(Key("u1", PLAN),))
        view = states.view()
        assert (view.state, view.planner, view.revision, [task.task for task in view.tasks]) == (State.STARTING, "w1", 1, [0])

    def test_with_a_plan_of_no_tasks_is_idle(self, states: StatesOnPaper) -> None:
        states.want(connector())
        states.assign(assignment(PLAN))
        states.assign(removed=(Key("u1", PLAN),))
        assert (states.view().state, states.view().trace) == (State.IDLE, "its plan has no tasks: there is nothing to do now")
        states.want(connector(wanted=TargetState.PAUSED))
        assert states.view().state is State.PAUSED
        states.want(connector(revision=2))
        assert states.view().state is State.UNASSIGNED

    def test_shows_a_planning_that_failed(self, states: StatesOnPaper) -> None:
        states.want(connector())
        states.assign(assignment(PLAN))
        states.report(report(PLAN, state=State.FAILED, trace="no such table"))
        states.assign(assignment(PLAN, worker="", unowned=State.FAILED, reason="failed for good: change it"))
        assert (states.view().state, states.view().trace) == (State.FAILED, "planning: no such table\nfailed for good: change it")

    def test_shows_a_planning_that_failed_while_the_old_tasks_go_on(self, states: StatesOnPaper) -> None:
        states.want(connector(revision=2))
        states.assign(assignment(), assignment(PLAN, epoch=12, revision=2))
        states.report(report(), report(PLAN, epoch=12, state=State.RUNNING))
        assert states.view().state is State.RUNNING, "a planning that is under way does not count"
        states.assign(assignment(PLAN, epoch=12, revision=2, worker="", unowned=State.RESTARTING, reason="failed once"))
        view = states.view()
        assert (view.state, view.revision) == (State.RESTARTING, 1)
        assert view.trace == "planning of revision 2: failed once; the tasks of revision 1 go on"
        assert [task.state for task in view.tasks] == [State.RUNNING]

    def test_is_stopped_when_no_task_is_left(self, states: StatesOnPaper) -> None:
        states.want(connector(wanted=TargetState.STOPPED))
        states.assign(assignment(0, revoked=True), assignment(1, revoked=True))
        states.report(report(0), report(1, state=State.IDLE))
        assert (states.view().state, states.view().trace) == (State.RUNNING, "is being stopped: 2 of its tasks have not ended yet")
        states.assign(removed=(Key("u1", 0), Key("u1", 1)))
        assert (states.view().state, states.view().trace, states.view().tasks) == (State.STOPPED, "", ())
