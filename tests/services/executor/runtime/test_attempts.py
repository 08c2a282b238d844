from collections.abc import Callable, Sequence

import pytest

from rocketconnect_sdk.errors import RetriableError, SystemAway
from rocketmq_remoting.errors import NameServersUnavailable
from services.executor.runtime.attempts import Attempts, GaveUp
from services.executor.runtime.positions import PositionsAway
from services.executor.runtime.task import TaskControl
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
