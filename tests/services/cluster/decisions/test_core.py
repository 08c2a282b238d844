"""The life of connectors, one event at a time: plans, what is wanted of them, what fails."""

import pytest

from rocketconnect_kit.errors import FailedPrecondition
from services.cluster.decisions import core
from services.cluster.decisions.events import ConnectorsChanged, Deregister, Register, ReportPlan
from services.cluster.decisions.retry import RetryPolicy
from services.cluster.model import PLAN, Key, TargetState
from services.cluster.view import Unowned
from tests.services.cluster.paper import ClusterOnPaper, MakeConnector


class TestPlanning:
    def test_a_new_connector_is_planned_and_its_tasks_are_given_out_each_under_an_epoch_of_its_own(
        self, cluster: ClusterOnPaper, connector: MakeConnector
    ) -> None:
        cluster.register("a")
        cluster.connectors(connector())
        plan = cluster.views[Key("u1", PLAN)]
        assert (plan.worker, plan.revision, plan.generation, plan.config) == ("a", 1, 1, {"connector.class": "file_source"})
        assert cluster.plan("u1", 2) == 1
        assert cluster.owners("u1") == {0: "a", 1: "a"}
        epochs = cluster.epochs("u1")
        assert plan.epoch < epochs[0] < epochs[1]
        assert cluster.views[Key("u1", 1)].task_config == {"part": "1"}
        assert Key("u1", PLAN) not in cluster.views

    def test_a_connector_waits_with_a_reason_until_a_worker_offers_its_plugin(
        self, cluster: ClusterOnPaper, connector: MakeConnector
    ) -> None:
        cluster.connectors(connector())
        assert (
            cluster.views[Key("u1", PLAN)].reason
            == "no executor is registered: start one; `rocketconnect up` starts again by itself what has ended"
        )
        cluster.register("a", plugins=("other",))
        view = cluster.views[Key("u1", PLAN)]
        assert (view.unowned, view.worker) == (Unowned.UNASSIGNED, "")
        assert view.reason.startswith("no executor offers plugin file_source")
        cluster.register("b")
        assert cluster.views[Key("u1", PLAN)].worker == "b"
        assert cluster.views[Key("u1", PLAN)].reason == ""

    def test_the_same_tasks_from_the_same_revision_change_nothing(self, running: ClusterOnPaper) -> None:
        epochs = running.epochs("u1")
        running.plan_again("u1")
        assert running.plan("u1", 3) == 1
        assert running.epochs("u1") == epochs

    def test_the_tasks_of_a_new_plan_start_only_when_every_task_of_the_old_one_has_ended(
        self, running: ClusterOnPaper, connector: MakeConnector
    ) -> None:
        before = running.epochs("u1")
        running.connectors(connector(revision=2))
        assert {task: unit for task, unit in running.epochs("u1").items() if task != PLAN} == before, "tasks go on"
        assert running.views[Key("u1", 0)].revision == 1
        assert running.plan("u1", 2) == 2
        for task in (2, 0):
            assert all(running.unit("u1", task).revoked for task in running.owners("u1"))
            assert set(running.epochs("u1").values()) <= set(before.values())
            running.release("u1", task)
        running.release("u1", 1)
        assert sorted(running.owners("u1")) == [0, 1]
        assert all(running.owners("u1").values())
        assert min(running.epochs("u1").values()) > max(before.values())
        assert running.views[Key("u1", 0)].generation == running.views[Key("u1", 0)].revision == 2

    def test_a_task_of_an_old_plan_whose_worker_is_gone_counts_as_ended_after_lease_and_send_deadline(
        self, running: ClusterOnPaper, connector: MakeConnector
    ) -> None:
        running.connectors(connector(revision=2))
        if running.unit("u1", PLAN).worker == "b":
            running.release("u1", PLAN)
            running.pass_time(2)
        running.plan("u1", 4)
        del running.sessions["b"]
        running.release_revoked()
        running.pass_time(6.5)
        assert {unit.worker for unit in running.state.units_of("u1")} == {"b"}, "nobody else may begin"
        running.pass_time(1)
        assert running.owners("u1") == dict.fromkeys(range(4), "a")

    def test_a_planning_is_taken_back_when_the_configuration_changes_and_its_result_is_not_used(
        self, cluster: ClusterOnPaper, connector: MakeConnector
    ) -> None:
        cluster.register("a")
        cluster.connectors(connector())
        late = cluster.unit("u1", PLAN)
        cluster.connectors(connector(revision=2))
        assert cluster.unit("u1", PLAN).revoked
        session = cluster.sessions["a"]
        assert cluster.answer(ReportPlan("a", session, "u1", late.epoch, ({"old": "1"},))) == 0
        now = cluster.unit("u1", PLAN)
        assert (now.worker, now.revision, now.revoked) == ("a", 2, False)
        assert now.epoch > late.epoch
        with pytest.raises(FailedPrecondition, match="does not hold the planning of u1 under epoch"):
            cluster.answer(ReportPlan("a", session, "u1", late.epoch, ({"old": "1"},)))

    def test_a_plan_reported_twice_because_its_answer_was_lost_is_reported_once(
        self, cluster: ClusterOnPaper, connector: MakeConnector
    ) -> None:
        session = cluster.register("a")
        cluster.connectors(connector())
        report = ReportPlan("a", session, "u1", cluster.unit("u1", PLAN).epoch, ({"x": "1"},))
        assert cluster.answer(report) == cluster.answer(report) == 1

    def test_a_connector_is_planned_again_after_the_time_that_its_plan_asked_for(
        self, cluster: ClusterOnPaper, connector: MakeConnector
    ) -> None:
        cluster.register("a")
        cluster.connectors(connector())
        cluster.plan("u1", 1, replan_after=30)
        cluster.pass_time(29)
        assert not cluster.has("u1", PLAN)
        cluster.pass_time(1.5)
        assert cluster.owners("u1") == {PLAN: "a", 0: "a"}
        cluster.plan("u1", 1, replan_after=30)
        cluster.kill_and_restart()
        cluster.pass_time(31)
        assert cluster.plan("u1", 2) == 2

    def test_where_a_generation_was_opened_that_is_not_known_here_the_connector_is_planned_anew_above_it(
        self, running: ClusterOnPaper
    ) -> None:
        """A store that was put back to before that plan: the position service refuses all tasks of the older one."""
        running.release("u1", 0, failed=True, opened_generation=7)
        assert running.owners("u1").pop(PLAN)
        assert running.release_revoked() == 2
        assert list(running.owners("u1")) == [PLAN], "no task of the older plan is given out again"
        running.kill_and_restart()
        assert running.plan("u1", 3) == 8

    def test_who_was_refused_for_the_plan_that_holds_changes_no_plan(self, running: ClusterOnPaper) -> None:
        running.release("u1", 0, failed=True, opened_generation=1)
        assert not running.has("u1", PLAN)

    def test_a_plan_that_is_made_again_is_a_new_generation_when_a_higher_one_was_opened(self, running: ClusterOnPaper) -> None:
        running.plan_again("u1")
        running.release("u1", 0, failed=True, opened_generation=7)
        assert running.plan("u1", 3) == 8

    def test_generations_are_above_the_floor(self, running: ClusterOnPaper) -> None:
        running.state.tables.raise_floor(1000)
        running.plan_again("u1")
        assert running.plan("u1", 3) == 1, "the same plan is the same generation"
        running.plan_again("u1")
        assert running.plan("u1", 2) == 1001
        running.release_revoked()
        running.plan_again("u1")
        assert running.plan("u1", 3) == 1002

    def test_generations_of_deleted_connectors_are_forgotten_when_the_floor_has_passed_them_and_never_go_back(
        self, cluster: ClusterOnPaper, connector: MakeConnector
    ) -> None:
        day = 24 * 3600 * 1000
        cluster.register("a")
        cluster.connectors(connector("living"))
        cluster.plan("living", 0)
        last = 0
        for number in range(30):
            cluster.state.tables.raise_floor(number * day)
            uid = f"u{number}"
            cluster.connectors(connector(uid))
            last = cluster.plan(uid, 0)
            cluster.connectors(deleted=(uid,))
        kept = {"living", *(f"u{number}" for number in range(22, 30))}
        assert set(cluster.state.tables.generations) == kept
        cluster.kill_and_restart()
        cluster.state.tables.raise_floor(29 * day)
        assert set(cluster.state.tables.generations) == kept
        cluster.connectors(connector("u3"))
        assert cluster.plan("u3", 0) > 4 * day
        cluster.connectors(connector("u29"))
        assert cluster.plan("u29", 0) > last

    def test_a_plan_without_tasks_is_a_plan(self, cluster: ClusterOnPaper, connector: MakeConnector) -> None:
        cluster.register("a")
        cluster.connectors(connector())
        assert cluster.plan("u1", 0) == 1
        cluster.pass_time(5)
        assert cluster.views == {}


class TestWantedStates:
    def test_a_paused_connector_keeps_its_assignments_marked_as_paused(
        self, running: ClusterOnPaper, connector: MakeConnector
    ) -> None:
        epochs = running.epochs("u1")
        running.connectors(connector(wanted=TargetState.PAUSED))
        assert all(view.paused for view in running.views.values())
        running.connectors(connector())
        assert not any(view.paused for view in running.views.values())
        assert running.epochs("u1") == epochs

    def test_a_stopped_connector_gives_up_its_tasks_and_is_planned_again_when_it_is_wanted(
        self, running: ClusterOnPaper, connector: MakeConnector
    ) -> None:
        running.connectors(connector(wanted=TargetState.STOPPED))
        assert running.release_revoked() == 3
        assert running.views == {}
        running.pass_time(5)
        assert running.views == {}
        running.connectors(connector())
        assert list(running.owners("u1")) == [PLAN]
        assert running.plan("u1", 3) == 2, "generations never go back"

    def test_a_connector_that_is_deleted_goes_with_all_it_had_when_its_tasks_have_ended(self, running: ClusterOnPaper) -> None:
        running.connectors(deleted=("u1",))
        assert "u1" in running.state.tables.connectors
        running.release_revoked()
        assert running.views == {}
        assert "u1" not in running.state.tables.connectors
        assert "u1" not in running.state.tables.plans

    def test_an_adopted_uid_goes_on_with_a_higher_generation(self, running: ClusterOnPaper, connector: MakeConnector) -> None:
        running.connectors(deleted=("u1",))
        running.release_revoked()
        running.kill_and_restart()
        running.connectors(connector())
        assert running.plan("u1", 3) == 2

    def test_a_uid_that_is_adopted_before_its_tasks_have_ended_is_planned_from_its_new_configuration(
        self, running: ClusterOnPaper, connector: MakeConnector
    ) -> None:
        running.connectors(deleted=("u1",))
        running.connectors(connector(config={"path": "new"}))
        assert running.plan("u1", 3) == 2
        assert all(running.unit("u1", task).revoked for task in range(3))
        running.release_revoked()
        assert running.views[Key("u1", 0)].config["path"] == "new"

    def test_what_a_snapshot_of_the_connectors_leaves_out_was_deleted(
        self, running: ClusterOnPaper, connector: MakeConnector
    ) -> None:
        running.answer(ConnectorsChanged(snapshot=True, connectors=[connector("u2")]))
        assert all(running.unit("u1", task).revoked for task in range(3))
        assert running.has("u2", PLAN)

    def test_a_snapshot_that_says_what_is_known_moves_nothing(self, running: ClusterOnPaper, connector: MakeConnector) -> None:
        effects = running.step(ConnectorsChanged(snapshot=True, connectors=[connector()]))
        assert not effects.changes
        assert not effects.views

    def test_a_restart_stops_all_tasks_plans_again_and_starts_them_under_new_epochs(
        self, running: ClusterOnPaper, connector: MakeConnector
    ) -> None:
        before = running.epochs("u1")
        running.connectors(connector(restarts=1))
        assert all(running.unit("u1", task).revoked for task in range(3))
        running.release_revoked()
        assert list(running.owners("u1")) == [PLAN], "no task runs before the connector is planned"
        assert running.plan("u1", 3) == 1
        assert min(running.epochs("u1").values()) > max(before.values())


class TestFailures:
    def test_a_task_that_failed_is_given_out_again_after_a_backoff(self, running: ClusterOnPaper) -> None:
        others = {task: epoch for task, epoch in running.epochs("u1").items() if task != 0}
        running.release("u1", 0, failed=True)
        view = running.views[Key("u1", 0)]
        assert (view.unowned, view.failures) == (Unowned.RESTARTING, 1)
        running.pass_time(0.5)
        assert running.owners("u1")[0] == ""
        running.pass_time(1)
        assert running.owners("u1")[0] != ""
        assert {task: epoch for task, epoch in running.epochs("u1").items() if task != 0} == others, "nothing else moved"

    def test_a_task_that_fails_too_often_in_a_row_is_given_up_until_the_connector_is_restarted(
        self, running: ClusterOnPaper, connector: MakeConnector
    ) -> None:
        for _ in range(RetryPolicy().limit):
            running.pass_time(76)
            running.state.given_at.clear()
            running.release("u1", 0, failed=True)
        assert running.views[Key("u1", 0)].unowned is Unowned.FAILED
        running.kill_and_restart()
        running.pass_time(200)
        assert running.owners("u1")[0] == ""
        running.connectors(connector(restarts=1))
        running.plan("u1", 3)
        running.release_revoked()
        running.pass_time(1)
        assert running.owners("u1")[0] != ""
        assert running.unit("u1", 0).failures == 0

    def test_failures_after_a_minute_of_health_begin_a_new_count(self, running: ClusterOnPaper) -> None:
        for _ in range(3):
            running.release("u1", 0, failed=True)
            running.pass_time(10)
        assert running.unit("u1", 0).failures == 3
        running.pass_time(60)
        running.release("u1", 0, failed=True)
        assert running.unit("u1", 0).failures == 1

    def test_a_permanent_failure_waits_for_a_new_revision(self, running: ClusterOnPaper, connector: MakeConnector) -> None:
        running.release("u1", 0, failed=True, permanent=True)
        assert running.views[Key("u1", 0)].unowned is Unowned.FAILED
        running.pass_time(300)
        assert running.owners("u1")[0] == ""
        running.connectors(connector(revision=2))
        running.plan("u1", 3)
        running.release_revoked()
        assert all(running.owners("u1").values())

    def test_a_planning_that_failed_for_good_waits_for_a_new_revision(
        self, cluster: ClusterOnPaper, connector: MakeConnector
    ) -> None:
        cluster.register("a")
        cluster.connectors(connector())
        cluster.release("u1", PLAN, failed=True, permanent=True)
        cluster.pass_time(100)
        assert cluster.views[Key("u1", PLAN)].unowned is Unowned.FAILED
        cluster.connectors(connector(revision=2))
        assert cluster.owners("u1") == {PLAN: "a"}

    def test_a_planning_that_failed_is_tried_again_while_the_old_tasks_go_on(
        self, running: ClusterOnPaper, connector: MakeConnector
    ) -> None:
        before = running.epochs("u1")
        running.connectors(connector(revision=2))
        running.release("u1", PLAN, failed=True)
        assert running.views[Key("u1", PLAN)].unowned is Unowned.RESTARTING
        running.pass_time(2)
        assert running.owners("u1")[PLAN] != ""
        assert {task: epoch for task, epoch in running.epochs("u1").items() if task != PLAN} == before

    def test_a_task_that_ended_by_itself_is_not_given_out_in_a_tight_loop(self, running: ClusterOnPaper) -> None:
        running.release("u1", 0)
        assert running.owners("u1")[0] == ""
        running.pass_time(1.25)
        assert running.owners("u1")[0] != ""
        assert running.unit("u1", 0).failures == 0


def test_a_restart_at_any_moment_loses_nothing(running: ClusterOnPaper, connector: MakeConnector) -> None:
    running.connectors(connector(revision=2), connector("u2"))
    running.plan("u1", 2)
    units, number = dict(running.state.tables.units), running.state.tables.next_number()
    running.kill_and_restart()
    assert dict(running.state.tables.units) == units
    assert running.state.tables.next_number() == number
    running.release_revoked()
    assert all(running.owners("u1").values())


def test_events_that_happen_together_are_answered_each_by_itself(cluster: ClusterOnPaper) -> None:
    register = Register("a", "h:1", {}, frozenset({"file_source"}))
    bad = Deregister("nobody", 1)
    first, second, third = core.step(cluster.state, [register, bad, register], cluster.now, cluster.random).replies
    assert isinstance(second, FailedPrecondition)
    assert int(str(third)) > int(str(first))
