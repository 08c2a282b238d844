"""Tasks of file_source against a real broker and a real position service."""

import gzip
import time
from pathlib import Path

import pytest

from connectors.file_source import task as file_task
from connectors.file_source.rotation import hands
from connectors.file_source.task import FileSourceTask
from rocketconnect_sdk.polled import Polled
from services.executor.contract.task import Kind, State
from services.executor.runtime.source.loop import SourceRun
from services.executor.runtime.task import meter
from tests.services.executor.runtime.conftest import Tasks
from tests.services.executor.runtime.source.test_loop import lines

pytestmark = pytest.mark.rocketmq


def test_of_more_files_than_can_be_open_at_once_nothing_is_doubled_that_was_sent_and_not_committed(
    tasks: Tasks, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_task, "_OPEN_FILES", 3)
    # Nothing is stored.
    monkeypatch.setattr(hands, "_STORED_SECONDS", 0.1)
    files = {f"f{number}.log": [f"{number} {line}" for line in lines(5)] for number in range(8)}
    for name, content in files.items():
        tasks.file(name, content)
    config = {"connector.class": "file_source", "filename": f"{tasks.path}/*.log", "discover.interval": "10ms"}
    with monkeypatch.context() as never_committed:
        never_committed.setattr(SourceRun, "_put", lambda run, now: None)
        first = tasks.start(Kind.SOURCE, config, task_config={"share": "0/1"})
        first.reporter.wait_for_out(40)
        first.control.fence()
        assert first.end().fenced
    second = tasks.start(Kind.SOURCE, config, epoch=2, task_config={"share": "0/1"})
    second.reporter.wait_for(lambda: second.reporter.metrics.records_in == 40)
    assert second.stop().clean
    assert sorted(tasks.bodies()) == sorted(line for content in files.values() for line in content)


def test_what_was_sent_of_a_log_and_not_committed_is_not_doubled_when_the_log_is_packed_before_the_next_owner(
    tasks: Tasks, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tasks.file("app.log", lines(5))
    config = {"connector.class": "file_source", "filename": f"{log}*", "discover.interval": "10ms"}
    first = tasks.start(Kind.SOURCE, config, task_config={"share": "0/1"})
    first.reporter.wait_for_out(5)
    first.reporter.wait_for_state(State.IDLE)
    with monkeypatch.context() as never_committed:
        never_committed.setattr(SourceRun, "_put", lambda run, now: None)
        tasks.file("app.log", lines(8))
        first.reporter.wait_for_out(8)
        first.control.fence()
        assert first.end().fenced
    rotated = log.rename(f"{log}.1")
    tasks.file("app.log", lines(2, 20))
    Path(f"{rotated}.gz").write_bytes(gzip.compress(rotated.read_bytes() + b"line 8\n"))
    rotated.unlink()
    second = tasks.start(Kind.SOURCE, config, epoch=2, task_config={"share": "0/1"})
    second.reporter.wait_for_out(3)
    second.reporter.wait_for_state(State.IDLE)
    assert second.stop().clean
    assert sorted(tasks.bodies()) == sorted([*lines(9), *lines(2, 20)])


def test_waiting_for_a_file_is_one_error_however_often_it_is_looked_for(tasks: Tasks, monkeypatch: pytest.MonkeyPatch) -> None:
    polls: list[FileSourceTask] = []
    poll = FileSourceTask.poll

    def counted(task: FileSourceTask) -> Polled:
        polls.append(task)
        return poll(task)

    monkeypatch.setattr(FileSourceTask, "poll", counted)
    file = tasks.path / "later"
    config = {"connector.class": "file_source", "filename": str(file), "discover.interval": "10ms"}
    running = tasks.start(Kind.SOURCE, config, task_config={"share": "0/1"})
    running.reporter.wait_for(lambda: len(polls) > 10)
    assert "does not exist yet" in running.reporter.wait_for_state(State.WAITING)
    file.write_text("a\nb\n")
    running.reporter.wait_for_out(2)
    assert running.stop().clean
    assert (running.reporter.metrics.errors, running.reporter.metrics.retries) == (1, 1)


def test_a_source_is_not_idle_while_it_is_stored_which_file_its_first_records_are_of(
    tasks: Tasks, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hands, "_STORED_SECONDS", 600.0)
    monkeypatch.setattr(meter, "_MOVED_LATELY", 0.0)
    polls: list[SourceRun] = []
    with monkeypatch.context() as not_stored_yet:
        not_stored_yet.setattr(SourceRun, "_put", lambda run, now: polls.append(run))
        config = {"connector.class": "file_source", "filename": str(tasks.file("a", lines(5)))}
        running = tasks.start(Kind.SOURCE, config, task_config={"share": "0/1"})
        running.reporter.wait_for(lambda: len(polls) > 20)
        assert State.IDLE not in [state for state, _ in running.reporter.states]
        assert running.reporter.metrics.records_out == 0
    running.reporter.wait_for_out(5)
    running.reporter.wait_for_state(State.IDLE)
    assert running.stop().clean
    assert tasks.bodies() == lines(5)


def test_a_finished_source_takes_two_steps_a_second_and_no_more(tasks: Tasks, monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[float] = []
    step = SourceRun._step

    def counted(run: SourceRun) -> None:
        steps.append(time.monotonic())
        step(run)

    monkeypatch.setattr(SourceRun, "_step", counted)
    config = {"connector.class": "file_source", "filename": str(tasks.file("a", lines(10))), "follow": "false"}
    running = tasks.start(Kind.SOURCE, config, task_config={"share": "0/1"})
    running.reporter.wait_for_state(State.IDLE)
    finished = len(steps)
    running.reporter.wait_for(lambda: len(steps) >= finished + 5)
    # An answer that has come last may wake it twice.
    assert steps[finished + 4] - steps[finished] > 2 * 0.45
    assert running.stop().clean
    assert tasks.bodies() == lines(10)
