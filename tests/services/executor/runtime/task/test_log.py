"""The log of a plugin's task: its lines are those that people see of the connector."""

import logging

import pytest

from services.executor.contract.metrics import TaskMetrics
from services.executor.contract.spans import Span
from services.executor.contract.task import State
from services.executor.runtime.task.log import say_tasks_from, task_log
from services.executor.secrets.resolving import remember
from services.executor.wire import metrics


class Told:
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.metrics = TaskMetrics()
        self.lines: list[tuple[str, str]] = []

    def state(self, state: State, trace: str = "") -> None: ...

    def doing(self, what: str) -> None: ...

    def progress(self) -> None: ...

    def work(self, has_work: bool) -> None: ...

    def ask_for_plan(self) -> None: ...

    def span(self, span: Span) -> None: ...

    def log(self, level: str, message: str) -> None:
        self.lines.append((level, message))


def test_lines_at_info_and_above_are_told_to_people_with_their_level_and_to_the_executor_too(
    caplog: pytest.LogCaptureFixture,
) -> None:
    told = Told()
    log = task_log(told, "orders/0")
    with caplog.at_level(logging.DEBUG):
        log.debug("unseen")
        log.info("reading %s", "/a")
        log.warning("%d bytes", 7)
        log.critical("over")
    assert told.lines == [("INFO", "reading /a"), ("WARNING", "7 bytes"), ("ERROR", "over")]
    assert [record.getMessage() for record in caplog.records] == ["reading /a", "7 bytes", "over"]


def test_no_secret_is_told() -> None:
    remember("tr0ub4dor")
    told = Told()
    task_log(told, "orders/0").error("no login with %s", "tr0ub4dor")
    ((_, text),) = told.lines
    assert text.startswith("no login with ")
    assert "tr0ub4dor" not in text


def test_an_error_comes_with_its_traceback() -> None:
    told = Told()
    log = task_log(told, "orders/0")
    try:
        raise ValueError("no")
    except ValueError:
        log.exception("it failed")
    ((level, text),) = told.lines
    assert (level, text.splitlines()[0], text.splitlines()[-1]) == ("ERROR", "it failed", "ValueError: no")


def test_each_run_has_a_log_of_its_own() -> None:
    first, second = Told(), Told()
    task_log(first, "orders/0").info("one")
    task_log(second, "orders/0").info("two")
    assert (first.lines, second.lines) == ([("INFO", "one")], [("INFO", "two")])


def test_the_last_five_warnings_are_told_with_the_state_each_once_and_without_secrets() -> None:
    remember("tr0ub4dor")
    told = Told()
    log = task_log(told, "orders/0")
    log.info("reading /a")
    assert list(told.metrics.warnings) == []
    for number in (0, 1, 2, 1, 3, 4, 5):
        log.warning("%d with %s", number, "tr0ub4dor")
    assert [one.message.partition(" ")[0] for one in told.metrics.warnings] == ["2", "1", "3", "4", "5"]
    assert not any("tr0ub4dor" in one.message for one in told.metrics.warnings)
    log.error("x" * 5_000)
    assert len(told.metrics.warnings[-1].message) == 1_000
    (warning, *_) = metrics(told.metrics).warnings
    assert (warning.message, warning.time.ToNanoseconds() > 0) == (told.metrics.warnings[0].message, True)


def test_a_level_that_is_set_counts_at_once_in_logs_that_are_there_and_in_later_ones() -> None:
    there, other, later = Told(), Told(), Told()
    log, of_other = task_log(there, "orders/0"), task_log(other, "others/0")
    log.debug("unseen")
    try:
        say_tasks_from({("orders", "rocketconnect.task"): logging.DEBUG, ("", "root"): logging.ERROR})
        for each in (log, of_other, task_log(later, "orders/1")):
            each.debug("seen")
            each.info("always")
    finally:
        say_tasks_from({})
    log.debug("unseen")
    assert there.lines == later.lines == [("DEBUG", "seen"), ("INFO", "always")]
    assert other.lines == [("INFO", "always")]
