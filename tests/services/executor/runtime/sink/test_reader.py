"""What a sink reads ahead, against a real broker."""

from typing import Any

import pytest

from rocketmq_remoting.batch import DecodedBatch
from rocketmq_remoting.client import Client
from rocketmq_remoting.errors import RequestTimeout
from rocketmq_remoting.model import Message
from rocketmq_remoting.pulls.stream import PullStream
from services.executor.contract.task import Kind, State
from services.executor.runtime.sink import ends
from services.executor.runtime.sink import start as sink_start
from services.executor.runtime.sink.reader import SinkReader
from tests.services.executor.runtime.conftest import Tasks

pytestmark = pytest.mark.rocketmq


def test_what_is_pulled_ahead_of_many_queues_together_keeps_to_the_buffer(tasks: Tasks, monkeypatch: pytest.MonkeyPatch) -> None:
    """There are 32 MiB in 64 queues, and nothing can be written: what is taken from the broker is all that is held."""
    readers: list[SinkReader] = []

    def kept(*args: Any, **options: Any) -> SinkReader:
        readers.append(SinkReader(*args, **options))
        return readers[0]

    monkeypatch.setattr(sink_start, "SinkReader", kept)
    tasks.create_topic(64)
    for queue in tasks.client.queues(tasks.topic):
        tasks.client.send_batch(queue, [Message(b"x" * 1024)] * 512, 10)
    file = tasks.path / "rows.db"
    file.with_suffix(".stage").touch()
    buffer = 4 << 20
    config = {"connector.class": "table", "file": str(file)}
    running = tasks.start(Kind.SINK, {**config, "buffer.bytes": str(buffer)})

    def settled() -> bool:
        """No pull is under way but at the ends of queues, where there is nothing more."""
        streams = [reading.stream for reading in readers[0]._reading.values()] if readers else []
        full = readers and readers[0]._batcher.size >= buffer
        return bool(full) and all(not each._in_flight or each._windows[-1].start >= each.known_end > 0 for each in streams)

    running.reporter.wait_for(settled)
    ahead = sum(reading.stream._waiting_bytes for reading in readers[0]._reading.values())
    assert 0 < ahead < 2 * buffer
    running.control.fence()
    assert running.end().fenced


def test_a_lag_grows_with_its_topic_while_the_target_takes_nothing_and_while_the_sink_is_paused(
    tasks: Tasks, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ends, "_SECONDS", 0.1)
    tasks.create_topic(1)
    (queue,) = tasks.client.queues(tasks.topic)

    def send(count: int) -> None:
        tasks.client.send_batch(queue, [Message(b"x" * 1024)] * count, 10)

    send(512)
    file = tasks.path / "rows.db"
    file.with_suffix(".stage").touch()
    running = tasks.start(Kind.SINK, {"connector.class": "table", "file": str(file), "buffer.bytes": str(128 << 10)})

    def behind() -> int:
        return sum(lag.messages for lag in running.reporter.metrics.lags)

    running.reporter.wait_for(lambda: behind() == 512)
    send(512)
    running.reporter.wait_for(lambda: behind() == 1_024)
    running.control.pause()
    send(512)
    running.reporter.wait_for(lambda: behind() == 1_536)
    running.control.fence()
    assert running.end().fenced


class Unanswered:
    """Pulls that the broker does not answer, as many as a test says."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.left = 0
        really = PullStream.next

        def next_(stream: PullStream, timeout: float, *, max_bytes: int = 1 << 20) -> DecodedBatch | None:
            if self.left:
                self.left -= 1
                raise RequestTimeout("pull from t/b/0 at b:1: no answer in time")
            return really(stream, timeout, max_bytes=max_bytes)

        monkeypatch.setattr(PullStream, "next", next_)


def test_an_idle_sink_stays_idle_when_one_pull_is_not_answered(tasks: Tasks, monkeypatch: pytest.MonkeyPatch) -> None:
    pulls = Unanswered(monkeypatch)
    # It waits for so short that the task may not come to say so.
    troubles: list[object] = []
    really = SinkReader._wait

    def noted(reader: SinkReader, *told: Any) -> None:
        troubles.append(told)
        really(reader, *told)

    monkeypatch.setattr(SinkReader, "_wait", noted)
    tasks.create_topic(1)
    running = tasks.start(Kind.SINK, {"connector.class": "table", "file": str(tasks.path / "rows.db")})
    running.reporter.wait_for_state(State.IDLE)
    troubles.clear()
    pulls.left = 1
    running.reporter.wait_for(lambda: not pulls.left)
    tasks.client.send(tasks.client.queues(tasks.topic)[0], Message(b"x"), 10)
    running.reporter.wait_for_out(1)
    assert troubles == []
    assert running.stop().clean


def test_a_sink_is_not_idle_while_messages_that_the_broker_has_told_of_are_on_their_way(
    tasks: Tasks, monkeypatch: pytest.MonkeyPatch
) -> None:
    held: list[DecodedBatch] = []
    looks, may_come = 0, False
    really = PullStream.next

    def next_(stream: PullStream, timeout: float, *, max_bytes: int = 1 << 20) -> DecodedBatch | None:
        nonlocal looks
        if may_come:
            return held.pop(0) if held else really(stream, timeout, max_bytes=max_bytes)
        if held:
            looks += 1
        elif (batch := really(stream, timeout, max_bytes=max_bytes)) is not None:
            held.append(batch)
        return None

    monkeypatch.setattr(PullStream, "next", next_)
    monkeypatch.setattr("services.executor.runtime.task.meter._MOVED_LATELY", 0.0)
    tasks.create_topic(1)
    tasks.client.send(tasks.client.queues(tasks.topic)[0], Message(b"x"), 10)
    running = tasks.start(Kind.SINK, {"connector.class": "table", "file": str(tasks.path / "rows.db")})
    running.reporter.wait_for(lambda: looks > 4)
    assert running.reporter.states[-1][0] is State.RUNNING
    assert running.reporter.has_work
    may_come = True
    running.reporter.wait_for_out(1)
    running.reporter.wait_for_state(State.IDLE)
    assert running.stop().clean


def test_a_sink_whose_broker_answers_no_second_pull_or_nothing_at_all_is_waiting_in_words_of_pulls(
    tasks: Tasks, monkeypatch: pytest.MonkeyPatch
) -> None:
    pulls = Unanswered(monkeypatch)
    tasks.create_topic(1)
    running = tasks.start(Kind.SINK, {"connector.class": "table", "file": str(tasks.path / "rows.db")})
    running.reporter.wait_for_state(State.IDLE)
    pulls.left = 1 << 30
    told = running.reporter.wait_for_state(State.WAITING)
    pulls.left = 0
    assert told.startswith(f"reading {tasks.topic}/")
    assert told.endswith(": pull from t/b/0 at b:1: no answer in time")
    running.reporter.wait_for_state(State.IDLE)
    assert running.stop().clean

    running = tasks.start(Kind.SINK, {"connector.class": "table", "file": str(tasks.path / "rows.db")}, epoch=2)
    running.reporter.wait_for_state(State.IDLE)

    def silent(_client: Client, _queue: object) -> int:
        raise RequestTimeout("maximum offset of t/b/0: no answer in time")

    # Each pull is the first that is not answered: that the broker does not answer otherwise either is all that tells.
    monkeypatch.setattr("services.executor.runtime.sink.reader._UNANSWERED_SECONDS", -1.0)
    pulls.left = 1 << 30
    with monkeypatch.context() as patch:
        patch.setattr(Client, "max_offset", silent)
        assert running.reporter.wait_for_state(State.WAITING).endswith(": pull from t/b/0 at b:1: no answer in time")
    running.reporter.wait_for_state(State.IDLE)
    pulls.left = 0
    assert running.stop().clean
