"""Sources that are kept alive while they are not polled; a broker that is away: see test_broker_away."""

import time

import pytest

from rocketconnect_kit.backoff import Backoff
from services.executor.contract.task import Kind, State
from services.executor.runtime.positions import committer
from tests.services.executor.runtime.conftest import PositionProcess, Tasks, notes

pytestmark = pytest.mark.rocketmq


def test_a_paused_source_is_kept_alive_by_the_thread_of_its_task_and_not_read(tasks: Tasks) -> None:
    file = tasks.file("a", ["first"])
    running = tasks.start(Kind.SOURCE, {"connector.class": "lines", "files": str(file), "alive": "0.2"})
    running.reporter.wait_for_state(State.IDLE)
    assert notes(file, "alive") == []
    running.control.pause()
    running.reporter.wait_for_state(State.PAUSED)
    tasks.file("a", ["first", "second"])
    before = len(notes(file, "alive"))
    running.reporter.wait_for(lambda: len(notes(file, "alive")) > before + 3)
    assert set(notes(file, "alive")) == {running.thread.name}
    assert running.reporter.metrics.records_in == 1
    running.control.resume()
    running.reporter.wait_for_out(2)
    assert running.stop().clean
    assert tasks.bodies() == ["first", "second"]


def test_a_paused_source_that_can_t_be_kept_alive_stays_paused_and_waits_for_its_system_when_it_is_resumed(tasks: Tasks) -> None:
    file = tasks.file("a", ["first"])
    running = tasks.start(Kind.SOURCE, {"connector.class": "lines", "files": str(file), "alive": "0.05"})
    running.reporter.wait_for_out(1)
    running.control.pause()
    running.reporter.wait_for_state(State.PAUSED)
    file.with_suffix(".away").touch()
    running.reporter.wait_for(lambda: any("keeping the source alive" in text for _, text in running.reporter.logs))
    assert running.reporter.states[-1][0] is State.PAUSED
    tasks.file("a", ["first", "second"])
    running.control.resume()
    assert "is away" in running.reporter.wait_for_state(State.WAITING)
    file.with_suffix(".away").unlink()
    running.reporter.wait_for_out(2)
    assert running.stop().clean


def test_a_paused_source_fails_by_a_permanent_error_with_all_that_it_sent_committed(tasks: Tasks) -> None:
    file = tasks.file("a", ["first"])
    running = tasks.start(Kind.SOURCE, {"connector.class": "lines", "files": str(file), "alive": "0.05"})
    running.reporter.wait_for_out(1)
    running.control.pause()
    running.reporter.wait_for_state(State.PAUSED)
    file.with_suffix(".fail").touch()
    outcome = running.end()
    assert outcome.failed
    assert outcome.clean
    assert "is broken" in outcome.error


def test_the_source_of_a_direct_task_is_kept_alive_while_it_is_paused_and_while_its_sink_is_away(tasks: Tasks) -> None:
    file, rows = tasks.file("a", ["first"]), tasks.path / "t.db"
    config = {"connector.class": "direct", "source.connector.class": "lines", "source.files": str(file), "source.alive": "0.05"}
    running = tasks.start(Kind.DIRECT, {**config, "sink.connector.class": "table", "sink.file": str(rows)})
    running.reporter.wait_for_out(1)
    running.control.pause()
    running.reporter.wait_for_state(State.PAUSED)
    before = len(notes(file, "alive"))
    running.reporter.wait_for(lambda: len(notes(file, "alive")) > before + 3)
    rows.with_suffix(".away").touch()
    running.control.resume()
    tasks.file("a", ["first", "second"])
    running.reporter.wait_for_state(State.WAITING)
    before = len(notes(file, "alive"))
    running.reporter.wait_for(lambda: len(notes(file, "alive")) > before + 3)
    assert running.reporter.metrics.records_out == 1
    rows.with_suffix(".away").unlink()
    running.reporter.wait_for_out(2)
    assert running.stop().clean


def test_a_source_that_has_nothing_to_read_hears_of_what_is_stored(tasks: Tasks, positions: PositionProcess) -> None:
    """Nothing can be stored until it is idle."""
    file = tasks.file("a", ["first"])
    running = tasks.start(Kind.SOURCE, {"connector.class": "lines", "files": str(file)})
    running.reporter.wait_for(lambda: notes(file, "stored") == ["1"])
    positions.stop()
    tasks.file("a", ["first", "second"])
    running.reporter.wait_for_out(2)
    assert notes(file, "stored") == ["1"]
    positions.start()
    running.reporter.wait_for(lambda: notes(file, "stored") == ["1", "2"])
    assert running.stop().clean


@pytest.mark.parametrize("kind", [Kind.SOURCE, pytest.param(Kind.DIRECT, marks=pytest.mark.slow)])
def test_a_paused_source_hears_of_what_is_stored_however_long_that_could_not_be(
    tasks: Tasks, positions: PositionProcess, kind: Kind, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(committer, "Backoff", lambda first, _longest: Backoff(first, 0.2))
    file, rows = tasks.file("a", ["first"]), str(tasks.path / "t.db")
    config = {"connector.class": "lines", "files": str(file)}
    if kind is Kind.DIRECT:
        config = {"connector.class": "direct", "source.connector.class": "lines", "source.files": str(file)}
        config |= {"sink.connector.class": "table", "sink.file": rows}
    running = tasks.start(kind, config)
    running.reporter.wait_for(lambda: notes(file, "stored") == ["1"])
    positions.stop()
    tasks.file("a", ["first", "second"])
    running.reporter.wait_for_out(2)
    running.control.pause()
    running.reporter.wait_for_state(State.PAUSED)
    # Longer than the longest pause between two tries.
    began = time.monotonic()
    running.reporter.wait_for(lambda: time.monotonic() > began + 0.5)
    positions.start()
    running.reporter.wait_for(lambda: notes(file, "stored") == ["1", "2"])
    assert running.stop().clean
