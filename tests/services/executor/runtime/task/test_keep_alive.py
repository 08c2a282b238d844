import math

import pytest

from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import ConnectorError, PermanentError, RetriableError, SystemAway
from rocketconnect_sdk.testing import HandClock, Pause, ScriptedSourceTask
from services.executor.runtime.task.keep_alive import KeptAlive
from tests.services.executor.runtime.conftest import RecordingReporter


class Kept(ScriptedSourceTask):
    keep_alive_seconds = 10.0
    kept = 0
    error: ConnectorError | None = None

    def keep_alive(self) -> None:
        self.kept += 1
        if self.error is not None:
            raise self.error


def made(*script: Pause | ConnectorError) -> tuple[Kept, KeptAlive, HandClock, RecordingReporter]:
    task, clock, reporter = Kept(script, TaskContext()), HandClock(), RecordingReporter()
    task.start({})
    return task, KeptAlive(task, reporter, clock), clock, reporter


def test_a_source_is_kept_alive_when_it_was_not_polled_for_so_long_since_its_start_and_then_each_time_again() -> None:
    task, source, clock, _ = made(Pause(1))
    clock.move(9)
    assert (source.keep(), task.kept) == (1.0, 0)
    for count in (1, 2):
        clock.move(10)
        assert (source.keep(), task.kept) == (10.0, count)


def test_a_source_that_is_polled_is_not_kept_alive() -> None:
    task, source, clock, _ = made(Pause(3))
    for _ in range(2):
        clock.move(9)
        source.poll()
        assert (source.keep(), task.kept) == (10.0, 0)


@pytest.mark.parametrize("error", [SystemAway("gone"), RetriableError("busy")])
def test_a_source_whose_poll_failed_is_not_kept_alive_until_one_went_well(error: ConnectorError) -> None:
    task, source, clock, _ = made(error, Pause(2))
    with pytest.raises(type(error)):
        source.poll()
    clock.move(100)
    assert (source.keep(), task.kept) == (math.inf, 0)
    source.poll()
    clock.move(100)
    assert (source.keep(), task.kept) == (10.0, 1)


@pytest.mark.parametrize("error", [SystemAway("gone"), RetriableError("busy")])
def test_an_error_is_logged_once_and_is_that_of_the_next_poll(error: ConnectorError) -> None:
    task, source, clock, reporter = made(Pause(2))
    task.error = error
    for _ in range(2):
        clock.move(10)
        assert (source.keep(), task.kept) == (math.inf, 1)
    assert reporter.logs == [("WARNING", f"keeping the source alive: {error}; it is tried again when it is read")]
    with pytest.raises(type(error)):
        source.poll()
    assert source.poll() == []
    assert source.keep() == 10.0


def test_a_permanent_error_comes_at_once() -> None:
    task, source, clock, _ = made(Pause(2))
    task.error = PermanentError("the slot is gone")
    clock.move(10)
    with pytest.raises(PermanentError):
        source.keep()


def test_a_source_that_is_finished_is_not_kept_alive() -> None:
    task, source, clock, _ = made()
    clock.move(100)
    assert (source.keep(), task.kept) == (math.inf, 0)
