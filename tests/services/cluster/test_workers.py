"""What workers hold, one event at a time: how they come, stay and go, and what is given to whom."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from rocketconnect_kit.errors import FailedPrecondition
from services.cluster.assignment import balanced
from services.cluster.assignment.model import Candidate, Demand, Move
from services.cluster.decisions import core
from services.cluster.decisions.events import Offer, Register, Release, Tick, WorkerGone
from services.cluster.model import PLAN, Key, TargetState
from services.cluster.state import Policy
from services.cluster.view import view_of
from tests.services.cluster.paper import ClusterOnPaper, MakeConnector


def settled(cluster: ClusterOnPaper) -> set[int]:
    """The tasks of u1 whose owner is told that nothing of the one before is under way."""
    views = {key: view_of(cluster.state, key) for key in cluster.state.tables.units}
    return {key.task for key, view in views.items() if view is not None and view.settled}


class TestWorkers:
    def test_the_tasks_of_a_worker_that_leaves_in_good_order_go_to_others_at_once(self, running: ClusterOnPaper) -> None:
        kept = {task for task, worker in running.owners("u1").items() if worker == "a"}
        epochs = running.epochs("u1")
        running.deregister("b")
        assert running.owners("u1") == {0: "a", 1: "a", 2: "a"}
        assert {task for task, epoch in running.epochs("u1").items() if epoch == epochs[task]} == kept

    def test_the_tasks_of_a_silent_worker_move_only_after_lease_and_send_deadline(self, running: ClusterOnPaper) -> None:
        before = running.owners("u1")
        del running.sessions["b"]
        running.pass_time(6.5)
        assert running.owners("u1") == before
        running.pass_time(1)
        assert set(running.owners("u1").values()) == {"a"}

    def test_the_tasks_of_a_process_that_is_gone_move_after_the_send_deadline(self, running: ClusterOnPaper) -> None:
        before = running.owners("u1")
        running.answer(WorkerGone("b", running.sessions.pop("b")))
        running.pass_time(1.75)
        assert running.owners("u1") == before
        running.pass_time(0.5)
        assert set(running.owners("u1").values()) == {"a"}

    @pytest.mark.parametrize("visible", [False, True])
    def test_tasks_of_a_worker_that_was_judged_are_settled_and_no_others(self, running: ClusterOnPaper, visible: bool) -> None:
        moved = {task for task, worker in running.owners("u1").items() if worker == "b"}
        session = running.sessions.pop("b")
        if visible:
            running.answer(WorkerGone("b", session))
        running.pass_time(8)
        assert settled(running) == moved
        running.release("u1", min(moved))
        running.pass_time(10)
        assert settled(running) == moved - {min(moved)}, "what was released since then is not"
        running.register("a")
        assert set(running.owners("u1").values()) == {"a"}
        assert settled(running) == set(), "who begins anew under its id was not judged"

    def test_tasks_of_a_worker_that_left_and_all_after_a_start_of_the_service_are_not_settled(
        self, running: ClusterOnPaper
    ) -> None:
        running.register("c")
        running.deregister("b")
        assert settled(running) == set()
        del running.sessions["a"]
        running.pass_time(8)
        assert settled(running) != set()
        running.kill_and_restart()
        assert settled(running) == set()

    def test_what_was_said_of_the_process_before_does_not_touch_the_one_that_has_its_id_now(self, running: ClusterOnPaper) -> None:
        before = running.sessions["b"]
        running.register("b")
        with pytest.raises(FailedPrecondition, match="register again"):
            running.answer(WorkerGone("b", before))
        owners = running.owners("u1")
        running.pass_time(4)
        assert running.owners("u1") == owners

    def test_a_worker_that_was_judged_is_fenced_in_everything_it_says(self, running: ClusterOnPaper) -> None:
        held = next(unit for unit in running.state.units_of("u1") if unit.worker == "b")
        session = running.sessions.pop("b")
        running.pass_time(8)
        with pytest.raises(FailedPrecondition, match="register again") as fenced:
            core.heartbeat(running.state, "b", session, running.now)
        assert fenced.value.reason == "WORKER_FENCED"
        with pytest.raises(FailedPrecondition, match="register again"):
            running.answer(Release("b", session, held.key, held.epoch))

    def test_a_worker_may_renew_between_the_end_of_its_lease_and_its_judgement(self, running: ClusterOnPaper) -> None:
        before = running.owners("u1")
        running.now += 2
        running.beat("a")
        running.now += 3.5
        running.beat("b")
        running.step(Tick())
        running.pass_time(5)
        assert running.owners("u1") == before

    def test_a_worker_that_registers_again_gets_work_at_once_and_its_old_session_is_over(self, running: ClusterOnPaper) -> None:
        old = running.sessions["b"]
        held = {task for task, worker in running.owners("u1").items() if worker == "b"}
        before = running.epochs("u1")
        assert running.register("b") > old
        assert {task for task, worker in running.owners("u1").items() if worker == "b"} == held
        assert {task for task, epoch in running.epochs("u1").items() if epoch > before[task]} == held
        with pytest.raises(FailedPrecondition, match="has ended"):
            core.heartbeat(running.state, "b", old, running.now)

    def test_the_next_process_gets_work_at_once_where_it_knows_that_the_one_before_has_ended(self, running: ClusterOnPaper) -> None:
        held = {task for task, worker in running.owners("u1").items() if worker == "b"}
        running.register("b", process="second", ended=("zeroth", "first"))
        assert {task for task, worker in running.owners("u1").items() if worker == "b"} == held
        running.kill_and_restart()
        running.register("b", process="third", ended=("second",))

    def test_another_process_of_the_same_id_waits_until_the_one_before_is_surely_at_work_no_more(
        self, running: ClusterOnPaper
    ) -> None:
        owners, epochs = running.owners("u1"), running.epochs("u1")
        for ended in ((), ("another",)):
            with pytest.raises(FailedPrecondition, match="worker id b is in use") as refused:
                running.register("b", process="second", ended=ended)
            assert refused.value.reason == "WORKER_ID_IN_USE"
        running.pass_time(20)
        with pytest.raises(FailedPrecondition, match="is in use"):
            running.register("b", process="second")
        assert (running.owners("u1"), running.epochs("u1")) == (owners, epochs), "who renews its lease keeps what it holds"
        running.sessions.pop("b")
        running.pass_time(6.9)
        assert running.owners("u1") == owners
        running.pass_time(0.5)
        assert "b" not in running.owners("u1").values()
        running.register("b", process="second")

    def test_where_nobody_else_lives_it_waits_for_the_lease_and_the_send_deadline_and_no_longer(
        self, running: ClusterOnPaper
    ) -> None:
        running.deregister("a")
        running.sessions.clear()
        running.pass_time(6.9)
        with pytest.raises(FailedPrecondition, match="is in use"):
            running.register("b", process="second")
        running.pass_time(0.3)
        running.register("b", process="second")
        assert set(running.owners("u1").values()) == {"b"}

    def test_who_was_seen_to_be_gone_or_holds_nothing_is_not_waited_for(self, running: ClusterOnPaper) -> None:
        running.answer(WorkerGone("b", running.sessions["b"]))
        running.register("b", process="second")
        running.register("c")
        running.register("c", process="second")

    def test_a_worker_that_offers_other_plugins_keeps_all_it_holds_and_gets_what_it_can_take_now(
        self, running: ClusterOnPaper, connector: MakeConnector
    ) -> None:
        owners, epochs = running.owners("u1"), running.epochs("u1")
        running.connectors(connector("u2", config={"connector.class": "new_source"}))
        assert running.views[Key("u2", PLAN)].reason.startswith("no executor offers plugin new_source")
        running.answer(Offer("b", running.sessions["b"], frozenset({"file_source", "new_source"})))
        assert running.views[Key("u2", PLAN)].worker == "b"
        assert (running.owners("u1"), running.epochs("u1")) == (owners, epochs)
        running.kill_and_restart()
        assert running.state.tables.workers["b"].plugins == {"file_source", "new_source"}

    def test_what_a_worker_does_not_offer_any_more_moves_to_one_that_does_and_goes_on_when_there_is_none(
        self, running: ClusterOnPaper
    ) -> None:
        before = running.epochs("u1")
        running.answer(Offer("b", running.sessions["b"], frozenset({"other"})))
        assert {unit.worker for unit in running.state.units_of("u1") if unit.revoked} == {"b"}
        running.release_revoked()
        assert set(running.owners("u1").values()) == {"a"}
        running.answer(Offer("a", running.sessions["a"], frozenset({"other"})))
        assert set(running.owners("u1").values()) == {"a"}
        assert not any(unit.revoked for unit in running.state.units_of("u1"))
        assert running.epochs("u1").keys() == before.keys()

    def test_who_is_no_member_any_more_offers_nothing(self, running: ClusterOnPaper) -> None:
        with pytest.raises(FailedPrecondition, match="register again"):
            running.answer(Offer("b", running.sessions["b"] - 1, frozenset()))

    def test_a_release_under_another_epoch_is_fenced(self, running: ClusterOnPaper) -> None:
        unit = running.unit("u1", 0)
        with pytest.raises(FailedPrecondition) as fenced:
            running.answer(Release(unit.worker, running.sessions[unit.worker], unit.key, unit.epoch - 1))
        assert fenced.value.reason == "FENCED"
        assert running.unit("u1", 0) == unit

    def test_a_worker_that_joins_takes_tasks_over_only_after_their_owners_released_them(self, running: ClusterOnPaper) -> None:
        running.connectors(replace(running.state.tables.connectors["u1"], revision=2))
        running.plan("u1", 6)
        running.release_revoked()
        before = running.owners("u1")
        running.register("c")
        revoked = [unit for unit in running.state.units_of("u1") if unit.revoked]
        assert len(revoked) == 2
        assert running.owners("u1") == before
        running.release_revoked()
        owners = running.owners("u1")
        assert {task for task, owner in owners.items() if owner == "c"} == {unit.key.task for unit in revoked}
        assert {task: owner for task, owner in owners.items() if owner != "c"} == {
            task: owner for task, owner in before.items() if owners[task] != "c"
        }

    def test_nobody_is_judged_in_the_lease_after_this_service_itself_was_away(self, running: ClusterOnPaper) -> None:
        before = running.owners("u1")
        running.now += 60
        running.step(Tick())
        assert running.owners("u1") == before
        running.kill_and_restart()
        del running.sessions["b"]
        running.pass_time(6.5)
        assert running.owners("u1") == before
        running.pass_time(1)
        assert set(running.owners("u1").values()) == {"a"}

    def test_workers_that_were_all_out_of_reach_keep_what_they_held_and_the_first_to_be_back_waits_for_the_others(
        self, running: ClusterOnPaper
    ) -> None:
        before, epochs = running.owners("u1"), running.epochs("u1")
        running.pass_time(60, beating=False)
        assert running.owners("u1") == before
        b = running.sessions.pop("b")
        running.pass_time(4.5)
        running.sessions["b"] = b
        running.pass_time(10)
        assert (running.owners("u1"), running.epochs("u1")) == (before, epochs)
        running.pass_time(60, beating=False)
        del running.sessions["b"]
        running.pass_time(8)
        assert set(running.owners("u1").values()) == {"a"}

    def test_what_workers_out_of_reach_held_goes_at_once_to_one_that_registers(self, running: ClusterOnPaper) -> None:
        running.pass_time(60, beating=False)
        running.sessions.clear()
        running.register("c")
        running.pass_time(1)
        assert set(running.owners("u1").values()) == {"c"}

    def test_a_connector_that_is_to_stop_has_stopped_though_its_workers_are_out_of_reach(
        self, running: ClusterOnPaper, connector: MakeConnector
    ) -> None:
        running.pass_time(60, beating=False)
        running.connectors(connector(wanted=TargetState.STOPPED))
        running.pass_time(1, beating=False)
        assert not any(running.owners("u1").values())

    def test_a_worker_whose_session_ended_is_listed_for_a_while_and_then_forgotten(self, running: ClusterOnPaper) -> None:
        del running.sessions["b"]
        running.pass_time(10)
        assert running.state.tables.workers["b"].ended
        running.pass_time(600)
        assert "b" not in running.state.tables.workers

    def test_every_giving_out_is_counted(self, running: ClusterOnPaper) -> None:
        assert running.state.tables.assignment_changes == 4
        running.deregister("b")
        assert running.state.tables.assignment_changes == 5


class TestDistribution:
    def test_a_worker_of_twice_the_weight_gets_twice_the_tasks(self, cluster: ClusterOnPaper, connector: MakeConnector) -> None:
        cluster.register("a")
        cluster.answer(Register("b", "b:1", {}, frozenset({"file_source"}), weight=2))
        cluster.sessions["b"] = cluster.state.tables.workers["b"].session
        cluster.connectors(connector())
        cluster.plan("u1", 6)
        assert Counter(cluster.owners("u1").values()) == {"a": 2, "b": 4}

    def test_nothing_is_worked_out_while_nothing_has_changed(self, connector: MakeConnector) -> None:
        asked = []

        def counting(workers: Sequence[Candidate], demands: Sequence[Demand], current: Mapping[Key, str]) -> Sequence[Move]:
            asked.append(len(demands))
            return balanced.assign(workers, demands, current)

        cluster = ClusterOnPaper(Policy(strategy=counting))
        cluster.register("a")
        cluster.connectors(connector())
        cluster.plan("u1", 3)
        cluster.pass_time(1)
        asked.clear()
        cluster.pass_time(60)
        assert asked == []
        cluster.register("b")
        assert asked == [3]

    def test_tasks_do_not_move_back_to_a_worker_that_was_gone_before_it_has_stayed_for_a_while(
        self, running: ClusterOnPaper
    ) -> None:
        running.deregister("b")
        running.register("b")
        running.pass_time(9)
        assert set(running.owners("u1").values()) == {"a"}
        assert not any(unit.revoked for unit in running.state.units_of("u1"))
        running.pass_time(2)
        assert running.release_revoked() == 1
        assert Counter(running.owners("u1").values()) == {"a": 2, "b": 1}

    def test_what_nobody_holds_goes_to_a_worker_that_returns_at_once(self, running: ClusterOnPaper) -> None:
        running.deregister("b")
        running.register("b")
        running.deregister("a")
        assert set(running.owners("u1").values()) == {"b"}
