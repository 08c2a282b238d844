"""What a sink reads ahead, against a real broker."""

from typing import Any

import pytest

from rocketmq_remoting.model import Message
from services.executor.contract.task import Kind
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
