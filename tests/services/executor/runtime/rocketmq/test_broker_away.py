"""The broker stops, is killed and comes back in the middle: tasks wait, say so, and lose and double nothing."""

import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from rocketconnect_cli.embedded import EmbeddedRocketMQ
from rocketconnect_cli.embedded.rocketmq import BROKER
from services.executor.contract.task import Kind, State
from tests.services.executor.runtime.conftest import PositionProcess, Running, Tasks, notes, rows

pytestmark = pytest.mark.rocketmq

COUNT = 20_000


class OwnBroker:
    """A RocketMQ of this test alone, whose broker can be frozen and killed."""

    def __init__(self, server: EmbeddedRocketMQ) -> None:
        self.server = server
        self._broker = server.processes[BROKER]

    def freeze(self, seconds: float) -> None:
        self._broker.send_signal(signal.SIGSTOP)
        time.sleep(seconds)
        self._broker.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        self._broker.kill()
        self._broker.wait()

    def start(self) -> None:
        self._broker = subprocess.Popen(
            self.server.broker_command(),
            env=self.server.environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        deadline = time.monotonic() + 60
        while not self.server.is_ready():
            assert time.monotonic() < deadline
            time.sleep(0.1)

    def close(self) -> None:
        self._broker.kill()
        self._broker.wait()


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[OwnBroker]:
    with EmbeddedRocketMQ(tmp_path / "rocketmq") as server:
        own = OwnBroker(server)
        yield own
        own.close()


@pytest.fixture
def own_tasks(broker: OwnBroker, positions: PositionProcess, tmp_path: Path, plugins: None) -> Iterator[Tasks]:
    made = Tasks(broker.server.name_server, positions.address, tmp_path)
    yield made
    made.close()


def start_both(tasks: Tasks) -> tuple[Running, Running, list[str], Path]:
    lines = [f"line {number}" for number in range(COUNT)]
    file, table = tasks.file("a", lines), tasks.path / "t.db"
    source = tasks.start(Kind.SOURCE, {"connector.class": "lines", "files": str(file), "batch.records": "100", "pace": "0.1"})
    sink = tasks.start(Kind.SINK, {"connector.class": "table", "file": str(table)})
    source.reporter.wait_for(lambda: source.reporter.metrics.records_out > 1_000)
    return source, sink, lines, table


def check(tasks: Tasks, source: Running, sink: Running, lines: list[str], table: Path) -> None:
    source.reporter.wait_for(lambda: source.reporter.metrics.records_out == COUNT, 180)
    sink.reporter.wait_for(lambda: len(rows(table)) == COUNT, 180)
    source.reporter.wait_for_state(State.IDLE)
    sink.reporter.wait_for_state(State.IDLE)
    assert source.stop().clean
    assert sink.stop().clean
    assert tasks.bodies() == lines
    assert rows(table) == lines


@pytest.mark.slow
def test_a_broker_that_is_killed_and_started_again_twice(own_tasks: Tasks, broker: OwnBroker) -> None:
    source, sink, lines, table = start_both(own_tasks)
    for _ in range(2):
        broker.kill()
        assert source.reporter.wait_for_state(State.WAITING)
        assert sink.reporter.wait_for_state(State.WAITING)
        before = source.reporter.metrics.records_out
        assert before < COUNT, "everything was sent before the broker was killed: nothing was proved"
        broker.start()
        source.reporter.wait_for_out(before + 1, 180)
    check(own_tasks, source, sink, lines, table)


@pytest.mark.slow
def test_a_broker_that_is_frozen_for_longer_than_a_send_waits_for_its_answer(own_tasks: Tasks, broker: OwnBroker) -> None:
    """A send of unknown outcome is looked for in the queue before anything is sent again."""
    source, sink, lines, table = start_both(own_tasks)
    freezing = threading.Thread(target=broker.freeze, args=(18,))
    freezing.start()
    assert "broker" in source.reporter.wait_for_state(State.WAITING)
    freezing.join()
    check(own_tasks, source, sink, lines, table)


@pytest.mark.slow
def test_each_send_that_is_tried_again_counts(own_tasks: Tasks, broker: OwnBroker) -> None:
    file = own_tasks.file("a", ["first"])
    source = own_tasks.start(Kind.SOURCE, {"connector.class": "lines", "files": str(file)})
    metrics = source.reporter.metrics
    source.reporter.wait_for_out(1)
    source.reporter.wait_for_state(State.IDLE)
    broker.kill()
    errors, retries = metrics.errors, metrics.retries
    own_tasks.file("a", ["first", "second"])
    source.reporter.wait_for(lambda: metrics.retries >= retries + 3, 180)
    broker.start()
    source.reporter.wait_for_out(2, 180)
    assert source.stop().clean
    assert metrics.errors - errors >= metrics.retries - retries
    assert own_tasks.bodies() == ["first", "second"]


@pytest.mark.slow
def test_a_source_is_kept_alive_while_its_buffer_is_full_and_while_a_topic_is_looked_for(
    own_tasks: Tasks, broker: OwnBroker
) -> None:
    lines = [f"line {number} {'x' * 1_000}" for number in range(2_000)]
    file = own_tasks.file("a", lines[:1])
    config = {"connector.class": "lines", "files": str(file), "alive": "0.05", "buffer.bytes": "262144", "batch.records": "50"}
    source = own_tasks.start(Kind.SOURCE, {**config, "transforms": "loud", "transforms.loud.type": "loud"})
    source.reporter.wait_for_state(State.IDLE)
    broker.kill()
    own_tasks.file("a", lines)
    source.reporter.wait_for_state(State.WAITING)
    for _ in range(2):
        before = len(notes(file, "alive"))
        source.reporter.wait_for(lambda before=before: len(notes(file, "alive")) > before + 3)  # type: ignore[misc]
        read = source.reporter.metrics.records_in
        assert read < len(lines), "its buffer never was full"
    broker.start()
    source.reporter.wait_for_out(len(lines), 180)
    broker.kill()
    own_tasks.file("a", [*lines, "to new-topic"])
    source.reporter.wait_for(lambda: "looking for topic new-topic" in source.reporter.states[-1][1])
    before = len(notes(file, "alive"))
    source.reporter.wait_for(lambda: len(notes(file, "alive")) > before + 3)
    assert "looking for topic new-topic" in source.reporter.states[-1][1]
    broker.start()
    source.reporter.wait_for_out(len(lines) + 1, 180)
    assert source.stop().clean


@pytest.mark.slow
def test_a_broker_that_is_away_at_the_start_is_waited_for(own_tasks: Tasks, broker: OwnBroker) -> None:
    lines = [f"line {number}" for number in range(100)]
    file = own_tasks.file("a", lines)
    broker.kill()
    source = own_tasks.start(Kind.SOURCE, {"connector.class": "lines", "files": str(file)})
    assert source.reporter.wait_for_state(State.WAITING)
    broker.start()
    source.reporter.wait_for(lambda: source.reporter.metrics.records_out == 100, 180)
    assert source.stop().clean
    assert own_tasks.bodies() == lines
