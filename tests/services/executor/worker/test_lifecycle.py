"""The life cycle of assignments: examples, and everything that may happen in any order."""

from collections.abc import Iterable
from dataclasses import replace
from random import Random

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from services.executor.contract.assignment import PLAN, Assigned, End, Key, PlanResult
from services.executor.worker.lifecycle import Direct, Effect, Ended, Forget, Kill, Lifecycle, Policy, Release, Restarting, Start
from tests.examples import some

POLICY = Policy(stop=10, fence=1, first_backoff=0.5, longest_backoff=4, limit=3, healthy=60)
KEY = Key("uid", 0)


def assigned(epoch: int = 1, *, key: Key = KEY, paused: bool = False, revoked: bool = False, secrets_rest: float = 0.0) -> Assigned:
    return Assigned(key, "orders", 1, 1, epoch, "SOURCE", paused=paused, revoked=revoked, secrets_rest=secrets_rest)


@pytest.fixture
def lifecycle() -> Lifecycle:
    return Lifecycle(POLICY, Random(1))


def given(lifecycle: Lifecycle, one: Assigned, now: float = 0.0) -> list[Effect]:
    return lifecycle.assign([one], [], now, snapshot=False)


def run_of(effects: Iterable[Effect]) -> int:
    (start,) = [effect for effect in effects if isinstance(effect, Start)]
    return start.run


def test_an_assignment_is_started(lifecycle: Lifecycle) -> None:
    assert given(lifecycle, assigned()) == [Start(1, assigned(), 0)]
    assert lifecycle.alive == 1


def test_the_same_assignment_again_changes_nothing(lifecycle: Lifecycle) -> None:
    given(lifecycle, assigned())
    assert given(lifecycle, assigned()) == []


def test_a_running_task_is_paused_and_resumed(lifecycle: Lifecycle) -> None:
    run = run_of(given(lifecycle, assigned()))
    assert given(lifecycle, assigned(paused=True)) == [Direct(run, "pause")]
    assert given(lifecycle, assigned()) == [Direct(run, "resume")]


def test_a_revoked_task_is_stopped_and_then_released(lifecycle: Lifecycle) -> None:
    run = run_of(given(lifecycle, assigned()))
    assert given(lifecycle, assigned(revoked=True)) == [Direct(run, "stop")]
    assert lifecycle.ended(run, End(), 1.0) == [Ended(assigned(revoked=True), End()), Release(assigned(revoked=True), End())]


def test_an_assignment_that_is_revoked_before_it_started_is_released(lifecycle: Lifecycle) -> None:
    assert given(lifecycle, assigned(revoked=True)) == [Release(assigned(revoked=True), End())]


def test_a_removed_task_is_fenced_at_once_and_not_released(lifecycle: Lifecycle) -> None:
    run = run_of(given(lifecycle, assigned()))
    assert lifecycle.assign([], [KEY], 1.0, snapshot=False) == [Direct(run, "fence")]
    assert lifecycle.ended(run, End(fenced=True), 1.1) == [Forget(KEY, 1)]


def test_what_is_not_in_a_snapshot_is_fenced(lifecycle: Lifecycle) -> None:
    run = run_of(given(lifecycle, assigned()))
    assert lifecycle.assign([], [], 1.0, snapshot=True) == [Direct(run, "fence")]


def test_a_newer_epoch_starts_only_when_the_old_run_has_ended(lifecycle: Lifecycle) -> None:
    run = run_of(given(lifecycle, assigned(1)))
    assert given(lifecycle, assigned(2)) == [Direct(run, "fence")]
    effects = lifecycle.ended(run, End(fenced=True), 1.0)
    assert effects == [Forget(KEY, 1), Start(2, assigned(2), 0)]


def test_a_run_that_begins_anew_is_started_again_here_and_nothing_is_released(lifecycle: Lifecycle) -> None:
    run = run_of(given(lifecycle, assigned()))
    assert lifecycle.ended(run, End(anew="a secret"), 1.0) == [Restarting(assigned(), 1, "a secret", is_lost=False)]
    assert lifecycle.tick(2.0) == [Start(2, assigned(secrets_rest=60), 1)]


def test_a_run_that_is_to_stop_does_not_begin_anew(lifecycle: Lifecycle) -> None:
    run = run_of(given(lifecycle, assigned()))
    given(lifecycle, assigned(revoked=True))
    end = End(anew="a secret")
    assert lifecycle.ended(run, end, 1.0) == [Ended(assigned(revoked=True), end), Release(assigned(revoked=True), end)]


def test_runs_that_begin_anew_again_and_again_rest_twice_as_long_each_time_and_one_that_lasts_begins_a_new_count() -> None:
    lifecycle = Lifecycle(POLICY, Random(1))
    effects, now, rests = given(lifecycle, assigned()), 0.0, []
    for _ in range(9):
        (start,) = [effect for effect in effects if isinstance(effect, Start)]
        rests.append(start.assigned.secrets_rest)
        now += start.assigned.secrets_rest + 1
        lifecycle.ended(start.run, End(anew="a secret"), now)
        now += 10
        effects = lifecycle.tick(now)
    assert rests == [0, 60, 120, 240, 480, 960, 1920, 3600, 3600]
    lifecycle.ended(run_of(effects), End(anew="a secret"), now + 7200)
    (last,) = lifecycle.tick(now + 7300)
    assert isinstance(last, Start)
    assert last.assigned.secrets_rest == 60


def test_a_run_that_fails_and_begins_anew_too_often_is_released_as_failed(lifecycle: Lifecycle) -> None:
    effects, now = given(lifecycle, assigned()), 0.0
    end = End(failed=True, permanent=True, error="refused", anew="a secret")
    for _ in range(POLICY.limit):
        assert [type(effect) for effect in lifecycle.ended(run_of(effects), end, now)] == [Restarting]
        now += 10
        effects = lifecycle.tick(now)
    assert lifecycle.ended(run_of(effects), end, now) == [Ended(assigned(), end), Release(assigned(), end)]


def test_an_older_epoch_is_ignored(lifecycle: Lifecycle) -> None:
    given(lifecycle, assigned(2))
    assert given(lifecycle, assigned(1)) == []


def test_an_older_epoch_in_a_snapshot_comes_from_a_store_that_went_back_and_takes_the_place_of_what_runs(
    lifecycle: Lifecycle,
) -> None:
    run = run_of(given(lifecycle, assigned(2)))
    assert lifecycle.assign([assigned(1)], [], 1.0, snapshot=True) == [Direct(run, "fence")]
    assert lifecycle.ended(run, End(fenced=True), 1.1) == [Forget(KEY, 2), Start(run + 1, assigned(1), 0)]


def test_one_that_is_revoked_in_such_a_snapshot_is_released_under_the_epoch_that_is_shown(lifecycle: Lifecycle) -> None:
    run = run_of(given(lifecycle, assigned(2)))
    assert lifecycle.assign([assigned(1, revoked=True)], [], 1.0, snapshot=True) == [Direct(run, "fence")]
    assert lifecycle.ended(run, End(fenced=True), 1.1) == [Forget(KEY, 2), Release(assigned(1, revoked=True), End())]


def test_a_task_that_does_not_stop_is_fenced_and_then_killed_and_released(lifecycle: Lifecycle) -> None:
    run = run_of(given(lifecycle, assigned()))
    given(lifecycle, assigned(revoked=True), 1.0)
    assert lifecycle.tick(10.9) == []
    assert lifecycle.tick(11.0) == [Direct(run, "fence")]
    assert lifecycle.tick(12.0) == [Kill(run)]
    effects = lifecycle.lost(run, "killed", 12.1)
    assert [type(effect) for effect in effects] == [Ended, Release]


def test_a_failed_task_is_released_as_failed_and_not_started_again_under_its_epoch(lifecycle: Lifecycle) -> None:
    run = run_of(given(lifecycle, assigned()))
    end = End(failed=True, permanent=True, error="no such table")
    assert lifecycle.ended(run, end, 1.0) == [Ended(assigned(), end), Release(assigned(), end)]
    assert given(lifecycle, assigned()) == []
    assert lifecycle.tick(1000.0) == []
    assert run_of(given(lifecycle, assigned(2), 1001.0)) == 2


def test_a_task_that_ends_without_being_told_to_has_failed(lifecycle: Lifecycle) -> None:
    run = run_of(given(lifecycle, assigned()))
    release = lifecycle.ended(run, End(), 1.0)[1]
    assert isinstance(release, Release)
    assert release.end == End(failed=True, error="it ended without being told to")


def test_a_lost_task_is_started_again_after_a_growing_backoff_under_the_same_epoch(lifecycle: Lifecycle) -> None:
    run, now = run_of(given(lifecycle, assigned())), 0.0
    waits = []
    for restarts in range(1, POLICY.limit + 1):
        assert lifecycle.lost(run, "killed", now) == [Restarting(assigned(), restarts, "killed")]
        waits.append(lifecycle.next_deadline - now)
        assert lifecycle.tick(lifecycle.next_deadline - 0.01) == []
        now = lifecycle.next_deadline
        (start,) = lifecycle.tick(now)
        assert isinstance(start, Start)
        assert (start.assigned, start.restarts) == (assigned(), restarts)
        run = start.run
    assert [0.75 * 0.5 <= waits[0] <= 1.25 * 0.5, waits[1] > waits[0], waits[2] > waits[1]] == [True] * 3


def test_only_the_first_run_of_an_assignment_is_settled(lifecycle: Lifecycle) -> None:
    settled = replace(assigned(), settled=True)
    run = run_of(effects := given(lifecycle, settled))
    assert effects == [Start(run, settled, 0)]
    lifecycle.lost(run, "it died", 1)
    given(lifecycle, replace(settled, paused=True), 1)
    assert lifecycle.tick(2) == [Start(run + 1, replace(assigned(), paused=True), 1)]


def test_a_task_that_is_lost_too_often_in_a_row_is_released_as_failed(lifecycle: Lifecycle) -> None:
    effects: list[Effect] = given(lifecycle, assigned())
    for _ in range(POLICY.limit):
        lifecycle.lost(run_of(effects), "killed", 0.0)
        effects = lifecycle.tick(lifecycle.next_deadline)
    end = End(failed=True, error="killed")
    assert lifecycle.lost(run_of(effects), "killed", 0.0) == [Ended(assigned(), end), Release(assigned(), end)]


def test_a_run_that_lasted_begins_a_new_count_of_losses(lifecycle: Lifecycle) -> None:
    effects, now = given(lifecycle, assigned()), 0.0
    for _ in range(3 * POLICY.limit):
        now += POLICY.healthy
        (restarting,) = lifecycle.lost(run_of(effects), "killed", now)
        assert isinstance(restarting, Restarting)
        now = lifecycle.next_deadline
        effects = lifecycle.tick(now)


def test_a_restart_takes_up_the_newest_wish(lifecycle: Lifecycle) -> None:
    lifecycle.lost(run_of(given(lifecycle, assigned())), "killed", 0.0)
    assert given(lifecycle, assigned(paused=True)) == []
    (start,) = lifecycle.tick(lifecycle.next_deadline)
    assert isinstance(start, Start)
    assert start.assigned.paused


def test_a_refused_report_fences_the_task_and_gives_the_epoch_up(lifecycle: Lifecycle) -> None:
    run = run_of(given(lifecycle, assigned()))
    assert lifecycle.refuse(KEY, 7, 1.0) == []
    assert lifecycle.refuse(KEY, 1, 1.0) == [Direct(run, "fence")]
    assert lifecycle.refuse(KEY, 1, 1.0) == []
    end = End(failed=True, fenced=True)
    assert lifecycle.ended(run, End(fenced=True), 1.1) == [Ended(assigned(), end), Release(assigned(), end)]


def test_a_lost_session_fences_everything_and_forgets_what_is_not_running(lifecycle: Lifecycle) -> None:
    run = run_of(given(lifecycle, assigned()))
    waiting = Key("uid", 1)
    lifecycle.lost(run_of(given(lifecycle, assigned(key=waiting))), "killed", 0.0)
    assert lifecycle.fence_all(1.0) == [Direct(run, "fence"), Forget(waiting, 1)]
    assert lifecycle.alive == 1
    lifecycle.ended(run, End(fenced=True), 1.1)
    assert lifecycle.alive == 0
    assert lifecycle.tick(1000.0) == []


def test_a_drain_stops_everything_starts_nothing_and_releases_nothing(lifecycle: Lifecycle) -> None:
    run = run_of(given(lifecycle, assigned()))
    waiting = Key("uid", 1)
    lifecycle.lost(run_of(given(lifecycle, assigned(key=waiting))), "killed", 0.0)
    assert lifecycle.drain(1.0) == [Direct(run, "stop")]
    assert given(lifecycle, assigned(key=Key("uid", 2))) == []
    assert lifecycle.ended(run, End(), 2.0) == [Ended(assigned(), End())]
    assert lifecycle.tick(1000.0) == []
    assert lifecycle.alive == 0


def test_a_plan_that_is_made_is_reported(lifecycle: Lifecycle) -> None:
    key = Key("uid", PLAN)
    end = End(plan=PlanResult(({"share": "0"},)))
    run = run_of(given(lifecycle, assigned(key=key)))
    assert lifecycle.ended(run, end, 1.0) == [Ended(assigned(key=key), end), Release(assigned(key=key), end)]


def test_a_planning_whose_process_died_is_left_to_the_cluster(lifecycle: Lifecycle) -> None:
    run = run_of(given(lifecycle, assigned(key=Key("uid", PLAN))))
    release = lifecycle.lost(run, "killed", 1.0)[1]
    assert isinstance(release, Release)
    assert release.end == End(failed=True, error="killed")


def test_a_revoked_planning_ends_at_once(lifecycle: Lifecycle) -> None:
    key = Key("uid", PLAN)
    run = run_of(given(lifecycle, assigned(key=key)))
    assert given(lifecycle, assigned(key=key, revoked=True)) == [Direct(run, "fence")]


KEYS = st.sampled_from([Key("a", 0), Key("a", 1), Key("b", PLAN)])


class Anything(RuleBasedStateMachine):
    """A cluster, hosts and the clock do whatever they like; what must hold, holds."""

    def __init__(self) -> None:
        super().__init__()
        self.lifecycle = Lifecycle(POLICY, Random(0))
        self.now = 0.0
        self.epoch = 0
        self.wanted: dict[Key, Assigned] = {}
        self.alive: dict[int, Assigned] = {}
        self.over: set[tuple[Key, int]] = set()
        self.fenced: set[int] = set()
        self.draining = False

    @rule(key=KEYS)
    def assign(self, key: Key) -> None:
        self.epoch += 1
        self.wanted[key] = assigned(self.epoch, key=key)
        self.tell([self.wanted[key]], [])

    @rule(key=KEYS, paused=st.booleans())
    def pause(self, key: Key, paused: bool) -> None:
        if key in self.wanted:
            before = self.wanted[key]
            self.wanted[key] = assigned(before.epoch, key=key, paused=paused, revoked=before.revoked)
            self.tell([self.wanted[key]], [])

    @rule(key=KEYS)
    def revoke(self, key: Key) -> None:
        if key in self.wanted:
            self.wanted[key] = assigned(self.wanted[key].epoch, key=key, revoked=True)
            self.tell([self.wanted[key]], [])

    @rule(key=KEYS)
    def remove(self, key: Key) -> None:
        self.wanted.pop(key, None)
        self.tell([], [key])

    @rule()
    def snapshot(self) -> None:
        self.carry_out(self.lifecycle.assign(self.wanted.values(), [], self.now, snapshot=True))

    @rule()
    def lose_the_session(self) -> None:
        self.wanted.clear()
        self.carry_out(self.lifecycle.fence_all(self.now))

    @rule(key=KEYS)
    def refuse(self, key: Key) -> None:
        if key in self.wanted:
            self.carry_out(self.lifecycle.refuse(key, self.wanted[key].epoch, self.now))

    @rule(seconds=st.sampled_from([0.1, 1.0, 5.0, 20.0, 100.0]))
    def wait(self, seconds: float) -> None:
        self.now += seconds
        self.carry_out(self.lifecycle.tick(self.now))

    @precondition(lambda self: self.alive)
    @rule(data=st.data(), failed=st.booleans())
    def end(self, data: st.DataObject, failed: bool) -> None:
        run = data.draw(st.sampled_from(sorted(self.alive)))
        del self.alive[run]
        self.carry_out(self.lifecycle.ended(run, End(failed=failed), self.now))

    @precondition(lambda self: self.alive)
    @rule(data=st.data())
    def lose(self, data: st.DataObject) -> None:
        run = data.draw(st.sampled_from(sorted(self.alive)))
        del self.alive[run]
        self.carry_out(self.lifecycle.lost(run, "gone", self.now))

    @rule()
    def drain(self) -> None:
        self.draining = True
        self.carry_out(self.lifecycle.drain(self.now))

    @precondition(lambda self: self.draining and not self.alive)
    @rule()
    def start_the_executor_again(self) -> None:
        self.lifecycle, self.draining = Lifecycle(POLICY, Random(0)), False
        self.wanted.clear()
        self.fenced.clear()

    def tell(self, ones: list[Assigned], removed: list[Key]) -> None:
        self.carry_out(self.lifecycle.assign(ones, removed, self.now, snapshot=False))

    def carry_out(self, effects: list[Effect]) -> None:
        for effect in effects:
            match effect:
                case Start(run, one):
                    assert not self.draining
                    assert self.wanted[one.key] == one
                    assert not one.revoked
                    assert (one.key, one.epoch) not in self.over, "what has ended is started again under its epoch"
                    self.alive[run] = one
                case Direct(run, wish):
                    assert run in self.alive
                    if wish == "fence":
                        self.fenced.add(run)
                case Kill(run):
                    assert run in self.fenced
                case Release(one):
                    assert self.wanted[one.key].epoch == one.epoch, "what is not ours is released"
                    self.over.add((one.key, one.epoch))
                case Restarting() | Ended() | Forget():
                    pass

    @invariant()
    def one_run_for_each_unit(self) -> None:
        keys = [one.key for one in self.alive.values()]
        assert len(keys) == len(set(keys))
        assert self.lifecycle.alive == len(self.alive)

    @invariant()
    def what_is_not_ours_is_fenced(self) -> None:
        for run, one in self.alive.items():
            wanted = self.wanted.get(one.key)
            assert run in self.fenced or (wanted is not None and wanted.epoch == one.epoch)

    def teardown(self) -> None:
        """In the end all runs end as they are told, and what is wanted runs."""
        if self.draining:
            return
        for _ in range(20):
            self.now += 50.0
            self.carry_out(self.lifecycle.tick(self.now))
            for run in sorted(self.fenced & set(self.alive)):
                del self.alive[run]
                self.carry_out(self.lifecycle.ended(run, End(fenced=True), self.now))
            for run, one in sorted(self.alive.items()):
                if self.wanted[one.key].revoked:
                    del self.alive[run]
                    self.carry_out(self.lifecycle.ended(run, End(), self.now))
        running = {(one.key, one.epoch) for one in self.alive.values()}
        assert running == {(key, one.epoch) for key, one in self.wanted.items()} - self.over


Anything.TestCase.settings = settings(max_examples=some(150), stateful_step_count=40, deadline=None)
TestAnything = Anything.TestCase


def test_what_is_held_is_each_task_that_runs_or_could_start_under_its_newest_epoch(lifecycle: Lifecycle) -> None:
    keys = [Key("u", number) for number in range(4)]
    effects = lifecycle.assign([assigned(key=key) for key in [*keys, Key("u", PLAN)]], [], 0.0, snapshot=True)
    runs = {effect.assigned.key: effect.run for effect in effects if isinstance(effect, Start)}
    lifecycle.lost(runs[keys[1]], "killed", 1.0)
    lifecycle.ended(runs[keys[2]], End(failed=True), 1.0)
    lifecycle.assign([assigned(key=keys[3], epoch=9)], [], 1.0, snapshot=False)
    assert {one.key.task: one.epoch for one in lifecycle.held()} == {0: 1, 1: 1, 3: 9}
    assert [lifecycle.runs(key) for key in keys] == [True, False, False, True]
