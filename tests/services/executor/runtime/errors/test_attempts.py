import re
import threading
import time
from collections.abc import Callable, Sequence

import pytest

from rocketconnect_sdk.errors import RetriableError, SystemAway
from rocketmq_remoting.errors import NameServersUnavailable
from services.executor.contract.task import State
from services.executor.runtime.errors.attempts import FORMER_OWNER, Attempts, GaveUp, Stopped
from services.executor.runtime.positions.client import Fenced, PositionsAway
from services.executor.runtime.task.control import TaskControl
from tests.services.executor.runtime.conftest import RecordingReporter

AWAY, BUSY, NO_BROKER = SystemAway("away"), RetriableError("busy"), NameServersUnavailable("broker b has no master")


def failing_with(errors: Sequence[Exception]) -> Callable[[], int]:
    left = list(errors)

    def call() -> int:
        if left:
            raise left.pop(0)
        return 1

    return call


@pytest.mark.parametrize(
    ("errors", "counted"),
    [
        ([], 0),
        ([AWAY] * 20, 1),
        ([BUSY] * 4, 4),
        ([NO_BROKER] * 8, 1),
        ([PositionsAway("no position service")] * 4, 1),
        ([AWAY, NO_BROKER] * 3, 1),
        ([AWAY, AWAY, BUSY, AWAY, AWAY], 3),
    ],
    ids=["none", "away", "busy", "no broker", "no position service", "two systems", "mixed"],
)
def test_each_retry_counts_but_waiting_for_a_system_counts_once(errors: Sequence[Exception], counted: int) -> None:
    reporter = RecordingReporter()
    assert Attempts(TaskControl(), reporter, None, 0.001).insist("trying", failing_with(errors)) == 1
    assert (reporter.metrics.errors, reporter.metrics.retries) == (counted, counted)


def test_whoever_is_away_while_a_task_begins_is_no_error_and_what_is_busy_is_one() -> None:
    reporter = RecordingReporter()
    attempts = Attempts(TaskControl(), reporter, None, 0.001)
    attempts.beginning = True
    assert attempts.insist("trying", failing_with([NO_BROKER, AWAY, NO_BROKER])) == 1
    assert (reporter.metrics.errors, reporter.metrics.retries) == (0, 0)
    assert [state for state, _ in reporter.states] == [State.WAITING] * 3 + [State.STARTING], "it goes on when all are there"
    assert attempts.insist("trying", failing_with([AWAY, BUSY, AWAY])) == 1
    assert (reporter.metrics.errors, reporter.metrics.retries) == (1, 1)
    attempts.beginning = False
    assert attempts.insist("trying", failing_with([AWAY, AWAY])) == 1
    assert (reporter.metrics.errors, reporter.metrics.retries) == (2, 2)


def test_what_a_task_does_to_begin_is_told_with_the_system_that_is_asked_and_nothing_once_it_has_begun() -> None:
    reporter = RecordingReporter()
    attempts = Attempts(TaskControl(), reporter, None, 0.001)
    attempts.beginning = True
    attempts.insist("looking for topic orders", failing_with([]))
    attempts.insist("starting the sink", failing_with([AWAY]), at="postgres://db:5432")
    attempts.beginning = False
    attempts.insist("writing to the sink", failing_with([]), at="postgres://db:5432")
    assert reporter.done == ["looking for topic orders", *["starting the sink (postgres://db:5432)"] * 2]


def test_a_task_that_waits_an_earlier_owner_out_says_until_when_and_stops_when_it_is_told_to() -> None:
    reporter, control = RecordingReporter(), TaskControl()
    attempts = Attempts(control, reporter, None, 0.001)
    began = time.monotonic()
    attempts.wait_out(0.2, FORMER_OWNER)
    assert time.monotonic() - began >= 0.2
    (state, trace), after = reporter.states
    assert (state, after) == (State.STARTING, (State.STARTING, ""))
    assert re.fullmatch(r"waits until \d\d:\d\d:\d\d UTC: an earlier owner may still write until its lease ends", trace)
    attempts.wait_out(0, FORMER_OWNER)
    assert reporter.states[-1] == after
    threading.Timer(0.1, control.stop).start()
    with pytest.raises(Stopped):
        attempts.wait_out(600, FORMER_OWNER)


def test_a_second_series_counts_again() -> None:
    reporter = RecordingReporter()
    attempts = Attempts(TaskControl(), reporter, None, 0.001)
    for _ in range(2):
        attempts.insist("trying", failing_with([AWAY, AWAY]))
    assert (reporter.metrics.errors, reporter.metrics.retries) == (2, 2)


def test_the_error_that_ends_the_trying_is_left_to_whoever_it_ends() -> None:
    reporter = RecordingReporter()
    with pytest.raises(GaveUp):
        Attempts(TaskControl(), reporter, 0.0, 0.001).insist("trying", failing_with([BUSY]))
    assert (reporter.metrics.errors, reporter.metrics.retries) == (0, 0)


def stopped_at(control: TaskControl, attempt: int, errors: Sequence[Exception]) -> Callable[[], int]:
    """Fails with these, one after the other, and the task is told to stop during one of the attempts."""
    failing = failing_with(errors)
    made = 0

    def call() -> int:
        nonlocal made
        made += 1
        if made == attempt:
            control.stop()
        return failing()

    return call


@pytest.mark.parametrize("attempt", [1, 2, 3])
def test_what_a_clean_end_needs_is_tried_on_when_the_task_is_told_to_stop(attempt: int) -> None:
    control = TaskControl()
    call = stopped_at(control, attempt, [AWAY, BUSY])
    assert Attempts(control, RecordingReporter(), None, 0.001).insist("writing", call, drain=60) == 1


@pytest.mark.parametrize("drain", [0.0, 0.05])
def test_it_gives_up_when_the_time_of_a_clean_end_is_over(drain: float) -> None:
    control = TaskControl()
    with pytest.raises(Stopped):
        Attempts(control, RecordingReporter(), None, 0.001).insist("writing", stopped_at(control, 1, [AWAY] * 10**6), drain=drain)


def test_a_task_that_is_fenced_while_it_waits_ends_at_once_though_it_has_time_left() -> None:
    control = TaskControl()
    control.stop()
    attempts = Attempts(control, RecordingReporter(), None, 3600)
    fence = threading.Timer(0.1, control.fence)
    fence.start()
    with pytest.raises(Fenced):
        attempts.insist("writing", failing_with([SystemAway("away", wait=3600)]), drain=7200)
    fence.join()
