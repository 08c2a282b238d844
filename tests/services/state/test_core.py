"""What is believed, refused and forgotten."""

import pytest

from rocketconnect_kit.errors import NotFound
from services.state.core import LOG_LINES, ConnectorsTold, Reported, States, Tick, Track
from services.state.model import PLAN, Key, StaleReport, State
from services.state.sightings import Holding, Sighting
from tests.services.state.things import LEASE, StatesOnPaper, assignment, connector, line, report


class TestOldEpochs:
    def test_a_report_under_an_old_epoch_is_refused_by_itself(self, states: StatesOnPaper) -> None:
        states.want(connector())
        states.assign(assignment(0), assignment(1, epoch=11))
        assert states.report(report(0), report(1, epoch=9, state=State.FAILED)) == (StaleReport(Key("u1", 1), 9, 11),)
        assert states.task(0).state is State.RUNNING
        assert states.task(1).state is State.STARTING

    def test_a_newer_report_fences_the_older_one_before_the_cluster_tells(self, states: StatesOnPaper) -> None:
        states.want(connector())
        states.assign(assignment())
        states.report(report(epoch=15, worker="w2"))
        assert states.report(report(epoch=12)) == (StaleReport(Key("u1", 0), 12, 15),)

    def test_a_report_of_a_task_that_the_cluster_has_taken_away_is_refused(self, states: StatesOnPaper) -> None:
        states.want(connector())
        states.assign(assignment())
        states.report(report())
        states.assign(removed=(Key("u1", 0),))
        assert states.view().tasks == ()
        assert states.report(report()) == (StaleReport(Key("u1", 0), 10, 0),)
        assert states.view().tasks == ()

    def test_what_a_snapshot_leaves_out_is_over(self, states: StatesOnPaper) -> None:
        states.want(connector())
        states.assign(assignment(0), assignment(1, epoch=11))
        states.report(report(0), report(1, epoch=11))
        states.assign(assignment(1, epoch=11), snapshot=True)
        assert [task.task for task in states.view().tasks] == [1]
        assert states.report(report(0)) == (StaleReport(Key("u1", 0), 10, 0),)

    def test_a_report_that_is_newer_than_all_news_is_taken_even_of_a_connector_that_nobody_told(
        self, states: StatesOnPaper
    ) -> None:
        states.assign(assignment(epoch=10))
        assert states.report(report(0, "u2", epoch=11)) == ()
        states.want(connector("u2"))
        assert states.states.view("name-u2", states.now).tasks[0].state is State.RUNNING

    def test_the_last_words_of_a_task_that_nobody_holds_any_more_are_taken(self, states: StatesOnPaper) -> None:
        states.want(connector())
        states.assign(assignment(worker="", unowned=State.FAILED, reason="failed for good"))
        assert states.report(report(state=State.FAILED, trace="disk full")) == ()
        assert states.task().trace == "disk full\nfailed for good"


class TestMoves:
    """The log of a connector says why a task starts again at another worker, or anew at the same one."""

    def lines(self, states: StatesOnPaper) -> list[tuple[str, str]]:
        return [(line.level, line.message) for line in states.states.tracks["u1"].lines if line.worker == ""]

    @pytest.mark.parametrize("told_between", [True, False])
    def test_the_loss_of_its_worker_is_told_with_who_takes_it_over(self, states: StatesOnPaper, told_between: bool) -> None:
        states.want(connector())
        states.assign(assignment())
        states.report(report())
        if told_between:
            states.assign(assignment(worker=""))
        states.assign(assignment(worker="w2", epoch=11, settled=True))
        assert self.lines(states) == [("WARNING", "w1 was lost; w2 takes it over")]
        states.assign(assignment(worker="w2", epoch=11, settled=True, revoked=True))
        states.assign(assignment(worker="w1", epoch=12))
        assert self.lines(states)[1:] == [("INFO", "moves from w2 to w1")]

    def test_a_worker_that_comes_back_is_told(self, states: StatesOnPaper) -> None:
        states.want(connector())
        states.assign(assignment())
        states.assign(assignment(epoch=11))
        states.assign(assignment(epoch=12, settled=True))
        assert self.lines(states) == [
            ("INFO", "w1 has joined anew and starts the task again"),
            ("WARNING", "w1 was lost; it is back and starts the task again"),
        ]

    def test_the_first_start_a_new_plan_a_failure_and_planning_are_no_moves(self, states: StatesOnPaper) -> None:
        states.want(connector())
        states.assign(assignment(), assignment(PLAN))
        states.assign(assignment(worker="", unowned=State.RESTARTING, failures=1), assignment(PLAN, worker="w2", epoch=11))
        states.assign(assignment(epoch=12, failures=1))
        states.assign(assignment(worker="w2", epoch=13, generation=2))
        assert self.lines(states) == []

    def test_what_the_cluster_service_tells_again_is_not_told_twice(self, states: StatesOnPaper) -> None:
        states.want(connector())
        states.assign(assignment())
        for _ in range(2):
            states.assign(assignment(worker="w2", epoch=11, settled=True), snapshot=True)
        assert len(self.lines(states)) == 1


class TestConnectors:
    def test_one_that_was_deleted_disappears(self, states: StatesOnPaper) -> None:
        states.want(connector("u1"), connector("u2"), connector("u3"))
        states.want(deleted=("u1",))
        assert states.states.names() == ["name-u2", "name-u3"]
        states.want(connector("u2"), snapshot=True)
        assert states.states.names() == ["name-u2"]
        with pytest.raises(NotFound) as missing:
            states.view("name-u1")
        assert (missing.value.reason, missing.value.message) == ("CONNECTOR_NOT_FOUND", "Connector[name-u1] does not exist")

    def test_a_name_that_was_deleted_and_created_again_is_the_new_connector(self, states: StatesOnPaper) -> None:
        states.want(connector("u1", name="orders"))
        states.step(ConnectorsTold(snapshot=False, connectors=(connector("u2", name="orders"),), deleted=("u1",)))
        assert states.view("orders").connector.uid == "u2"
        states.want(deleted=("u1",))
        assert states.view("orders").connector.uid == "u2"

    def test_what_workers_say_of_strangers_is_forgotten_after_a_while(self, states: StatesOnPaper) -> None:
        states.report(report(0, "stranger"))
        states.step(Tick())
        assert "stranger" in states.states.tracks
        states.pass_time(61)
        states.step(Tick())
        assert states.states.tracks == {}


class TestReceipts:
    """A worker names what is new; with the receipt of its last report it says that the rest is as it was."""

    def running(self, states: StatesOnPaper) -> int:
        states.want(connector())
        states.assign(assignment(0), assignment(1))
        return states.say(0, report(0), report(1)).receipt

    def test_what_is_not_named_again_is_as_it_was(self, states: StatesOnPaper) -> None:
        receipt = self.running(states)
        for _ in range(5):
            states.pass_time(LEASE - 1)
            effects = states.say(receipt, report(1, state=State.IDLE))
            assert effects.touched == frozenset({"u1"})
            assert not effects.refused
            assert effects.receipt > receipt
            receipt = effects.receipt
        assert [task.state for task in states.view().tasks] == [State.RUNNING, State.IDLE]
        states.pass_time(LEASE + 1)
        assert [task.state for task in states.view().tasks] == [State.UNASSIGNED, State.UNASSIGNED]

    def test_what_has_work_and_is_not_named_again_makes_no_progress(self, states: StatesOnPaper) -> None:
        states.want(connector())
        states.assign(assignment())
        receipt = states.say(0, report(has_work=True, stall_after=10.0)).receipt
        for _ in range(6):
            states.pass_time(2)
            receipt = states.say(receipt).receipt
        assert states.task().state is State.STALLED

    def test_what_a_whole_report_leaves_out_is_not_believed_to_run(self, states: StatesOnPaper) -> None:
        self.running(states)
        receipt = states.say(0, report(1)).receipt
        states.pass_time(LEASE + 1)
        states.say(receipt)
        assert [task.state for task in states.view().tasks] == [State.UNASSIGNED, State.RUNNING]

    def test_a_receipt_holds_once_and_for_its_worker_and_not_after_a_restart(self, states: StatesOnPaper) -> None:
        receipt = self.running(states)
        assert states.say(receipt, worker="w2").receipt == 0
        following = states.say(receipt).receipt
        assert states.say(receipt).receipt == 0
        assert states.say(following).receipt == 0
        receipt = states.say(0, report(0), report(1)).receipt
        states.pass_time(61)
        states.step(Tick())
        assert states.say(receipt).receipt == 0
        states.states = States(LEASE, states.states.tracks)
        assert states.say(0).receipt > receipt
        assert states.say(receipt).receipt == 0

    def test_who_has_lost_a_task_is_told_by_name_though_it_does_not_name_it_again(self, states: StatesOnPaper) -> None:
        receipt = self.running(states)
        states.assign(assignment(1, worker="w2", epoch=11))
        assert states.say(receipt).receipt == 0
        effects = states.say(0, report(0), report(1))
        assert [refused.key.task for refused in effects.refused] == [1]
        assert states.say(effects.receipt).receipt > effects.receipt

    def test_who_has_lost_a_task_whose_new_owner_has_reported_it_is_told_by_name(self, states: StatesOnPaper) -> None:
        receipt = self.running(states)
        states.say(0, report(1, worker="w2", epoch=11), worker="w2")
        assert states.say(receipt).receipt == 0
        assert [refused.key.task for refused in states.say(0, report(0), report(1)).refused] == [1]


class TestLogs:
    def test_lines_are_numbered_and_the_newest_thousand_are_kept(self, states: StatesOnPaper) -> None:
        states.want(connector())
        for number in range(LOG_LINES + 50):
            states.step(Reported((), (("u1", line(f"line {number}", number)),)))
        lines = states.states.tracks["u1"].lines
        assert len(lines) == LOG_LINES
        assert lines[0].message == "line 50"
        assert [one.sequence for one in lines] == sorted({one.sequence for one in lines})

    def test_a_line_that_is_reported_again_is_one_line(self, states: StatesOnPaper) -> None:
        states.want(connector())
        lines = (("u1", line("opened")), ("u1", line("opened", task=1)))
        assert states.step(Reported((), lines)).urgent
        assert not states.step(Reported((), lines)).urgent
        assert len(states.states.tracks["u1"].lines) == 2

    def test_the_numbers_of_an_adopted_uid_never_go_back(self, states: StatesOnPaper) -> None:
        states.want(connector())
        states.step(Reported((), (("u1", line("before")),)))
        before = states.states.tracks["u1"].lines[-1].sequence
        states.want(deleted=("u1",))
        states.pass_time(0.5)
        states.want(connector())
        states.step(Reported((), (("u1", line("after")),)))
        assert states.states.tracks["u1"].lines[0].sequence > before


class TestUrgency:
    def test_a_change_of_state_must_be_kept_and_progress_can_wait(self, states: StatesOnPaper) -> None:
        states.want(connector())
        assert states.step(Reported((report(),))).urgent
        assert not states.step(Reported((report(last_progress=70.0, metrics=b"x"),))).urgent
        assert states.step(Reported((report(state=State.FAILED, trace="disk full"),))).urgent

    def test_who_may_show_something_else_is_told(self, states: StatesOnPaper) -> None:
        states.want(connector("u1"), connector("u2"))
        assert states.step(Reported((report(0, "u2"),))).touched == {"u2"}


class TestAfterARestart:
    @pytest.fixture
    def loaded(self) -> StatesOnPaper:
        track = Track(connector(), planner="w1", planned_revision=1)
        track.holdings[0] = Holding(assignment(0), None)
        track.sightings[0] = Sighting(report(0), None)
        track.holdings[1] = Holding(assignment(1, epoch=11), None)
        paper = StatesOnPaper()
        paper.states = States(LEASE, {"u1": track})
        return paper

    def test_everything_is_unassigned_until_it_is_reported_again(self, loaded: StatesOnPaper) -> None:
        assert [task.state for task in loaded.view().tasks] == [State.UNASSIGNED, State.UNASSIGNED]
        assert loaded.task(0).trace == "worker w1 has not reported since the state service was started"
        loaded.report(report(0))
        assert [task.state for task in loaded.view().tasks] == [State.RUNNING, State.UNASSIGNED]

    def test_old_epochs_are_refused_though_nobody_has_told_anything_yet(self, loaded: StatesOnPaper) -> None:
        assert loaded.report(report(0, epoch=9), report(1, epoch=10)) == (
            StaleReport(Key("u1", 0), 9, 10),
            StaleReport(Key("u1", 1), 10, 11),
        )

    def test_a_task_that_the_cluster_tells_again_has_a_lease_to_be_reported(self, loaded: StatesOnPaper) -> None:
        loaded.assign(assignment(0), assignment(1, epoch=11), snapshot=True)
        assert loaded.task(1).state is State.STARTING
        loaded.pass_time(6)
        assert loaded.task(1).trace == "worker w1 has not reported for 6 s"

    def test_a_tick_forgets_nothing_that_somebody_holds(self, loaded: StatesOnPaper) -> None:
        loaded.step(Tick())
        assert len(loaded.view().tasks) == 2
        assert loaded.view().planner == "w1"
        assert not any(unit.task == PLAN for unit in loaded.view().tasks)
