"""What a task says of itself becomes log lines that people can read after it is gone."""

import os
import threading
import time

import pytest

from services.executor.contract.messages import Pulse, decode_event, encode
from services.executor.contract.spans import Context, Span, said_within
from services.executor.contract.task import State
from services.executor.host import reporter as reporting
from services.executor.host.reporter import SPANS, TaskReporter
from services.executor.secrets.resolving import remember


def lines(reporter: TaskReporter) -> list[tuple[str, str]]:
    return [(line.level, line.message) for line in reporter.pulse().logs]


def test_changes_of_state_are_logged_once_with_their_reason() -> None:
    reporter = TaskReporter(1, threading.Event())
    reporter.state(State.RUNNING)
    reporter.state(State.WAITING, "the broker is away")
    reporter.state(State.WAITING, "the broker is away")
    reporter.state(State.PAUSED)
    assert lines(reporter) == [("INFO", "RUNNING"), ("WARNING", "WAITING: the broker is away"), ("INFO", "PAUSED")]
    assert lines(reporter) == []


def test_what_a_thread_says_of_a_traced_record_names_its_trace_and_what_others_say_does_not() -> None:
    reporter = TaskReporter(1, threading.Event())
    with said_within("ab" * 16):
        reporter.log("INFO", "of it")
        other = threading.Thread(target=reporter.log, args=("INFO", "of another thread"))
        other.start()
        other.join()
    reporter.log("INFO", "later")
    pulse = decode_event(encode(Pulse([reporter.pulse()])))
    assert isinstance(pulse, Pulse)
    said = {line.message: line.trace_id for line in pulse.tasks[0].logs}
    assert said == {"of it": "ab" * 16, "of another thread": "", "later": ""}


def test_counters_begin_with_the_run_and_go_on_through_its_states() -> None:
    before = time.time()
    reporter = TaskReporter(1, threading.Event())
    since = reporter.metrics.counted_since
    assert since is not None
    assert before <= since <= time.time()
    reporter.state(State.RUNNING)
    assert reporter.pulse().metrics.counted_since == since


def test_what_a_task_does_for_longer_than_a_moment_to_begin_is_its_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told = TaskReporter(1, threading.Event())
    told.doing("starting the sink (postgres://db:5432)")
    assert told.pulse().trace == "", "it may be over at once"
    monkeypatch.setattr(reporting, "MOMENT_SECONDS", 0.0)
    assert (told.pulse().state, told.pulse().trace) == (State.STARTING, "starting the sink (postgres://db:5432)")
    told.state(State.STARTING, "waits until 12:00:00 UTC")
    pulse = told.pulse()
    assert (pulse.trace, pulse.logs) == ("waits until 12:00:00 UTC", [])
    told.state(State.RUNNING)
    assert told.pulse().trace == ""


def test_resting_between_records_is_not_worth_a_line() -> None:
    reporter = TaskReporter(1, threading.Event())
    reporter.state(State.RUNNING)
    for _ in range(5):
        reporter.state(State.IDLE)
        reporter.state(State.RUNNING)
    assert lines(reporter) == [("INFO", "RUNNING")]


def test_what_is_no_text_is_told_in_a_form_that_can_be_sent() -> None:
    reporter = TaskReporter(1, threading.Event())
    name = os.fsdecode(b"caf\xe9.txt")
    reporter.state(State.WAITING, f"{name} is not there")
    reporter.log("ERROR", name)
    assert b"udce9" in encode(Pulse([reporter.pulse()]))


def test_a_request_for_a_new_plan_is_told_at_once_and_once() -> None:
    changed = threading.Event()
    reporter = TaskReporter(1, changed)
    assert not reporter.pulse().asks_for_plan
    reporter.ask_for_plan()
    reporter.ask_for_plan()
    assert changed.is_set()
    assert [reporter.pulse().asks_for_plan for _ in range(2)] == [True, False]


def test_steps_of_traced_records_are_told_once_without_secrets_and_no_more_than_fit() -> None:
    remember("tr0ub4dor")
    reporter = TaskReporter(1, threading.Event())
    attributes: dict[str, str | int] = {"place": os.fsdecode(b"tr0ub4dor/caf\xe9.txt"), "task": 0}
    for number in range(SPANS + 1):
        reporter.span(Span(Context("a" * 32, "b" * 16), "", "write", "INTERNAL", number, number, attributes, "no tr0ub4dor"))
    pulse = reporter.pulse()
    text = encode(Pulse([pulse]))
    assert b"tr0ub4dor" not in text
    told = decode_event(text.strip())
    assert isinstance(told, Pulse)
    assert [span.start for span in told.tasks[0].spans] == list(range(1, SPANS + 1))
    assert told.tasks[0].spans[0].context == Context("a" * 32, "b" * 16)
    assert reporter.pulse().spans == []
